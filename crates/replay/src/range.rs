//! Many blocks on many threads, handed over in their order.

use crate::{BlockReplay, Error, Replayer, Result, StateHistory, worker::Worker};
use alloy_primitives::B256;
use std::ops::{AddAssign, ControlFlow};
use txgraph_nodedb::BlockRange;
use txgraph_work::{Next, Ordered, Retry, ordered};

/// Blocks that a thread takes at a time: they are read under one snapshot.
const TASK_BLOCKS: u64 = 8;
/// Tasks that are started and not yet delivered, per thread: bounds what waits in memory
/// behind a slow block.
const TASKS_AHEAD: usize = 4;

/// What was replayed of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeReport {
    /// Blocks.
    pub blocks: u64,
    /// Transactions.
    pub transactions: u64,
    /// Gas of all of them.
    pub gas_used: u64,
    /// Places where the replay disagrees with the node.
    pub mismatches: u64,
    /// Transactions without a stored receipt to compare with.
    pub without_receipt: u64,
    /// Blocks without change sets to compare with.
    pub without_changes: u64,
    /// Balances that were compared with the logs ([`BalanceCheck`](crate::BalanceCheck)).
    pub balances_compared: u64,
    /// Balances that the token would not tell.
    pub balances_unanswered: u64,
    /// Hash of the last block.
    pub last_block_hash: Option<B256>,
}

impl RangeReport {
    fn add(&mut self, replay: &BlockReplay, wanted: crate::Verify) {
        let transactions = replay.transactions.len() as u64;
        self.blocks += 1;
        self.transactions += transactions;
        self.gas_used += replay.gas_used;
        self.mismatches += replay.mismatches.len() as u64;
        for check in replay
            .transactions
            .iter()
            .filter_map(|tx| tx.balances.as_ref())
        {
            self.balances_compared += check.compared;
            self.balances_unanswered += check.unanswered;
        }
        if wanted.receipts && !replay.verified.receipts {
            self.without_receipt += transactions;
        }
        self.without_changes += u64::from(wanted.changes && !replay.verified.changes);
        self.last_block_hash = Some(replay.hash);
    }
}

impl AddAssign for RangeReport {
    /// Of ranges one after the other.
    fn add_assign(&mut self, later: Self) {
        let Self {
            blocks,
            transactions,
            gas_used,
            mismatches,
            without_receipt,
            without_changes,
            balances_compared,
            balances_unanswered,
            last_block_hash,
        } = later;
        self.blocks += blocks;
        self.transactions += transactions;
        self.gas_used += gas_used;
        self.mismatches += mismatches;
        self.without_receipt += without_receipt;
        self.without_changes += without_changes;
        self.balances_compared += balances_compared;
        self.balances_unanswered += balances_unanswered;
        self.last_block_hash = last_block_hash.or(self.last_block_hash);
    }
}

/// The result of a task.
struct Finished {
    /// Its first blocks, up to the error if there is one.
    replays: Vec<BlockReplay>,
    error: Option<Error>,
}

impl<H: StateHistory> Replayer<'_, H> {
    /// Replays all blocks of a range on [`threads`](crate::ReplayOptions), and passes them
    /// to `sink` in order, whatever the number of threads. `sink` may break.
    ///
    /// # Errors
    ///
    /// The first block that cannot be replayed ends the range; all blocks before it were
    /// passed on.
    pub fn range(
        &self,
        blocks: BlockRange,
        sink: &mut dyn FnMut(BlockReplay) -> ControlFlow<()>,
    ) -> Result<RangeReport> {
        let mut report = RangeReport::default();
        let mut parent: Option<B256> = None;
        let threads = &self.options.threads;
        let run = |worker: &mut Worker, task| {
            let finished = self.task(worker, task);
            match finished.error {
                Some(_) => ControlFlow::Break(finished),
                None => ControlFlow::Continue(finished),
            }
        };
        let deliver = |Finished { replays, error }| {
            for replay in replays {
                // Tasks have snapshots of their own, which need not be of one branch.
                if parent.is_some_and(|parent| parent != replay.parent_hash) {
                    let block = replay.number;
                    return ControlFlow::Break(Err(Error::Replaced { block }));
                }
                parent = Some(replay.hash);
                report.add(&replay, self.options.verify);
                if sink(replay).is_break() {
                    return ControlFlow::Break(Ok(()));
                }
            }
            match error {
                Some(error) => ControlFlow::Break(Err(error)),
                None => ControlFlow::Continue(()),
            }
        };
        let end = ordered(
            threads,
            TASKS_AHEAD * threads.count(),
            &self.options.cancel,
            tasks(blocks),
            || self.worker(),
            run,
            deliver,
        )?;
        match end {
            Ordered::Done | Ordered::Broken(Ok(())) => Ok(report),
            Ordered::Broken(Err(error)) => Err(error),
            Ordered::Cancelled => Err(Error::Interrupted),
        }
    }

    /// One task, again if the chain changed under it: see [`Retry::REREAD`].
    fn task(&self, worker: &mut Worker, task: BlockRange) -> Finished {
        let mut attempts = Retry::REREAD.start();
        loop {
            let mut replays = Vec::new();
            let error = self.try_task(worker, task, &mut replays).err();
            if error.as_ref().is_none_or(|error| !error.is_stale())
                || attempts.next(&|| self.options.cancel.is_cancelled()) != Next::Retry
            {
                return Finished { replays, error };
            }
        }
    }

    fn try_task(
        &self,
        worker: &mut Worker,
        task: BlockRange,
        replays: &mut Vec<BlockReplay>,
    ) -> Result<()> {
        let verify = self.options.verify.transactions;
        let mut blocks = Vec::new();
        let mut read = worker.read(self.db, task, verify, &mut blocks);
        if read.as_ref().is_err_and(|error| !error.is_stale()) {
            // The error may concern a later block: the blocks before it are read one by one.
            for number in task.first + blocks.len() as u64..=task.last {
                let block = BlockRange {
                    first: number,
                    last: number,
                };
                read = worker.read(self.db, block, verify, &mut blocks);
                if read.is_err() {
                    break;
                }
            }
        }
        for block in &blocks {
            replays.push(self.replay(worker, block)?);
        }
        read
    }
}

/// The blocks of a range, cut into tasks.
fn tasks(blocks: BlockRange) -> impl Iterator<Item = BlockRange> {
    let mut rest = BlockRange::new(blocks.first, blocks.last);
    std::iter::from_fn(move || {
        let BlockRange { first, last } = rest.take()?;
        let end = first.saturating_add(TASK_BLOCKS - 1).min(last);
        rest = end
            .checked_add(1)
            .and_then(|next| BlockRange::new(next, last));
        Some(BlockRange { first, last: end })
    })
}
