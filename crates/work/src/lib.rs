//! Work on several threads, with results in order.
//!
//! Every crate that spreads work over threads does it through this one:
//!
//! - [`Threads`] decides how many threads there are and owns them.
//! - [`ordered`] runs tasks on them and delivers their results in the order of the tasks.
//!   [`Line`] and [`run_tasks`] are its two halves, for callers that need more control
//!   over which task runs next.
//! - [`CancelFlag`] stops work, [`Progress`] and [`ProgressGuard`] report it.
//! - [`Work`] is the threads, flag and progress of one caller.
//! - [`Retry`] repeats what failed because a node changed its files.
//!
//! The crate knows nothing of blocks, files or transfers.
//!
//! Modules, each using only those before it: cancel, line, progress, retry, threads, runner, work,
//! ordered.

mod cancel;
mod line;
mod ordered;
mod progress;
mod retry;
mod runner;
mod threads;
mod work;

pub use cancel::CancelFlag;
pub use line::{Head, Line, Started};
pub use ordered::{Ordered, ordered};
pub use progress::{Progress, ProgressGuard};
pub use retry::{Attempts, Next, Retry};
pub use runner::{TaskRunner, Wait, run_tasks};
pub use threads::{Threads, ThreadsError};
pub use work::Work;
