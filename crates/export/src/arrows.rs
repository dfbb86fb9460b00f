//! The edges of a graph as pictures and graph programmes want them: one arrow
//! per transfer, or one per (from, to, asset), with its style.

use crate::{
    TokenList,
    rows::{Column, Value},
    views::{merged_columns, merged_row, transfer_columns, transfer_row},
};
use alloy_primitives::Address;
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, Asset, TransferGraph, widen};

/// Colours that are told apart by most people and on paper (Paul Tol's "bright"
/// and "vibrant"). Tokens with most transfers first.
const PALETTE: [&str; 9] = [
    "#4477AA", "#EE6677", "#228833", "#EE7733", "#AA3377", "#66CCEE", "#CCBB44", "#009988",
    "#CC3311",
];

/// The native coin.
const NATIVE_COLOR: &str = "#333333";

/// Tokens beyond the palette.
const OTHER_COLOR: &str = "#999999";

/// An edge with everything that a drawing of it shows.
pub(crate) struct Arrow {
    pub(crate) source: Address,
    pub(crate) target: Address,
    pub(crate) asset: Asset,
    pub(crate) amount: AmountSum,
    /// How many transfers it stands for.
    pub(crate) count: u64,
    /// Its values of [`Arrows::columns`].
    pub(crate) row: Vec<Value<'static>>,
}

/// The arrows of a graph and the style of their assets.
pub(crate) struct Arrows<'a> {
    graph: &'a TransferGraph,
    merged: Option<Vec<txgraph_graph::MergedEdge>>,
    /// Assets with most transfers first.
    legend: Vec<Asset>,
    styles: BTreeMap<Asset, Style>,
}

#[derive(Default)]
struct Style {
    transfers: u64,
    total: AmountSum,
    color: &'static str,
}

impl<'a> Arrows<'a> {
    pub(crate) fn new(graph: &'a TransferGraph, merge: bool) -> Self {
        let mut styles: BTreeMap<Asset, Style> = BTreeMap::new();
        for edge in graph.graph.edge_weights() {
            let style = styles.entry(Asset::of(&edge.transfer)).or_default();
            style.transfers += 1;
            style.total += widen(edge.transfer.value);
        }
        let mut legend: Vec<_> = styles.keys().copied().collect();
        // Stable: equally busy assets stay in their own order.
        legend.sort_by_key(|asset| Reverse(styles[asset].transfers));
        let mut palette = PALETTE.into_iter();
        for asset in &legend {
            if let Some(style) = styles.get_mut(asset) {
                style.color = match asset.token_address {
                    None => NATIVE_COLOR,
                    Some(_) => palette.next().unwrap_or(OTHER_COLOR),
                };
            }
        }
        Self {
            graph,
            merged: merge.then(|| graph.merged()),
            legend,
            styles,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.merged
            .as_ref()
            .map_or(self.graph.graph.edge_count(), Vec::len)
    }

    /// The arrows, in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = Arrow> + '_> {
        let graph = self.graph;
        match &self.merged {
            Some(merged) => Box::new(merged.iter().map(|edge| Arrow {
                source: graph.graph[edge.source].address,
                target: graph.graph[edge.target].address,
                asset: edge.asset,
                amount: edge.sum,
                count: edge.count,
                row: merged_row(graph, edge).split_off(ENDS),
            })),
            None => Box::new(graph.graph.edge_weights().map(|edge| Arrow {
                source: edge.transfer.from_address,
                target: edge.transfer.to_address,
                asset: Asset::of(&edge.transfer),
                amount: widen(edge.transfer.value),
                count: 1,
                row: transfer_row(edge),
            })),
        }
    }

    /// Headings of [`Arrow::row`].
    pub(crate) fn columns(&self) -> Vec<Column> {
        if self.merged.is_some() {
            merged_columns().split_off(ENDS)
        } else {
            transfer_columns()
        }
    }

    /// Assets with most transfers first.
    pub(crate) fn legend(&self) -> &[Asset] {
        &self.legend
    }

    /// `#rrggbb`.
    pub(crate) fn color(&self, asset: &Asset) -> &'static str {
        self.styles
            .get(asset)
            .map_or(OTHER_COLOR, |style| style.color)
    }

    /// How thick an arrow is, in tenths: 50 for all there is of its asset, four
    /// less each time the share is halved, never below 8. Whole numbers, so that
    /// every machine draws the same.
    pub(crate) fn width_tenths(&self, arrow: &Arrow) -> usize {
        let total = self
            .styles
            .get(&arrow.asset)
            .map_or(0, |style| style.total.bit_len());
        let halvings = total.saturating_sub(arrow.amount.bit_len());
        50usize.saturating_sub(4 * halvings).max(8)
    }
}

/// `source` and `target` come first in merged rows, and stand elsewhere here.
const ENDS: usize = 2;

/// What people read on an arrow: how much, and in how many transfers.
pub(crate) fn arrow_label(arrow: &Arrow, tokens: &TokenList, chain_id: u64) -> String {
    let amount = tokens.format_amount(chain_id, &arrow.asset, arrow.amount);
    with_count(amount, arrow.count)
}

/// Adds to an amount in how many transfers it moved, unless in one.
pub(crate) fn with_count(amount: String, transfers: u64) -> String {
    if transfers == 1 {
        amount
    } else {
        format!("{amount} in {transfers} transfers")
    }
}
