//! An open index: its segments, their blocks and their chain.

use crate::{
    error::{Error, Result, listed},
    manifest::{Manifest, SegmentInfo},
    segment::Segment,
};
use alloy_primitives::{Address, B256};
use serde::Serialize;
use std::{
    collections::HashMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};
use txgraph_stored::Additions;
use txgraph_transfers::{
    BlockAnchor, BlockRange, BlockRanges, ChainInfo, Participation, ScanRequest, SourceError,
    TransferFilter, TransferSource, WrappedNative,
};
use txgraph_work::Retry;

/// Consecutive blocks of one chain: segments whose parent hashes are the last hashes of the
/// segments before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// The blocks.
    pub blocks: BlockRange,
    /// Hash of the last block, which pins all of them.
    pub last_hash: B256,
    /// The numbers of the segments.
    #[serde(skip)]
    pub(crate) segments: std::ops::Range<usize>,
}

impl Run {
    /// Returns the blocks as an anchor: they are blocks of one chain.
    pub(crate) const fn anchor(&self) -> BlockAnchor {
        BlockAnchor {
            blocks: self.blocks,
            parent_hash: None,
            hash: self.last_hash,
        }
    }
}

/// An open index. It does not change: later segments are visible after opening it again.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) segments: Vec<Arc<Segment>>,
    runs: Vec<Run>,
}

/// A human-readable summary of an index.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Its directory.
    pub path: PathBuf,
    /// Chain id.
    pub chain_id: u64,
    /// Genesis hash.
    pub genesis_hash: B256,
    /// The contracts whose events are wraps.
    pub wrapped_native: WrappedNative,
    /// Whether it has movements inside of transactions that left no log.
    pub internal: bool,
    /// Whether it has transactions by address; if it has internal movements, also those in whose calls
    /// an address takes part.
    pub transactions: bool,
    /// The indexed blocks.
    pub blocks: BlockRanges,
    /// The number of segments.
    pub segments: usize,
    /// The number of transfers.
    pub transfers: u64,
    /// The sum of the numbers of addresses of all segments.
    pub addresses: u64,
    /// The length of all segments in bytes.
    pub bytes: u64,
    /// The number of blocks that were read from the node, including blocks read again.
    pub read_blocks: u64,
    /// The time to read them in milliseconds.
    pub read_time_ms: u64,
}

impl Index {
    /// Opens the index in `folder`, which must belong to `chain`.
    pub fn open(folder: &Path, chain: &ChainInfo) -> Result<Self> {
        Self::open_after(folder, chain, None)
    }

    /// The same, with the segments of an index that was opened before, if they have not changed: what they
    /// have decoded and verified stays.
    pub fn open_after(folder: &Path, chain: &ChainInfo, before: Option<&Self>) -> Result<Self> {
        // A writer may replace the manifest and delete files that the old one names.
        let is_gone = |error: &Error| error.missing_file().is_some();
        let attempt = || Self::attempt(folder, chain, before);
        let opened = Retry::REREAD.run("opening the index", is_gone, attempt);
        opened.map_err(listed)
    }

