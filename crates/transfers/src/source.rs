//! The trait of everything that provides transfers: the node database, an index, a replay.

use crate::{BlockRange, BlockRanges, DecodeCounts, Transfer, TransferFilter, WrappedNative};
use alloy_primitives::{Address, B256};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The chain of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainInfo {
    /// The chain ID (EIP-155).
    pub chain_id: u64,
    /// Hash of the genesis block.
    pub genesis_hash: B256,
    /// Common name, if the genesis hash is known.
    pub name: Option<String>,
}

impl ChainInfo {
    /// Whether two sources cannot be of one chain. A source without the hash of its genesis block
    /// has zero there.
    pub fn contradicts(&self, other: &Self) -> bool {
        let hashes = [self.genesis_hash, other.genesis_hash];
        let differ = hashes[0] != hashes[1] && !hashes.contains(&B256::ZERO);
        self.chain_id != other.chain_id || differ
    }
}

/// A request to a source.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// The blocks to read.
    pub blocks: BlockRanges,
    /// The transfers to return.
    pub filter: TransferFilter,
    /// The contracts whose `Deposit` and `Withdrawal` events are wraps.
    pub wrapped_native: WrappedNative,
    /// Whether every transfer must have its [`Transfer::block_timestamp`]. Otherwise it has one
    /// only if the source knows it anyway. A time costs reading a header for each block with a
    /// wanted transfer. So a search requests times only for the transfers that it keeps
    /// ([`TransferSource::fill_hashes`]).
    pub with_times: bool,
    /// Whether every transfer of a transaction must have its [`Transfer::transaction_hash`].
    /// Otherwise it has one only if the source knows it anyway. A hash costs a read and a Keccak
    /// per transaction.
    pub with_hashes: bool,
    /// Whether missing blocks are left out and reported in [`ScanReport::missing`]. Otherwise
    /// they are an error.
    pub allow_partial: bool,
}

impl ScanRequest {
    /// Returns an error if blocks are missing, unless they are to be left out. `reason` says why
    /// they are.
    pub fn check_blocks(&self, available: &BlockRanges, reason: &str) -> Result<(), SourceError> {
        let missing = self.blocks.subtract(available);
        if missing.is_empty() || self.allow_partial {
            return Ok(());
        }
        let gap = |blocks| Unavailable::new(blocks, reason);
        Err(SourceError::Unavailable {
            missing: missing.iter().map(gap).collect(),
            available: available.clone(),
        })
    }
}

/// The transfers of consecutive blocks.
#[derive(Debug)]
pub struct Batch {
    /// The blocks this batch covers completely.
    pub blocks: BlockRange,
    /// The wanted transfers of these blocks, in total order.
    pub transfers: Vec<Transfer>,
}

/// The report of a scan. It does not depend on the number of threads or the chunk size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanReport {
    /// Blocks that were read.
    pub covered: BlockRanges,
    /// Requested blocks that are not available (only with `allow_partial`).
    pub missing: Vec<Unavailable>,
    /// The counts of the decoder.
    pub counts: DecodeCounts,
    /// Other limits of the result, in words: files that do not state which blocks they
    /// cover, tables that are missing. Empty for sources that know what they contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// How the files of other tools were understood, one line each: the tables that were
    /// recognized. Empty for sources of one format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Hash of the last block that was read. It identifies the chain of the result.
    pub last_block_hash: Option<B256>,
    /// The chain of [`Self::covered`], for [`TransferSource::fill_hashes`]. Not part of the
    /// metadata of outputs. Empty for sources that do not use it.
    #[serde(skip)]
    pub anchors: Vec<BlockAnchor>,
}

