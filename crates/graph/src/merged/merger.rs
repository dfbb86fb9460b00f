//! Merges transfers while they are read.

use super::{EdgeSum, MergedGraph, StoredEdge};
use crate::{Asset, Expansion, SearchError, request::NONE};
use alloy_primitives::Address;
use txgraph_base::Interner;
use txgraph_transfers::Transfer;

/// Transfers whose ends are numbered at once.
const CHUNK: usize = 1 << 10;

/// Builds the [`MergedGraph`] of all transfers that it is given: as if every address were a
/// root that was expanded once, but with no vertex marked as a root. Every vertex has hop 0
/// and every edge hop 1, as in [`crate::TransferGraph::from_transfers`].
#[derive(Debug)]
pub struct Merger {
    addresses: Interner<Address>,
    assets: Interner<Asset>,
    graph: MergedGraph,
    by_asset: bool,
}

impl Default for Merger {
    fn default() -> Self {
        Self {
            addresses: Interner::default(),
            assets: Interner::default(),
            graph: MergedGraph::new(Vec::new()),
            by_asset: true,
        }
    }
}

impl Merger {
    /// A merger of edges that count the transfers of two addresses. Asset and sum of an edge have no
    /// meaning.
    pub fn of_pairs() -> Self {
        Self {
            by_asset: false,
            ..Self::default()
        }
    }

    /// Adds transfers, in their total order. Runs on the current rayon pool.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses or assets.
    pub fn add(&mut self, transfers: &[Transfer]) -> Result<(), SearchError> {
        let (mut ends, mut assets) = (Vec::new(), Vec::new());
        let (mut numbers, mut asset_numbers) = (Vec::new(), Vec::new());
        for chunk in transfers.chunks(CHUNK) {
            ends.clear();
            ends.extend(chunk.iter().flat_map(|t| [t.from_address, t.to_address]));
            numbers.clear();
            self.addresses.intern_all(&ends, &mut numbers)?;
            assets.clear();
            asset_numbers.clear();
            if self.by_asset {
                assets.extend(chunk.iter().map(Asset::of));
                self.assets.intern_all(&assets, &mut asset_numbers)?;
            } else {
                asset_numbers.resize(chunk.len(), self.assets.intern(Asset::NATIVE)?);
            }
            self.graph.zero_values.resize(self.assets.len(), 0);

            let numbers = numbers.chunks_exact(2).zip(&asset_numbers);
            for (transfer, (ends, asset)) in chunk.iter().zip(numbers) {
                self.graph.add([ends[0], ends[1]], *asset, 1, transfer);
            }
            self.graph.edges.merge_if_many();
        }
        Ok(())
    }

