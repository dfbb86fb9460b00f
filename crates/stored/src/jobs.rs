//! Build and verify loops: runs jobs in parallel; each job reads consecutive blocks.

use crate::{Additions, BuildReader, BuildSource, PreparedBuildSource, StoreResult as Result};
use alloy_primitives::B256;
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};
use txgraph_transfers::{BlockRange, BlockRanges, BlockRun, ScanRequest, SourceError};
use txgraph_work::{CancelFlag, Ordered, Retry, RetryStep, WorkContext, ordered};

/// Ends jobs early: when one has failed, or on request.
#[derive(Debug)]
pub struct Stop<'a> {
    has_failed: AtomicBool,
    cancel: &'a CancelFlag,
}

impl<'a> Stop<'a> {
    /// No job has failed.
    pub const fn new(cancel: &'a CancelFlag) -> Self {
        Self {
            has_failed: AtomicBool::new(false),
            cancel,
        }
    }

    fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn is_set(&self) -> bool {
        self.has_failed() || self.cancel.is_canceled()
    }

    /// Checks whether to continue.
    ///
    /// # Errors
    ///
    /// [`SourceError::Interrupted`] if not.
    pub fn check(&self) -> Result<(), SourceError> {
        match self.is_set() {
            true => Err(SourceError::Interrupted),
            false => Ok(()),
        }
    }
}

/// Runs jobs on the threads of `work`, at most `ahead` before the oldest that is not done. `done`
/// gets their results in order, on the calling thread. Each thread has a worker.
///
/// # Errors
///
/// The first error of a job or of `done`. The other jobs stop.
pub fn run_jobs<J: Send, W: Send, T: Send>(
    (work, ahead): (&WorkContext, usize),
    stop: &Stop<'_>,
    jobs: impl IntoIterator<Item = J>,
    worker: impl Fn() -> W + Sync,
    job: impl Fn(&mut W, J) -> Result<T> + Sync,
    mut done: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let run = |worker: &mut W, input| match job(worker, input) {
        Ok(result) => ControlFlow::Continue(Ok(Some(result))),
        // Another job failed, which is the more useful error.
        Err(error) if error.is_interrupted() && stop.has_failed() => {
            ControlFlow::Continue(Ok(None))
        }
        Err(error) => {
            stop.fail();
            ControlFlow::Break(Err(error))
        }
    };
    let sink = |result: Result<Option<T>>| {
        let used = result.and_then(|result| result.map_or(Ok(()), &mut done));
        used.map_or_else(
            |error| {
                stop.fail();
                ControlFlow::Break(error)
            },
            ControlFlow::Continue,
        )
    };
    let end = ordered(&work.threads, ahead, &work.cancel, jobs, worker, run, sink);
    match end? {
        Ordered::Done => Ok(()),
        Ordered::Broken(error) => Err(error),
        Ordered::Canceled => Err(SourceError::Interrupted.into()),
    }
}

impl BuildReader<'_> {
    /// Reads `blocks`. `visit` gets them in runs, each of which follows the one before, until it
    /// breaks.
    ///
    /// # Errors
    ///
    /// [`SourceError::Reorged`] if blocks were replaced while they were read, and the errors of
    /// the source, of `stop` and of `visit`.
    pub fn each_run(
        &mut self,
        blocks: BlockRange,
        stop: &Stop<'_>,
        mut visit: impl FnMut(&BlockRun) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut attempts = Retry::REREAD.start();
        let mut previous: Option<B256> = None;
        let mut rest = Some(blocks);
        while let Some(wanted) = rest {
            stop.check()?;
            let reorged = SourceError::Reorged {
                block: wanted.first,
            };
            let Some(run) = self.read(wanted)? else {
                match attempts.next(&|| stop.is_set()) {
                    RetryStep::Retry => continue,
                    RetryStep::Exhausted => return Err(reorged.into()),
                    RetryStep::Stopped => return Err(SourceError::Interrupted.into()),
                }
            };
            if previous.is_some_and(|previous| previous != run.parent_hash) {
                return Err(reorged.into());
            }
            if visit(&run)?.is_break() {
                break;
            }
            previous = Some(run.last_hash);
            let next = run.blocks.last.checked_add(1);
            rest = next.and_then(|next| BlockRange::new(next, blocks.last));
        }
        Ok(())
    }
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The number of units with right checksums and a valid structure.
    pub units: u64,
    /// The number of blocks that were compared with the source, row by row.
    pub blocks: u64,
    /// The number of their transfers.
    pub transfers: u64,
    /// Blocks that were not compared, because the source no longer has them.
    pub unread: BlockRanges,
}

