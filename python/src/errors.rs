//! Errors as exceptions of `txgraph._errors`, with their fields.

use pyo3::{exceptions::PyUserWarning, prelude::*, types::PyList};
use std::{error::Error as _, ffi::CString};
use txgraph::{Error, ErrorKind, Gaps, Labels};

/// The exception for an error.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|other| other)
}

/// The exception for a query to a node that was closed.
pub(crate) fn closed(py: Python<'_>) -> PyErr {
    let class = py.import("txgraph._errors");
    let class = class.and_then(|module| module.getattr("Closed"));
    let exception = class.and_then(|class| class.call1(("the node was closed: open it again",)));
    exception.map_or_else(|other| other, PyErr::from_value)
}

/// Warns the caller.
pub(crate) fn warn(py: Python<'_>, warning: &str) -> PyResult<()> {
    let text = CString::new(warning.replace('\0', " ")).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}

/// Warns the caller of labels that were not read.
pub(crate) fn warn_of(py: Python<'_>, labels: Option<&Labels>) -> PyResult<()> {
    let mut warnings = labels.into_iter().flat_map(Labels::warnings);
    warnings.try_for_each(|warning| warn(py, warning))
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = match error.kind {
        ErrorKind::Usage => "UsageError",
        ErrorKind::Unsupported(_) => "UnsupportedError",
        ErrorKind::Unavailable => "Unavailable",
        ErrorKind::Reorged => "Reorged",
        ErrorKind::Interrupted => "Interrupted",
        _ => "Failed",
    };
    let module = py.import("txgraph._errors")?;
    let exception = module.getattr(class)?.call1((message(error),))?;
    if let Some(hint) = &error.hint {
        exception.setattr("advice", hint.to_string())?;
    }
    if let Some(gaps) = &error.gaps {
        let Gaps { missing, available } = &**gaps;
        let gap = module.getattr("Gap")?;
        let missing = missing.iter().map(|gap_found| {
            let blocks = gap_found.blocks;
            gap.call1((blocks.first, blocks.last, gap_found.reason.as_str()))
        });
        let missing = missing.collect::<PyResult<Vec<_>>>()?;
        exception.setattr("missing", PyList::new(py, missing)?)?;
        let available: Vec<_> = available.iter().map(|it| (it.first, it.last)).collect();
        exception.setattr("available", available)?;
    }
    Ok(PyErr::from_value(exception))
}

/// The message of an error, with its causes.
fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
