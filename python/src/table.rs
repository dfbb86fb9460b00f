//! Tables in memory, and the capsules through which other libraries take them.

use pyo3::{prelude::*, types::PyCapsule};
use std::sync::{Arc, Mutex};
use txgraph::{
    ArrowBatch, ArrowColumns, ArrowReceiver, ArrowTarget, Error, ErrorKind, Result, Target,
    arrow_stream,
};

use crate::session::locked;

/// The names of capsules in Arrow's PyCapsule interface.
const SCHEMA: &std::ffi::CStr = c"arrow_schema";
const ARRAY: &std::ffi::CStr = c"arrow_array";
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The capsule of a schema.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    columns: &ArrowColumns,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, columns.export(), SCHEMA)
}

/// The capsule of a stream of batches.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    columns: &ArrowColumns,
    batches: impl Iterator<Item = Result<ArrowBatch, String>> + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, arrow_stream(columns, batches), STREAM)
}

/// A table in memory, in record batches.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Table {
    columns: ArrowColumns,
    batches: Vec<ArrowBatch>,
    metadata: Option<String>,
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batches.iter().map(ArrowBatch::rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.names()
    }

    /// The source and the coverage of the answer, as JSON.
    #[getter]
    fn metadata(&self) -> Option<&str> {
        self.metadata.as_deref()
    }

    /// The record batches.
    fn batches(&self) -> Vec<Batch> {
        let batch = |batch: &ArrowBatch| Batch::new(self.columns.clone(), batch.clone());
        self.batches.iter().map(batch).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.columns)
    }

    /// The types are always those of this table: an interface may ignore the requested ones.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        stream_capsule(py, &self.columns, batches.into_iter())
    }
}

/// A record batch.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Batch {
    columns: ArrowColumns,
    rows: ArrowBatch,
}

impl Batch {
    pub(crate) const fn new(columns: ArrowColumns, rows: ArrowBatch) -> Self {
        Self { columns, rows }
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.rows.rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.names()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.columns)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let array = PyCapsule::new_with_value(py, self.rows.export(), ARRAY)?;
        Ok((schema_capsule(py, &self.columns)?, array))
    }
}

/// Keeps all batches of a table. What an attempt that was repeated left is discarded.
#[derive(Default)]
pub(crate) struct Collected(Mutex<Parts>);

#[derive(Default)]
struct Parts {
    columns: Option<ArrowColumns>,
    batches: Vec<ArrowBatch>,
    metadata: Option<String>,
}

impl Collected {
    /// A receiver, and the target that fills it.
    pub(crate) fn new() -> (Arc<Self>, Target) {
        let collected = Arc::new(Self::default());
        let target = Target::Arrow(ArrowTarget::new(collected.clone()));
        (collected, target)
    }

    /// The names and types of the columns, when a table was begun.
    pub(crate) fn columns(&self) -> Result<ArrowColumns> {
        let columns = locked(&self.0).columns.clone();
        columns.ok_or_else(|| Error::new(ErrorKind::Failed, "the answer has no columns"))
    }

    /// The table.
    pub(crate) fn table(&self) -> Result<Table> {
        let columns = self.columns()?;
        let parts = std::mem::take(&mut *locked(&self.0));
        Ok(Table {
            columns,
            batches: parts.batches,
            metadata: parts.metadata,
        })
    }
}

impl ArrowReceiver for Collected {
    fn start(&self, columns: &ArrowColumns) {
        *locked(&self.0) = Parts {
            columns: Some(columns.clone()),
            ..Parts::default()
        };
    }

    fn batch(&self, batch: ArrowBatch) -> bool {
        locked(&self.0).batches.push(batch);
        true
    }

    fn finish(&self, metadata: Option<&str>) {
        locked(&self.0).metadata = metadata.map(str::to_owned);
    }
}
