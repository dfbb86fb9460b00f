//! How a search reads the blocks.
//!
//! One hop needs only the transfers of the roots: one scan that requests those. More hops
//! could request each frontier in turn, a scan per hop. But a scan costs nearly the same for
//! a few transfers as for all, and a stored transfer takes only about 40 bytes. So one scan
//! fetches all, and every hop is served from memory. Whether they fit is not known before. If
//! they do not, the scan continues as the scan of hop 1, which keeps only the transfers of the
//! roots, and each later hop has its own scan. The result is the same in every case, and so
//! are its counts: they come from the first scan, which does not depend on the memory.
//!
//! A source for which a scan of few addresses costs little (an index) is asked for one
//! frontier after another from the beginning ([`TransferSource::by_frontier`]).

use crate::{
    SearchError, SearchRequest,
    rows::{Interned, RowStore},
};
use alloy_primitives::Address;
use txgraph_transfers::{AddressFilter, ByFrontier, ScanRequest, TransferFilter, TransferSource};

/// The scans of a search.
#[derive(Debug)]
pub(crate) enum Plan<'a> {
    /// No scan: only the roots.
    RootsOnly,
    /// One scan that reads the roots' transfers.
    OneHop,
    /// One scan of all transfers, which serves all hops if they fit in memory.
    OnePass,
    /// One scan per hop of the transfers of its frontier, which is cheap for this source.
    ByHop(Box<ByFrontier<'a>>),
}

impl<'a> Plan<'a> {
    pub(crate) fn choose(
        source: &'a dyn TransferSource,
        request: &SearchRequest,
    ) -> Result<Self, SearchError> {
        Ok(match request.hops {
            Some(0) => Self::RootsOnly,
            Some(1) => Self::OneHop,
            _ => match source.by_frontier(&scan_request(request, None))? {
                Some(by_frontier) => Self::ByHop(Box::new(by_frontier)),
                None => Self::OnePass,
            },
        })
    }
}

/// Whether a store of all transfers may grow: its memory, and what grouping by address will
/// take.
pub(crate) fn fits(request: &SearchRequest, rows: &RowStore, interned: &Interned) -> bool {
    let csr = rows.by_address_bytes(request.direction, interned.addresses.len());
    (rows.bytes() + interned.bytes() + csr) as u64 <= request.memory_bytes_max
}

/// Returns the scan of the transfers of these addresses, or of all transfers.
pub(crate) fn scan_request(request: &SearchRequest, frontier: Option<&[Address]>) -> ScanRequest {
    let touching =
        frontier.map(|addresses| AddressFilter::new(addresses.iter().copied(), request.direction));
    ScanRequest {
        blocks: request.blocks.clone(),
        filter: TransferFilter {
            touching,
            ..request.read_filter()
        },
        wrapped_native: request.wrapped_native.clone(),
        allow_partial: request.allow_partial,
        // Times and hashes cost a read and a keccak, and most transfers do not become edges.
        ..ScanRequest::default()
    }
}
