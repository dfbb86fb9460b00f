//! How a caller observes and stops work.

use crate::{CancelFlag, Config, Progress, Result, Threads};
use std::{fmt, sync::Arc};
use txgraph_work::WorkContext;

/// Receives one line for each decision about how a query is answered.
pub type Explain = Arc<dyn Fn(&dyn fmt::Display) + Send + Sync>;

/// How a caller observes and stops work.
#[derive(Clone, Default)]
pub struct RunControl {
    /// Receives the number of finished blocks.
    pub progress: Option<Arc<dyn Progress>>,
    /// Receives the decisions about how a query is answered.
    pub explain: Option<Explain>,
    /// Stops all work when it is set.
    pub cancel: CancelFlag,
    /// The threads of all work on the source. Replaced when it is opened, if its
    /// [`Config`] has a number of threads.
    pub threads: Threads,
}

impl RunControl {
    /// Uses as many threads as a configuration names, if it names a number.
    ///
    /// # Errors
    ///
    /// If the number is too large.
    pub fn with_threads(mut self, config: &Config) -> Result<Self> {
        if let Some(threads) = config.worker_threads()? {
            self.threads = threads;
        }
        Ok(self)
    }

    /// The threads, the flag and the progress.
    pub(crate) fn work(&self) -> WorkContext {
        WorkContext {
            threads: self.threads.clone(),
            cancel: self.cancel.clone(),
            progress: self.progress.clone(),
        }
    }
}

impl fmt::Debug for RunControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunControl")
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}
