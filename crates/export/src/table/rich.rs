//! Parquet with the types that engines expect: timestamps, fixed-size binary, dictionaries.
//!
//! Written by the Parquet crate of Apache Arrow, as polars has no binary of a fixed size. The files
//! have sorting columns, a page index, and bloom filters of the addresses, as the tables of a lake.

use crate::{Error, Metadata, Result, Value, Written, output::Output};
use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        FixedSizeBinaryBuilder, Float64Builder, StringBuilder, StringDictionaryBuilder,
        TimestampMillisecondBuilder, UInt32Builder, UInt64Builder,
    },
    types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::{
        metadata::{KeyValue, SortingColumn},
        properties::{EnabledStatistics, WriterProperties},
    },
    schema::types::ColumnPath,
};
use std::sync::Arc;

/// The key of the metadata in the footer of a file.
const METADATA_KEY: &str = "txgraph";

/// The share of absent addresses that a bloom filter does not recognize.
const BLOOM_FALSE_POSITIVES: f64 = 0.01;

/// Milliseconds of a second. Parquet has no timestamps in seconds.
const MILLISECONDS: u64 = 1_000;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RichType {
    U32,
    U64,
    F64,
    Text,
    /// Text of few different values.
    Word,
    /// Seconds since 1970, written as a timestamp in UTC.
    Time,
    /// 20 bytes.
    Address,
    /// 32 bytes.
    Hash,
}

impl RichType {
    fn data_type(self) -> DataType {
        match self {
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::F64 => DataType::Float64,
            Self::Text => DataType::Utf8,
            Self::Word => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Self::Time => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Self::Address => DataType::FixedSizeBinary(20),
            Self::Hash => DataType::FixedSizeBinary(32),
        }
    }

    fn builder(self) -> Builder {
        match self {
            Self::U32 => Builder::U32(UInt32Builder::new()),
            Self::U64 => Builder::U64(UInt64Builder::new()),
            Self::F64 => Builder::F64(Float64Builder::new()),
            Self::Text => Builder::Text(StringBuilder::new()),
            Self::Word => Builder::Word(StringDictionaryBuilder::new()),
            Self::Time => Builder::Time(TimestampMillisecondBuilder::new().with_timezone("UTC")),
            Self::Address => Builder::Bytes(FixedSizeBinaryBuilder::new(20)),
            Self::Hash => Builder::Bytes(FixedSizeBinaryBuilder::new(32)),
        }
    }
}

enum Builder {
    U32(UInt32Builder),
    U64(UInt64Builder),
    F64(Float64Builder),
    Text(StringBuilder),
    Word(StringDictionaryBuilder<Int32Type>),
    Time(TimestampMillisecondBuilder),
    Bytes(FixedSizeBinaryBuilder),
}

impl Builder {
    /// Appends a value. One of another type is absent, which is a bug.
    fn push(&mut self, value: &Value<'_>) -> Result<(), ParquetError> {
        match (self, value) {
            (Self::U32(column), Value::U32(number)) => column.append_value(*number),
            (Self::U64(column), Value::U64(number)) => column.append_value(*number),
            (Self::F64(column), Value::F64(number)) => column.append_value(*number),
            (Self::Text(column), Value::Text(text)) => column.append_value(text),
            (Self::Word(column), Value::Text(text)) => column.append_value(text),
            (Self::Time(column), Value::U64(seconds)) => {
                let time = seconds.checked_mul(MILLISECONDS);
                column.append_option(time.and_then(|time| i64::try_from(time).ok()));
            }
            (Self::Bytes(column), Value::Address(address)) => column.append_value(address)?,
            (Self::Bytes(column), Value::Hash(hash)) => column.append_value(hash)?,
            (column, value) => {
                debug_assert!(
                    *value == Value::Absent,
                    "a value of another type: {value:?}"
                );
                column.push_absent();
            }
        }
        Ok(())
    }

