//! Many blocks on many threads, handed over in their order.

use crate::{BlockReplay, Error, Replayer, Result, StateHistory, worker::Worker};
use alloy_primitives::B256;
use std::{
    collections::BTreeMap,
    ops::{AddAssign, ControlFlow},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};
use txgraph_nodedb::BlockRange;

/// Blocks that a thread takes at a time: they are read under one snapshot.
const TASK_BLOCKS: u64 = 8;
/// Tasks that may be taken before the oldest is handed over, for each thread: bounds what
/// waits in memory behind a slow block.
const TASKS_AHEAD: u64 = 4;
/// How often a task is begun anew because the chain was reorganised under it.
const ATTEMPTS_MAX: u32 = 3;

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

/// What came of a task.
struct Finished {
    /// Of its first blocks, up to the error if there is one.
    replays: Vec<BlockReplay>,
    error: Option<Error>,
}

/// What threads and the one who hands over share.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// First block of the next task; `None`: all are taken, or nobody wants more.
    next: Option<u64>,
    /// Blocks before this one were handed over.
    handed_over: u64,
    /// Finished tasks by their first block.
    done: BTreeMap<u64, Finished>,
    /// A thread panicked: its task will never be done.
    lost: bool,
}

impl Queue {
    fn new(first: u64) -> Self {
        Self {
            state: Mutex::new(State {
                next: Some(first),
                handed_over: first,
                done: BTreeMap::new(),
                lost: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change of it is whole before anything could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; waits while too much is waiting to be handed over.
    fn take(&self, last: u64, ahead: u64) -> Option<BlockRange> {
        let mut state = self.lock();
        loop {
            let first = state.next?;
            if first < state.handed_over.saturating_add(ahead) {
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

    fn finish(&self, first: u64, finished: Finished) {
        let mut state = self.lock();
        if finished.error.is_some() {
            state.next = None;
        }
        state.done.insert(first, finished);
        drop(state);
        self.changed.notify_all();
    }

    /// The task that begins at `first`, when it is done; `None` if it never will be.
    fn wait_for(&self, first: u64) -> Option<Finished> {
        let mut state = self.lock();
        loop {
            if let Some(finished) = state.done.remove(&first) {
                return Some(finished);
            }
            if state.lost {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn handed_over(&self, next: u64) {
        self.lock().handed_over = next;
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.lock().next = None;
        self.changed.notify_all();
    }
}

/// Says so when its thread panics.
struct Watch<'a>(&'a Queue);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().lost = true;
            self.0.stop();
        }
    }
}

impl<H: StateHistory> Replayer<'_, H> {
    /// Replays all blocks of a range on [`threads`](crate::ReplayOptions), and hands them
    /// over in their order, whatever the number of threads. `sink` may break.
    ///
    /// # Errors
    ///
    /// The first block that cannot be replayed ends the range; all before it were handed
    /// over.
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
                    let _watch = Watch(&queue);
                    let mut worker = self.worker();
                    while let Some(task) = queue.take(blocks.last, ahead) {
                        queue.finish(task.first, self.task(&mut worker, task));
                    }
                });
            }
            let done = self.hand_over(&queue, blocks, &mut report, sink);
            queue.stop();
            done
        })?;
        Ok(report)
    }

    /// Takes what is done in the order of the chain.
    fn hand_over(
        &self,
        queue: &Queue,
        blocks: BlockRange,
        report: &mut RangeReport,
        sink: &mut dyn FnMut(BlockReplay) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut first = blocks.first;
        let mut parent: Option<B256> = None;
        while first <= blocks.last {
            let Some(Finished { replays, error }) = queue.wait_for(first) else {
                // The panic goes on when the scope ends.
                return Ok(());
            };
            for replay in replays {
                let number = replay.number;
                // Tasks have snapshots of their own, which need not be of one branch.
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
            queue.handed_over(first);
        }
        Ok(())
    }

    /// One task, again if the chain changed under it.
    fn task(&self, worker: &mut Worker, task: BlockRange) -> Finished {
        let mut attempt = 1;
        loop {
            let mut replays = Vec::new();
            match self.try_task(worker, task, &mut replays) {
                Err(error) if error.is_stale() && attempt < ATTEMPTS_MAX => attempt += 1,
                done => {
                    let error = done.err();
                    return Finished { replays, error };
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
        let verify = self.options.verify.transactions;
        let mut blocks = Vec::new();
        let mut read = worker.read(self.db, task, verify, &mut blocks);
        if read.as_ref().is_err_and(|error| !error.is_stale()) {
            // It may be an error of the whole range: what comes before it is read alone.
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
