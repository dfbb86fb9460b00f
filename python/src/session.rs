//! An open source and the queries that run on it: off the interpreter's lock, observed by
//! signals and progress.

use crate::errors::{closed, raise};
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use pyo3::prelude::*;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};
use txgraph::{CancelFlag, Config, Error, ErrorKind, Progress, Result, RunControl, Source};

/// How often a caller that waits looks for signals and reports progress.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// Ignores poisoning: what the locks protect is whole at every moment.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state that a node and its results share.
pub(crate) struct Session {
    /// None after the node was closed.
    source: RwLock<Option<Arc<Source>>>,
    /// The process that opened it.
    process: u32,
    gate: Arc<Gate>,
    meter: Arc<Meter>,
    /// Called with (blocks done, blocks in all, number, what was counted).
    progress: Option<Py<PyAny>>,
}

impl Session {
    /// Opens a source. Files of other tools take a while, so it can be interrupted.
    pub(crate) fn open(
        py: Python<'_>,
        config: Config,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Arc<Self>> {
        let gate = Arc::new(Gate::default());
        let meter = Arc::new(Meter::default());
        let session = Self {
            source: RwLock::new(None),
            process: process::id(),
            gate: gate.clone(),
            meter: meter.clone(),
            progress,
        };
        let ticket = session.gate.begin(py)?;
        let receiver = start(move || {
            let _ticket = ticket;
            let control = RunControl {
                progress: Some(meter),
                cancel: gate.flag.clone(),
                ..RunControl::default()
            };
            Source::with_config(&config, &control)
        })
        .map_err(|error| raise(py, &error))?;
        let source = session.finish(py, &receiver)?;
        *session
            .source
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(source));
        Ok(Arc::new(session))
    }

    /// The source. A process that was forked has neither the threads nor the mapped files of its parent.
    pub(crate) fn source(&self, py: Python<'_>) -> PyResult<Arc<Source>> {
        if self.process != process::id() {
            let message = "this process was forked from the one that opened the node: open it in processes \
                           that are started with `spawn`";
            return Err(raise(py, &Error::new(ErrorKind::Failed, message)));
        }
        let source = self.source.read().unwrap_or_else(PoisonError::into_inner);
        source.clone().ok_or_else(|| closed(py))
    }

    /// Closes the source, and stops what runs on it.
    pub(crate) fn close(&self) {
        let mut source = self.source.write().unwrap_or_else(PoisonError::into_inner);
        if source.take().is_some() {
            self.gate.cancel();
        }
    }

    /// The flag that stops everything that runs.
    pub(crate) fn flag(&self) -> &CancelFlag {
        &self.gate.flag
    }

    /// Counts one more query. New queries wait until those that were stopped have ended.
    pub(crate) fn ticket(&self, py: Python<'_>) -> PyResult<Ticket> {
        self.gate.begin(py)
    }

    /// Asks on another thread, and waits for the answer.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Source) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let source = self.source(py)?;
        let ticket = self.gate.begin(py)?;
        let receiver = start(move || {
            let _ticket = ticket;
            ask(&source)
        });
        self.finish(py, &receiver.map_err(|error| raise(py, &error))?)
    }

    /// Waits for an answer.
    fn finish<T: Send>(&self, py: Python<'_>, receiver: &Receiver<Result<T>>) -> PyResult<T> {
        let answer = self.wait(py, receiver)?;
        self.report(py)?;
        answer
            .unwrap_or_else(|| Err(ended()))
            .map_err(|error| raise(py, &error))
    }

    /// Waits for the next message. `None`: there are no more. A signal or a callback that raises
    /// stops everything that runs on the source.
    pub(crate) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        receiver: &Receiver<T>,
    ) -> PyResult<Option<T>> {
        loop {
            match py.detach(|| receiver.recv_timeout(POLL)) {
                Ok(message) => return Ok(Some(message)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => self.tick(py)?,
            }
        }
    }

    /// Looks for signals, and reports progress.
    pub(crate) fn tick(&self, py: Python<'_>) -> PyResult<()> {
        let ticked = py.check_signals().and_then(|()| self.report(py));
        if ticked.is_err() {
            self.gate.cancel();
        }
        ticked
    }

    /// Reports progress, if there is any since the last report.
    pub(crate) fn report(&self, py: Python<'_>) -> PyResult<()> {
        match (&self.progress, self.meter.changed()) {
            (Some(callback), Some(report)) => callback.call1(py, report).map(drop),
            _ => Ok(()),
        }
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Failed, "the query ended without an answer")
}

