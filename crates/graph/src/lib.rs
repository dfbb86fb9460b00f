//! Breadth-first search over any [`TransferSource`](txgraph_transfers::TransferSource), and
//! the merged graph of all transfers of a scan ([`Merger`]).
//!
//! Input: a [`SearchRequest`] with roots, a filter and limits. Output: a
//! [`TransferGraph`]. The search does not depend on whether transfers come from logs, a
//! replay, an index or a cluster.
//!
//! Modules, each using only those before it: amount, netting, request, timing, graph, disorder, branch_ends,
//! merged, poisoning, rows, totals, assemble, top_counterparties, merged_edges, plan, scan, transactions, testing,
//! swaps, expand, build, search, hubs, paths, common_counterparties.

// The request, and how it is read from the source.
mod plan;
mod request;
mod scan;

// Transfers in memory.
mod rows;

// The search.
mod expand;
mod search;
mod swaps;
mod timing;

// The result.
mod amount;
mod assemble;
mod branch_ends;
mod build;
mod disorder;
mod graph;
mod merged;
mod merged_edges;
mod poisoning;
mod top_counterparties;
mod totals;

// The swaps of transactions.
mod netting;
mod transactions;

// Queries that searches answer.
mod common_counterparties;
mod hubs;
mod paths;

pub mod testing;

pub use amount::{AmountSum, widen};
pub use branch_ends::{BranchEnd, Contracts, EndReason, Unchecked};
pub use common_counterparties::{
    CommonCounterparties, CommonCounterparty, TransferCounts, common_counterparties,
};
pub use graph::{
    Asset, AssetTotals, Edge, Expansion, LimitHit, MergedEdge, SwapCounts, TransferGraph, Vertex,
    VertexId,
};
pub use hubs::HUB_COUNTERPARTIES;
pub use merged::{EdgeSum, MergedGraph, Merger, StoredEdge};
pub use netting::{NetChange, Netting, Swap, net_changes, netting, parties};
pub use paths::{
    Continuation, Flow, Leg, ROUTES_MAX, Route, RoutesCut, TransferFlows, TransferPaths,
    transfer_flows, transfer_paths,
};
pub use poisoning::{Poisoning, ZeroValue, lookalike_key};
pub use request::{SearchError, SearchRequest};
pub use scan::scan;
pub use search::{same_chain, search};
pub use transactions::{Nettings, read_nettings};
pub use txgraph_transfers::Csr;

// The type of `TransferGraph::graph`.
pub use petgraph;