/// The blocks that stored ones are compared with.
#[derive(Debug)]
pub struct Expected<'a> {
    prepared: PreparedBuildSource<'a>,
    /// Blocks that are no longer available.
    unavailable: BlockRanges,
}

impl<'a> Expected<'a> {
    /// Prepares to read the blocks of `request`, with these additions.
    pub fn new(
        origin: &BuildSource<'a>,
        request: &ScanRequest,
        additions: Additions,
    ) -> Result<Self, SourceError> {
        let (prepared, unavailable) = origin.prepare_available(request, additions)?;
        Ok(Self {
            prepared,
            unavailable,
        })
    }

    /// Reads the available blocks of `blocks`. Returns the number of these blocks, the number of
    /// their transfers, and the other blocks.
    pub fn each_run(
        &self,
        blocks: BlockRange,
        stop: &Stop<'_>,
        mut visit: impl FnMut(&BlockRun) -> Result<()>,
    ) -> Result<VerifyReport> {
        let unread = self.unavailable.intersect(&blocks.into());
        let mut report = VerifyReport::default();
        let mut reader = self.prepared.reader();
        for range in BlockRanges::from(blocks).subtract(&unread).iter() {
            reader.each_run(range, stop, |run| {
                report.blocks += run.blocks.blocks();
                report.transfers += run.transfers.len() as u64;
                visit(run).map(ControlFlow::Continue)
            })?;
        }
        Ok(VerifyReport { unread, ..report })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreError;
    use std::thread;
    use txgraph_work::Threads;

    fn failure(job: u64) -> StoreError {
        StoreError::Options(format!("job {job}"))
    }

    #[track_caller]
    fn assert_failed(end: Result<()>, job: u64) {
        assert_eq!(end.unwrap_err().to_string(), format!("job {job}"));
    }

    fn work() -> WorkContext {
        WorkContext {
            threads: Threads::new(3).unwrap(),
            ..WorkContext::default()
        }
    }

    fn wait(stop: &Stop<'_>) -> Result<u64> {
        loop {
            stop.check()?;
            thread::yield_now();
        }
    }

    /// Job 2, which waits, stops and does not hide the failure of job 3.
    #[test]
    fn a_failed_job_ends_the_others() {
        let work = work();
        let stop = Stop::new(&work.cancel);
        let mut results = Vec::new();
        let job = |(): &mut (), job| match job {
            0 | 1 => Ok(job),
            3 => Err(failure(job)),
            _ => wait(&stop),
        };
        let end = run_jobs(
            (&work, 3),
            &stop,
            0..10,
            || (),
            job,
            |result| {
                results.push(result);
                Ok(())
            },
        );
        assert_failed(end, 3);
        assert_eq!(results, [0, 1]);
    }

    #[test]
    fn a_result_that_cannot_be_used_ends_the_jobs() {
        let work = work();
        let stop = Stop::new(&work.cancel);
        let job = |(): &mut (), job| match job {
            0 => Ok(job),
            _ => wait(&stop),
        };
        let end = run_jobs(
            (&work, 3),
            &stop,
            0..10,
            || (),
            job,
            |result| Err(failure(result)),
        );
        assert_failed(end, 0);
    }

    #[test]
    fn canceled_jobs_are_interrupted() {
        let work = work();
        let stop = Stop::new(&work.cancel);
        let job = |(): &mut (), _| {
            work.cancel.cancel();
            wait(&stop)
        };
        let end = run_jobs((&work, 3), &stop, 0..10, || (), job, |_| Ok(()));
        assert!(end.is_err_and(|error| error.is_interrupted()));
    }
}
