//! Measures of transfers, one file per measure.
//!
//! Input: a [`MergedGraph`](txgraph_graph::MergedGraph), which comes from the graph of a search
//! or from all transfers of a scan; for components and taint,
//! the transfers ([`Connected`], [`TaintTracker`]). Output: plain results that implement [`MeasureResult`]: they serialize
//! (amounts as decimal text, addresses as lower-case hex) and turn into [`Table`]s. This
//! crate reads no chain, prints nothing and has no file formats.
//!
//! Every result has a total order and is the same for equal graphs. Sums are exact. Only
//! shares and means are rounded, each once.
//!
//! Modules, each using only those before it: ratio, scc, serial, value, table, components, concentration,
//! degree, cycles, pairs, taint, summary, tokens, partitioned.

mod components;
mod concentration;
mod cycles;
mod degree;
mod pairs;
pub mod partitioned;
mod ratio;
mod scc;
mod serial;
mod summary;
mod table;
mod taint;
mod tokens;
mod value;

#[cfg(test)]
mod oracle;

pub use components::{Branch, Component, Components, Connected, components};
pub use concentration::{Participant, Side, SideCounts, TopAddress, TopShare};
pub use cycles::{CycleAsset, CycleGroup, Cycles, SelfLoop, cycles};
pub use degree::{
    AtLeast, DegreeBucket, DegreeCounts, DegreeStats, Degrees, HubDegree, VertexDegrees, degrees,
    vertex_degrees,
};
pub use pairs::{Pair, PairOrder, PairSettings, Pairs, first_pairs, pairs};
pub use summary::{
    AssetCounts, AssetSummary, BusyAddress, End, ExpansionCount, HopCount, KindCount, Summary,
    SummaryCounts, SummarySettings, asset_counts, each_side, summary,
};
pub use table::{MeasureResult, Table};
pub use taint::{Taint, TaintEnd, TaintMethod, TaintRow, TaintSink, TaintTracker};
pub use tokens::{MotifCounts, TokenCounts, TokenEnd, rank_tokens, tokens};
pub use value::{Attribute, Column, ColumnType, Value};

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::Address;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use txgraph_graph::{AmountSum, MergedGraph, Merger, StoredEdge, testing};

    /// The measures of a merged graph, as text.
    fn measured(graph: &MergedGraph) -> [String; 4] {
        let settings = SummarySettings { top: 3, assets: 2 };
        [
            serde_json::to_string(&summary(graph, &settings)),
            serde_json::to_string(&pairs(graph, &PairSettings::default())),
            serde_json::to_string(&degrees(graph, 3)),
            serde_json::to_string(&cycles(graph, None)),
        ]
        .map(Result::unwrap)
    }

    proptest! {
        /// Numbers of addresses and assets differ between the two graphs.
        #[test]
        fn streamed_measures_equal_those_of_the_graph(
            transfers in oracle::some_transfers(),
            batch in 1usize..20,
        ) {
            let mut merger = Merger::default();
            for batch in transfers.chunks(batch) {
                merger.add(batch).unwrap();
            }
            let streamed = measured(&merger.finish().unwrap());
            prop_assert_eq!(streamed, measured(&MergedGraph::of(&testing::graph(transfers))));
        }
    }

    /// A part of a graph: its edges as they are stored, without some facts.
    fn graph_of(edges: &[StoredEdge]) -> MergedGraph {
        let mut merger = Merger::default();
        merger.add_stored(edges).unwrap();
        merger.finish().unwrap()
    }

    proptest! {
        /// Edges, then vertices, assets and sides in parts of any number have the measures of the
        /// whole graph.
        #[test]
        fn measures_of_parts_equal_those_of_the_whole(
            transfers in oracle::some_transfers(),
            parts in 1usize..6,
            chunk in 1u64..30,
        ) {
            let graph = MergedGraph::of(&testing::graph(transfers.clone()));
            let settings = SummarySettings { top: 3, assets: 2 };
            let part_of = |bytes: &[u8]| bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % parts;

            // Chunks of blocks, with their edges by pair, and their assets.
            let mut edges = vec![Vec::new(); parts];
            let mut assets = vec![BTreeMap::new(); parts];
            let mut counts = SummaryCounts::default();
            for chunk in transfers.chunk_by(|a, b| a.block_number / chunk == b.block_number / chunk) {
                let mut merger = Merger::default();
                merger.add(chunk).unwrap();
                let graph = merger.finish().unwrap();
                for edge in graph.edges().map(|edge| graph.stored(&edge)) {
                    let ends = [edge.from.min(edge.to), edge.from.max(edge.to)].concat();
                    edges[part_of(&ends)].push(edge);
                }
                for counts in asset_counts(&graph) {
                    let part = part_of(counts.asset.token_address.unwrap_or_default().as_slice());
                    let counts = AssetCounts { pairs: 0, ..counts };
                    let known = assets[part].entry(counts.asset);
                    known.or_insert(AssetCounts::none(counts.asset)).add(&counts);
                }
                counts.transfers += graph.transfers;
                for (ours, theirs) in counts.kinds.iter_mut().zip(graph.kinds) {
                    *ours += theirs;
                }
            }
            for assets in assets {
                let assets = assets.into_values().collect();
                counts.merge(SummaryCounts::of_assets(assets, &settings), &settings);
            }

            // Edges, with their vertices by address, and their sides by address.
            let listed: Vec<_> = counts.listed().collect();
            let mut vertices = vec![BTreeMap::<Address, VertexDegrees>::new(); parts];
            let mut sides = vec![BTreeMap::<_, BTreeMap<Address, Participant>>::new(); parts];
            let mut listed_pairs = Vec::new();
            let by_sum = PairSettings { order: PairOrder::Amount, limit: Some(2) };
            for edges in &edges {
                let graph = graph_of(edges);
                for (address, degrees) in graph.addresses.iter().zip(vertex_degrees(&graph)) {
                    let known = vertices[part_of(address.as_slice())].entry(*address).or_default();
                    known.iter_mut().zip(degrees).for_each(|(known, more)| *known += more);
                }
                counts.merge(SummaryCounts::of_edges(&graph, &listed), &settings);
                each_side(&graph, &listed, |asset, end, participants| {
                    for one in participants {
                        let side = sides[part_of(one.address.as_slice())].entry((asset, end)).or_default();
                        let known = side.entry(one.address);
                        let known = known.or_insert(Participant { transfers: 0, amount: AmountSum::ZERO, ..one });
                        known.transfers += one.transfers;
                        known.amount += one.amount;
                    }
                });
                let of_part = graph.edges().map(|edge| graph.stored(&edge));
                listed_pairs.extend(first_pairs(of_part.collect(), &by_sum));
            }
            let mut degree_counts = DegreeCounts::default();
            for vertices in vertices {
                let (addresses, degrees): (Vec<_>, Vec<_>) = vertices.into_iter().unzip();
                counts.merge(SummaryCounts::of_vertices(&addresses, &degrees, &settings), &settings);
                degree_counts.merge(DegreeCounts::of(&addresses, &degrees, 3), 3);
            }
            let mut lengths = BTreeMap::<_, Vec<_>>::new();
            for ((asset, end), side) in sides.into_iter().flatten() {
                for one in side.into_values() {
                    lengths.entry((asset, end, SideCounts::length(one.amount))).or_default().push(one);
                }
            }
            for ((asset, end, _), participants) in lengths {
                counts.add_side(asset, end, participants, &settings);
            }

            prop_assert_eq!(counts.finish_scan(&settings), summary(&graph, &settings));
            prop_assert_eq!(degree_counts.finish(), degrees(&graph, 3));
            let listed_pairs = first_pairs(listed_pairs, &by_sum).into_iter();
            let listed_pairs: Vec<_> = listed_pairs.map(|edge| Pair::new(edge, 1)).collect();
            prop_assert_eq!(listed_pairs, pairs(&graph, &by_sum).pairs);
        }
    }

    /// Users name tables by id (`--table`), so ids must not change.
    #[test]
    fn table_ids_are_stable() {
        let graph = testing::graph(Vec::new());
        let merged = MergedGraph::of(&graph);
        let tables = [
            summary(&merged, &SummarySettings::default()).tables(),
            pairs(&merged, &PairSettings::default()).tables(),
            degrees(&merged, 3).tables(),
            cycles(&merged, None).tables(),
            components(&graph, None).unwrap().tables(),
            TaintTracker::new(TaintMethod::Fifo, |_| None, |_, _| None)
                .finish()
                .tables(),
        ];
        let ids: Vec<_> = tables.iter().flatten().map(|table| table.id).collect();
        assert_eq!(
            ids,
            [
                "summary",
                "by-hop",
                "by-kind",
                "assets",
                "concentration",
                "top-senders-by-amount",
                "top-receivers-by-amount",
                "top-senders-by-transfers",
                "top-receivers-by-transfers",
                "pairs",
                "degrees",
                "vertices-with-at-least-n-transfers",
                "distribution-of-degrees",
                "hubs",
                "cycles",
                "moved-within-cycles",
                "addresses-in-cycles",
                "an-example-of-each-cycle",
                "self-transfers",
                "components",
                "components-by-size",
                "ends",
                "sources",
                "ledger",
            ]
        );
    }
}
