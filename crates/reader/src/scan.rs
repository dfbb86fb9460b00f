//! Controls a scan: starts chunks, takes their pieces in order, and checks that all belong to one
//! chain.
//!
//! The loop and the sink run on the caller's thread. Workers are behind a trait, so that tests
//! can simulate a chain. Chunks that finish in any order, and blocks that are replaced or deleted
//! at any time, cannot be tested thoroughly with files.

use crate::{
    error::Error,
    merge::{Chunk, Head, Merge, Outcome, Piece},
};
use alloy_primitives::B256;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};
use txgraph_transfers::{Batch, BlockAnchor, ScanReport, Sink, SourceError, Transfer, Unavailable};
use txgraph_work::{CancelFlag, ProgressGuard, RunningTask, Wait};

/// The last emitted block is looked up again in this interval.
const RECHECK_TIME: Duration = Duration::from_secs(5);

/// Reads chunks.
pub(crate) trait Workers {
    /// Starts to read a chunk. Outcomes arrive later, in any order.
    fn start(&mut self, task: RunningTask<Chunk>);

    fn outcome(&mut self, wait: Wait) -> Option<(u64, Outcome)>;

    /// Hash of a block in the current canonical chain; `None` above its tip.
    fn canonical(&mut self, block: u64) -> Result<Option<B256>, SourceError>;
}

/// The reasons to stop early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// These blocks were deleted in the meantime.
    Gone(Vec<Unavailable>),
    /// All other reasons.
    Source(SourceError),
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Source(error.into())
    }
}

/// The state of a scan.
pub(crate) struct Run<'a> {
    pub(crate) allow_partial: bool,
    pub(crate) cancel: &'a CancelFlag,
    pub(crate) progress: &'a ProgressGuard<'a>,
    pub(crate) sink: &'a mut Sink<'a>,
    /// Its anchors are the blocks that were emitted: one for each consecutive run.
    pub(crate) report: ScanReport,
}

impl Run<'_> {
    /// Scans all chunks of `merge`. `self.report` is complete when this returns.
    pub(crate) fn drive(
        &mut self,
        mut merge: Merge,
        workers: &mut dyn Workers,
    ) -> Result<(), Stop> {
        let mut checked = Instant::now();
        loop {
            if self.cancel.is_canceled() {
                return Err(SourceError::Interrupted.into());
            }
            while let Some((id, outcome)) = workers.outcome(Wait::No) {
                merge.finish(id, outcome);
            }
            while let Some(task) = merge.next_task() {
                workers.start(task);
            }
            if checked.elapsed() > RECHECK_TIME {
                self.check_tail(&merge, workers)?;
                checked = Instant::now();
            }
            match merge.head() {
                Head::Ready(piece) => {
                    if self.emit(piece).is_break() {
                        break;
                    }
                }
                Head::Unlinked { block } => {
                    // Either the head or the emitted blocks belong to an old chain.
                    self.check_tail(&merge, workers)?;
                    tracing::debug!(block, "read before a reorganization; reading again");
                    if !merge.redo() {
                        return Err(Error::Unlinked { block }.into());
                    }
                }
                Head::Broken(outcome) => self.mend(outcome, &mut merge, workers)?,
                Head::Pending => {
                    if let Some((id, outcome)) = workers.outcome(Wait::Briefly) {
                        merge.finish(id, outcome);
                    }
                }
                Head::End => break,
            }
        }
        let anchors = &self.report.anchors;
        for anchor in anchors {
            check(workers, anchor.blocks.last, anchor.hash)?;
        }
        self.report.covered = anchors.iter().map(|anchor| anchor.blocks).collect();
        self.report.last_block_hash = anchors.last().map(|anchor| anchor.hash);
        self.report.missing = joined(std::mem::take(&mut self.report.missing));
        Ok(())
    }

    fn emit(&mut self, piece: Piece) -> ControlFlow<()> {
        let Piece {
            blocks,
            parent,
            hash,
            transfers,
            counts,
            ..
        } = piece;
        match self.report.anchors.last_mut() {
            Some(anchor) if anchor.blocks.last.checked_add(1) == Some(blocks.first) => {
                anchor.blocks.last = blocks.last;
                anchor.hash = hash;
            }
            _ => self.report.anchors.push(BlockAnchor {
                blocks,
                parent_hash: Some(parent),
                hash,
            }),
        }
        self.report.counts += counts;
        self.progress.advance(blocks.blocks(), count(&transfers));
        (self.sink)(Batch { blocks, transfers })
    }

    /// Continues after a head that could not be read, if possible.
    fn mend(
        &mut self,
        outcome: Outcome,
        merge: &mut Merge,
        workers: &mut dyn Workers,
    ) -> Result<(), Stop> {
        match outcome {
            Outcome::Gone(gone) if self.allow_partial => {
                merge.skip(&gone.iter().map(|gap| gap.blocks).collect());
                self.report.missing.extend(gone);
                Ok(())
            }
            Outcome::Gone(gone) => {
                self.check_tail(merge, workers)?;
                Err(Stop::Gone(gone))
            }
            Outcome::Unwound { block } => {
                self.check_tail(merge, workers)?;
                Err(SourceError::Reorged { block }.into())
            }
            Outcome::Failed(error) => Err(SourceError::Failed(error).into()),
            Outcome::Stopped | Outcome::Read(_) => Err(SourceError::Interrupted.into()),
        }
    }

    fn check_tail(&self, merge: &Merge, workers: &mut dyn Workers) -> Result<(), SourceError> {
        merge
            .tail()
            .map_or(Ok(()), |(block, hash)| check(workers, block, hash))
    }
}

/// Checks that `block` still has this hash.
fn check(workers: &mut dyn Workers, block: u64, hash: B256) -> Result<(), SourceError> {
    if workers.canonical(block)? == Some(hash) {
        Ok(())
    } else {
        Err(SourceError::Reorged { block })
    }
}

fn count(transfers: &[Transfer]) -> u64 {
    u64::try_from(transfers.len()).unwrap_or(u64::MAX)
}

/// Sorts gaps, and joins those that touch and have the same reason.
pub(crate) fn joined(mut gaps: Vec<Unavailable>) -> Vec<Unavailable> {
    gaps.sort_by_key(|gap| gap.blocks);
    let mut joined: Vec<Unavailable> = Vec::with_capacity(gaps.len());
    for gap in gaps {
        match joined.last_mut() {
            Some(last)
                if last.reason == gap.reason
                    && gap.blocks.first <= last.blocks.last.saturating_add(1) =>
            {
                last.blocks.last = last.blocks.last.max(gap.blocks.last);
            }
            _ => joined.push(gap),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