    fn attempt(folder: &Path, chain: &ChainInfo, before: Option<&Self>) -> Result<Self> {
        let manifest = Manifest::load(folder)?;
        manifest.contents().check_chain(folder, chain)?;
        let before = before.filter(|it| it.folder == folder).into_iter();
        let before = before.flat_map(|it| it.manifest.segments.iter().zip(&it.segments));
        let before: HashMap<_, _> = before.map(|(info, it)| (&info.file, (info, it))).collect();
        let mut segments = Vec::with_capacity(manifest.segments.len());
        for info in &manifest.segments {
            if let Some((_, segment)) = before.get(&info.file).filter(|(old, _)| *old == info) {
                segments.push(Arc::clone(segment));
                continue;
            }
            let segment = Segment::open(&folder.join(&info.file), manifest.internal)?;
            let head = segment.head();
            if head.format != manifest.format()
                || head.genesis_hash != manifest.genesis_hash
                || head.chain_id != manifest.chain_id
                || head.blocks != info.blocks
                || head.parent_hash != info.parent_hash
                || head.last_hash != info.last_hash
                || segment.checksum() != info.checksum
            {
                return Err(segment.damaged("it is not the segment that the manifest lists"));
            }
            segments.push(Arc::new(segment));
        }
        let runs = runs(&manifest.segments);
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
            segments,
            runs,
        })
    }

    /// Returns its directory.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the indexed blocks as runs of consecutive blocks, ascending.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the indexed blocks.
    pub fn blocks(&self) -> BlockRanges {
        self.runs.iter().map(|run| run.blocks).collect()
    }

    /// Whether it has everything that a request needs: the same choice of wraps and, if they
    /// are requested, movements inside of transactions. No index has fees.
    pub fn covers(&self, request: &ScanRequest) -> bool {
        let wraps = request.wrapped_native.resolved(self.manifest.chain_id);
        wraps == self.manifest.wrapped_native && self.covers_filter(&request.filter)
    }

    /// The same without the choice of wraps.
    pub fn covers_filter(&self, filter: &TransferFilter) -> bool {
        !filter.internal || (self.manifest.internal && !filter.needs_fees())
    }

    /// Whether it has movements inside of transactions that left no log.
    pub fn has_internal(&self) -> bool {
        self.manifest.internal
    }

    /// Returns what is read to extend it, in addition to transfers that have a log.
    pub fn additions(&self) -> Additions {
        self.manifest.contents().additions()
    }

    /// Whether it has transactions by address. With `inside`, also those in whose calls an address
    /// takes part.
    pub fn has_transactions(&self, inside: bool) -> bool {
        self.manifest.transactions && (!inside || self.manifest.internal)
    }

    /// Passes the transactions in which an address takes part to `take`, in the order of the chain
    /// or against it, until it breaks. Only indexed blocks are looked at; the caller checks that
    /// they are canonical ([`Self::canonical_runs`]).
    pub fn transactions_of(
        &self,
        address: Address,
        blocks: BlockRange,
        newest_first: bool,
        take: &mut dyn FnMut(Participation) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut segments = self.segments.iter();
        let mut next = || match newest_first {
            false => segments.next(),
            true => segments.next_back(),
        };
        while let Some(segment) = next() {
            let Some(blocks) = segment.blocks().intersect(&blocks) else {
                continue;
            };
            if segment
                .each_place(address, blocks, newest_first, take)?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the runs that have some of these blocks and are canonical in `source`. Replaced
    /// segments at the end of a run are left out.
    pub fn canonical_runs(
        &self,
        source: &dyn TransferSource,
        blocks: BlockRange,
    ) -> Result<Vec<Run>, SourceError> {
        let mut usable = Vec::new();
        for run in &self.runs {
            if run.blocks.intersect(&blocks).is_none() {
                continue;
            }
            for last in run.segments.clone().rev() {
                let info = &self.segments()[last];
                if source.canonical_hash(info.blocks.last)? == Some(info.last_hash) {
                    usable.push(Run {
                        blocks: BlockRange::from_to(run.blocks.first, info.blocks.last),
                        last_hash: info.last_hash,
                        segments: run.segments.start..last + 1,
                    });
                    break;
                }
                tracing::debug!(blocks = %info.blocks, "indexed, but no longer canonical");
            }
        }
        Ok(usable)
    }

    /// Returns its segments, ascending.
    pub fn segments(&self) -> &[SegmentInfo] {
        &self.manifest.segments
    }

    /// Returns a summary.
    pub fn status(&self) -> Status {
        let sum = |of: fn(&SegmentInfo) -> u64| self.manifest.segments.iter().map(of).sum();
        Status {
            path: self.folder.clone(),
            chain_id: self.manifest.chain_id,
            genesis_hash: self.manifest.genesis_hash,
            wrapped_native: self.manifest.wrapped_native.clone(),
            internal: self.manifest.internal,
            transactions: self.manifest.transactions,
            blocks: self.blocks(),
            segments: self.manifest.segments.len(),
            transfers: sum(|segment| segment.rows),
            addresses: sum(|segment| segment.addresses),
            bytes: sum(|segment| segment.bytes),
            read_blocks: self.manifest.read_blocks,
            read_time_ms: self.manifest.read_time_ms,
        }
    }
}

/// Joins segments that follow one another into runs.
pub(crate) fn runs(segments: &[SegmentInfo]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        match runs.last_mut() {
            Some(run)
                if run.blocks.last.checked_add(1) == Some(segment.blocks.first)
                    && run.last_hash == segment.parent_hash =>
            {
                run.blocks.last = segment.blocks.last;
                run.last_hash = segment.last_hash;
                run.segments.end = number + 1;
            }
            _ => runs.push(Run {
                blocks: segment.blocks,
                last_hash: segment.last_hash,
                segments: number..number + 1,
            }),
        }
    }
    runs
}
