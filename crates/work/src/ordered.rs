//! The ordered pipeline.

use crate::{
    CancelFlag, QueueHead, RunningTask, TaskQueue, Threads, ThreadsError, Wait, run_tasks,
};
use std::ops::ControlFlow;

/// How [`ordered`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered<B> {
    /// The results of all tasks were delivered, or those up to a result that broke.
    Done,
    /// The sink broke, with this value.
    Broken(B),
    /// The cancel flag was set.
    Canceled,
}

/// Runs `tasks` on several threads and delivers their results to `sink`, on the calling
/// thread and in the order of the tasks.
///
/// `state` makes what each thread keeps between tasks, e.g. buffers. `run` does one task. A
/// result inside of `ControlFlow::Break` is the last one that is delivered: tasks behind it
/// are not started any more, tasks before it are finished. So with errors as such results,
/// the first error in the order of the tasks ends the work, whatever the timing.
///
/// At most `ahead` tasks are started and not yet delivered: that bounds the memory for
/// results behind a slow task or a slow sink. Tasks are taken from the iterator when they
/// start, on the calling thread.
///
/// ```
/// use std::ops::ControlFlow;
/// use txgraph_work::{CancelFlag, Ordered, Threads, ordered};
///
/// let mut squares = Vec::new();
/// let end = ordered(
///     &Threads::new(3)?,
///     8,
///     &CancelFlag::new(),
///     0..100u64,
///     || (),
///     |(), number| ControlFlow::Continue(number * number),
///     |square| {
///         squares.push(square);
///         ControlFlow::<()>::Continue(())
///     },
/// )?;
/// assert_eq!(end, Ordered::Done);
/// assert!(squares.is_sorted());
/// # Ok::<(), txgraph_work::ThreadsError>(())
/// ```
///
/// # Errors
///
/// If the threads cannot be started.
///
/// # Panics
///
/// With the panic of a task, if one panics.
pub fn ordered<T: Send, S: Send, R: Send, B>(
    threads: &Threads,
    ahead: usize,
    cancel: &CancelFlag,
    tasks: impl IntoIterator<Item = T>,
    state: impl Fn() -> S + Sync,
    run: impl Fn(&mut S, T) -> ControlFlow<R, R> + Sync,
    mut sink: impl FnMut(R) -> ControlFlow<B>,
) -> Result<Ordered<B>, ThreadsError> {
    let mut tasks = tasks.into_iter().fuse();
    run_tasks(threads, state, run, |runner| {
        let mut queue: TaskQueue<(), ControlFlow<R, R>> = TaskQueue::default();
        let mut is_closed = false;
        loop {
            if cancel.is_canceled() {
                return Ordered::Canceled;
            }
            while let Some((id, result)) = runner.finished(Wait::No) {
                is_closed |= result.is_break();
                queue.finish(id, result);
            }
            // Before the sink takes its time.
            while !is_closed && queue.len() < ahead.max(1) {
                let Some(task) = tasks.next() else {
                    is_closed = true;
                    break;
                };
                queue.push_back(());
                let RunningTask { id, .. } = queue.start(queue.len() - 1);
                runner.start(RunningTask { id, task });
            }
            match queue.head() {
                QueueHead::Empty => return Ordered::Done,
                QueueHead::Pending => {
                    if let Some((id, result)) = runner.finished(Wait::Briefly) {
                        is_closed |= result.is_break();
                        queue.finish(id, result);
                    }
                }
                QueueHead::Done(_) => {
                    let Some((_, result)) = queue.take_head() else {
                        continue;
                    };
                    let (result, is_last) = match result {
                        ControlFlow::Continue(result) => (result, false),
                        ControlFlow::Break(result) => (result, true),
                    };
                    match sink(result) {
                        ControlFlow::Break(value) => return Ordered::Broken(value),
                        ControlFlow::Continue(()) if is_last => return Ordered::Done,
                        ControlFlow::Continue(()) => {}
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests;
