//! Measures of transfers, one file per measure.
//!
//! Input: a [`MergedGraph`](txgraph_graph::MergedGraph), which comes from the graph of a search
//! or from all transfers of a scan; for components, patterns and taint,
//! the transfers ([`Connected`], [`PatternFinder`], [`TaintTracker`]). Output: plain results that implement [`MeasureResult`]: they serialize
//! (amounts as decimal text, addresses as lower-case hex) and turn into [`Table`]s. This
//! crate reads no chain, prints nothing and has no file formats.
//!
//! Every result has a total order and is the same for equal graphs. Sums are exact. Only
//! shares and means are rounded, each once.
//!
//! Modules, each using only those before it: ratio, scc, serial, transfer_json, value,
//! concentration, table, tokens, components, cycles, degree, pairs, patterns, rank, taint, summary,
//! volume, partitioned.

mod components;
mod concentration;
mod cycles;
mod degree;
mod pairs;
pub mod partitioned;
mod patterns;
mod rank;
mod ratio;
mod scc;
mod serial;
mod summary;
mod table;
mod taint;
mod tokens;
mod transfer_json;
mod value;
mod volume;

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
pub use patterns::{
    Evidence, Finding, Pattern, PatternFinder, PatternRule, Patterns, SpenderApproval,
    TransactionEnds,
};
pub use rank::{RankSettings, Ranked, Ranking, rank};
pub use ratio::share;
pub use summary::{
    AssetCounts, AssetSummary, BusyAddress, End, ExpansionCount, HopCount, KindCount, Summary,
    SummaryCounts, SummarySettings, asset_counts, each_side, summary,
};
pub use table::{MeasureResult, Table};
pub use taint::{
    Taint, TaintEnd, TaintMethod, TaintRow, TaintRule, TaintSink, TaintTracker, TaintedSlot,
    TaintedSwap,
};
pub use tokens::{MotifCounts, TokenCounts, TokenEnd, rank_tokens, tokens};
pub use value::{Attribute, Column, ColumnType, Value};
pub use volume::{Volume, VolumeBy, VolumeCounter, VolumeRow, VolumeSettings, volume};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use txgraph_graph::{MergedGraph, Merger, Nettings, SearchError, testing};
    use txgraph_transfers::TokenFilter;

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

    /// Users name tables by id (`--table`), so ids must not change.
    #[test]
    fn table_ids_are_stable() {
        let graph = testing::graph(Vec::new());
        let merged = MergedGraph::of(&graph);
        let proceed = || Ok::<_, SearchError>(());
        let tables = [
            summary(&merged, &SummarySettings::default()).tables(),
            pairs(&merged, &PairSettings::default()).tables(),
            degrees(&merged, 3).tables(),
            cycles(&merged, None).tables(),
            components(&graph, None).unwrap().tables(),
            volume(&graph, VolumeSettings::default()).unwrap().tables(),
            PatternFinder::default()
                .finish(None, proceed)
                .unwrap()
                .tables(),
            rank(
                &graph,
                &TokenFilter::All,
                &Nettings::new(),
                RankSettings::default(),
                None,
                proceed,
            )
            .unwrap()
            .tables(),
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
                "volume",
                "patterns",
                "evidence",
                "rules",
                "ranks",
                "ends",
                "sources",
                "ledger",
                "swaps",
                "slots",
            ]
        );
    }
}
