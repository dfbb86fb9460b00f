//! Runs tasks on threads; results come back to the caller in any order.

use crate::{RunningTask, Threads, ThreadsError};
use rayon::Yield;
use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    time::Duration,
};

/// Longest wait for a result; then the caller can check whether to stop.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// The same on a thread of the pool, which does not help other tasks in the meantime.
const WAIT_IN_POOL_MAX: Duration = Duration::from_millis(2);

/// Whether to wait for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Return at once.
    No,
    /// Wait for up to 50 ms, or run a task on this thread.
    Briefly,
}

/// Starts tasks and returns their results; see [`run_tasks`].
pub struct TaskRunner<'a, T, R>(Mode<'a, T, R>);

enum Mode<'a, T, R> {
    /// On the calling thread, when it waits.
    Inline {
        queue: VecDeque<RunningTask<T>>,
        run: &'a mut dyn FnMut(T) -> R,
    },
    Pool {
        spawn: &'a dyn Fn(RunningTask<T>),
        receiver: &'a Receiver<(u64, Result<R, Panic>)>,
        /// Whether the calling thread is one of the pool.
        is_in_pool: bool,
    },
}

type Panic = Box<dyn Any + Send>;

impl<T, R> std::fmt::Debug for TaskRunner<'_, T, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskRunner").finish_non_exhaustive()
    }
}

impl<T, R> TaskRunner<'_, T, R> {
    /// Queues a task. Tasks begin in the order in which they are queued.
    pub fn start(&mut self, task: RunningTask<T>) {
        match &mut self.0 {
            Mode::Inline { queue, .. } => queue.push_back(task),
            Mode::Pool { spawn, .. } => spawn(task),
        }
    }

    /// Returns the ID and the result of a task that is done.
    ///
    /// # Panics
    ///
    /// With the panic of a task, if one panicked.
    pub fn finished(&mut self, wait: Wait) -> Option<(u64, R)> {
        match &mut self.0 {
            Mode::Inline { queue, run } => match wait {
                Wait::No => None,
                Wait::Briefly => {
                    let RunningTask { id, task } = queue.pop_front()?;
                    Some((id, run(task)))
                }
            },
            Mode::Pool {
                receiver,
                is_in_pool,
                ..
            } => {
                let received = receiver
                    .try_recv()
                    .ok()
                    .or_else(|| match (wait, *is_in_pool) {
                        (Wait::No, _) => None,
                        (Wait::Briefly, false) => receiver.recv_timeout(WAIT_MAX).ok(),
                        // A thread of the pool must not only wait: with one thread, or with
                        // every thread here, no task would ever run.
                        (Wait::Briefly, true) => match rayon::yield_now() {
                            Some(Yield::Executed) => receiver.try_recv().ok(),
                            _ => receiver.recv_timeout(WAIT_IN_POOL_MAX).ok(),
                        },
                    });
                let (id, result) = received?;
                Some((id, result.unwrap_or_else(|panic| resume_unwind(panic))))
            }
        }
    }
}

/// Runs `drive` on the calling thread with a [`TaskRunner`] for tasks of type `T`.
///
/// `state` makes what each thread keeps between tasks, e.g. buffers. Tasks that have not
/// begun when `drive` returns are dropped; the call returns when those that run are done.
///
/// Called on a thread of the same pool, that thread runs tasks while it waits. With one
/// thread all tasks run on the calling thread, and no thread is started.
///
/// # Errors
///
/// If the threads cannot be started.
///
/// # Panics
///
/// With the panic of a task, if one panicked and `drive` asked for results after that.
pub fn run_tasks<T: Send, S: Send, R: Send, O>(
    threads: &Threads,
    state: impl Fn() -> S + Sync,
    run: impl Fn(&mut S, T) -> R + Sync,
    drive: impl FnOnce(&mut TaskRunner<'_, T, R>) -> O,
) -> Result<O, ThreadsError> {
    if threads.count() == 1 {
        let mut own = None;
        let mut run = |task| run(own.get_or_insert_with(&state), task);
        return Ok(drive(&mut TaskRunner(Mode::Inline {
            queue: VecDeque::new(),
            run: &mut run,
        })));
    }
    let pool = threads.pool()?;
    // One for each thread. A lock is only ever taken by its own thread.
    let states: Vec<Mutex<Option<S>>> = (0..pool.current_num_threads())
        .map(|_| Mutex::new(None))
        .collect();
    let stopped = AtomicBool::new(false);
    let (sender, receiver) = channel();
    let (state, run, states, stopped) = (&state, &run, &states, &stopped);
    Ok(pool.in_place_scope_fifo(|scope| {
        let spawn = |RunningTask { id, task }: RunningTask<T>| {
            let sender = sender.clone();
            scope.spawn_fifo(move |_| {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let result = catch_unwind(AssertUnwindSafe(|| {
                    let slot = rayon::current_thread_index().and_then(|thread| states.get(thread));
                    // Taken if this task runs inside another one of this runner, on a thread
                    // that waits; unusable after a panic. Then a new state is made.
                    match slot.and_then(|slot| slot.try_lock().ok()) {
                        Some(mut own) => run(own.get_or_insert_with(state), task),
                        None => run(&mut state(), task),
                    }
                }));
                // Without a receiver the work has ended.
                let _ = sender.send((id, result));
            });
        };
        let done = drive(&mut TaskRunner(Mode::Pool {
            spawn: &spawn,
            receiver: &receiver,
            is_in_pool: pool.current_thread_index().is_some(),
        }));
        stopped.store(true, Ordering::Relaxed);
        done
    }))
}