/// Runs `ask` on a thread of its own.
fn start<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<Receiver<Result<T>>> {
    let (sender, receiver) = bounded(1);
    spawn(move || {
        // After an interrupt, the caller does not wait any more.
        let _ = sender.send(guarded(ask));
    })?;
    Ok(receiver)
}

/// Starts a thread.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new()
        .name("txgraph-ask".to_owned())
        .spawn(work);
    thread.map(drop).map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot start a thread for the query: {error}"),
        )
    })
}

/// Turns a panic, which is a bug, into an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::new(
            ErrorKind::Failed,
            format!(
                "this is a bug of txgraph, please report it: {}",
                said(&*panic)
            ),
        ))
    })
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "panic".to_owned())
}

/// Counts the queries that run. All are stopped together; the flag is on until they have ended.
#[derive(Default)]
struct Gate {
    flag: CancelFlag,
    running: Mutex<usize>,
    ended: Condvar,
}

impl Gate {
    fn begin(self: &Arc<Self>, py: Python<'_>) -> PyResult<Ticket> {
        while !py.detach(|| self.enter()) {
            py.check_signals()?;
        }
        Ok(Ticket(self.clone()))
    }

    /// Counts one more query, unless others are still being stopped after a moment.
    fn enter(&self) -> bool {
        let mut running = locked(&self.running);
        if self.flag.is_canceled() && *running > 0 {
            let waited = self.ended.wait_timeout(running, POLL);
            (running, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if *running == 0 {
            self.flag.reset();
        }
        if self.flag.is_canceled() {
            return false;
        }
        *running += 1;
        true
    }

    fn cancel(&self) {
        // Under the lock, so that a query that begins now is not stopped.
        let running = locked(&self.running);
        if *running > 0 {
            self.flag.cancel();
        }
    }
}

/// A query that runs, until it is dropped.
pub(crate) struct Ticket(Arc<Gate>);

impl Drop for Ticket {
    fn drop(&mut self) {
        *locked(&self.0.running) -= 1;
        self.0.ended.notify_all();
    }
}

/// Blocks done, blocks in all, number, what was counted.
type Report = (u64, u64, u64, &'static str);

/// Progress as counters, which the caller's thread reads.
#[derive(Default)]
struct Meter {
    blocks: AtomicU64,
    done: AtomicU64,
    count: AtomicU64,
    counted: Mutex<&'static str>,
    reported: Mutex<Option<Report>>,
}

impl Meter {
    /// The state, if it changed since the last report.
    fn changed(&self) -> Option<Report> {
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let report = (
            load(&self.done),
            load(&self.blocks),
            load(&self.count),
            *locked(&self.counted),
        );
        if report.1 == 0 {
            return None;
        }
        let before = locked(&self.reported).replace(report);
        (before != Some(report)).then_some(report)
    }
}

impl Progress for Meter {
    fn start(&self, blocks: u64, counted: &'static str) {
        *locked(&self.counted) = counted;
        *locked(&self.reported) = None;
        self.done.store(0, Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
        self.blocks.store(blocks, Ordering::Relaxed);
    }

    fn advance(&self, blocks: u64, count: u64) {
        self.done.fetch_add(blocks, Ordering::Relaxed);
        self.count.fetch_add(count, Ordering::Relaxed);
    }

    fn finish(&self) {}
}
