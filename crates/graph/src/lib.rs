//! Breadth-first search over any [`TransferSource`](txgraph_transfers::TransferSource),
//! and the graph it builds. In: roots, a filter, limits. Out: a [`TransferGraph`]. It
//! does not know whether transfers came from logs, replay, an index or a cluster.

// The question, and how it is read from the source.
mod plan;
mod request;
mod scan;

// Transfers in memory.
mod csr;
mod interner;
mod rows;

// The search.
mod search;
mod timing;
mod walk;

// The answer.
mod amount;
mod answer;
mod assemble;
mod graph;
mod merge;
mod totals;

pub mod testing;

pub use amount::{AmountSum, widen};
pub use csr::Csr;
pub use graph::{
    Asset, AssetTotals, Edge, Expansion, LimitHit, MergedEdge, TransferGraph, Vertex, VertexId,
};
pub use request::{SearchError, SearchRequest};
pub use search::search;
