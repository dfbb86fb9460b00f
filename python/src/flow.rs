//! Transfers as they are read: batches through a bounded channel, so that memory stays constant.

use crate::{
    errors::{raise, warn_of},
    session::{POLL, Session, Ticket, guarded, locked, spawn},
    stream::Outlet,
    table::{Batch, names, schema_capsule, stream_capsule},
};
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyCapsule};
use std::{
    mem,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
};
use txgraph::{
    ArrowReceiver, ArrowTarget, CancelFlag, ErrorKind, Labels, RecordBatch, Result, SchemaRef,
    Source, SourceError, Target, parse::TransfersQuery,
};

/// Batches that were read and not yet taken.
const AHEAD: usize = 2;

pub(crate) enum Message {
    /// The names of addresses, which have warnings.
    Labels(Labels),
    Columns(SchemaRef),
    Batch(RecordBatch),
}

/// The reading thread's end of the channel.
struct Inlet {
    sender: Sender<Message>,
    /// Set when no more batches are taken.
    stop: Arc<AtomicBool>,
    cancel: CancelFlag,
    metadata: Arc<Mutex<Option<String>>>,
}

impl Inlet {
    fn send(&self, mut message: Message) -> bool {
        while !self.is_closed() {
            match self.sender.send_timeout(message, POLL) {
                Ok(()) => return true,
                Err(SendTimeoutError::Timeout(same)) => message = same,
                Err(SendTimeoutError::Disconnected(_)) => return false,
            }
        }
        false
    }
}

impl ArrowReceiver for Inlet {
    fn start(&self, columns: &SchemaRef) {
        self.send(Message::Columns(columns.clone()));
    }

    fn batch(&self, batch: RecordBatch) -> bool {
        self.send(Message::Batch(batch))
    }

