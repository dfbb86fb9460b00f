//! How a search reads the blocks.
//!
//! One hop needs only the transfers that touch the roots: one scan that asks for
//! those. More hops could ask for each frontier in turn, a scan per hop; but a scan
//! costs nearly the same for a few transfers as for all, and all of them take only
//! about 40 bytes each. So one scan fetches all, and every hop is served from memory.
//! Whether they fit is not known before: when they turn out not to, the scan goes on
//! as the scan of hop 1, keeping only what touches the roots, and each later hop has
//! its own. The answer is the same in every case, and so are its counts: they are
//! those of the first scan, which never depends on the memory.
//!
//! A source that knows what such a scan would report without making it (an index) is
//! asked for one frontier after the other from the beginning.

use crate::{
    SearchError, SearchRequest,
    csr::Csr,
    rows::{Names, RowStore},
};
use alloy_primitives::Address;
use txgraph_transfers::{ScanReport, ScanRequest, Touching, TransferFilter, TransferSource};

/// Which scans to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// None: the roots alone.
    RootsOnly,
    /// One, of what touches the roots.
    OneHop,
    /// One of everything, which serves all hops if it fits in memory.
    OnePass,
    /// One for each hop, of what touches its frontier: that costs this source little.
    ByHop {
        /// What one of everything would report.
        report: ScanReport,
    },
}

impl Plan {
    pub(crate) fn choose(
        source: &dyn TransferSource,
        request: &SearchRequest,
    ) -> Result<Self, SearchError> {
        Ok(match request.hops {
            Some(0) => Self::RootsOnly,
            Some(1) => Self::OneHop,
            _ => match source.report(&scan_request(request, None))? {
                Some(report) => Self::ByHop { report },
                None => Self::OnePass,
            },
        })
    }
}

/// Whether a store of all transfers may grow on: what it takes now, with what it will
/// take to group them by address.
pub(crate) fn fits(request: &SearchRequest, rows: &RowStore, names: &Names) -> bool {
    let csr = Csr::bytes(rows.len(), request.direction, names.addresses.len());
    (rows.bytes() + names.bytes() + csr) as u64 <= request.memory_bytes_max
}

/// The scan of what touches these addresses, or of everything.
pub(crate) fn scan_request(request: &SearchRequest, frontier: Option<&[Address]>) -> ScanRequest {
    let touching = frontier.map(|addresses| Touching {
        addresses: addresses.iter().copied().collect(),
        direction: request.direction,
    });
    ScanRequest {
        blocks: request.blocks.clone(),
        filter: TransferFilter {
            touching,
            ..request.filter.clone()
        },
        wrapped_native: request.wrapped_native.clone(),
        // Both cost a read and a keccak; most transfers are not kept.
        with_times: false,
        with_hashes: false,
        allow_partial: request.allow_partial,
    }
}
