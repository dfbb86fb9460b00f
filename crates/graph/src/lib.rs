//! Breadth-first search over any [`TransferSource`](txgraph_transfers::TransferSource),
//! and the graph it builds. In: roots, a filter, limits. Out: a [`TransferGraph`]. It
//! does not know whether transfers came from logs, replay, an index or a cluster.

mod amount;
mod assemble;
mod graph;
mod merge;
mod search;
pub mod testing;

pub use amount::{AmountSum, widen};
pub use graph::{
    Asset, AssetTotals, Edge, Expansion, LimitHit, MergedEdge, TransferGraph, Vertex, VertexId,
};
pub use search::{SearchError, SearchRequest, search};
