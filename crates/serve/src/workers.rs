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

/// Works on requests with the source.
#[derive(Debug)]
pub(crate) struct Workers {
    source: Arc<Source>,
    pool: Pool,
    time: Duration,
}

impl Workers {
    pub(crate) fn new(source: Source, limits: &Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            source: Arc::new(source),
            pool: Pool::new(limits.workers, limits, metrics),
            time: limits.time,
        }
    }

    /// Runs `work` on a thread, with a handle on the source that is its own and the moment at which it
    /// has to end. Stops it then, and when the returned future is dropped: when the client leaves.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Source, Instant) -> T + Send + 'static,
    ) -> Answer<T> {
        let deadline = Instant::now() + self.time;
        let source = self.source.clone();
        let work = move |cancel| {
            let control = RunControl {
                cancel,
                ..RunControl::default()
            };
            let source = source.with_control(&control)?;
            Ok(work(&source, deadline))
        };
        self.pool.run(deadline, work).await
    }
}

/// A bounded number of threads.
#[derive(Debug)]
pub(crate) struct Pool {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
    metrics: Arc<Metrics>,
}

impl Pool {
    /// As many threads as `threads`; the limit of those that wait is in `limits`.
    pub(crate) fn new(threads: usize, limits: &Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(threads.max(1))),
            waiting: AtomicUsize::new(0),
            most_waiting: limits.waiting.max(1),
            metrics,
        }
    }

    /// Runs `work` on a thread until `deadline`. Switches its flag on then, and when the returned
    /// future is dropped: when the client leaves.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        deadline: Instant,
        work: impl FnOnce(CancelFlag) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let permit = {
            let _waiting = Waiting::enter(self)?;
            let permit = self.permits.clone().acquire_owned();
            match timeout_at(deadline.into(), permit).await {
                Ok(Ok(permit)) => permit,
                Ok(Err(_)) | Err(_) => return Err(self.late()),
            }
        };
        let cancel = CancelFlag::new();
        let mut awaited = Awaited {
            cancel: cancel.clone(),
            metrics: &self.metrics,
            done: false,
        };
        let running = Running::enter(self.metrics.clone());
        let mut thread = task::spawn_blocking(move || {
            let _permit = permit;
            let _running = running;
            work(cancel)
        });
        let finished = match timeout_at(deadline.into(), &mut thread).await {
            Ok(finished) => finished,
            Err(_) => {
                awaited.cancel.cancel();
                match timeout(GRACE, thread).await {
                    Ok(finished) => finished,
                    Err(_) => {
                        awaited.done = true;
                        return Err(self.late());
                    }
                }
            }
        };
        awaited.done = true;
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
struct Awaited<'a> {
    cancel: CancelFlag,
    metrics: &'a Metrics,
    done: bool,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.cancel.cancel();
            self.metrics.left.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Work on a thread, up to its true end, which may be later than its client waits.
struct Running(Arc<Metrics>);

impl Running {
    fn enter(metrics: Arc<Metrics>) -> Self {
        metrics.running.fetch_add(1, Ordering::Relaxed);
        Self(metrics)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        self.0.note_panic();
    }
}

/// A request that waits for a worker.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(pool: &'a Pool) -> Answer<Self> {
        let before = pool.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(&pool.waiting);
        if before >= pool.most_waiting {
            pool.metrics.refused.fetch_add(1, Ordering::Relaxed);
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
