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

use txgraph_graph::TransferGraph;

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
