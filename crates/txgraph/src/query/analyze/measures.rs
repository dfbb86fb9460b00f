//! The measures of a graph or a scan.

use crate::{MeasureAnswer, MeasureSettings, Measured, Result};
use std::sync::OnceLock;
use txgraph_analysis::{
    ColumnType, Connected, Table, Value as Cell, VolumeCounter, components, cycles, degrees, pairs,
    summary, volume,
};
use txgraph_graph::{MergedGraph, Merger, SearchError, TransferGraph};
use txgraph_labels::Labels;
use txgraph_transfers::{QueriedNames, ScanRequest, TokenStandard, Transfer, TransferSource};

impl MeasureAnswer {
    /// Adds the names of addresses.
    pub(super) fn label(&mut self, labels: &Labels) {
        let name = |address| labels.get(address).name().map(str::to_owned);
        match self {
            Self::Summary(found) => found.label(&name),
            Self::Degrees(found) => found.label(&name),
            Self::Rank(found) => found.label(&name),
            _ => {}
        }
    }

    /// Whether an amount is the sum of several ids of an ERC-1155 token. `tables` keeps the tables if they
    /// are made for it.
    pub(super) fn sums_items(&self, tables: &OnceLock<Vec<Table>>) -> bool {
        match self {
            // There may be millions: not as tables.
            Self::Pairs(found) => {
                (found.pairs.iter()).any(|pair| pair.asset.token_standard == TokenStandard::Erc1155)
            }
            _ => (tables.get_or_init(|| self.tables()).iter()).any(sums_items),
        }
    }
}

/// Whether a table has an amount of an ERC-1155 token, and no column for its id.
fn sums_items(table: &Table) -> bool {
    let place = |name: &str| table.columns.iter().position(|it| it.name == name);
    let has_amounts = (table.columns.iter()).any(|it| it.column_type == ColumnType::Amount);
    let is_erc1155 = |cell: &Cell<'_>| matches!(cell, Cell::Text(word) if **word == *TokenStandard::Erc1155.as_str());
    match (has_amounts, place("token_id"), place("token_standard")) {
        (true, None, Some(at)) => table.rows.iter().any(|row| is_erc1155(&row[at])),
        _ => false,
    }
}

/// Measures the graph of a search.
pub(super) fn of_search(
    settings: &MeasureSettings,
    graph: &TransferGraph,
) -> Result<MeasureAnswer> {
    Ok(match settings {
        MeasureSettings::Components(limit) => MeasureAnswer::Components(components(graph, *limit)?),
        MeasureSettings::Volume(settings) => MeasureAnswer::Volume(volume(graph, *settings)?),
        _ => of_graph(settings, &MergedGraph::of(graph)),
    })
}

/// A measure of sums by sender, receiver and token.
fn of_graph(settings: &MeasureSettings, graph: &MergedGraph) -> MeasureAnswer {
    match settings {
        MeasureSettings::Summary(settings) => MeasureAnswer::Summary(summary(graph, settings)),
        MeasureSettings::Pairs(settings) => MeasureAnswer::Pairs(pairs(graph, settings)),
        MeasureSettings::Degrees(hubs) => MeasureAnswer::Degrees(degrees(graph, *hubs)),
        MeasureSettings::Cycles(limit) => MeasureAnswer::Cycles(cycles(graph, *limit)),
        MeasureSettings::Components(_)
        | MeasureSettings::Volume(_)
        | MeasureSettings::Patterns(_) => {
            unreachable!("found in the transfers, not in their sums")
        }
    }
}

/// Measures all transfers of a scan while they are read.
pub(super) fn of_scan(
    from: &dyn TransferSource,
    request: &ScanRequest,
    settings: &MeasureSettings,
) -> Result<Measured> {
    let mut queried = QueriedNames::of(&request.filter);
    let mut read = |add: &mut dyn FnMut(&[Transfer]) -> Result<(), SearchError>| {
        txgraph_graph::scan(from, request, |batch| {
            queried.see(batch);
            add(batch)
        })
    };
    let (scan, [vertices, transfers], answer) = match settings {
        MeasureSettings::Components(limit) => {
            let mut connected = Connected::default();
            let scan = read(&mut |batch| connected.add(batch))?;
            let counts = [connected.addresses(), connected.transfers()];
            let answer = MeasureAnswer::Components(connected.finish(&[], *limit));
            (scan, counts, answer)
        }
        MeasureSettings::Volume(settings) => {
            let mut counter = VolumeCounter::new(*settings);
            let scan = read(&mut |batch| counter.add(batch))?;
            let counts = [counter.addresses(), counter.transfers()];
            (scan, counts, MeasureAnswer::Volume(counter.finish()))
        }
        _ => {
            let mut merger = Merger::default();
            let scan = read(&mut |batch| merger.add(batch))?;
            let graph = merger.finish()?;
            let counts = [graph.addresses.len() as u64, graph.transfers];
            (scan, counts, of_graph(settings, &graph))
        }
    };
    Ok(Measured {
        scan,
        unseen: queried.unseen(),
        vertices,
        transfers,
        answer,
    })
}
