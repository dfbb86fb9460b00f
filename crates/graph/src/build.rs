//! Builds the graph from what the search visited.

use crate::{
    Edge, Expansion, LimitHit, SearchError, SearchRequest, SwapCounts, TransferGraph, Vertex,
    VertexId,
    expand::{EdgeRow, Visited},
    graph::{Graph, add_edge, add_vertex},
    request::NONE,
    rows::{Interned, RowStore},
    totals::count_totals,
};
use txgraph_transfers::{ScanReport, TransferSource};

/// Transfers whose hashes are requested at once: enough for a source to divide among
/// threads, and little memory compared with the graph.
const HASHES_BATCH: usize = 1 << 16;

/// Everything that the graph is built from.
#[derive(Debug)]
pub(crate) struct SearchResult {
    pub(crate) interned: Interned,
    pub(crate) rows: RowStore,
    /// In total order.
    pub(crate) edge_rows: Vec<EdgeRow>,
    pub(crate) visited: Vec<Visited>,
    pub(crate) limits: Vec<LimitHit>,
    pub(crate) swaps: SwapCounts,
    pub(crate) report: ScanReport,
}

/// Numbers the vertices, resolves the hashes of the edges and counts the totals.
pub(crate) fn build(
    source: &dyn TransferSource,
    request: &SearchRequest,
    result: SearchResult,
) -> Result<TransferGraph, SearchError> {
    let SearchResult {
        interned,
        rows,
        edge_rows,
        visited,
        limits,
        swaps,
        report,
    } = result;
    let mut graph = Graph::with_capacity(visited.len(), edge_rows.len());

    let mut vertices: Vec<_> = visited
        .iter()
        .map(|visited| {
            let address = interned.addresses.value(visited.address);
            (visited.hop, address, visited)
        })
        .collect();
    vertices.sort_unstable_by_key(|(hop, address, _)| (*hop, *address));
    // By number of the address.
    let mut ids = vec![VertexId::new(NONE as usize); interned.addresses.len()];
    for (hop, address, visited) in vertices {
        // The frontier of each hop decides its vertices; what remains is the last hop.
        let expansion = visited.expansion.unwrap_or(Expansion::LastHop);
        let vertex = Vertex {
            labels: request.labels.get(address),
            ..Vertex::new(address, hop, expansion)
        };
        ids[visited.address as usize] = add_vertex(&mut graph, vertex)?;
    }
    let roots = graph
        .node_indices()
        .take_while(|id| graph[*id].hop == 0)
        .collect();

    // One buffer for all batches.
    let mut transfers = Vec::new();
    for batch in edge_rows.chunks(HASHES_BATCH) {
        transfers.extend(batch.iter().map(|edge| rows.transfer(edge.row, &interned)));
        source.fill_hashes(&mut transfers, &report.anchors)?;
        for (&EdgeRow { row, hop }, transfer) in batch.iter().zip(transfers.drain(..)) {
            let row = rows.row(row);
            let (source, target) = (ids[row.from as usize], ids[row.to as usize]);
            add_edge(&mut graph, source, target, Edge { transfer, hop })?;
        }
    }
    // Counting totals needs the memory.
    drop((interned, rows, edge_rows, ids, transfers));
    count_totals(&mut graph);
    tracing::debug!(
        vertices = graph.node_count(),
        edges = graph.edge_count(),
        "graph built"
    );

    Ok(TransferGraph {
        graph,
        roots,
        chain: source.chain().clone(),
        blocks: request.blocks.clone(),
        hops: request.hops,
        direction: request.direction,
        limits,
        swaps,
        scan: report,
    })
}
