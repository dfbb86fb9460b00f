//! Tables in memory, and the capsules through which other libraries take them.

use arrow_array::{
    Array, RecordBatchIterator, StructArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema},
    ffi_stream::FFI_ArrowArrayStream,
};
use arrow_schema::ArrowError;
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyCapsule};
use txgraph::{ArrowCollector, ArrowTable, Error, ErrorKind, RecordBatch, Result, SchemaRef};

/// The names of capsules in Arrow's PyCapsule interface.
const SCHEMA: &std::ffi::CStr = c"arrow_schema";
const ARRAY: &std::ffi::CStr = c"arrow_array";
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The names of columns.
pub(crate) fn names(columns: &SchemaRef) -> Vec<String> {
    let fields = columns.fields().iter();
    fields.map(|field| field.name().clone()).collect()
}

/// The capsule of a schema.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    columns: &SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let exported = FFI_ArrowSchema::try_from(columns.as_ref());
    let exported = exported.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, exported, SCHEMA)
}

/// The capsule of a stream of batches. An error is a text for people, and ends it.
pub(crate) fn stream_capsule<'py>(
    py: Python<'py>,
    columns: &SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, String>> + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    // A text in C ends with its first zero.
    let failed = |text: String| ArrowError::ExternalError(text.replace('\0', " ").into());
    let batches = batches.map(move |batch| batch.map_err(failed));
    let reader = RecordBatchIterator::new(batches, columns.clone());
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// The table that a query filled.
pub(crate) fn collected(collector: &ArrowCollector) -> Result<Table> {
    let table = collector.take();
    let table = table.ok_or_else(|| Error::new(ErrorKind::Failed, "the answer has no columns"))?;
    Ok(Table(table))
}

/// A table in memory, in record batches.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Table(pub(crate) ArrowTable);

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        names(&self.0.columns)
    }

    /// The source and the coverage of the answer, as JSON.
    #[getter]
    fn metadata(&self) -> Option<&str> {
        self.0.metadata.as_deref()
    }

    /// The record batches.
    fn batches(&self) -> Vec<Batch> {
        let batch = |batch: &RecordBatch| Batch::new(batch.clone());
        self.0.batches.iter().map(batch).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.columns)
    }

    /// The types are always the table's own: an interface may ignore the requested ones.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches: Vec<_> = self.0.batches.iter().cloned().map(Ok).collect();
        stream_capsule(py, &self.0.columns, batches.into_iter())
    }
}

/// A record batch.
#[pyclass(frozen, module = "txgraph._native")]
pub(crate) struct Batch(RecordBatch);

impl Batch {
    pub(crate) const fn new(rows: RecordBatch) -> Self {
        Self(rows)
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        names(self.0.schema_ref())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.0.schema_ref())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let rows = StructArray::from(self.0.clone());
        let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(&rows.to_data()), ARRAY)?;
        Ok((schema_capsule(py, self.0.schema_ref())?, array))
    }
}