impl ScanReport {
    /// The report of a scan, from the reports of its parts in the order of the chain.
    pub fn joined(parts: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::default();
        let mut covered = Vec::new();
        for part in parts {
            covered.extend(part.covered.iter());
            for gap in part.missing {
                match all.missing.last_mut() {
                    // A gap that a part divided.
                    Some(last)
                        if last.reason == gap.reason
                            && last.blocks.last.checked_add(1) == Some(gap.blocks.first) =>
                    {
                        last.blocks.last = gap.blocks.last;
                    }
                    _ => all.missing.push(gap),
                }
            }
            all.counts += part.counts;
            for (lines, of_part) in [
                (&mut all.caveats, part.caveats),
                (&mut all.notes, part.notes),
            ] {
                // Many are about the source.
                let unseen: Vec<_> = of_part
                    .into_iter()
                    .filter(|it| !lines.contains(it))
                    .collect();
                lines.extend(unseen);
            }
            all.last_block_hash = part.last_block_hash.or(all.last_block_hash);
            all.anchors.extend(part.anchors);
        }
        all.covered = BlockRanges::new(covered);
        all
    }
}

/// The state that a result used beside transfers: for the symbols that tokens claim, and for which
/// addresses are contracts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateUsed {
    /// The block after which it is the state; `None` if the source has no such state, so that
    /// nothing is known from it.
    pub block: Option<u64>,
}

/// Consecutive blocks of one chain, and the hash of the last, which fixes all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAnchor {
    /// The blocks.
    pub blocks: BlockRange,
    /// Parent hash of the first of them, if it was read.
    pub parent_hash: Option<B256>,
    /// Hash of the last of them.
    pub hash: B256,
}

/// Blocks that a source cannot read, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// The blocks.
    pub blocks: BlockRange,
    /// The reason: "above the tip", "receipts pruned", "receipts filtered by log address", …
    pub reason: String,
}

impl Unavailable {
    /// Says why blocks cannot be read.
    pub fn new(blocks: BlockRange, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { blocks, reason }
    }
}

/// The errors of sources.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Requested blocks are missing. No transfers were returned.
    #[error("blocks not available: {}; available: {available}", list(missing))]
    Unavailable {
        /// The missing blocks, ascending.
        missing: Vec<Unavailable>,
        /// The blocks that are available.
        available: BlockRanges,
    },
    /// The chain was reorganized during the scan. The request can be repeated.
    #[error("block {block} was replaced by a reorganization during the scan")]
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
    #[error(transparent)]
    Failed(#[from] SourceFailure),
}

/// A failure inside a source, with its kind.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct SourceFailure {
    /// The meaning for the caller.
    pub kind: FailureKind,
    /// The error of the source, for messages.
    #[source]
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl SourceFailure {
    /// A failure with its cause.
    pub fn new(
        kind: FailureKind,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let cause = cause.into();
        Self { kind, cause }
    }
}

/// The kind of a [`SourceFailure`]: what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// The data is damaged, or the system refuses to read it.
    Unreadable,
    /// The data does not exist: pruned, not stored yet, or never there.
    Missing,
    /// Blocks were replaced while they were read. The request can be repeated.
    Replaced,
    /// An option of the source is wrong.
    Options,
    /// The directory of a node's static files was not found.
    NoStaticFiles,
    /// The directory of a node's RocksDB was not found.
    NoRocksDb,
    /// The index is damaged, or differs from the source. It has to be built again.
    UnusableIndex,
}

fn list(missing: &[Unavailable]) -> String {
    let parts: Vec<_> = missing
        .iter()
        .map(|gap| format!("{} ({})", gap.blocks, gap.reason))
        .collect();
    parts.join(", ")
}

/// Takes the batches of a scan, and may break to end it early.
pub type Sink<'a> = dyn FnMut(Batch) -> ControlFlow<()> + 'a;

/// A provider of transfers.
///
/// A request is for a whole frontier at once ([`crate::AddressFilter`]), never for one address at
/// a time: a scan costs the same for one address as for a million.
pub trait TransferSource {
    /// The chain of this source.
    fn chain(&self) -> &ChainInfo;

    /// Passes every wanted transfer to `sink`, in total order, in batches. `sink` may break to
    /// end the scan early; the report then covers what was read.
    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError>;

