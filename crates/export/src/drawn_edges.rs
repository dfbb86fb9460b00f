//! The edges of a graph for drawings and graph programs: one arrow per transfer, or one per
//! (source, target, asset), with its style.

use crate::{
    Column, TokenList, Value,
    graph_rows::{MERGED, transfer_columns, transfer_row},
    options::GraphInput,
};
use alloy_primitives::{Address, map::HashMap};
use std::{
    cmp::Reverse,
    ops::{ControlFlow, Range},
};
use txgraph_graph::{AmountSum, Asset, TransferGraph, widen};
use txgraph_transfers::BlockTime;
use txgraph_work::{CancelFlag, Threads, ThreadsError, ordered};

/// Colors that most people can distinguish, also on paper (Paul Tol's "bright" and
/// "vibrant"). Tokens with most transfers get the first.
const PALETTE: [&str; 9] = [
    "#4477AA", "#EE6677", "#228833", "#EE7733", "#AA3377", "#66CCEE", "#CCBB44", "#009988",
    "#CC3311",
];

const NATIVE_COLOR: &str = "#333333";

/// Color of tokens beyond the palette.
const OTHER_COLOR: &str = "#999999";

/// An edge with everything that a graph program shows of it.
pub(crate) struct Arrow {
    pub(crate) source: Address,
    pub(crate) target: Address,
    pub(crate) asset: Asset,
    pub(crate) amount: AmountSum,
    /// The number of its transfers.
    pub(crate) count: u64,
    /// Times of the first and the last transfer, if they are known.
    pub(crate) times: Option<(BlockTime, BlockTime)>,
    /// Its values of [`Arrows::columns`].
    pub(crate) row: Vec<Value<'static>>,
}

/// The arrows of a graph and the style of their assets.
pub(crate) struct Arrows<'a> {
    graph: &'a TransferGraph,
    merged: Option<Vec<txgraph_graph::MergedEdge>>,
    /// Assets with most transfers first.
    legend: Vec<Asset>,
    styles: HashMap<Asset, Style>,
}

#[derive(Default)]
struct Style {
    transfers: u64,
    total: AmountSum,
    color: &'static str,
}

impl<'a> Arrows<'a> {
    /// Prepares the arrows of a file for graph programs.
    pub(crate) fn of(input: GraphInput<'a>) -> Result<Self, ThreadsError> {
        let options = input.options;
        Self::new(input.graph, options.merge, &options.table.threads)
    }

    /// Prepares the arrows. `threads` sum up the assets.
    pub(crate) fn new(
        graph: &'a TransferGraph,
        merge: bool,
        threads: &Threads,
    ) -> Result<Self, ThreadsError> {
        let mut styles = count_styles(graph, threads)?;
        let mut legend: Vec<_> = styles
            .iter()
            .map(|(asset, style)| (Reverse(style.transfers), *asset))
            .collect();
        legend.sort_unstable();
        let legend: Vec<_> = legend.into_iter().map(|(_, asset)| asset).collect();
        let mut palette = PALETTE.into_iter();
        for asset in &legend {
            if let Some(style) = styles.get_mut(asset) {
                style.color = match asset.token_address {
                    None => NATIVE_COLOR,
                    Some(_) => palette.next().unwrap_or(OTHER_COLOR),
                };
            }
        }
        let merged = merge.then(|| graph.merged(threads));
        Ok(Self {
            graph,
            merged: merged.transpose()?,
            legend,
            styles,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.merged
            .as_ref()
            .map_or(self.graph.graph.edge_count(), Vec::len)
    }

    /// Returns the arrows, in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = Arrow> + '_> {
        let graph = self.graph;
        match &self.merged {
            Some(merged) => Box::new(merged.iter().map(move |edge| Arrow {
                source: graph.graph[edge.source].address,
                target: graph.graph[edge.target].address,
                asset: edge.asset,
                amount: edge.sum,
                count: edge.count,
                times: edge.first.1.zip(edge.last.1),
                row: Value::row(&MERGED[ENDS..], (graph, edge)),
            })),
            None => Box::new(graph.graph.edge_weights().map(|edge| Arrow {
                source: edge.transfer.from_address,
                target: edge.transfer.to_address,
                asset: Asset::of(&edge.transfer),
                amount: widen(edge.transfer.value),
                count: 1,
                times: edge.transfer.block_timestamp.map(|time| (time, time)),
                row: transfer_row(edge),
            })),
        }
    }

    /// Returns the columns of [`Arrow::row`].
    pub(crate) fn columns(&self) -> Vec<Column> {
        if self.merged.is_some() {
            Column::of(&MERGED[ENDS..])
        } else {
            transfer_columns()
        }
    }

    /// Returns the assets, those with most transfers first.
    pub(crate) fn legend(&self) -> &[Asset] {
        &self.legend
    }

    /// Returns the color of an asset (`#rrggbb`).
    pub(crate) fn color(&self, asset: &Asset) -> &'static str {
        (self.styles.get(asset)).map_or(OTHER_COLOR, |style| style.color)
    }

    pub(crate) fn total(&self, asset: &Asset) -> AmountSum {
        (self.styles.get(asset)).map_or(AmountSum::ZERO, |style| style.total)
    }
}

/// Counts the transfers and sums up the amounts of each asset.
fn count_styles(
    graph: &TransferGraph,
    threads: &Threads,
) -> Result<HashMap<Asset, Style>, ThreadsError> {
    /// Fewer edges are not worth a thread.
    const PART: usize = 8192;
    let edges = graph.graph.raw_edges();
    let part = edges.len().div_ceil(threads.count()).max(PART);
    let count = |range: Range<usize>| {
        let mut styles: HashMap<Asset, Style> = HashMap::default();
        for edge in &edges[range] {
            let transfer = &edge.weight.transfer;
            let style = styles.entry(Asset::of(transfer)).or_default();
            style.transfers += 1;
            style.total += widen(transfer.value);
        }
        styles
    };
    if edges.len() <= part {
        return Ok(count(0..edges.len()));
    }
    let parts = (0..edges.len())
        .step_by(part)
        .map(|first| first..edges.len().min(first + part));
    let mut all: HashMap<Asset, Style> = HashMap::default();
    ordered(
        threads,
        threads.count(),
        &CancelFlag::new(),
        parts,
        || (),
        |(), range| ControlFlow::Continue(count(range)),
        |styles| {
            // The sums do not depend on the order.
            styles.into_iter().for_each(|(asset, style)| {
                let sum = all.entry(asset).or_default();
                sum.transfers += style.transfers;
                sum.total += style.total;
            });
            ControlFlow::<()>::Continue(())
        },
    )?;
    Ok(all)
}

/// Returns the width of an arrow in tenths: 50 for the whole amount of the asset, 4 less for each
/// halving of the share, at least 8. Integers only, so that every machine draws the same.
pub(crate) fn width(total: AmountSum, amount: AmountSum) -> usize {
    let halvings = total.bit_len().saturating_sub(amount.bit_len());
    50usize.saturating_sub(4 * halvings).max(8)
}

/// The columns `source` and `target`, which come first in merged rows.
const ENDS: usize = 2;

/// Returns the label of an arrow: its amount, and its number of transfers unless it is one.
pub(crate) fn arrow_label(arrow: &Arrow, tokens: &TokenList, chain_id: u64) -> String {
    let amount = tokens.format_amount(chain_id, &arrow.asset, arrow.amount);
    match arrow.count {
        1 => amount,
        count => format!("{amount} in {count} transfers"),
    }
}
