//! Breadth-first search over any [`TransferSource`](txgraph_transfers::TransferSource), and
//! the merged graph of all transfers of a scan ([`Merger`]).
//!
//! Input: a [`SearchRequest`] with roots, a filter and limits. Output: a
//! [`TransferGraph`]. The search does not depend on whether transfers come from logs, a
//! replay, an index or a cluster.
//!
//! Modules, each using only those before it: amount, request, timing, graph, interner, ends,
//! merged, poisoning, rows, testing, totals, assemble, largest, merge, plan, scan, expand, build,
//! search, routes, shared.

// The request, and how it is read from the source.
mod plan;
mod request;
mod scan;

// Transfers in memory.
mod interner;
mod rows;

// The search.
mod expand;
mod search;
mod timing;

// The result.
mod amount;
mod assemble;
mod build;
mod ends;
mod graph;
mod largest;
mod merge;
mod merged;
mod poisoning;
mod totals;

// Questions that searches answer.
mod routes;
mod shared;

pub mod testing;

pub use amount::{AmountSum, widen};
pub use ends::{Contracts, EndReason, TrailEnd, Unchecked};
pub use graph::{
    Asset, AssetTotals, Edge, Expansion, LimitHit, MergedEdge, TransferGraph, Vertex, VertexId,
};
pub use interner::Interner;
pub use merged::{EdgeSum, MergedGraph, Merger};
pub use poisoning::{Poisoning, ZeroValue};
pub use request::{SearchError, SearchRequest};
pub use routes::{Routes, routes};
pub use scan::scan;
pub use search::{same_chain, search};
pub use shared::{Exchanged, Shared, SharedCounterparty, shared};
pub use txgraph_transfers::Csr;

// The type of `TransferGraph::graph`.
pub use petgraph;
