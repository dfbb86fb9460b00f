//! Tables in memory: record batches for programs that take the arrays of Apache Arrow.
//!
//! The columns equal the columns of Arrow IPC. Nothing is copied: a program gets the arrays that
//! would be written to a file.

use crate::{
    ArrowReceiver, ArrowTarget, ColumnType, Target,
    fields::{FIELDS, TransferField},
    table::columns::{ColumnBuilder, METADATA_KEY},
};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use txgraph_transfers::Transfer;

/// A table in memory.
#[derive(Clone, Debug)]
pub struct ArrowTable {
    /// Names and types of the columns, and the metadata under the key of files.
    pub columns: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// The source and the coverage of the result, as JSON.
    pub metadata: Option<String>,
}

/// Keeps all batches of a table. What an attempt that was repeated left is discarded.
#[derive(Debug, Default)]
pub struct ArrowCollector(Mutex<Option<ArrowTable>>);

impl ArrowCollector {
    /// A receiver, and the target that fills it.
    pub fn new() -> (Arc<Self>, Target) {
        let collector = Arc::new(Self::default());
        let target = Target::Arrow(ArrowTarget::new(collector.clone()));
        (collector, target)
    }

    /// Takes the table; `None` if none was begun.
    pub fn take(&self) -> Option<ArrowTable> {
        self.locked().take()
    }

    /// Ignores poisoning: nothing panics under the lock.
    fn locked(&self) -> MutexGuard<'_, Option<ArrowTable>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ArrowTable {
    /// The table as a stream of Arrow IPC.
    pub fn to_ipc_stream(&self) -> crate::Result<Vec<u8>> {
        let mut writer = StreamWriter::try_new(Vec::new(), &self.columns)?;
        for batch in &self.batches {
            let columns = batch.columns().to_vec();
            writer.write(&RecordBatch::try_new(self.columns.clone(), columns)?)?;
        }
        Ok(writer.into_inner()?)
    }
}

impl ArrowReceiver for ArrowCollector {
    fn start(&self, columns: &SchemaRef) {
        *self.locked() = Some(ArrowTable {
            columns: columns.clone(),
            batches: Vec::new(),
            metadata: None,
        });
    }

    fn batch(&self, batch: RecordBatch) -> bool {
        if let Some(table) = &mut *self.locked() {
            table.batches.push(batch);
        }
        true
    }

    fn finish(&self, metadata: Option<&str>) {
        if let Some(table) = &mut *self.locked() {
            table.metadata = metadata.map(str::to_owned);
            if let Some(metadata) = metadata {
                let mut schema = Schema::clone(&table.columns);
                let entry = (METADATA_KEY.to_owned(), metadata.to_owned());
                schema.metadata.extend([entry]);
                table.columns = Arc::new(schema);
            }
        }
    }
}

/// The columns of [`transfer_batch`].
pub fn transfer_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let field = |field: &TransferField| {
            let data_type = exact_builder(field).data_type();
            Field::new(field.name, data_type, field.is_optional)
        };
        Arc::new(Schema::new(FIELDS.iter().map(field).collect::<Vec<_>>()))
    });
    SCHEMA.clone()
}

/// Transfers as columns for programs of ours: addresses, hashes and numbers of 256 bits are binary
/// of a fixed size, and only fields that can be absent are nullable.
pub fn transfer_batch(transfers: &[Transfer]) -> Result<RecordBatch, ArrowError> {
    let column = |field: &TransferField| {
        let mut column = exact_builder(field);
        // A column that did not take the field has no rows, which `try_new` refuses.
        column.extend(field.get, transfers.iter())?;
        Ok(column.take())
    };
    let columns = FIELDS
        .iter()
        .map(column)
        .collect::<Result<_, ArrowError>>()?;
    RecordBatch::try_new(transfer_schema(), columns)
}

