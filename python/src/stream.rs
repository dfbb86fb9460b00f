//! Batches that another library takes through a stream of Arrow, on whichever thread it likes.

use crate::{
    errors::raise,
    flow::{Flow, Message},
    session::Session,
};
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use std::{
    sync::Arc,
    thread::{self, ThreadId},
};
use txgraph::RecordBatch;

/// The end of the channel that another library takes batches from.
pub(crate) struct Outlet {
    session: Arc<Session>,
    /// The thread that asked for the stream.
    owner: ThreadId,
    /// The batch that was waited for before the stream was handed out.
    first: Option<RecordBatch>,
    /// None after the end.
    flow: Option<Flow>,
}

impl Outlet {
    /// Waits for the first batch: what fails before it is an exception of ours, with its fields.
    /// Later failures are errors of the library that takes the batches.
    pub(crate) fn new(py: Python<'_>, session: &Arc<Session>, flow: Flow) -> PyResult<Self> {
        let mut outlet = Self {
            session: session.clone(),
            owner: thread::current().id(),
            first: None,
            flow: None,
        };
        loop {
            match session.wait(py, &flow.receiver)? {
                Some(Message::Batch(batch)) => {
                    outlet.first = Some(batch);
                    outlet.flow = Some(flow);
                    return Ok(outlet);
                }
                Some(Message::Labels(_) | Message::Columns(_)) => {}
                None => {
                    let ended = flow.ended();
                    session.report(py)?;
                    return ended.map(|()| outlet).map_err(|error| raise(py, &error));
                }
            }
        }
    }

    /// Waits for the next message. `None`: there are no more.
    ///
    /// The thread that asked may hold the interpreter's lock, which is released in the meantime,
    /// and it looks for signals. Others never touch that lock: a thread that has it may wait for
    /// them.
    fn receive(&self, flow: &Flow) -> Result<Option<Message>, String> {
        if let Ok(message) = flow.receiver.try_recv() {
            return Ok(Some(message));
        }
        if thread::current().id() != self.owner {
            return Ok(flow.receiver.recv().ok());
        }
        let waited = Python::try_attach(|py| {
            let message = self.session.wait(py, &flow.receiver);
            let message = message.and_then(|message| {
                if message.is_none() {
                    self.session.report(py)?;
                }
                Ok(message)
            });
            message.map_err(|error| repeated(py, &error))
        });
        waited.unwrap_or_else(|| Err("the interpreter ends".to_owned()))
    }
}

impl Iterator for Outlet {
    type Item = Result<RecordBatch, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(batch) = self.first.take() {
            return Some(Ok(batch));
        }
        loop {
            let flow = self.flow.as_ref()?;
            let end = match self.receive(flow) {
                Ok(Some(Message::Batch(batch))) => return Some(Ok(batch)),
                Ok(Some(Message::Labels(_) | Message::Columns(_))) => continue,
                Ok(None) => flow.ended().err().map(|error| Err(error.to_string())),
                Err(text) => Some(Err(text)),
            };
            self.flow = None;
            return end;
        }
    }
}

/// The text of an exception. The library between us and the caller raises an error of its own, so
/// an interrupt is repeated for the caller; if that fails, the error still stands.
fn repeated(py: Python<'_>, error: &PyErr) -> String {
    let text = error.to_string();
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        let thread = py.import("_thread");
        let _ = thread.and_then(|thread| thread.call_method0("interrupt_main"));
    }
    text
}
