//! The search: scans, and expansion over what they fetched.

use crate::{
    SearchError, SearchRequest, TransferGraph,
    build::{self, SearchResult},
    expand::{EdgeRow, Expander, FrontierVertex},
    plan::Plan,
    rows::{Interned, RowStore},
    scan::{self, Fetched},
};
use txgraph_transfers::{ScanReport, SourceError, TransferSource};

/// Searches breadth first from the roots.
///
/// Equal requests on equal chains give equal graphs, whatever the batches of the source and
/// the memory of the search.
///
/// # Errors
///
/// [`SourceError::Reorged`] if the chain was reorganized during the search: transfers of
/// different chains are never mixed. The caller decides whether to search again.
pub fn search(
    source: &dyn TransferSource,
    request: &SearchRequest,
) -> Result<TransferGraph, SearchError> {
    let roots = &request.checked_roots()?;
    // Roots first, so that their numbers never change.
    let mut interned = Interned::with_addresses(roots)?;
    let mut expander = Expander::new(request, roots.len());
    let frontier = expander.frontier(0, &interned);

    let plan = Plan::choose(source, request)?;
    // The one that is asked for frontiers.
    let (by_frontier, whole): (&dyn TransferSource, _) = match &plan {
        Plan::ByHop(prepared) => (&*prepared.source, prepared.report.as_ref()),
        _ => (source, None),
    };
    let mut fetched = match &plan {
        Plan::RootsOnly => Fetched::default(),
        Plan::OneHop | Plan::ByHop(_) => {
            scan::fetch_touching(by_frontier, request, roots, None, &mut interned)?
        }
        Plan::OnePass => scan::fetch_all(source, request, roots, &mut interned)?,
    };
    let mut report = std::mem::take(&mut fetched.report);
    // Without a report of the whole request, use the report of the first hop.
    if let Some(whole) = whole {
        same_chain(whole, &report)?;
        report = whole.clone();
    }
    let by_hop = match plan {
        Plan::RootsOnly | Plan::OneHop => false,
        Plan::OnePass => !fetched.whole,
        Plan::ByHop(_) => true,
    };
    tracing::debug!(by_hop, transfers = fetched.rows.len(), "scanned");

    let (rows, edge_rows) = if by_hop || request.through_swaps {
        expand_by_scans(
            (source, by_frontier),
            request,
            &mut expander,
            frontier,
            fetched,
            &report,
            &mut interned,
        )?
    } else {
        let edge_rows = expand_in_memory(request, &mut expander, frontier, &fetched, &interned);
        (fetched.rows, edge_rows)
    };
    let (visited, limits, swaps) = expander.finish();
    build::build(
        source,
        request,
        SearchResult {
            interned,
            rows,
            edge_rows,
            visited,
            limits,
            swaps,
            report,
        },
    )
}

/// Expands all hops over one scan. Returns the rows of edges, in total order.
fn expand_in_memory(
    request: &SearchRequest,
    expander: &mut Expander<'_>,
    mut frontier: Vec<FrontierVertex>,
    fetched: &Fetched,
    interned: &Interned,
) -> Vec<EdgeRow> {
    let csr = (fetched.rows).by_address(request.direction, interned.addresses.len());
    let mut edge_rows = Vec::new();
    let mut hop = 0;
    while !frontier.is_empty() {
        edge_rows.extend(expander.expand(hop, &frontier, fetched, &csr, interned).0);
        hop += 1;
        frontier = expander.frontier(hop, interned);
    }
    // Rows are in total order.
    edge_rows.sort_unstable();
    edge_rows
}

/// Expands with a scan per hop; `fetched` comes from the first. If it is whole, it serves all hops, and
/// only swaps are read. Returns the rows of edges, in total order.
fn expand_by_scans(
    (source, by_frontier): (&dyn TransferSource, &dyn TransferSource),
    request: &SearchRequest,
    expander: &mut Expander<'_>,
    mut frontier: Vec<FrontierVertex>,
    mut fetched: Fetched,
    report: &ScanReport,
    interned: &mut Interned,
) -> Result<(RowStore, Vec<EdgeRow>), SearchError> {
    let mut rows = RowStore::default();
    let mut edge_rows = Vec::new();
    let mut hop = 0;
    let mut csr = (fetched.rows).by_address(request.direction, interned.addresses.len());
    loop {
        expander.read_swaps(source, &frontier, (&fetched, &csr), interned)?;
        let (mut followed, mut legs) = expander.expand(hop, &frontier, &fetched, &csr, interned);
        // Adjacent rows of one block share its entry.
        followed.sort_unstable();
        for EdgeRow { row, hop } in followed {
            edge_rows.push(EdgeRow {
                row: rows.push_from(&fetched.rows, row)?,
                hop,
            });
        }
        if let Some(swap_rows) = expander.swap_rows() {
            legs.sort_unstable();
            for EdgeRow { row, hop } in legs {
                edge_rows.push(EdgeRow {
                    row: rows.push_from(swap_rows, row)?,
                    hop,
                });
            }
        }
        hop += 1;
        frontier = expander.frontier(hop, interned);
        if frontier.is_empty() {
            break;
        }
        if fetched.whole {
            continue;
        }
        // Frees memory for the next scan.
        drop((csr, fetched));
        let mut addresses: Vec<_> = frontier
            .iter()
            .map(|vertex| interned.addresses.value(vertex.address))
            .collect();
        // In the order of the frontier.
        addresses.dedup();
        tracing::debug!(
            hop,
            frontier = addresses.len(),
            edges = edge_rows.len(),
            "scanning again"
        );
        let degree_max = request.max_degree;
        fetched = scan::fetch_touching(by_frontier, request, &addresses, degree_max, interned)?;
        csr = (fetched.rows).by_address(request.direction, interned.addresses.len());
        same_chain(report, &fetched.report)?;
    }
    edge_rows.sort_unstable_by_key(|edge| rows.position(edge.row));
    Ok((rows, edge_rows))
}

/// Refuses to combine scans of different chains, or of blocks that were pruned in between.
///
/// # Errors
///
/// [`SourceError::Reorged`] if the reports differ in their blocks, gaps or last block.
pub fn same_chain(first: &ScanReport, later: &ScanReport) -> Result<(), SearchError> {
    let seen = |report: &ScanReport| {
        (
            report.covered.clone(),
            report.missing.clone(),
            report.last_block_hash,
        )
    };
    if seen(first) == seen(later) {
        return Ok(());
    }
    let block = first.covered.span().map_or(0, |span| span.last);
    Err(SourceError::Reorged { block }.into())
}
