//! Tables in columns: Parquet and Arrow IPC.

mod builder;
mod file;
mod footer;
mod transfers;

pub(crate) use builder::ColumnBuilder;
pub(crate) use footer::METADATA_KEY;
pub(crate) use transfers::Transfers;

use super::{RowEncoder, chosen::NUMBERS};
use crate::{Column, Metadata, Result, TransferTableOptions, Value, Written, output::Output};
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use file::ColumnFile;
use std::sync::Arc;

/// The file format that holds the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Parquet,
    Ipc,
}

/// Rows in columns, which become a row group or a record batch.
struct Groups {
    file: ColumnFile,
    schema: SchemaRef,
    builders: Vec<ColumnBuilder>,
    rows: usize,
    rows_max: usize,
}

impl Groups {
    /// Opens a file with these columns. `order`: see [`ColumnFile::new`].
    fn new(
        container: Container,
        mut columns: Vec<(String, ColumnBuilder)>,
        order: Option<&[&str]>,
        options: &TransferTableOptions,
        threads: usize,
        output: Output,
    ) -> Result<Self> {
        let fields = columns.iter_mut();
        let fields = fields.map(|(name, builder)| Field::new(&**name, builder.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows_max = options.group_rows.max(1);
        Ok(Self {
            file: ColumnFile::new(container, schema.clone(), order, rows_max, threads, output)?,
            schema,
            builders: columns.into_iter().map(|(_, builder)| builder).collect(),
            rows: 0,
            rows_max,
        })
    }

    /// Counts rows that were appended to all builders. There are never more than `rows_max`.
    fn added(&mut self, rows: usize) -> Result<()> {
        self.rows += rows;
        match self.rows < self.rows_max {
            true => Ok(()),
            false => self.write(),
        }
    }

    fn write(&mut self) -> Result<()> {
        self.rows = 0;
        let columns = self.builders.iter_mut().map(ColumnBuilder::take).collect();
        self.file
            .write(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    fn finish(mut self, metadata: Option<&Metadata>) -> Result<Written> {
        if self.rows > 0 {
            self.write()?;
        }
        self.file.finish(metadata)
    }
}

/// Encodes rows of typed values.
pub(crate) struct Rows {
    groups: Groups,
    /// The value that each column gets.
    values: Vec<usize>,
}

impl Rows {
    pub(crate) fn new(
        container: Container,
        columns: Vec<Column>,
        options: &TransferTableOptions,
        output: Output,
    ) -> Result<Self> {
        let (schema, types) = options.set();
        let mut builders = Vec::with_capacity(columns.len());
        let mut values = Vec::with_capacity(columns.len());
        for (at, column) in columns.into_iter().enumerate() {
            for column in schema.columns(column, &types, &NUMBERS) {
                values.push(at);
                builders.push((column.name, ColumnBuilder::plain(column.column_type)));
            }
        }
        Ok(Self {
            groups: Groups::new(container, builders, None, options, 1, output)?,
            values,
        })
    }
}

impl RowEncoder for Rows {
    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        for (builder, at) in self.groups.builders.iter_mut().zip(&self.values) {
            builder.push(&row[*at])?;
        }
        self.groups.added(1)
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.groups.finish(metadata)
    }
}
