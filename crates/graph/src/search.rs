//! The search: scans, and the walk over what they fetched.

use crate::{
    SearchError, SearchRequest, TransferGraph,
    answer::{self, Found},
    csr::Csr,
    plan::Plan,
    rows::{Names, RowStore},
    scan::{self, Fetched},
    walk::{Front, Kept, Walk},
};
use alloy_primitives::Address;
use txgraph_transfers::{ScanReport, SourceError, TransferSource};

/// How often a search starts again when the chain was reorganised under it.
const RESTARTS_MAX: u32 = 3;

/// Searches breadth first from the roots.
///
/// Equal questions to equal chains give equal graphs, whatever batches the source makes
/// and whatever memory the search may use. If the chain is reorganised meanwhile the
/// search starts again, a few times; nothing of the old chain is kept.
pub fn search(
    source: &dyn TransferSource,
    request: &SearchRequest,
) -> Result<TransferGraph, SearchError> {
    let roots = request.checked_roots()?;
    let mut restarts = 0;
    loop {
        match attempt(source, request, &roots) {
            Err(SearchError::Source(SourceError::Reorged { block })) if restarts < RESTARTS_MAX => {
                restarts += 1;
                tracing::warn!(
                    block,
                    restarts,
                    "the chain was reorganised; searching again"
                );
            }
            result => return result,
        }
    }
}

fn attempt(
    source: &dyn TransferSource,
    request: &SearchRequest,
    roots: &[Address],
) -> Result<TransferGraph, SearchError> {
    // Roots first, so that their numbers are known however the other names change.
    let mut names = Names::with_addresses(roots)?;
    let mut walk = Walk::new(request, roots.len());
    let frontier = walk.frontier(0, &names);

    let plan = Plan::choose(source, request)?;
    let mut fetched = match &plan {
        Plan::RootsOnly => Fetched::default(),
        Plan::OneHop | Plan::ByHop { .. } => {
            scan::fetch_touching(source, request, roots, None, &mut names)?
        }
        Plan::OnePass => scan::fetch_all(source, request, roots, &mut names)?,
    };
    let mut report = std::mem::take(&mut fetched.report);
    let by_hop = match plan {
        Plan::RootsOnly | Plan::OneHop => false,
        Plan::OnePass => !fetched.whole,
        Plan::ByHop { report: whole } => {
            same_chain(&whole, &report)?;
            report = whole;
            true
        }
    };
    tracing::debug!(by_hop, transfers = fetched.rows.len(), "scanned");

    let (rows, kept) = if by_hop {
        walk_by_scans(
            source, request, &mut walk, frontier, fetched, &report, &mut names,
        )?
    } else {
        let kept = walk_in_memory(request, &mut walk, frontier, &fetched, &names);
        (fetched.rows, kept)
    };
    let (met, limits) = walk.finish();
    answer::build(
        source,
        request,
        Found {
            names,
            rows,
            kept,
            met,
            limits,
            report,
        },
    )
}

/// All hops over one scan. The rows kept, in total order.
fn walk_in_memory(
    request: &SearchRequest,
    walk: &mut Walk<'_>,
    mut frontier: Vec<Front>,
    fetched: &Fetched,
    names: &Names,
) -> Vec<Kept> {
    let csr = Csr::of_rows(
        fetched.rows.rows(),
        request.direction,
        names.addresses.len(),
    );
    let mut kept = Vec::new();
    let mut hop = 0;
    while !frontier.is_empty() {
        kept.extend(walk.expand(hop, &frontier, fetched, &csr));
        hop += 1;
        frontier = walk.frontier(hop, names);
    }
    // Rows were scanned in total order.
    kept.sort_unstable();
    kept
}

/// A scan per hop; `fetched` is that of the first. The rows kept, in total order.
fn walk_by_scans(
    source: &dyn TransferSource,
    request: &SearchRequest,
    walk: &mut Walk<'_>,
    mut frontier: Vec<Front>,
    mut fetched: Fetched,
    report: &ScanReport,
    names: &mut Names,
) -> Result<(RowStore, Vec<Kept>), SearchError> {
    let mut rows = RowStore::default();
    let mut kept = Vec::new();
    let mut hop = 0;
    loop {
        let csr = Csr::of_rows(
            fetched.rows.rows(),
            request.direction,
            names.addresses.len(),
        );
        let mut followed = walk.expand(hop, &frontier, &fetched, &csr);
        // Rows of one block side by side take less.
        followed.sort_unstable();
        for Kept { row, hop } in followed {
            kept.push(Kept {
                row: rows.push_from(&fetched.rows, row)?,
                hop,
            });
        }
        // Room for the next.
        drop((csr, fetched));

        hop += 1;
        frontier = walk.frontier(hop, names);
        if frontier.is_empty() {
            break;
        }
        let addresses: Vec<_> = frontier
            .iter()
            .map(|front| names.addresses.value(front.address))
            .collect();
        tracing::debug!(
            hop,
            frontier = addresses.len(),
            edges = kept.len(),
            "scanning again"
        );
        fetched = scan::fetch_touching(source, request, &addresses, request.max_degree, names)?;
        same_chain(report, &fetched.report)?;
    }
    kept.sort_unstable_by_key(|kept| rows.position(kept.row));
    Ok((rows, kept))
}

/// Refuses to mix scans of different chains, or of blocks that were pruned in between.
fn same_chain(first: &ScanReport, later: &ScanReport) -> Result<(), SearchError> {
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
