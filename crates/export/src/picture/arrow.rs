//! The arrows of a picture before they have a style: transfers by (source, target, asset).

use crate::arrows::with_count;
use alloy_primitives::{B256, map::HashMap};
use txgraph_graph::{AmountSum, Asset, TransferGraph, widen};
use txgraph_transfers::BlockTime;

/// Hashes of an arrow that its tooltip lists.
const HASHES_MAX: usize = 3;

/// A block and its time, if that is known.
pub(super) type Moment = (u64, Option<BlockTime>);

/// All transfers of an asset from one vertex to another.
#[derive(Clone, Debug)]
pub(super) struct Merged {
    /// The number of the vertex.
    pub(super) source: usize,
    /// The number of the vertex.
    pub(super) target: usize,
    pub(super) asset: Asset,
    pub(super) amount: AmountSum,
    /// The number of transfers.
    pub(super) count: u64,
    /// Those of nothing.
    pub(super) zeros: u64,
    pub(super) first: Moment,
    pub(super) last: Moment,
    /// The first few.
    pub(super) hashes: Vec<B256>,
}

impl Merged {
    /// An amount with the number of its transfers. Those of nothing, which anyone can make in the name
    /// of the sender, are counted by themselves.
    pub(super) fn with_count(&self, amount: String) -> String {
        match (self.count - self.zeros, self.zeros) {
            (_, 0) | (0, _) => with_count(amount, self.count),
            (moved, zeros) => format!("{} and {zeros} of nothing", with_count(amount, moved)),
        }
    }

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
        let room = HASHES_MAX - self.hashes.len().min(HASHES_MAX);
        self.hashes.extend(other.hashes.iter().take(room));
    }
}

/// Returns the arrows of a graph, in the order of their first transfers. With
/// `every_transfer`, each transfer is one.
pub(super) fn merged(graph: &TransferGraph, every_transfer: bool) -> Vec<Merged> {
    let mut arrows: Vec<Merged> = Vec::new();
    let mut places: HashMap<(usize, usize, Asset), usize> = HashMap::default();
    for edge in graph.graph.raw_edges() {
        let transfer = &edge.weight.transfer;
        let moment = (transfer.block_number, transfer.block_timestamp);
        let arrow = Merged {
            source: edge.source().index(),
            target: edge.target().index(),
            asset: Asset::of(transfer),
            amount: widen(transfer.value),
            count: 1,
            zeros: u64::from(transfer.value.is_zero()),
            first: moment,
            last: moment,
            hashes: transfer.transaction_hash.into_iter().collect(),
        };
        if every_transfer {
            arrows.push(arrow);
            continue;
        }
        match places.entry((arrow.source, arrow.target, arrow.asset)) {
            std::collections::hash_map::Entry::Occupied(place) => {
                arrows[*place.get()].add(&arrow);
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(arrows.len());
                arrows.push(arrow);
            }
        }
    }
    arrows
}
