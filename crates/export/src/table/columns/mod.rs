//! Tables in columns: Parquet and Arrow IPC.

mod builder;
mod file;
mod transfers;

pub(crate) use transfers::Transfers;

use super::RowEncoder;
use crate::{
    Column, ColumnType, Metadata, Result, TransferTableOptions, Value, Written, output::Output,
};
use builder::{ColumnBuilder, NumberBuilder};
use file::ColumnFile;

/// The file format that holds the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Parquet,
    Ipc,
}

/// Encodes rows of typed values.
pub(crate) struct Rows {
    file: ColumnFile,
    builders: Vec<Builder>,
    rows: usize,
    rows_max: usize,
}

impl Rows {
    pub(crate) fn new(
        container: Container,
        columns: Vec<Column>,
        options: &TransferTableOptions,
        output: Output,
    ) -> Result<Self> {
        let mut builders: Vec<_> = columns
            .into_iter()
            .map(|column| Builder::new(column, options))
            .collect();
        let fields: Vec<_> = builders
            .iter_mut()
            .flat_map(Builder::builders)
            .map(|builder| builder.field())
            .collect();
        Ok(Self {
            file: ColumnFile::new(container, &fields, 1, output)?,
            builders,
            rows: 0,
            rows_max: options.group_rows.max(1),
        })
    }

    fn write_group(&mut self) -> Result<()> {
        self.rows = 0;
        let builders = self.builders.iter_mut().flat_map(Builder::builders);
        self.file.write(builders.map(ColumnBuilder::take).collect())
    }
}

impl RowEncoder for Rows {
    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        for (builder, value) in self.builders.iter_mut().zip(row) {
            builder.push(value);
        }
        self.rows += 1;
        if self.rows == self.rows_max {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.finish(metadata)
    }
}

/// The columns that one column of values is written to.
enum Builder {
    One(ColumnBuilder),
    Amount(NumberBuilder),
}

impl Builder {
    fn new(column: Column, options: &TransferTableOptions) -> Self {
        let name = column.name;
        Self::One(match column.column_type {
            ColumnType::Amount => return Self::Amount(NumberBuilder::new(&name, options)),
            ColumnType::Text
            | ColumnType::SignedAmount
            | ColumnType::Indices
            | ColumnType::Json => ColumnBuilder::text(name),
            ColumnType::U32 => ColumnBuilder::u32(name),
            ColumnType::U64 => ColumnBuilder::u64(name),
            ColumnType::F64 => ColumnBuilder::f64(name),
            ColumnType::Bool => ColumnBuilder::bool(name),
            ColumnType::Address | ColumnType::Hash => ColumnBuilder::binary(name),
        })
    }

    fn builders(&mut self) -> &mut [ColumnBuilder] {
        match self {
            Self::One(builder) => std::slice::from_mut(builder),
            Self::Amount(number) => number.builders(),
        }
    }

    fn push(&mut self, value: &Value<'_>) {
        let builder = match self {
            Self::Amount(number) => {
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
            Value::U32(number) => builder.push_u32(Some(*number)),
            Value::U64(number) => builder.push_u64(Some(*number)),
            Value::F64(number) => builder.push_f64(Some(*number)),
            Value::Bool(value) => builder.push_bool(Some(*value)),
            Value::Address(address) => builder.push_bytes(Some(address.as_slice())),
            Value::Hash(hash) => builder.push_bytes(Some(hash.as_slice())),
            Value::SignedAmount { .. } | Value::Indices(_) | Value::Json(_) => {
                let mut text = Vec::new();
                value.push_plain(&mut text);
                builder.push_text(std::str::from_utf8(&text).ok());
            }
        }
    }
}
