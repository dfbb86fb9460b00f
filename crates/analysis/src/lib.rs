//! Measures over a finished [`txgraph_graph::TransferGraph`], one file per measure.
//!
//! Input: the graph. Output: plain results that implement [`MeasureResult`]: they serialise
//! (amounts as decimal text, addresses as lower-case hex) and turn into [`Table`]s. This
//! crate reads no chain, prints nothing and has no file formats.
//!
//! Every result has a total order and is the same for equal graphs. Sums are exact. Only
//! shares and means are rounded, each once.

mod components;
mod concentration;
mod degree;
mod loops;
mod pairs;
mod ratio;
mod scc;
mod serial;
mod summary;
mod table;

#[cfg(test)]
mod oracle;

pub use components::{Component, Components, components};
pub use concentration::{Side, TopAddress, TopShare};
pub use degree::{AtLeast, DegreeBucket, DegreeStats, Degrees, degrees};
pub use loops::{Loop, LoopAsset, Loops, SelfLoop, loops};
pub use pairs::{Pair, PairOrder, PairSettings, Pairs, pairs};
pub use summary::{
    AssetSummary, BusyAddress, ExpansionCount, HopCount, KindCount, Summary, SummarySettings,
    summary,
};
pub use table::{Cell, CellKind, Column, MeasureResult, Table};

#[cfg(test)]
mod tests {
    use super::*;

    /// Users name tables by id (`--table`), so ids must not change.
    #[test]
    fn table_ids_are_stable() {
        let graph = txgraph_graph::testing::graph(Vec::new());
        let tables = [
            summary(&graph, &SummarySettings::default()).tables(),
            pairs(&graph, &PairSettings::default()).tables(),
            degrees(&graph).tables(),
            loops(&graph, None).tables(),
            components(&graph, None).tables(),
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
                "closed-loops",
                "moved-within-loops",
                "addresses-in-loops",
                "an-example-cycle-of-each-loop",
                "self-transfers",
                "components",
                "components-by-size",
            ]
        );
    }
}
