//! How work on a source is done.

use crate::{CancelFlag, Progress, Threads};
use std::{fmt, sync::Arc};

/// Threads, cancellation and progress. The default has one thread per core.
#[derive(Clone, Default)]
pub struct WorkContext {
    /// The threads to use.
    pub threads: Threads,
    /// Stops work when it is set.
    pub cancel: CancelFlag,
    /// Receives the progress.
    pub progress: Option<Arc<dyn Progress>>,
}

impl fmt::Debug for WorkContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkContext")
            .field("threads", &self.threads)
            .field("cancel", &self.cancel)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