    fn push_absent(&mut self) {
        match self {
            Self::U32(column) => column.append_null(),
            Self::U64(column) => column.append_null(),
            Self::F64(column) => column.append_null(),
            Self::Text(column) => column.append_null(),
            Self::Word(column) => column.append_null(),
            Self::Time(column) => column.append_null(),
            Self::Bytes(column) => column.append_null(),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::U32(column) => Arc::new(column.finish()),
            Self::U64(column) => Arc::new(column.finish()),
            Self::F64(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
            Self::Word(column) => Arc::new(column.finish()),
            Self::Time(column) => Arc::new(column.finish()),
            Self::Bytes(column) => Arc::new(column.finish()),
        }
    }
}

/// Writes rows of typed values as Parquet.
pub(crate) struct RichFile {
    writer: ArrowWriter<Output>,
    schema: SchemaRef,
    builders: Vec<Builder>,
    rows: usize,
    rows_max: usize,
    rows_written: u64,
}

impl RichFile {
    /// Opens a file. The rows are sorted by the first of the columns in `order` that exist.
    pub(crate) fn new(
        columns: &[(String, RichType)],
        order: &[&str],
        rows_max: usize,
        output: Output,
    ) -> Result<Self> {
        let fields = columns
            .iter()
            .map(|(name, rich)| Field::new(name, rich.data_type(), true));
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = properties(columns, order, rows_max);
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties));
        Ok(Self {
            writer: writer.map_err(failed)?,
            schema,
            builders: columns.iter().map(|(_, rich)| rich.builder()).collect(),
            rows: 0,
            rows_max: rows_max.max(1),
            rows_written: 0,
        })
    }

    /// Appends a row: a value for each column.
    pub(crate) fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        for (builder, value) in self.builders.iter_mut().zip(row) {
            builder.push(value).map_err(failed)?;
        }
        self.rows += 1;
        match self.rows < self.rows_max {
            true => Ok(()),
            false => self.write_group(),
        }
    }

    fn write_group(&mut self) -> Result<()> {
        let columns = self.builders.iter_mut().map(Builder::take).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.map_err(|error| failed(error.into()))?;
        let written = self.writer.write(&batch);
        let written = written.and_then(|()| self.writer.flush());
        if let Err(error) = written {
            let failure = self.writer.inner_mut().take_failure();
            return Err(failure.unwrap_or_else(|| failed(error)));
        }
        self.rows_written += self.rows as u64;
        self.rows = 0;
        Ok(())
    }

    /// Writes the footer and gives the file its name.
    pub(crate) fn finish(mut self, metadata: Option<&Metadata>) -> Result<Written> {
        if self.rows > 0 {
            self.write_group()?;
        }
        if let Some(metadata) = metadata {
            let pair = KeyValue::new(METADATA_KEY.to_owned(), metadata.to_json()?);
            self.writer.append_key_value_metadata(pair);
        }
        let output = self.writer.into_inner().map_err(failed)?;
        output.finish(metadata, self.rows_written)
    }
}

fn properties(columns: &[(String, RichType)], order: &[&str], rows_max: usize) -> WriterProperties {
    let position = |name: &&str| columns.iter().position(|(column, _)| column == name);
    let sorting = order.iter().map_while(|name| {
        Some(SortingColumn {
            column_idx: i32::try_from(position(name)?).ok()?,
            descending: false,
            nulls_first: true,
        })
    });
    let sorting: Vec<_> = sorting.collect();
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // The page index consists of the statistics of pages.
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(rows_max.max(1)))
        .set_sorting_columns((!sorting.is_empty()).then_some(sorting));
    for (name, _) in columns
        .iter()
        .filter(|(_, rich)| *rich == RichType::Address)
    {
        let path = ColumnPath::from(name.as_str());
        builder = builder
            .set_column_bloom_filter_enabled(path.clone(), true)
            .set_column_bloom_filter_fpp(path, BLOOM_FALSE_POSITIVES);
    }
    builder.build()
}

fn failed(error: ParquetError) -> Error {
    Error::Parquet(error)
}
