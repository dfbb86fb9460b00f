//! The measures of a graph or a scan, and their tables.

use crate::{Error, MeasureAnswer, MeasureSettings, Measured, Result};
use serde::Serialize;
use serde_json::Value;
use txgraph_analysis::{
    Connected, MeasureResult, Table, VolumeCounter, components, cycles, degrees, pairs, summary,
    volume,
};
use txgraph_graph::{MergedGraph, Merger, SearchError, TransferGraph};
use txgraph_labels::Labels;
use txgraph_transfers::{QueriedNames, ScanRequest, Transfer, TransferSource};

/// The tables and the whole of a result.
pub(super) type Tabled = (Vec<Table>, Value);

impl MeasureAnswer {
    /// The tables and the whole, with the names of addresses.
    pub(super) fn tabled(self, labels: &Labels) -> Result<Tabled> {
        let name = |address| labels.get(address).name().map(str::to_owned);
        match self {
            Self::Summary(mut found) => {
                found.label(&name);
                answer(&found)
            }
            Self::Degrees(mut found) => {
                found.label(&name);
                answer(&found)
            }
            Self::Pairs(found) => answer(&found),
            Self::Cycles(found) => answer(&found),
            Self::Components(found) => answer(&found),
            Self::Volume(found) => answer(&found),
            Self::Patterns(found) => answer(&found),
        }
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

/// The tables and the whole of a result.
pub(super) fn answer(result: &impl MeasureResult) -> Result<Tabled> {
    Ok((result.tables(), value(result)?))
}

/// A result as JSON.
pub(super) fn value(result: &impl Serialize) -> Result<Value> {
    let failed = |error: serde_json::Error| {
        Error::new(
            crate::ErrorKind::Failed,
            format!("encoding JSON failed: {error}"),
        )
    };
    serde_json::to_value(result).map_err(failed)
}
