//! Measures over a finished [`txgraph_graph::TransferGraph`], one file per
//! measure. In: the graph. Out: plain results, which serialise (amounts as decimal
//! text, addresses as lower-case hex) and turn into [`Table`]s. It reads no chain,
//! prints nothing, and knows no file format.
//!
//! Every result is in a total order of its own and the same for equal graphs.
//! Sums are exact; only shares and means are rounded, each once.

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
