//! Tables in memory: record batches for programs that take the arrays of Apache Arrow.
//!
//! The columns are those of Arrow IPC. Nothing is copied: a program gets the arrays that would be
//! written to a file.

use crate::{Error, Result};
use polars::prelude::{ArrowSchema, PlSmallStr};
use polars_arrow::{
    array::{Array, StructArray},
    datatypes::{ArrowDataType, Field},
    ffi,
};
use std::{fmt, hash, sync::Arc};

/// Receives a table, one record batch at a time. The methods are called one after the other, on
/// any thread.
pub trait ArrowReceiver: Send + Sync {
    /// A table begins. What came before it belongs to an attempt that is repeated.
    fn start(&self, columns: &ArrowColumns);

    /// The next rows. Returns whether more are wanted.
    fn batch(&self, batch: ArrowBatch) -> bool;

    /// The table is complete. `metadata` is JSON: the source and the coverage of the answer.
    fn finish(&self, metadata: Option<&str>);

    /// Whether rows are passed on as they come, so that an attempt cannot be repeated.
    fn is_stream(&self) -> bool {
        false
    }

    /// Whether no more rows are wanted. Asked between batches, too, so that a scan that finds
    /// nothing ends.
    fn is_closed(&self) -> bool {
        false
    }
}

/// A receiver as a [`Target`](crate::Target). Equal are only clones of the same.
#[derive(Clone)]
pub struct ArrowTarget(Arc<dyn ArrowReceiver>);

impl ArrowTarget {
    /// A target that passes everything to `receiver`.
    pub fn new(receiver: Arc<dyn ArrowReceiver>) -> Self {
        Self(receiver)
    }

    pub(crate) fn start(&self, columns: &ArrowColumns) {
        self.0.start(columns);
    }

    pub(crate) fn batch(&self, batch: ArrowBatch) -> bool {
        self.0.batch(batch)
    }

    pub(crate) fn finish(&self, metadata: Option<&str>) {
        self.0.finish(metadata);
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.0.is_stream()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn address(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }
}

impl fmt::Debug for ArrowTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArrowTarget").finish_non_exhaustive()
    }
}

