//! From what a walk found to the graph that is returned.

use crate::{
    Edge, Expansion, LimitHit, SearchError, SearchRequest, TransferGraph, Vertex, VertexId,
    assemble::{Graph, add_edge, add_vertex},
    interner::NONE,
    rows::{Names, RowStore},
    totals::count_totals,
    walk::{Kept, Met},
};
use txgraph_transfers::{ScanReport, TransferSource};

/// Transfers whose hashes are asked for at once: enough for a source to share the work
/// among threads, little memory beside the graph.
const HASHES_BATCH: usize = 1 << 16;

/// All that the graph is made of.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) names: Names,
    pub(crate) rows: RowStore,
    /// In total order.
    pub(crate) kept: Vec<Kept>,
    pub(crate) met: Vec<Met>,
    pub(crate) limits: Vec<LimitHit>,
    pub(crate) report: ScanReport,
}

/// Numbers the vertices, resolves the hashes of the edges and counts the totals.
pub(crate) fn build(
    source: &dyn TransferSource,
    request: &SearchRequest,
    found: Found,
) -> Result<TransferGraph, SearchError> {
    let Found {
        names,
        rows,
        kept,
        met,
        limits,
        report,
    } = found;
    let mut graph = Graph::with_capacity(met.len(), kept.len());

    let mut vertices: Vec<_> = met
        .iter()
        .map(|met| (met.hop, names.addresses.value(met.address), met))
        .collect();
    vertices.sort_unstable_by_key(|(hop, address, _)| (*hop, *address));
    // By number of the address.
    let mut ids = vec![VertexId::new(NONE as usize); names.addresses.len()];
    for (hop, address, met) in vertices {
        // Every vertex was decided by the last frontier that had it.
        let expansion = met.expansion.unwrap_or(Expansion::LastHop);
        let label = request.stop_at.get(&address).cloned();
        let vertex = Vertex {
            label,
            ..Vertex::new(address, hop, expansion)
        };
        ids[met.address as usize] = add_vertex(&mut graph, vertex)?;
    }
    let roots = graph
        .node_indices()
        .take_while(|id| graph[*id].hop == 0)
        .collect();

    // One buffer for all batches.
    let mut transfers = Vec::new();
    for batch in kept.chunks(HASHES_BATCH) {
        transfers.extend(batch.iter().map(|kept| rows.transfer(kept.row, &names)));
        source.fill_hashes(&mut transfers)?;
        for (&Kept { row, hop }, transfer) in batch.iter().zip(transfers.drain(..)) {
            let row = rows.row(row);
            let (source, target) = (ids[row.from as usize], ids[row.to as usize]);
            add_edge(&mut graph, source, target, Edge { transfer, hop })?;
        }
    }
    // Room for the totals.
    drop((names, rows, kept, ids, transfers));
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
        min_value: request.filter.min_value,
        limits,
        scan: report,
    })
}
