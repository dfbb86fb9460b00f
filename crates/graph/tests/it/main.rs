//! Tests of the search: cases by hand, and comparison with a naive search.

#![expect(clippy::cast_possible_truncation, reason = "test sizes are small")]

mod cases;
mod fixtures;
mod flows;
mod naive;
mod paths;
mod property;
mod reading;
mod routes;
mod swaps;

use txgraph_graph::{SearchError, SearchRequest, TransferGraph, search};
use txgraph_transfers::TransferSource;

/// Searches with this much memory; without any, by a scan per hop.
fn search_within(
    source: &dyn TransferSource,
    request: &SearchRequest,
    memory_bytes_max: u64,
) -> Result<TransferGraph, SearchError> {
    let request = SearchRequest {
        memory_bytes_max,
        ..request.clone()
    };
    search(source, &request)
}

/// Searches in one pass and with a scan per hop.
fn search_both(source: &dyn TransferSource, request: &SearchRequest) -> TransferGraph {
    let graph = search(source, request).expect("a graph");
    let by_hop = search_within(source, request, 0).expect("a graph");
    // Not `assert_eq`, whose message would be too long.
    assert!(
        content(&graph) == content(&by_hop),
        "modes differ: {request:?}"
    );
    graph
}

/// Returns the content of a graph as text.
fn content(graph: &TransferGraph) -> String {
    let TransferGraph {
        graph: petgraph,
        roots,
        limits,
        swaps,
        scan,
        ..
    } = graph;
    let vertices: Vec<_> = petgraph.node_weights().collect();
    let edges: Vec<_> = petgraph
        .raw_edges()
        .iter()
        .map(|e| (e.source(), e.target(), &e.weight))
        .collect();
    format!("{vertices:#?} {edges:#?} {roots:?} {limits:?} {swaps:?} {scan:?}")
}
