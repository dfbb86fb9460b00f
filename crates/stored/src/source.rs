//! The scan of stored blocks.

use crate::{Error, StoredBlocks, StoredChunk};
use alloy_primitives::B256;
use std::ops::ControlFlow;
use txgraph_transfers::{
    Batch, BlockAnchor, BlockRange, BlockRanges, ChainInfo, ScanReport, ScanRequest, Sink,
    SourceError, SourceFailure, TokenFilter, Transfer, TransferFilter, TransferSource, Unavailable,
    WrappedNative,
};
use txgraph_work::{Ordered, ProgressGuard, WorkContext, ordered};

/// The chunks that are read before the first of them is delivered, for each thread.
const CHUNKS_AHEAD_PER_THREAD: usize = 2;

/// Stored blocks as a source of transfers. Each scan uses all threads of its [`WorkContext`].
#[derive(Debug)]
pub struct StoredSource<S> {
    blocks: S,
    work: WorkContext,
}

type ChunkResult = (BlockRange, Result<StoredChunk, SourceFailure>);

impl<S: StoredBlocks> StoredSource<S> {
    /// Creates a source.
    pub const fn new(blocks: S, work: WorkContext) -> Self {
        Self { blocks, work }
    }

    /// The files.
    pub const fn blocks(&self) -> &S {
        &self.blocks
    }

    /// The threads, the flag and the progress of scans.
    pub const fn work(&self) -> &WorkContext {
        &self.work
    }

    /// Returns the available part of a request, and what is missing.
    fn survey(&self, request: &ScanRequest) -> (BlockRanges, Vec<Unavailable>) {
        let available = self.blocks.available();
        let missing = request.blocks.subtract(&available);
        let gaps = missing
            .iter()
            .map(|blocks| Unavailable::new(blocks, self.blocks.missing_reason()));
        (request.blocks.intersect(&available), gaps.collect())
    }

    fn unavailable(&self, missing: Vec<Unavailable>) -> SourceError {
        SourceError::Unavailable {
            missing,
            available: self.blocks.available(),
        }
    }
}

impl<S: StoredBlocks> TransferSource for StoredSource<S> {
    fn chain(&self) -> &ChainInfo {
        self.blocks.chain()
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.blocks.check(request)?;
        let (present, missing) = self.survey(request);
        if !missing.is_empty() && !request.allow_partial {
            return Err(self.unavailable(missing));
        }
        let WorkContext {
            threads,
            cancel,
            progress,
        } = &self.work;
        let chunks = self.blocks.chunks(&present, request)?;
        debug_assert_eq!(chunks.iter().copied().collect::<BlockRanges>(), present);
        let progress = ProgressGuard::start(progress.as_deref(), present.blocks(), "transfers");
        let mut report = ScanReport {
            missing,
            caveats: self.blocks.caveats(request),
            notes: self.blocks.notes().to_vec(),
            ..ScanReport::default()
        };
        let mut covered = Covered::default();
        let end = ordered(
            threads,
            threads.count().saturating_mul(CHUNKS_AHEAD_PER_THREAD),
            cancel,
            chunks,
            S::Scratch::default,
            |scratch, blocks| -> ControlFlow<ChunkResult, ChunkResult> {
                match self.blocks.read(scratch, blocks, request) {
                    Ok(chunk) => ControlFlow::Continue((blocks, Ok(chunk))),
                    Err(error) => ControlFlow::Break((blocks, Err(error))),
                }
            },
            |(blocks, chunk)| {
                let StoredChunk {
                    transfers,
                    counts,
                    parent_hash,
                    last_hash,
                } = match chunk {
                    Ok(chunk) => chunk,
                    Err(error) => return ControlFlow::Break(Some(error.into())),
                };
                if let Err(error) = covered.push(blocks, parent_hash, last_hash) {
                    return ControlFlow::Break(Some(match self.blocks.may_change() {
                        true => SourceError::Reorged {
                            block: blocks.first.saturating_sub(1),
                        },
                        false => error.into(),
                    }));
                }
                report.counts += counts;
                let count = u64::try_from(transfers.len()).unwrap_or(u64::MAX);
                progress.advance(blocks.blocks(), count);
                match sink(Batch { blocks, transfers }) {
                    ControlFlow::Continue(()) => ControlFlow::Continue(()),
                    ControlFlow::Break(()) => ControlFlow::Break(None),
                }
            },
        );
        match end.map_err(Error::from)? {
            Ordered::Done | Ordered::Broken(None) => {}
            Ordered::Broken(Some(error)) => return Err(error),
            Ordered::Canceled => return Err(SourceError::Interrupted),
        }
        covered.finish(&mut report);
        report.caveats.extend(report.counts.gaps.caveats());
        Ok(report)
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        _: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        Ok(self.blocks.fill_hashes(transfers)?)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.blocks.check(request)?;
        let (_, missing) = self.survey(request);
        match missing.is_empty() || request.allow_partial {
            true => Ok(()),
            false => Err(self.unavailable(missing)),
        }
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let available = self.blocks.available();
        // Headers only: no transfer is wanted.
        let request = ScanRequest {
            filter: TransferFilter {
                tokens: TokenFilter::Only {
                    tokens: Default::default(),
                    native: false,
                },
                ..TransferFilter::default()
            },
            wrapped_native: WrappedNative::None,
            with_times: true,
            ..ScanRequest::default()
        };
        let mut scratch = S::Scratch::default();
        let mut hash = |block: &u64| match available.contains(*block) {
            true => {
                let chunk = (self.blocks).read(&mut scratch, BlockRange::one(*block), &request)?;
                Ok(chunk.last_hash)
            }
            false => Ok(None),
        };
        blocks.iter().map(&mut hash).collect()
    }
}

/// The blocks that were delivered, in ascending order.
#[derive(Default)]
struct Covered {
    /// One entry for each run of adjacent blocks.
    runs: Vec<CoveredRun>,
}

struct CoveredRun {
    blocks: BlockRange,
    parent_hash: Option<B256>,
    /// Hash of the last block.
    hash: Option<B256>,
}

impl Covered {
    /// Adds a chunk, and checks that it links to the one before.
    fn push(
        &mut self,
        blocks: BlockRange,
        parent_hash: Option<B256>,
        last_hash: Option<B256>,
    ) -> Result<(), Error> {
        match self.runs.last_mut() {
            Some(run) if run.blocks.last.checked_add(1) == Some(blocks.first) => {
                if let (Some(parent_hash), Some(hash)) = (parent_hash, run.hash)
                    && parent_hash != hash
                {
                    return Err(Error::Unlinked {
                        block: blocks.first,
                        parent_hash,
                        hash,
                    });
                }
                run.blocks.last = blocks.last;
                run.hash = last_hash;
            }
            _ => self.runs.push(CoveredRun {
                blocks,
                parent_hash,
                hash: last_hash,
            }),
        }
        Ok(())
    }

    fn finish(self, report: &mut ScanReport) {
        report.covered = self.runs.iter().map(|run| run.blocks).collect();
        report.last_block_hash = self.runs.last().and_then(|run| run.hash);
        let anchor = |run: CoveredRun| {
            Some(BlockAnchor {
                blocks: run.blocks,
                parent_hash: run.parent_hash,
                hash: run.hash?,
            })
        };
        report.anchors = self.runs.into_iter().filter_map(anchor).collect();
    }
}

#[cfg(test)]
mod tests;
