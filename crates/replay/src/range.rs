//! Replays many blocks on many threads and delivers them in order.

use crate::{BlockReplay, Error, Replayer, Result, StateHistory, worker::Worker};
use alloy_primitives::B256;
use std::{
    collections::BTreeMap,
    ops::{AddAssign, ControlFlow},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};
use txgraph_nodedb::BlockRange;

/// Blocks of a task, which one thread reads under one snapshot.
const TASK_BLOCKS: u64 = 8;
/// Tasks for each thread that may be started before the oldest is delivered. Bounds the memory
/// for results that wait for a slow block.
const TASKS_AHEAD: u64 = 4;
/// Attempts at a task whose blocks are replaced by a reorganisation.
const ATTEMPTS_MAX: u32 = 3;

/// The counts of a replayed range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RangeReport {
    /// The number of blocks.
    pub blocks: u64,
    /// The number of transactions.
    pub transactions: u64,
    /// The gas used by all of them.
    pub gas_used: u64,
    /// The number of differences from the node.
    pub mismatches: u64,
    /// Transactions that had no stored receipt to compare with.
    pub without_receipt: u64,
    /// Blocks that had no change sets to compare with.
    pub without_changes: u64,
    /// Balances that were compared with logs ([`BalanceCheck`](crate::BalanceCheck)).
    pub balances_compared: u64,
    /// Balances for which the token returned no result.
    pub balances_unanswered: u64,
    /// The hash of the last block.
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
    /// Adds the counts of a later range.
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
struct TaskResult {
    /// The replayed blocks before the error, if there is one, or all.
    replays: Vec<BlockReplay>,
    error: Option<Error>,
}

/// State shared by the worker threads and the thread that delivers the results.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// First block of the next task; `None`: no task is left, or the range was stopped.
    next: Option<u64>,
    /// Blocks before this one were delivered.
    delivered: u64,
    /// Finished tasks by their first block.
    done: BTreeMap<u64, TaskResult>,
    /// A thread panicked, so that its task will not finish.
    panicked: bool,
}

impl Queue {
    fn new(first: u64) -> Self {
        Self {
            state: Mutex::new(State {
                next: Some(first),
                delivered: first,
                done: BTreeMap::new(),
                panicked: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No change of the state can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next task; waits while too many results are not delivered yet.
    fn take(&self, last: u64, ahead: u64) -> Option<BlockRange> {
        let mut state = self.lock();
        loop {
            let first = state.next?;
            if first < state.delivered.saturating_add(ahead) {
                let task = BlockRange {
                    first,
                    last: first.saturating_add(TASK_BLOCKS - 1).min(last),
                };
                state.next = task.last.checked_add(1).filter(|next| *next <= last);
                return Some(task);
            }
            state = self.wait(state);
        }
    }

    fn finish(&self, first: u64, result: TaskResult) {
        let mut state = self.lock();
        if result.error.is_some() {
            state.next = None;
        }
        state.done.insert(first, result);
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the task that starts at `first`; `None` if its thread panicked.
    fn wait_for(&self, first: u64) -> Option<TaskResult> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.done.remove(&first) {
                return Some(result);
            }
            if state.panicked {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn set_delivered(&self, next: u64) {
        self.lock().delivered = next;
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.lock().next = None;
        self.changed.notify_all();
    }
}

/// Stops the queue if its thread panics.
struct PanicGuard<'a>(&'a Queue);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().panicked = true;
            self.0.stop();
        }
    }
}

impl<H: StateHistory> Replayer<'_, H> {
    /// Replays all blocks of a range on [`threads`](crate::ReplayOptions) threads and passes them
    /// to `sink` in order. A break of `sink` ends the range.
    ///
    /// # Errors
    ///
    /// The first block that cannot be replayed ends the range, after all blocks before it were
    /// delivered.
    pub fn range(
        &self,
        blocks: BlockRange,
        sink: &mut dyn FnMut(BlockReplay) -> ControlFlow<()>,
    ) -> Result<RangeReport> {
        let mut report = RangeReport::default();
        if blocks.first > blocks.last {
            return Ok(report);
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.options.threads)
            .thread_name(|number| format!("replay-{number}"))
            .build();
        let pool = pool.map_err(|source| Error::Threads {
            threads: self.options.threads,
            source,
        })?;
        let threads = pool.current_num_threads();
        let ahead = TASKS_AHEAD * TASK_BLOCKS * threads as u64;
        let queue = Queue::new(blocks.first);
        pool.in_place_scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|_| {
                    let _guard = PanicGuard(&queue);
                    let mut worker = self.worker();
                    while let Some(task) = queue.take(blocks.last, ahead) {
                        queue.finish(task.first, self.task(&mut worker, task));
                    }
                });
            }
            let done = self.deliver(&queue, blocks, &mut report, sink);
            queue.stop();
            done
        })?;
        Ok(report)
    }

    /// Delivers the results in the order of the chain.
    fn deliver(
        &self,
        queue: &Queue,
        blocks: BlockRange,
        report: &mut RangeReport,
        sink: &mut dyn FnMut(BlockReplay) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut first = blocks.first;
        let mut parent: Option<B256> = None;
        while first <= blocks.last {
            let Some(TaskResult { replays, error }) = queue.wait_for(first) else {
                // The scope resumes the panic.
                return Ok(());
            };
            for replay in replays {
                let number = replay.number;
                // Each task has its own snapshot, which may be of another branch.
                if parent.is_some_and(|parent| parent != replay.parent_hash) {
                    return Err(Error::Replaced { block: number });
                }
                parent = Some(replay.hash);
                report.add(&replay, self.options.verify);
                if sink(replay).is_break() || number == blocks.last {
                    return Ok(());
                }
                first = number + 1;
            }
            if let Some(error) = error {
                return Err(error);
            }
            queue.set_delivered(first);
        }
        Ok(())
    }

    /// Runs a task, again if its blocks were replaced.
    fn task(&self, worker: &mut Worker, task: BlockRange) -> TaskResult {
        let mut attempt = 1;
        loop {
            let mut replays = Vec::new();
            match self.try_task(worker, task, &mut replays) {
                Err(error) if error.is_stale() && attempt < ATTEMPTS_MAX => attempt += 1,
                done => {
                    let error = done.err();
                    return TaskResult { replays, error };
                }
            }
        }
    }

    fn try_task(
        &self,
        worker: &mut Worker,
        task: BlockRange,
        replays: &mut Vec<BlockReplay>,
    ) -> Result<()> {
        let mut blocks = Vec::new();
        let mut read = worker.read(self.db, task, &mut blocks);
        if read.as_ref().is_err_and(|error| !error.is_stale()) {
            // The error may concern one block only: read the rest block by block.
            for number in task.first + blocks.len() as u64..=task.last {
                let block = BlockRange {
                    first: number,
                    last: number,
                };
                read = worker.read(self.db, block, &mut blocks);
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
