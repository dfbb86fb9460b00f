//! How a caller observes and stops work.

use crate::{CancelFlag, Config, Error, ErrorKind, Progress, Result, Threads};
use std::{fmt, ops::ControlFlow, sync::Arc};
use txgraph_transfers::SourceError;
use txgraph_work::{Ordered, WorkContext, ordered};

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

    /// Does `work` on all threads, each with a `state` of its own, and passes the results to
    /// `deliver` in the order of `items`, until it breaks. The first error in that order ends it.
    /// At most `ahead` results for each thread wait for `deliver`.
    pub(crate) fn in_order<T: Send, S: Send, R: Send>(
        &self,
        ahead: usize,
        items: impl IntoIterator<Item = T>,
        state: impl Fn() -> S + Sync,
        work: impl Fn(T, &mut S) -> Result<R> + Sync,
        mut deliver: impl FnMut(R) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let end = ordered(
            &self.threads,
            self.threads.count().saturating_mul(ahead),
            &self.cancel,
            items,
            state,
            |state, item| match work(item, state) {
                Ok(result) => ControlFlow::Continue(Ok(result)),
                Err(error) => ControlFlow::Break(Err(error)),
            },
            |result: Result<R>| match result.and_then(&mut deliver) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(())),
                Err(error) => ControlFlow::Break(Err(error)),
            },
        );
        match end.map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))? {
            Ordered::Done => Ok(()),
            Ordered::Broken(end) => end,
            Ordered::Canceled => Err(SourceError::Interrupted.into()),
        }
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
