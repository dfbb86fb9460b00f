//! The arrows of a picture: transfers by (source, target, asset).

use alloy_primitives::{B256, map::HashMap};
use std::collections::hash_map::Entry;
use txgraph_graph::{AmountSum, Asset, TransferGraph, widen};
use txgraph_transfers::BlockTime;

/// Hashes of an arrow that its tooltip lists.
const HASHES_MAX: usize = 3;

/// A block and its time, if that is known.
pub(crate) type Moment = (u64, Option<BlockTime>);

/// All transfers of an asset from one node to another. A picture may have millions of arrows, so their texts
/// are made when they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PictureArrow {
    /// The number of the vertex, and of the node after folding.
    pub(crate) source: usize,
    /// The number of the vertex, and of the node after folding.
    pub(crate) target: usize,
    /// The place of the asset in the legend of [`Arrows`](crate::drawn_edges::Arrows).
    pub(crate) asset: usize,
    pub(super) amount: AmountSum,
    /// The number of transfers.
    pub(super) count: u64,
    /// The number of transfers of nothing.
    pub(super) zeros: u64,
    pub(crate) first: Moment,
    pub(crate) last: Moment,
    /// The first few edges with a hash.
    hashed: [usize; HASHES_MAX],
    hashes: usize,
    /// In tenths of a point.
    pub(crate) width: usize,
    /// Whether the amount is drawn, and not only in the tooltip.
    pub(crate) is_labeled: bool,
}

impl PictureArrow {
    /// Adds the transfers of another arrow.
    pub(super) fn add(&mut self, other: &Self) {
        self.amount = self.amount.saturating_add(other.amount);
        self.count += other.count;
        self.zeros += other.zeros;
        if other.first.0 < self.first.0 {
            self.first = other.first;
        }
        if other.last.0 > self.last.0 {
            self.last = other.last;
        }
        let room = &mut self.hashed[self.hashes..];
        let more = other.hashes.min(room.len());
        room[..more].copy_from_slice(&other.hashed[..more]);
        self.hashes += more;
    }

    /// Returns the first few hashes.
    pub(super) fn hashes(&self, graph: &TransferGraph) -> impl ExactSizeIterator<Item = B256> {
        let edges = graph.graph.raw_edges();
        let hash = |edge: &usize| edges[*edge].weight.transfer.transaction_hash;
        self.hashed[..self.hashes]
            .iter()
            .map(move |edge| hash(edge).unwrap_or_default())
    }
}

/// Returns the arrows of a graph, in the order of their first transfers. With
/// `every_transfer`, each transfer is one. `places` has the place of each asset.
pub(super) fn merged(
    graph: &TransferGraph,
    places: &HashMap<Asset, usize>,
    every_transfer: bool,
) -> Vec<PictureArrow> {
    // Memory that is not written is not used.
    let mut arrows: Vec<PictureArrow> = Vec::with_capacity(graph.graph.edge_count());
    let mut known: HashMap<(usize, usize, usize), usize> = HashMap::default();
    for (number, edge) in graph.graph.raw_edges().iter().enumerate() {
        let transfer = &edge.weight.transfer;
        let moment = (transfer.block_number, transfer.block_timestamp);
        let asset = Asset::of(transfer);
        let arrow = PictureArrow {
            source: edge.source().index(),
            target: edge.target().index(),
            asset: places.get(&asset).copied().unwrap_or(0),
            amount: widen(transfer.value),
            count: 1,
            zeros: u64::from(transfer.value.is_zero()),
            first: moment,
            last: moment,
            hashed: [number; HASHES_MAX],
            hashes: usize::from(transfer.transaction_hash.is_some()),
            width: 0,
            is_labeled: true,
        };
        if every_transfer {
            arrows.push(arrow);
            continue;
        }
        let key = (arrow.source, arrow.target, arrow.asset);
        match known.entry(key) {
            Entry::Occupied(at) => arrows[*at.get()].add(&arrow),
            Entry::Vacant(at) => {
                at.insert(arrows.len());
                arrows.push(arrow);
            }
        }
    }
    arrows
}

/// Turns arrows between vertices into arrows between nodes. The arrows of the leaves of
/// one group become one per asset and direction. `place` has the node of each vertex, and
/// folded nodes start at `first_folded`.
pub(super) fn fold(arrows: &mut Vec<PictureArrow>, place: &[usize], first_folded: usize) {
    let mut known: HashMap<(usize, usize, usize), usize> = HashMap::default();
    let mut kept = 0;
    for at in 0..arrows.len() {
        let mut arrow = arrows[at];
        (arrow.source, arrow.target) = (place[arrow.source], place[arrow.target]);
        if arrow.source >= first_folded || arrow.target >= first_folded {
            match known.entry((arrow.source, arrow.target, arrow.asset)) {
                Entry::Occupied(at) => {
                    arrows[*at.get()].add(&arrow);
                    continue;
                }
                Entry::Vacant(at) => {
                    at.insert(kept);
                }
            }
        }
        arrows[kept] = arrow;
        kept += 1;
    }
    arrows.truncate(kept);
}
