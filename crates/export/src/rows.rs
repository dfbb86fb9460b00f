//! Rows of typed values, for every table that is not plain transfers: written
//! as text or columns here, as attributes of vertices and edges elsewhere.

use crate::{
    Metadata, Result, TableFormat, TransferTableOptions, Written,
    columns::{ColumnBuilder, ColumnFile, NumberBuilder},
    csv::{self, push_hex, push_integer},
    decimal::push_decimal,
    jsonl::{self, push_key, quoted},
    output::{Output, TextOutput},
};
use alloy_primitives::{Address, B256};
use std::io::Write;
use txgraph_graph::AmountSum;

/// What the values of a column are. Any of them may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Words of ours, or of others.
    Text,
    U32,
    U64,
    Amount,
    F64,
    Bool,
    Address,
    Hash,
    /// JSON, for formats that nest.
    Json,
}

/// One value.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Absent,
    Text(&'a str),
    Owned(String),
    U32(u32),
    U64(u64),
    Amount(AmountSum),
    F64(f64),
    Bool(bool),
    Address(Address),
    Hash(B256),
    Json(Vec<u8>),
}

impl<'a> Value<'a> {
    /// The value, or absent.
    pub(crate) fn some<T>(value: Option<T>, make: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Absent, make)
    }

    /// The words of a text value.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Owned(text) => Some(text),
            _ => None,
        }
    }

    /// Appends the value as it stands in data files: numbers decimal, hashes and
    /// addresses lower-case hex. Text as it is: it wants the format's own escapes.
    pub(crate) fn push_plain(&self, out: &mut Vec<u8>) {
        match self {
            Self::Absent => {}
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
            Self::Owned(text) => out.extend_from_slice(text.as_bytes()),
            Self::U32(number) => push_integer(out, *number),
            Self::U64(number) => push_integer(out, *number),
            Self::Amount(amount) => push_decimal(out, amount.as_limbs()),
            Self::F64(number) => {
                // A vector takes everything.
                let _ = write!(out, "{number}");
            }
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Address(address) => push_hex(out, address.as_slice()),
            Self::Hash(hash) => push_hex(out, hash.as_slice()),
            Self::Json(json) => out.extend_from_slice(json),
        }
    }

    fn push_csv(&self, out: &mut Vec<u8>) {
        match self.as_text() {
            Some(text) => csv::push_text(out, text),
            None => self.push_plain(out),
        }
    }

    fn push_json(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Absent => out.extend_from_slice(b"null"),
            Self::Text(text) => jsonl::push_text(out, text)?,
            Self::Owned(text) => jsonl::push_text(out, text)?,
            Self::F64(number) => serde_json::to_writer(out, number)?,
            Self::Amount(_) | Self::Address(_) | Self::Hash(_) => {
                quoted(out, |out| self.push_plain(out));
            }
            Self::U32(_) | Self::U64(_) | Self::Bool(_) | Self::Json(_) => self.push_plain(out),
        }
        Ok(())
    }
}

/// Heading of a column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// Columns from their names and kinds.
pub(crate) fn columns(columns: &[(&str, Kind)]) -> Vec<Column> {
    columns
        .iter()
        .map(|&(name, kind)| Column {
            name: name.to_owned(),
            kind,
        })
        .collect()
}

