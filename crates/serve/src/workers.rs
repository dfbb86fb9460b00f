//! The threads that work on requests: a bounded number, each with a time limit and a switch.

use crate::{
    fault::{Answer, Fault},
    metrics::Metrics,
    settings::Limits,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::Semaphore,
    task,
    time::{timeout, timeout_at},
};
use txgraph::{CancelFlag, RunControl, Source};

/// How long work may go on after it was asked to stop.
const GRACE: Duration = Duration::from_secs(1);

/// Works on requests.
#[derive(Debug)]
pub(crate) struct Workers {
    source: Arc<Source>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    limits: Limits,
    metrics: Arc<Metrics>,
}

impl Workers {
    pub(crate) fn new(source: Source, limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            source: Arc::new(source),
            permits: Arc::new(Semaphore::new(limits.workers.max(1))),
            waiting: AtomicUsize::new(0),
            limits,
            metrics,
        }
    }

    /// Runs `work` on a thread, with a handle on the source that is its own and the moment at which it
    /// has to end. Stops it then, and when the returned future is dropped: when the client leaves.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Source, Instant) -> T + Send + 'static,
    ) -> Answer<T> {
        let deadline = Instant::now() + self.limits.time;
        let permit = {
            let _waiting = Waiting::enter(self)?;
            let permit = self.permits.clone().acquire_owned();
            match timeout_at(deadline.into(), permit).await {
                Ok(Ok(permit)) => permit,
                Ok(Err(_)) | Err(_) => return Err(self.late()),
            }
        };
        let cancel = CancelFlag::new();
        let mut running = Running {
            cancel: cancel.clone(),
            metrics: &self.metrics,
            done: false,
        };
        self.metrics.running.fetch_add(1, Ordering::Relaxed);
        let source = self.source.clone();
        let mut thread = task::spawn_blocking(move || -> Answer<T> {
            let _permit = permit;
            let control = RunControl {
                cancel,
                ..RunControl::default()
            };
            let source = source.with_control(&control)?;
            Ok(work(&source, deadline))
        });
        let finished = match timeout_at(deadline.into(), &mut thread).await {
            Ok(finished) => finished,
            Err(_) => {
                running.cancel.cancel();
                match timeout(GRACE, thread).await {
                    Ok(finished) => finished,
                    Err(_) => {
                        running.done = true;
                        return Err(self.late());
                    }
                }
            }
        };
        running.done = true;
        match finished {
            Ok(result) => result,
            Err(error) => {
                tracing::error!(%error, "a request failed");
                Err(Fault::Failed(
                    "the request failed in this server".to_owned(),
                ))
            }
        }
    }

    fn late(&self) -> Fault {
        self.metrics.late.fetch_add(1, Ordering::Relaxed);
        Fault::Late
    }
}

/// Stops work whose result nothing waits for.
struct Running<'a> {
    cancel: CancelFlag,
    metrics: &'a Metrics,
    done: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.metrics.running.fetch_sub(1, Ordering::Relaxed);
        if !self.done {
            self.cancel.cancel();
            self.metrics.left.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A request that waits for a worker.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(workers: &'a Workers) -> Answer<Self> {
        let before = workers.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(&workers.waiting);
        if before >= workers.limits.waiting.max(1) {
            workers.metrics.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Fault::Busy);
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
