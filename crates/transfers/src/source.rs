//! Where transfers come from: the trait that the node database, an index or a
//! cluster implement, and that search and export consume.

use crate::{BlockRange, BlockRanges, DecodeCounts, Transfer, TransferFilter, WrappedNative};
use alloy_primitives::{Address, B256};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The chain a source holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainInfo {
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// Common name, if the genesis hash is known.
    pub name: Option<String>,
}

/// One question to a source.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Blocks to look at.
    pub blocks: BlockRanges,
    /// Transfers to return.
    pub filter: TransferFilter,
    /// Which contracts' `Deposit`/`Withdrawal` events are wraps.
    pub wrapped_native: WrappedNative,
    /// Whether [`Transfer::block_timestamp`] must be filled in; else it is 0. A time
    /// costs the read of a header per block that holds a wanted transfer, so a search
    /// asks for the times of what it keeps only ([`TransferSource::fill_hashes`]).
    pub with_times: bool,
    /// Whether [`Transfer::transaction_hash`] must be filled in; else it is zero.
    /// Resolving hashes costs a read and a keccak per transaction.
    pub with_hashes: bool,
    /// Whether missing blocks are an error (`false`) or are left out and
    /// reported in [`ScanReport::missing`] (`true`).
    pub allow_partial: bool,
}

/// A run of transfers in total order, from consecutive blocks.
#[derive(Debug)]
pub struct Batch {
    /// The blocks this batch covers completely.
    pub blocks: BlockRange,
    /// Their wanted transfers, in total order.
    pub transfers: Vec<Transfer>,
}

/// What a scan saw. The same for any thread count and chunk size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanReport {
    /// Blocks that were read.
    pub covered: BlockRanges,
    /// Requested blocks that do not exist here (only with `allow_partial`).
    pub missing: Vec<Unavailable>,
    /// What the decoder counted.
    pub counts: DecodeCounts,
    /// Hash of the last block that was read; pins the answer to one chain.
    pub last_block_hash: Option<B256>,
}

/// Blocks that a source cannot answer for, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The blocks.
    pub blocks: BlockRange,
    /// Why: "above the tip", "receipts pruned", "receipts filtered by log address", …
    pub reason: String,
}

/// Why a source could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Requested blocks are missing; nothing was returned.
    #[error("blocks not available: {}; available: {available}", list(missing))]
    Unavailable {
        /// What is missing, in ascending order.
        missing: Vec<Unavailable>,
        /// What could be asked for instead.
        available: BlockRanges,
    },
    /// The chain was reorganised under the scan; asking again is safe.
    #[error("block {block} was replaced by a reorganisation during the scan")]
    Reorged {
        /// The lowest block known to have been replaced.
        block: u64,
    },
    /// The source cannot answer this request at all.
    #[error("{what} cannot be answered: {reason}")]
    Unsupported {
        /// The part of the request, e.g. "a request for internal transfers".
        what: &'static str,
        /// Why this source cannot answer it.
        reason: &'static str,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The consumer of the batches failed.
    #[error("{0}")]
    Sink(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Reading or decoding failed.
    #[error("{0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn list(missing: &[Unavailable]) -> String {
    let parts: Vec<_> = missing
        .iter()
        .map(|gap| format!("{} ({})", gap.blocks, gap.reason))
        .collect();
    parts.join(", ")
}

/// Anything that can be asked for transfers.
///
/// A source is asked for a whole frontier at once ([`crate::Touching`]), never
/// for one address at a time: a scan costs the same for one address as for a
/// million.
pub trait TransferSource {
    /// The chain behind this source.
    fn chain(&self) -> &ChainInfo;

    /// Hands every wanted transfer to `sink`, in total order, in batches.
    /// `sink` may break to end the scan early; the report then covers what was read.
    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError>;

    /// Fills [`Transfer::transaction_hash`] and [`Transfer::block_timestamp`] of
    /// transfers that came from a scan without them. Any order; those of one block
    /// cost one read when adjacent.
    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceError>;

    /// That a scan of `request` would not be refused because blocks are missing: what a
    /// scan does first, for those who hand out something else before. A source that
    /// cannot tell leaves it to the scan.
    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        let _ = request;
        Ok(())
    }

    /// Prepares to answer for one frontier of addresses after another.
    ///
    /// `request` has no [`TransferFilter::touching`]. A source for which a scan of a few
    /// addresses costs much less than a scan of everything returns a [`ByFrontier`]; a
    /// search then scans once per hop, and not once for everything. The default is `None`.
    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        let _ = request;
        Ok(None)
    }

    /// Of the addresses that `request` asks for, some that have more than `degree_max`
    /// counterparties in what it wants, ascending; a search does not follow these, and
    /// need not ask for their transfers. None where it would cost as much as asking.
    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let _ = (request, degree_max);
        Ok(Vec::new())
    }
}

impl<S: TransferSource + ?Sized> TransferSource for &S {
    fn chain(&self) -> &ChainInfo {
        (**self).chain()
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        (**self).scan(request, sink)
    }

    fn fill_hashes(&self, transfers: &mut [Transfer]) -> Result<(), SourceError> {
        (**self).fill_hashes(transfers)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        (**self).check_available(request)
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        (**self).by_frontier(request)
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        (**self).hubs(request, degree_max)
    }
}

/// A source that was prepared for the frontiers of one search.
pub struct ByFrontier<'a> {
    /// The report of a scan of the whole request.
    pub report: ScanReport,
    /// Answers the request with any [`TransferFilter::touching`] added. Other requests are
    /// not supported. Blocks that are expensive to read were read once, for the report.
    pub source: Box<dyn TransferSource + 'a>,
}

impl std::fmt::Debug for ByFrontier<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByFrontier")
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
