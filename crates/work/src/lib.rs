//! Work on several threads, with results in order.
//!
//! Every crate that spreads work over threads does it through this one:
//!
//! - [`Threads`] decides how many threads there are and owns them.
//! - [`ordered`] runs tasks on them and delivers their results in the order of the tasks.
//!   [`TaskQueue`] and [`run_tasks`] are its two halves, for callers that need more control
//!   over which task runs next.
//! - [`CancelFlag`] stops work, [`Progress`] and [`ProgressGuard`] report it.
//! - [`WorkContext`] is the threads, flag and progress of one caller.
//! - [`Retry`] repeats what failed because a node changed its files.
//!
//! The crate knows nothing of blocks, files or transfers.
//!
//! Modules, each using only those before it: cancel, task_queue, progress, retry, threads, runner, context,
//! ordered.

mod cancel;
mod context;
mod ordered;
mod progress;
mod retry;
mod runner;
mod task_queue;
mod threads;

pub use cancel::CancelFlag;
pub use context::WorkContext;
pub use ordered::{Ordered, ordered};
pub use progress::{Progress, ProgressGuard};
pub use retry::{Attempts, Retry, RetryStep};
pub use runner::{TaskRunner, Wait, run_tasks};
pub use task_queue::{QueueHead, RunningTask, TaskQueue};
pub use threads::{Threads, ThreadsError};
