//! The merged graph: one edge for all transfers of an asset from one address to another.
//!
//! Measures need nothing else of a graph. Its memory depends on how many addresses and edges
//! differ, not on the number of transfers. So the transfers of a whole chain are merged while
//! they are read, and none is kept.

mod edges;
mod merger;

pub use edges::EdgeSum;
pub use merger::Merger;

use crate::{AmountSum, Asset, Expansion, TransferGraph, widen};
use alloy_primitives::{Address, map::HashMap};
use edges::EdgeStore;
use petgraph::visit::EdgeRef;
use std::collections::BTreeMap;
use txgraph_transfers::{BlockTime, Kind, Transfer};

/// A graph whose parallel edges are merged. Addresses and assets are numbered from 0.
#[derive(Debug)]
pub struct MergedGraph {
    /// Addresses, by number. For a [`TransferGraph`], in the order of its vertices.
    pub addresses: Vec<Address>,
    /// The zero address, if it is in the graph.
    pub zero: Option<u32>,
    /// Assets, by number.
    pub assets: Vec<Asset>,
    /// Transfers of amount zero, by asset.
    pub zero_values: Vec<u64>,
    /// Transfers by kind, in the order of [`Kind::ALL`].
    pub kinds: [u64; Kind::ALL.len()],
    /// The number of transfers.
    pub transfers: u64,
    /// The number of roots.
    pub roots: u64,
    /// Vertices and transfers by hop.
    pub hops: BTreeMap<u32, (u64, u64)>,
    /// Vertices by expansion, for those that occur, in the order of their first vertices.
    pub expansions: Vec<(Expansion, u64)>,
    blocks: Blocks,
    edges: EdgeStore,
}

impl MergedGraph {
    /// Merges the edges of `graph`. Runs on the current rayon pool.
    pub fn of(graph: &TransferGraph) -> Self {
        let mut merged = Self::new(graph.assets());
        merged.roots = graph.roots.len() as u64;
        for vertex in graph.graph.node_weights() {
            merged.addresses.push(vertex.address);
            merged.hops.entry(vertex.hop).or_default().0 += 1;
            let mut expansions = merged.expansions.iter_mut();
            match expansions.find(|(expansion, _)| *expansion == vertex.expansion) {
                Some((_, vertices)) => *vertices += 1,
                None => merged.expansions.push((vertex.expansion, 1)),
            }
        }
        let numbers: HashMap<Asset, u32> = merged.assets.iter().copied().zip(0..).collect();
        // Vertices are numbered in `u32`.
        let number = |vertex: crate::VertexId| u32::try_from(vertex.index()).unwrap_or_default();
        for edge in graph.graph.edge_references() {
            let crate::Edge { transfer, hop } = edge.weight();
            let asset = numbers.get(&Asset::of(transfer));
            merged.add(
                [number(edge.source()), number(edge.target())],
                asset.copied().unwrap_or_default(),
                *hop,
                transfer,
            );
            merged.hops.entry(*hop).or_default().1 += 1;
        }
        merged.finished()
    }

    fn new(assets: Vec<Asset>) -> Self {
        Self {
            addresses: Vec::new(),
            zero: None,
            zero_values: vec![0; assets.len()],
            assets,
            kinds: [0; Kind::ALL.len()],
            transfers: 0,
            roots: 0,
            hops: BTreeMap::new(),
            expansions: Vec::new(),
            blocks: Blocks::default(),
            edges: EdgeStore::default(),
        }
    }

    /// Adds a transfer, the blocks of which ascend.
    #[inline]
    fn add(&mut self, [from, to]: [u32; 2], asset: u32, hop: u32, transfer: &Transfer) {
        self.transfers += 1;
        self.kinds[transfer.kind as usize] += 1;
        self.zero_values[asset as usize] += u64::from(transfer.value.is_zero());
        let block = self
            .blocks
            .number(transfer.block_number, transfer.block_timestamp);
        self.edges.push(&EdgeSum {
            from,
            to,
            asset,
            count: 1,
            sum: widen(transfer.value),
            hop,
            first: block,
            last: block,
        });
    }

    fn finished(mut self) -> Self {
        self.edges.merge();
        let mut addresses = self.addresses.iter();
        let zero = addresses.position(|address| address.is_zero());
        self.zero = zero.and_then(|number| u32::try_from(number).ok());
        self
    }

    /// The number of edges.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// Returns the edges by the numbers of sender, receiver and asset.
    pub fn edges(&self) -> impl Iterator<Item = EdgeSum> {
        self.edges.iter()
    }

    /// Returns the edges at these ascending places of [`Self::edges`].
    ///
    /// # Panics
    ///
    /// If there is no such place.
    pub fn edges_at<'a>(&'a self, places: &'a [u32]) -> impl Iterator<Item = EdgeSum> + 'a {
        self.edges.at(places)
    }

    /// Returns an edge with what its numbers stand for.
    pub fn stored(&self, edge: &EdgeSum) -> StoredEdge {
        StoredEdge {
            from: self.address(edge.from),
            to: self.address(edge.to),
            asset: self.asset(edge.asset),
            count: edge.count,
            sum: edge.sum,
            first: self.block(edge.first),
            last: self.block(edge.last),
        }
    }

    /// Returns the distinct (sender, receiver), ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut last = None;
        let ends = self.edges().map(|edge| (edge.from, edge.to));
        ends.filter(move |pair| last.replace(*pair) != Some(*pair))
    }

    /// Returns the block with this number, and its time if it is known.
    pub fn block(&self, number: u32) -> (u64, Option<BlockTime>) {
        self.blocks.0[number as usize]
    }

    /// Returns the number of an asset.
    pub fn asset(&self, number: u32) -> Asset {
        self.assets[number as usize]
    }

    /// Returns the address with this number.
    pub fn address(&self, number: u32) -> Address {
        self.addresses[number as usize]
    }
}

/// An edge of a [`MergedGraph`] in a form that can be stored, and added to another graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredEdge {
    /// Sender.
    pub from: Address,
    /// Receiver.
    pub to: Address,
    /// The asset.
    pub asset: Asset,
    /// The number of transfers.
    pub count: u64,
    /// Sum of their amounts.
    pub sum: AmountSum,
    /// Block of the first, and its time if it is known.
    pub first: (u64, Option<BlockTime>),
    /// Block of the last, and its time if it is known.
    pub last: (u64, Option<BlockTime>),
}

/// Blocks with transfers, ascending, by number. A number takes half the space of a block, and
/// an edge needs no times.
#[derive(Debug, Default)]
struct Blocks(Vec<(u64, Option<BlockTime>)>);

impl Blocks {
    /// Returns the number of a block, which is the last one or new.
    fn number(&mut self, block: u64, time: Option<BlockTime>) -> u32 {
        if self.0.last().is_none_or(|(last, _)| *last != block) {
            self.0.push((block, time));
        }
        // A chain of 2^32 blocks takes 1,600 years at 12 seconds each.
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }
}