impl PartialEq for ArrowTarget {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for ArrowTarget {}

impl hash::Hash for ArrowTarget {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

/// The names and types of columns, as fields of a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrowColumns(Field);

impl ArrowColumns {
    pub(crate) fn new(schema: ArrowSchema) -> Self {
        let fields = schema.into_iter_values().collect();
        Self(Field::new(
            PlSmallStr::EMPTY,
            ArrowDataType::Struct(fields),
            false,
        ))
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<String> {
        match self.0.dtype() {
            ArrowDataType::Struct(fields) => {
                fields.iter().map(|field| field.name.to_string()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The schema in Arrow's C data interface.
    pub fn export(&self) -> ffi::ArrowSchema {
        ffi::export_field_to_c(&self.0)
    }
}

/// Rows of a table. Clones share their arrays.
#[derive(Clone, Debug)]
pub struct ArrowBatch(StructArray);

impl ArrowBatch {
    pub(crate) fn new(
        columns: &ArrowColumns,
        rows: usize,
        arrays: Vec<Box<dyn Array>>,
    ) -> Result<Self> {
        let array = StructArray::try_new(columns.0.dtype().clone(), rows, arrays, None);
        array.map(Self).map_err(Error::Columns)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.0.len()
    }

    /// The rows in Arrow's C data interface: a struct array of the type of its columns.
    pub fn export(&self) -> ffi::ArrowArray {
        ffi::export_array_to_c(self.0.clone().boxed())
    }
}

/// A table in Arrow's C stream interface. An error of `batches` is a text for people, and ends it.
pub fn arrow_stream(
    columns: &ArrowColumns,
    batches: impl Iterator<Item = Result<ArrowBatch, String>> + Send + 'static,
) -> ffi::ArrowArrayStream {
    let arrays = batches.map(|batch| match batch {
        Ok(batch) => Ok(batch.0.boxed()),
        // A text in C ends with its first zero.
        Err(text) => Err(polars::error::PolarsError::ComputeError(
            text.replace('\0', " ").into(),
        )),
    });
    ffi::export_iterator(Box::new(arrays), columns.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Column, ColumnType, Metadata, TableFormat, TableWriter, Target, TransferTableOptions,
        TransferWriter, Value,
    };
    use polars_arrow::array::{BinaryArray, PrimitiveArray};
    use std::sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    };
    use txgraph_transfers::testing::transfer;

    #[derive(Default)]
    struct Collected {
        names: Mutex<Vec<Vec<String>>>,
        batches: Mutex<Vec<ArrowBatch>>,
        metadata: Mutex<Option<String>>,
        is_closed: AtomicBool,
    }

    impl ArrowReceiver for Collected {
        fn start(&self, columns: &ArrowColumns) {
            self.names.lock().unwrap().push(columns.names());
        }

        fn batch(&self, batch: ArrowBatch) -> bool {
            self.batches.lock().unwrap().push(batch);
            true
        }

        fn finish(&self, metadata: Option<&str>) {
            *self.metadata.lock().unwrap() = metadata.map(str::to_owned);
        }

        fn is_closed(&self) -> bool {
            self.is_closed.load(Ordering::Relaxed)
        }
    }

    fn target() -> (Arc<Collected>, Target) {
        let collected = Arc::new(Collected::default());
        let target = Target::Arrow(ArrowTarget::new(collected.clone()));
        (collected, target)
    }

    #[test]
    fn receivers_get_the_columns_of_ipc() {
        let (collected, target) = target();
        let options = TransferTableOptions {
            group_rows: 2,
            ..TransferTableOptions::new(1)
        };
        let mut writer = TransferWriter::new(TableFormat::Ipc, &options, &target, false).unwrap();
        let transfers: Vec<_> = (1..=5).map(transfer).collect();
        writer.write(&transfers).unwrap();
        let metadata = Metadata::new("transfers", serde_json::json!({}));
        let written = writer.finish(&metadata).unwrap();
        assert_eq!((written.rows, written.path), (5, None));
        assert_eq!(*collected.names.lock().unwrap(), [options.binary_columns()]);
        let batches = collected.batches.lock().unwrap();
        assert_eq!(
            batches.iter().map(ArrowBatch::rows).collect::<Vec<_>>(),
            [2, 2, 1]
        );
        let numbers: Vec<u64> = batches
            .iter()
            .flat_map(|batch| {
                let column = batch.0.values()[0].as_any();
                let column: &PrimitiveArray<u64> = column.downcast_ref().unwrap();
                column.values().iter().copied().collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        let from: &BinaryArray<i64> = batches[0].0.values()[7].as_any().downcast_ref().unwrap();
        assert_eq!(from.value(0), transfers[0].from_address.as_slice());
        let text = collected.metadata.lock().unwrap().clone().unwrap();
        assert!(text.contains("\"command\":\"transfers\""), "{text}");
    }

    #[test]
    fn a_closed_receiver_ends_the_writer_even_without_rows() {
        let (collected, target) = target();
        let options = TransferTableOptions::new(1);
        let mut writer = TransferWriter::new(TableFormat::Ipc, &options, &target, false).unwrap();
        writer.write(&[]).unwrap();
        collected.is_closed.store(true, Ordering::Relaxed);
        assert!(writer.write(&[]).unwrap_err().is_broken_pipe());
    }

    #[test]
    fn text_is_not_written_to_a_receiver() {
        let (_, target) = target();
        let columns = vec![Column::new("a", ColumnType::U32)];
        let options = TransferTableOptions::new(1);
        let mut rows =
            TableWriter::new(TableFormat::Csv, columns, &options, &target, false).unwrap();
        let pushed = rows.push(&[Value::U32(1)]);
        assert!(pushed.and_then(|()| rows.finish(None)).is_err());
    }

    #[test]
    fn targets_are_equal_only_to_their_clones() {
        let ((_, one), (_, other)) = (target(), target());
        assert_eq!(one, one.clone());
        assert_ne!(one, other);
        assert_ne!(one, Target::Stdout);
    }
}