    fn finish(&self, metadata: Option<&str>) {
        *locked(&self.metadata) = metadata.map(str::to_owned);
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn is_closed(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.is_canceled()
    }
}

/// A scan that runs, until it is dropped.
pub(crate) struct Flow {
    pub(crate) receiver: Receiver<Message>,
    stop: Arc<AtomicBool>,
    /// Known when the channel is closed.
    outcome: Arc<Mutex<Option<Result<()>>>>,
    metadata: Arc<Mutex<Option<String>>>,
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Flow {
    /// Starts to read. Returns when the columns are known, and the blocks were found.
    fn start(
        py: Python<'_>,
        session: &Session,
        query: TransfersQuery,
    ) -> PyResult<(Self, SchemaRef)> {
        let source = session.source(py)?;
        let ticket = session.ticket(py)?;
        let (sender, receiver) = bounded(AHEAD);
        let flow = Self {
            receiver,
            stop: Arc::default(),
            outcome: Arc::default(),
            metadata: Arc::default(),
        };
        let inlet = Arc::new(Inlet {
            sender,
            stop: flow.stop.clone(),
            cancel: session.flag().clone(),
            metadata: flow.metadata.clone(),
        });
        let outcome = flow.outcome.clone();
        let started = spawn(move || read(&source, &query, inlet, &outcome, ticket));
        started.map_err(|error| raise(py, &error))?;
        loop {
            match session.wait(py, &flow.receiver)? {
                Some(Message::Labels(labels)) => warn_of(py, Some(&labels))?,
                Some(Message::Columns(columns)) => return Ok((flow, columns)),
                _ => {
                    return Err(match flow.ended() {
                        Err(error) => raise(py, &error),
                        Ok(()) => PyRuntimeError::new_err("the answer has no columns"),
                    });
                }
            }
        }
    }

    /// How the scan ended.
    pub(crate) fn ended(&self) -> Result<()> {
        locked(&self.outcome).take().unwrap_or(Ok(()))
    }
}

/// Reads transfers into a channel.
fn read(
    source: &Source,
    query: &TransfersQuery,
    inlet: Arc<Inlet>,
    outcome: &Mutex<Option<Result<()>>>,
    ticket: Ticket,
) {
    let result = guarded(|| {
        let (prepared, mut output) = query.on(source)?;
        if let Some(labels) = &output.labels {
            inlet.send(Message::Labels(labels.clone()));
        }
        output.target = Target::Arrow(ArrowTarget::new(inlet.clone()));
        prepared.write(&output).map(drop)
    });
    *locked(outcome) = Some(match result {
        Err(error) if error.kind == ErrorKind::BrokenPipe && inlet.is_closed() => {
            Err(SourceError::Interrupted.into())
        }
        result => result,
    });
    // In this order: who sees the end of the channel finds the outcome.
    drop(inlet);
    drop(ticket);
}

/// Record batches of transfers as they are read: an iterator, and a stream of Arrow for a single
/// use.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Batches {
    session: Arc<Session>,
    columns: SchemaRef,
    metadata: Arc<Mutex<Option<String>>>,
    /// See [`Inlet::stop`].
    stop: Arc<AtomicBool>,
    rows: Mutex<Rows>,
}

/// The rows that were not taken yet.
enum Rows {
    Read(Flow),
    /// All were taken.
    End,
    /// An error or [`Batches::close`] ended it: the others are missing.
    Stopped,
    /// A stream takes them.
    Taken,
}

fn taken() -> PyErr {
    PyRuntimeError::new_err("these batches were taken before; ask for them again")
}

impl Batches {
    pub(crate) fn start(
        py: Python<'_>,
        session: &Arc<Session>,
        query: TransfersQuery,
    ) -> PyResult<Self> {
        let (flow, columns) = Flow::start(py, session, query)?;
        Ok(Self {
            session: session.clone(),
            columns,
            metadata: flow.metadata.clone(),
            stop: flow.stop.clone(),
            rows: Mutex::new(Rows::Read(flow)),
        })
    }
}

#[pymethods]
impl Batches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let mut rows = match self.rows.try_lock() {
            Ok(rows) => rows,
            Err(TryLockError::Poisoned(rows)) => rows.into_inner(),
            // Waiting here would hold the interpreter's lock.
            Err(TryLockError::WouldBlock) => {
                return Err(PyRuntimeError::new_err(
                    "another thread is reading these batches",
                ));
            }
        };
        let running = match &*rows {
            Rows::Read(flow) => flow,
            Rows::End => return Ok(None),
            Rows::Stopped => return Err(raise(py, &SourceError::Interrupted.into())),
            Rows::Taken => return Err(taken()),
        };
        loop {
            match self.session.wait(py, &running.receiver) {
                Ok(Some(Message::Batch(batch))) => return Ok(Some(Batch::new(batch))),
                Ok(Some(Message::Labels(_) | Message::Columns(_))) => {}
                Ok(None) => {
                    let ended = running.ended();
                    *rows = match &ended {
                        Ok(()) => Rows::End,
                        Err(_) => Rows::Stopped,
                    };
                    self.session.report(py)?;
                    return ended.map(|()| None).map_err(|error| raise(py, &error));
                }
                Err(error) => {
                    *rows = Rows::Stopped;
                    return Err(error);
                }
            }
        }
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        names(&self.columns)
    }

    /// The source and the coverage of the answer, as JSON. `None` before the end.
    #[getter]
    fn metadata(&self) -> Option<String> {
        locked(&self.metadata).clone()
    }

    /// Stops reading. The next batch is an error, also for a thread that waits for it.
    fn close(&self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Ok(mut rows) = self.rows.try_lock()
            && matches!(*rows, Rows::Read(_))
        {
            *rows = Rows::Stopped;
        }
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.columns)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let mut rows = self.rows.try_lock().map_err(|_| taken())?;
        let flow = match mem::replace(&mut *rows, Rows::Taken) {
            Rows::Read(flow) => flow,
            other => {
                *rows = other;
                return Err(taken());
            }
        };
        drop(rows);
        let outlet = Outlet::new(py, &self.session, flow)?;
        stream_capsule(py, &self.columns, outlet)
    }
}