fn exact_builder(field: &TransferField) -> ColumnBuilder {
    ColumnBuilder::fixed(match field.get.column_type() {
        ColumnType::Amount => ColumnType::Hash,
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Column, Error, Metadata, TableFormat, TableWriter, TransferTableOptions, TransferWriter,
        Value,
    };
    use arrow_array::{
        cast::AsArray,
        types::{UInt32Type, UInt64Type},
    };
    use std::sync::atomic::{AtomicBool, Ordering};
    use txgraph_transfers::testing::transfer;

    #[derive(Default)]
    struct Closing(AtomicBool);

    impl ArrowReceiver for Closing {
        fn start(&self, _: &SchemaRef) {}

        fn batch(&self, _: RecordBatch) -> bool {
            true
        }

        fn finish(&self, _: Option<&str>) {}

        fn is_closed(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn receivers_get_the_columns_of_ipc() {
        let (collector, target) = ArrowCollector::new();
        let options = TransferTableOptions {
            group_rows: 2,
            ..TransferTableOptions::new(1)
        };
        let mut writer = TransferWriter::new(TableFormat::Ipc, &options, &target, false).unwrap();
        let transfers: Vec<_> = (1..=5).map(transfer).collect();
        writer.write(&transfers).unwrap();
        let metadata = Metadata::new("transfers", serde_json::json!({}));
        let written = writer.finish(&metadata).unwrap();
        assert_eq!((written.rows, written.path), (Some(5), None));
        let table = collector.take().unwrap();
        let fields = table.columns.fields().iter();
        let names: Vec<_> = fields.map(|field| field.name().clone()).collect();
        assert_eq!(names, options.names(TableFormat::Ipc).unwrap());
        let rows = table.batches.iter().map(RecordBatch::num_rows);
        assert_eq!(rows.collect::<Vec<_>>(), [2, 2, 1]);
        let numbers = table.batches.iter().flat_map(|batch| {
            let column = batch.column(0).as_primitive::<UInt64Type>();
            column.values().to_vec()
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        let from = table.batches[0].column(7).as_binary::<i64>();
        assert_eq!(from.value(0), transfers[0].from_address.as_slice());
        let text = table.metadata.unwrap();
        assert!(text.contains("\"command\":\"transfers\""), "{text}");
    }

    #[test]
    fn exact_batches_have_no_absent_values_where_none_can_be() {
        let transfers: Vec<_> = (1..=3).map(transfer).collect();
        let batch = transfer_batch(&transfers).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (3, FIELDS.len()));
        let schema = transfer_schema();
        for (column, field) in batch.columns().iter().zip(schema.fields()) {
            assert_eq!(column.data_type(), field.data_type());
            assert!(field.is_nullable() || column.null_count() == 0, "{field}");
        }
        for (at, transfer) in transfers.iter().enumerate() {
            let index = batch.column(2).as_primitive::<UInt32Type>().value(at);
            assert_eq!(index, transfer.transaction_index);
            let value = batch.column(9).as_fixed_size_binary().value(at);
            assert_eq!(value, transfer.value.to_be_bytes::<32>());
            let kind = batch.column(12).as_string::<i32>().value(at);
            assert_eq!(kind, transfer.kind.as_str());
        }
        assert_eq!(transfer_batch(&[]).unwrap().num_rows(), 0);
    }

    #[test]
    fn a_closed_receiver_ends_the_writer_even_without_rows() {
        let closing = Arc::new(Closing::default());
        let target = Target::Arrow(ArrowTarget::new(closing.clone()));
        let options = TransferTableOptions::new(1);
        let mut writer = TransferWriter::new(TableFormat::Ipc, &options, &target, false).unwrap();
        writer.write(&[]).unwrap();
        closing.0.store(true, Ordering::Relaxed);
        assert!(matches!(writer.write(&[]).unwrap_err(), Error::BrokenPipe));
    }

    #[test]
    fn text_is_not_written_to_a_receiver() {
        let (_, target) = ArrowCollector::new();
        let columns = vec![Column::new("a", ColumnType::U32)];
        let options = TransferTableOptions::new(1);
        let mut rows =
            TableWriter::new(TableFormat::Csv, columns, &options, &target, false).unwrap();
        let pushed = rows.push(&[Value::U32(1)]);
        assert!(pushed.and_then(|()| rows.finish(None)).is_err());
    }

    #[test]
    fn targets_are_equal_only_to_their_clones() {
        let ((_, one), (_, other)) = (ArrowCollector::new(), ArrowCollector::new());
        assert_eq!(one, one.clone());
        assert_ne!(one, other);
        assert_ne!(one, Target::Stdout);
    }
}
