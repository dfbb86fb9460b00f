//! Parquet and Arrow IPC files, read with the crates of Apache Arrow, as cells of text.

use arrow_array::{
    Array, RecordBatch,
    cast::AsArray,
    types::{Float64Type, UInt32Type, UInt64Type},
};
use arrow_ipc::reader::FileReader;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::{fs::File, path::Path};

/// A table that was read back. Its schema has the metadata of the file.
pub(crate) struct Frame {
    pub(crate) schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Frame {
    pub(crate) fn parquet(path: &Path) -> Self {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let schema = builder.schema().clone();
        let batches = builder.build().unwrap().map(Result::unwrap).collect();
        Self { schema, batches }
    }

    pub(crate) fn ipc(path: &Path) -> Self {
        let reader = FileReader::try_new(File::open(path).unwrap(), None).unwrap();
        let schema = reader.schema();
        let batches = reader.map(Result::unwrap).collect();
        Self { schema, batches }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// The rows, with cells as CSV has them.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let row = |batch: &RecordBatch, row| {
            let columns = batch.columns().iter();
            columns.map(|column| text(column, row)).collect()
        };
        let rows = self
            .batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at)));
        rows.collect()
    }
}

fn text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::LargeBinary => {
            let digits = column.as_binary::<i64>().value(row).iter();
            let digits = digits.map(|byte| format!("{byte:02x}"));
            format!("0x{}", digits.collect::<String>())
        }
        DataType::LargeUtf8 => column.as_string::<i64>().value(row).to_owned(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => match column.as_primitive::<Float64Type>().value(row) {
            number if number.abs() < 2f64.powi(53) => number.to_string(),
            number => format!("{number:e}"),
        },
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        other => panic!("a cell of type {other}"),
    }
}
