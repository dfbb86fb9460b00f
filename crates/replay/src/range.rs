//! Replays a range of blocks on several threads, and delivers them in order.

use crate::{BlockReplay, BlockSource, Error, Replayer, Result, StateHistory, worker::Worker};
use alloy_primitives::B256;
use std::ops::{AddAssign, ControlFlow};
use txgraph_nodedb::BlockRange;
use txgraph_transfers::BlockRanges;
use txgraph_work::{Ordered, Retry, RetryStep, ordered};

/// Blocks of a task, which are read under one snapshot.
const TASK_BLOCKS: u64 = 8;
/// Tasks per thread that are started and not yet delivered. Bounds the memory of blocks that
/// wait for a slow one before them.
const TASKS_AHEAD: usize = 4;

/// Counts of a replayed range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeReport {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of transactions.
    pub transactions: u64,
    /// The gas of all transactions.
    pub gas_used: u64,
    /// Places where the replay differs from the data of the node.
    pub mismatches: u64,
    /// Transactions without a stored receipt to compare with.
    pub without_receipt: u64,
    /// Blocks without change sets to compare with.
    pub without_changes: u64,
    /// Balances that were compared with the logs ([`BalanceCheck`](crate::BalanceCheck)).
    pub balances_compared: u64,
    /// Balances for which the token did not answer `balanceOf`.
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
    /// Adds the report of the range that follows.
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
    /// The first blocks of the task, up to the error if there is one.
    replays: Vec<BlockReplay>,
    error: Option<Error>,
}

impl<H: StateHistory, B: BlockSource> Replayer<'_, H, B> {
    /// Replays all blocks of some ranges on [`threads`](crate::ReplayOptions), and passes them to
    /// `sink` in the order of the chain. `sink` may break.
    ///
    /// # Errors
    ///
    /// The first block that cannot be replayed ends the replay. All blocks before it were
    /// passed to `sink`.
    pub fn range(
        &self,
        blocks: impl Into<BlockRanges>,
        sink: &mut dyn FnMut(BlockReplay) -> ControlFlow<()>,
    ) -> Result<RangeReport> {
        let mut report = RangeReport::default();
        let mut before: Option<(u64, B256)> = None;
        let blocks = blocks.into();
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
                // Each task has its own snapshot. Two of them can be of different branches.
                let block = replay.number;
                let parent = before.filter(|(number, _)| number.checked_add(1) == Some(block));
                if parent.is_some_and(|(_, hash)| hash != replay.parent_hash) {
                    return ControlFlow::Break(Err(Error::Replaced { block }));
                }
                before = Some((block, replay.hash));
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
            blocks.iter().flat_map(|range| range.chunks(TASK_BLOCKS)),
            || self.worker(),
            run,
            deliver,
        )?;
        match end {
            Ordered::Done | Ordered::Broken(Ok(())) => Ok(report),
            Ordered::Broken(Err(error)) => Err(error),
            Ordered::Canceled => Err(Error::Interrupted),
        }
    }

    /// Returns the report of one block.
    pub fn report(&self, replay: &BlockReplay) -> RangeReport {
        let mut report = RangeReport::default();
        report.add(replay, self.options.verify);
        report
    }

    /// Replays one task. Repeats it if the chain changed in the meantime, see
    /// [`Retry::REREAD`].
    fn task(&self, worker: &mut Worker, task: BlockRange) -> Finished {
        let mut attempts = Retry::REREAD.start();
        loop {
            let mut replays = Vec::new();
            let error = self.try_task(worker, task, &mut replays).err();
            if error.as_ref().is_none_or(|error| !error.is_stale())
                || attempts.next(&|| self.options.cancel.is_canceled()) != RetryStep::Retry
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
        let mut read = worker.read(self.blocks, task, verify, &mut blocks);
        if read.as_ref().is_err_and(|error| !error.is_stale()) {
            // The error may belong to a later block, so the blocks are read one by one.
            for number in task.first + blocks.len() as u64..=task.last {
                let block = BlockRange::one(number);
                read = worker.read(self.blocks, block, verify, &mut blocks);
                if read.is_err() {
                    break;
                }
            }
        }
        for block in &blocks {
            if self.options.cancel.is_canceled() {
                return Err(Error::Interrupted);
            }
            replays.push(self.replay(worker, block)?);
        }
        read
    }
}