    /// Fills in [`Transfer::transaction_hash`] and [`Transfer::block_timestamp`] of transfers
    /// that do not have them. The transfers may be in any order. Adjacent transfers of the same
    /// block cost one read.
    ///
    /// `anchors` are usually the [`ScanReport::anchors`] of the scan that returned the transfers. The
    /// hash of an anchor is checked instead of the header of each of its blocks.
    ///
    /// # Errors
    ///
    /// [`SourceError::Reorged`] if an anchor that contains a block of `transfers` is no longer
    /// canonical.
    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError>;

    /// Checks that all requested blocks are available, as `scan` does first. For wrappers that
    /// return something before they scan, and to divide a request among sources.
    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError>;

    /// Returns the hashes of blocks of the chain as this source has it now; `None` for blocks
    /// whose hash it does not know, and for blocks above its tip. A source with snapshots reads
    /// all under one, so blocks that are canonical together belong to one chain.
    ///
    /// The hash of a block fixes all blocks below it: two sources that have the same hash for a
    /// block agree on everything up to it.
    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError>;

    /// Returns the hash of one block, as [`Self::canonical_hashes`].
    fn canonical_hash(&self, block: u64) -> Result<Option<B256>, SourceError> {
        let mut hashes = self.canonical_hashes(&[block])?;
        Ok(hashes.pop().flatten())
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

    /// Returns requested addresses that are known to have more than `degree_max` counterparties
    /// in the wanted transfers, ascending. A search does not follow these, so it does not
    /// request their transfers. The list may be incomplete; the default is empty, for sources
    /// where counting costs as much as a scan.
    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let _ = (request, degree_max);
        Ok(Vec::new())
    }
}

/// A source that answers as another does, except for the methods that it defines. A search by
/// frontiers and hubs are not passed on by themselves, because they bypass `scan`.
pub trait Wrapper {
    /// The other source.
    type Inner: TransferSource + ?Sized;

    /// The other source, for the chain, for hashes and times, and for what is not defined here.
    fn inner(&self) -> &Self::Inner;

    /// As [`TransferSource::scan`].
    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.inner().scan(request, sink)
    }

    /// As [`TransferSource::check_available`].
    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.inner().check_available(request)
    }

    /// As [`TransferSource::canonical_hashes`].
    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        self.inner().canonical_hashes(blocks)
    }

    /// As [`TransferSource::by_frontier`].
    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        let _ = request;
        Ok(None)
    }

    /// As [`TransferSource::hubs`].
    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        let _ = (request, degree_max);
        Ok(Vec::new())
    }
}

impl<W: Wrapper> TransferSource for W {
    fn chain(&self) -> &ChainInfo {
        self.inner().chain()
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        Wrapper::scan(self, request, sink)
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        anchors: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        self.inner().fill_hashes(transfers, anchors)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        Wrapper::check_available(self, request)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        Wrapper::canonical_hashes(self, blocks)
    }

    fn by_frontier(&self, request: &ScanRequest) -> Result<Option<ByFrontier<'_>>, SourceError> {
        Wrapper::by_frontier(self, request)
    }

    fn hubs(&self, request: &ScanRequest, degree_max: u32) -> Result<Vec<Address>, SourceError> {
        Wrapper::hubs(self, request, degree_max)
    }
}

impl<S: TransferSource + ?Sized> Wrapper for &S {
    type Inner = S;

    fn inner(&self) -> &S {
        self
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
    /// The report of a scan of the whole request. `None` if the first scan of `source` reports
    /// the whole request, as in a source whose first scan of a frontier reads everything.
    pub report: Option<ScanReport>,
    /// Answers the request with any [`TransferFilter::touching`] added. Other requests are
    /// not supported. If there is a report, blocks that are expensive to read were read once,
    /// for the report.
    pub source: Box<dyn TransferSource + 'a>,
}

impl std::fmt::Debug for ByFrontier<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ByFrontier")
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