    /// Adds edges of a graph of later transfers. Their kinds, and which amounts are zero, are not
    /// known. Runs on the current rayon pool.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses or assets.
    pub fn add_stored(&mut self, edges: &[StoredEdge]) -> Result<(), SearchError> {
        let mut blocks = Vec::new();
        for block in edges.iter().flat_map(|edge| [edge.first, edge.last]) {
            if blocks.last() != Some(&block) {
                blocks.push(block);
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        let known = &mut self.graph.blocks;
        let block_numbers = blocks
            .iter()
            .map(|(block, time)| known.number(*block, *time));
        let block_numbers: Vec<_> = block_numbers.collect();
        let number = |block| {
            let place = blocks.binary_search(&block);
            place.map_or(0, |place| block_numbers[place])
        };
        let (mut ends, mut numbers) = (Vec::new(), Vec::new());
        for chunk in edges.chunks(CHUNK) {
            ends.clear();
            ends.extend(chunk.iter().flat_map(|edge| [edge.from, edge.to]));
            numbers.clear();
            self.addresses.intern_all(&ends, &mut numbers)?;
            for (edge, ends) in chunk.iter().zip(numbers.chunks_exact(2)) {
                let asset = self.assets.intern(edge.asset)?;
                self.graph.transfers += edge.count;
                self.graph.edges.push(&EdgeSum {
                    from: ends[0],
                    to: ends[1],
                    asset,
                    count: edge.count,
                    sum: edge.sum,
                    hop: 1,
                    first: number(edge.first),
                    last: number(edge.last),
                });
            }
            self.graph.edges.merge_if_many();
        }
        self.graph.zero_values.resize(self.assets.len(), 0);
        Ok(())
    }

    /// Returns the graph. Runs on the current rayon pool.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 edges.
    pub fn finish(self) -> Result<MergedGraph, SearchError> {
        let Self {
            addresses,
            assets,
            mut graph,
            ..
        } = self;
        graph.addresses = addresses.into_values();
        graph.assets = assets.into_values();
        let vertices = graph.addresses.len() as u64;
        if vertices > 0 {
            graph.hops = [(0, (vertices, 0)), (1, (0, graph.transfers))].into();
            graph.expansions = vec![(Expansion::Expanded, vertices)];
        }
        let graph = graph.finished();
        match graph.edge_count() < NONE as usize {
            true => Ok(graph),
            false => Err(SearchError::TooLarge { what: "edges" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MergedEdge, testing};
    use alloy_primitives::U256;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use txgraph_transfers::TokenStandard;

    /// Transfers of up to ten addresses, one of them zero, and of four assets, two of which
    /// have the same contract (DN-404).
    fn some_transfers() -> impl Strategy<Value = Vec<Transfer>> {
        let address = || prop::sample::select(vec!["0", "a", "b", "c", "d", "e", "f", "g", "h"]);
        let token = prop::sample::select(vec!["eth", "T", "U", "T721"]);
        let value = prop_oneof![(0u64..3).prop_map(U256::from), Just(U256::MAX)];
        proptest::collection::vec((address(), address(), token, value, 0u64..30), 0..60).prop_map(
            |mut all| {
                all.sort_by_key(|(.., block)| *block);
                let transfer =
                    |(index, (from, to, token, value, block)): (u32, (_, _, &str, _, _))| {
                        let ends: [Address; 2] = [from, to].map(testing::address);
                        let contract = token.trim_end_matches("721");
                        let mut made =
                            testing::transfer((block, index), contract, ends[0], ends[1], value);
                        if contract != token {
                            made.token_standard = TokenStandard::Erc721;
                        }
                        made
                    };
                (0..).zip(all).map(transfer).collect()
            },
        )
    }

    type Content = (
        BTreeMap<(Address, Address, Asset), (u64, crate::AmountSum, u32, u64, u64)>,
        BTreeMap<Asset, u64>,
    );

    fn content(graph: &MergedGraph) -> Content {
        let edges = graph.edges().map(|edge| {
            let key = (
                graph.address(edge.from),
                graph.address(edge.to),
                graph.asset(edge.asset),
            );
            let blocks = [edge.first, edge.last].map(|block| graph.block(block).0);
            (key, (edge.count, edge.sum, edge.hop, blocks[0], blocks[1]))
        });
        let zeros = graph
            .assets
            .iter()
            .copied()
            .zip(graph.zero_values.iter().copied());
        (edges.collect(), zeros.collect())
    }

    proptest! {
        /// Graphs of consecutive blocks, stored and added up, are the graph of all.
        #[test]
        fn stored_graphs_add_up(transfers in some_transfers(), blocks in 1u64..30) {
            let mut whole = Merger::default();
            whole.add(&transfers).unwrap();
            let mut sum = Merger::default();
            for chunk in transfers.chunk_by(|a, b| a.block_number / blocks == b.block_number / blocks) {
                let mut merger = Merger::default();
                merger.add(chunk).unwrap();
                let graph = merger.finish().unwrap();
                let mut edges: Vec<_> = graph.edges().map(|edge| graph.stored(&edge)).collect();
                edges.reverse();
                sum.add_stored(&edges).unwrap();
            }
            let (whole, sum) = (whole.finish().unwrap(), sum.finish().unwrap());
            prop_assert_eq!(content(&sum).0, content(&whole).0);
            prop_assert_eq!(sum.transfers, whole.transfers);
            prop_assert_eq!(&sum.hops, &whole.hops);
        }

        #[test]
        fn streamed_graph_equals_graph_of_transfers(transfers in some_transfers(), batch in 1usize..20) {
            let mut merger = Merger::default();
            for batch in transfers.chunks(batch) {
                merger.add(batch).unwrap();
            }
            let streamed = merger.finish().unwrap();
            let whole = testing::graph(transfers.clone());
            let merged = MergedGraph::of(&whole);
            prop_assert_eq!(content(&streamed), content(&merged));
            prop_assert_eq!(streamed.kinds, merged.kinds);
            prop_assert_eq!(streamed.transfers, transfers.len() as u64);
            prop_assert_eq!(merged.transfers, transfers.len() as u64);
            prop_assert_eq!(&streamed.hops, &merged.hops);
            prop_assert_eq!(&streamed.expansions, &merged.expansions);
            let zero = |graph: &MergedGraph| graph.zero.map(|number| graph.address(number));
            prop_assert_eq!(zero(&streamed), zero(&merged));
            prop_assert_eq!(streamed.pairs().count(), merged.pairs().count());
            // The edges of the graph are in the order of its vertices and assets.
            let edges: Vec<MergedEdge> = testing::merged(&whole);
            let key = |edge: &MergedEdge| (edge.source, edge.target, edge.asset);
            prop_assert!(edges.is_sorted_by_key(key));
            prop_assert_eq!(edges.len(), streamed.edge_count());
        }
    }
}
