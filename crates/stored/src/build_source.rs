//! The source that an index or a lake is built from and verified against.

use alloy_primitives::B256;
use txgraph_transfers::{
    BlockRange, BlockRanges, BlockReader, BlockRun, Indexable, InternalReader, InternalSource,
    InternalTransfers, Participation, ScanRequest, SourceError, Transfer, WrappedNative,
};
use txgraph_work::WorkContext;

/// The maximum number of blocks that are replayed at a time.
const REPLAYED_MAX: u64 = 1024;

/// A source and, if movements inside of transactions are wanted, the source of these.
#[derive(Clone)]
pub struct BuildSource<'a> {
    /// The source of blocks.
    pub source: &'a dyn Indexable,
    /// The source of movements inside of transactions that left no log; `None` if no movements
    /// inside of transactions are wanted.
    pub internal: Option<&'a dyn InternalSource>,
    /// How blocks are read.
    pub work: WorkContext,
}

impl std::fmt::Debug for BuildSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuildSource")
            .field("chain", self.source.chain())
            .field("internal", &self.internal.is_some())
            .field("work", &self.work)
            .finish()
    }
}

/// The data that is read in addition to transfers that have a log, or are in no transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Movements inside of transactions that left no log.
    pub internal: bool,
    /// Who takes part in transactions; with `internal` also in the calls inside of them.
    pub participations: bool,
}

/// Without movements inside of transactions, and with the default [`WorkContext`].
impl<'a, S: Indexable> From<&'a S> for BuildSource<'a> {
    fn from(source: &'a S) -> Self {
        Self {
            source,
            internal: None,
            work: WorkContext::default(),
        }
    }
}

impl<'a> BuildSource<'a> {
    /// Returns the last block to store: `last`, or the tip minus the reorg buffer. `None` if
    /// that is below block 0.
    pub fn last_block(
        &self,
        last: Option<u64>,
        reorg_buffer: u64,
    ) -> Result<Option<u64>, SourceError> {
        let tip = self.source.tip()?;
        Ok(match last {
            Some(last) => Some(last.min(tip)),
            None => tip.checked_sub(reorg_buffer),
        })
    }

    /// Prepares to read the blocks of `request`, with these additions.
    pub fn prepare(
        &self,
        request: &ScanRequest,
        additions: Additions,
    ) -> Result<PreparedBuildSource<'a>, SourceError> {
        let Additions {
            internal,
            participations,
        } = additions;
        let mut request = request.clone();
        // Those that the chain logs; the others are added.
        request.filter.internal = internal;
        let source = self
            .internal
            .filter(|_| internal && !request.blocks.is_empty());
        let internal = source.map(|source| source.reader(&request.blocks, participations));
        Ok(PreparedBuildSource {
            source: self.source,
            internal: internal.transpose()?,
            request,
            participations,
        })
    }

    /// Prepares to read those blocks of `request` that are available. Returns the others, too.
    pub fn prepare_available(
        &self,
        request: &ScanRequest,
        additions: Additions,
    ) -> Result<(PreparedBuildSource<'a>, BlockRanges), SourceError> {
        let mut gone = match self.source.check_available(request) {
            Ok(()) => BlockRanges::default(),
            Err(error) => missing(error)?,
        };
        let present = |gone: &BlockRanges| ScanRequest {
            blocks: request.blocks.subtract(gone),
            ..request.clone()
        };
        let prepared = match self.prepare(&present(&gone), additions) {
            // The receipts are available, but not the states to replay the blocks.
            Err(error) => {
                let stateless = missing(error)?;
                gone = gone.iter().chain(stateless.iter()).collect();
                self.prepare(&present(&gone), additions)?
            }
            Ok(prepared) => prepared,
        };
        Ok((prepared, gone))
    }
}

/// Returns the blocks that are missing according to an error.
fn missing(error: SourceError) -> Result<BlockRanges, SourceError> {
    match error {
        SourceError::Unavailable { missing, .. } => {
            Ok(missing.iter().map(|gap| gap.blocks).collect())
        }
        error => Err(error),
    }
}

/// Blocks that are ready to be read. Shared between threads.
pub struct PreparedBuildSource<'a> {
    source: &'a dyn Indexable,
    internal: Option<Box<dyn InternalReader + 'a>>,
    request: ScanRequest,
    participations: bool,
}

impl std::fmt::Debug for PreparedBuildSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedBuildSource")
            .field("chain", self.source.chain())
            .finish_non_exhaustive()
    }
}

impl PreparedBuildSource<'_> {
    /// Returns a reader for one thread.
    pub fn reader(&self) -> BuildReader<'_> {
        BuildReader {
            logs: (self.source).block_reader(&self.request, self.participations),
            internal: self.internal.as_deref(),
        }
    }
}

/// Reads blocks sequentially on the caller's thread.
pub struct BuildReader<'a> {
    logs: Box<dyn BlockReader + 'a>,
    internal: Option<&'a dyn InternalReader>,
}

impl std::fmt::Debug for BuildReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuildReader").finish_non_exhaustive()
    }
}

impl BuildReader<'_> {
    /// Reads like [`BlockReader::read`], and merges internal movements into the transfers, and
    /// participations in calls into those in transactions. Returns `None` if the blocks were replaced between the two.
    pub fn read(&mut self, blocks: BlockRange) -> Result<Option<BlockRun>, SourceError> {
        let Some(internal) = self.internal else {
            return self.logs.read(blocks).map(Some);
        };
        let mut run = self.logs.read(blocks.prefix(REPLAYED_MAX))?;
        let InternalTransfers {
            mut transfers,
            mut participations,
            last_block,
        } = internal.read(run.blocks)?;
        let is_same = |(block, hash): (u64, B256)| {
            let at = usize::try_from(block.wrapping_sub(run.blocks.first));
            at.is_ok_and(|at| run.hashes.get(at) == Some(&hash))
        };
        if !last_block.is_none_or(is_same) {
            return Ok(None);
        }
        for summary in &mut run.summaries {
            let of_block = transfers.partition_point(|it| it.block_number <= summary.number)
                - transfers.partition_point(|it| it.block_number < summary.number);
            summary.counts.transfers += of_block as u64;
        }
        run.transfers.append(&mut transfers);
        // Both runs are sorted, so this sort merges them in linear time.
        run.transfers.sort_by_key(Transfer::position);
        run.participations.append(&mut participations);
        Participation::settle(&mut run.participations);
        Ok(Some(run))
    }
}

/// Returns the request of a build: every transfer of these blocks.
pub fn everything(blocks: &BlockRanges, wrapped: &WrappedNative) -> ScanRequest {
    ScanRequest {
        blocks: blocks.clone(),
        wrapped_native: wrapped.clone(),
        with_times: true,
        ..ScanRequest::default()
    }
}