/// Appends one row as a JSON object, without an end of line.
pub(crate) fn push_object(out: &mut Vec<u8>, columns: &[Column], row: &[Value<'_>]) -> Result<()> {
    debug_assert_eq!(columns.len(), row.len());
    for (i, (column, value)) in columns.iter().zip(row).enumerate() {
        out.push(if i == 0 { b'{' } else { b',' });
        push_key(out, &column.name);
        value.push_json(out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Writes rows to a file.
pub(crate) struct TableRows {
    columns: Vec<Column>,
    encoder: Encoder,
}

enum Encoder {
    Csv(TextOutput),
    Jsonl(TextOutput),
    Columns {
        file: Box<ColumnFile>,
        builders: Vec<Builder>,
        rows: usize,
        rows_max: usize,
    },
}

enum Builder {
    One(ColumnBuilder),
    Number(NumberBuilder),
}

impl TableRows {
    pub(crate) fn new(
        format: TableFormat,
        columns: Vec<Column>,
        options: &TransferTableOptions,
        output: Output,
    ) -> Result<Self> {
        let encoder = match format {
            TableFormat::Csv => {
                let mut text = TextOutput::new(output);
                for (i, column) in columns.iter().enumerate() {
                    if i > 0 {
                        text.buffer.push(b',');
                    }
                    csv::push_text(&mut text.buffer, &column.name);
                }
                text.buffer.push(b'\n');
                Encoder::Csv(text)
            }
            TableFormat::Jsonl => Encoder::Jsonl(TextOutput::new(output)),
            TableFormat::Parquet | TableFormat::Ipc => {
                let mut builders: Vec<_> = columns
                    .iter()
                    .map(|column| Builder::new(column, options))
                    .collect();
                let fields: Vec<_> = builders
                    .iter_mut()
                    .flat_map(Builder::builders)
                    .map(|builder| builder.field())
                    .collect();
                let file = ColumnFile::new(format, options.compression, &fields, 1, output)?;
                let rows_max = options.group_rows.max(1);
                Encoder::Columns {
                    file: Box::new(file),
                    builders,
                    rows: 0,
                    rows_max,
                }
            }
        };
        Ok(Self { columns, encoder })
    }

    /// Appends a row: a value of its kind, or an absent one, for each column.
    pub(crate) fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        debug_assert_eq!(self.columns.len(), row.len());
        match &mut self.encoder {
            Encoder::Csv(text) => {
                for (i, value) in row.iter().enumerate() {
                    if i > 0 {
                        text.buffer.push(b',');
                    }
                    value.push_csv(&mut text.buffer);
                }
                text.buffer.push(b'\n');
                text.end_row()
            }
            Encoder::Jsonl(text) => {
                push_object(&mut text.buffer, &self.columns, row)?;
                text.buffer.push(b'\n');
                text.end_row()
            }
            Encoder::Columns {
                file,
                builders,
                rows,
                rows_max,
            } => {
                for (builder, value) in builders.iter_mut().zip(row) {
                    builder.push(value);
                }
                *rows += 1;
                if *rows == *rows_max {
                    *rows = 0;
                    file.write(take(builders))?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn finish(self, metadata: &Metadata) -> Result<Written> {
        match self.encoder {
            Encoder::Csv(text) | Encoder::Jsonl(text) => text.finish(Some(metadata)),
            Encoder::Columns {
                mut file,
                mut builders,
                rows,
                ..
            } => {
                if rows > 0 {
                    file.write(take(&mut builders))?;
                }
                file.finish(metadata)
            }
        }
    }
}

fn take(builders: &mut [Builder]) -> Vec<polars::prelude::Column> {
    builders
        .iter_mut()
        .flat_map(Builder::builders)
        .map(ColumnBuilder::take)
        .collect()
}

impl Builder {
    fn new(column: &Column, options: &TransferTableOptions) -> Self {
        let name = column.name.clone();
        Self::One(match column.kind {
            Kind::Amount => return Self::Number(NumberBuilder::new(&name, options)),
            Kind::Text | Kind::Json => ColumnBuilder::text(name),
            Kind::U32 => ColumnBuilder::u32(name),
            Kind::U64 => ColumnBuilder::u64(name),
            Kind::F64 => ColumnBuilder::f64(name),
            Kind::Bool => ColumnBuilder::bool(name),
            Kind::Address | Kind::Hash => ColumnBuilder::binary(name),
        })
    }

    fn builders(&mut self) -> &mut [ColumnBuilder] {
        match self {
            Self::One(builder) => std::slice::from_mut(builder),
            Self::Number(number) => number.builders(),
        }
    }

    fn push(&mut self, value: &Value<'_>) {
        let builder = match self {
            Self::Number(number) => {
                return number.push(match value {
                    Value::Amount(amount) => Some(amount.as_limbs()),
                    _ => None,
                });
            }
            Self::One(builder) => builder,
        };
        match value {
            Value::Absent | Value::Amount(_) => builder.push_absent(),
            Value::Text(text) => builder.push_text(Some(text)),
            Value::Owned(text) => builder.push_text(Some(text)),
            Value::U32(number) => builder.push_u32(Some(*number)),
            Value::U64(number) => builder.push_u64(Some(*number)),
            Value::F64(number) => builder.push_f64(Some(*number)),
            Value::Bool(value) => builder.push_bool(Some(*value)),
            Value::Address(address) => builder.push_bytes(Some(address.as_slice())),
            Value::Hash(hash) => builder.push_bytes(Some(hash.as_slice())),
            Value::Json(json) => builder.push_text(std::str::from_utf8(json).ok()),
        }
    }
}
