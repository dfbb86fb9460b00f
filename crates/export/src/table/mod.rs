//! Tables: rows of transfers, and rows of any other typed values.
//!
//! A format implements [`RowEncoder`], which can write every table. It may implement
//! [`TransferEncoder`] as well, where transfers deserve a faster path. To add a format:
//! a variant in `format.rs`, a file here, and its arms in [`row_encoder`] and
//! [`transfer_encoder`].

mod chosen;
pub(crate) mod columns;
mod csv;
mod jsonl;
pub(crate) mod transfer_text;
mod values;

use crate::{
    Column, Error, Metadata, Result, TableFormat, Target, TokenList, Transactions,
    TransferTableOptions, Value, Written, output::Output, value::check_row,
};
use columns::Container;
use txgraph_graph::TransferGraph;
use txgraph_transfers::Transfer;
use values::{ValueRows, Values};

/// Encodes rows of typed values in one format.
pub(crate) trait RowEncoder: Send {
    /// Appends a row: a value of its column's type, or an absent one, for each column.
    fn push(&mut self, row: &[Value<'_>]) -> Result<()>;

    /// Writes what remains, and gives a file its name.
    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written>;
}

/// Encodes transfers in one format.
pub(crate) trait TransferEncoder: Send {
    /// Appends transfers.
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()>;

    /// The values of columns that do not come from transfers alone, if there can be any.
    fn values(&mut self) -> Option<&mut Values> {
        None
    }

    /// Writes what remains, and gives a file its name.
    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written>;
}

/// Transfers to write, with or without the hop that they have in a graph.
#[derive(Clone, Copy)]
pub(crate) enum TransferRows<'a> {
    Transfers(&'a [Transfer]),
    Edges(&'a TransferGraph),
}

impl<'a> TransferRows<'a> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Transfers(transfers) => transfers.len(),
            Self::Edges(graph) => graph.graph.edge_count(),
        }
    }

    /// The transfer with this number, and its hop.
    #[inline]
    pub(crate) fn get(self, number: usize) -> (&'a Transfer, Option<u32>) {
        match self {
            Self::Transfers(transfers) => (&transfers[number], None),
            Self::Edges(graph) => {
                let edge = &graph.graph.raw_edges()[number].weight;
                (&edge.transfer, Some(edge.hop))
            }
        }
    }
}

/// An encoder of rows with these columns.
pub(crate) fn row_encoder(
    format: TableFormat,
    columns: Vec<Column>,
    options: &TransferTableOptions,
    output: Output,
) -> Result<Box<dyn RowEncoder>> {
    let in_columns = |container, columns, output| {
        columns::Rows::new(container, columns, options, output).map(|rows| Box::new(rows) as _)
    };
    Ok(match format {
        TableFormat::Csv => Box::new(csv::Rows::new(&columns, output)),
        TableFormat::Jsonl => Box::new(jsonl::Rows::new(columns, output)),
        TableFormat::Parquet => in_columns(Container::Parquet, columns, output)?,
        TableFormat::Ipc => in_columns(Container::Ipc, columns, output)?,
    })
}

/// An encoder of transfers, `with_hop` or without.
pub(crate) fn transfer_encoder(
    format: TableFormat,
    options: &TransferTableOptions,
    with_hop: bool,
    output: Output,
) -> Result<Box<dyn TransferEncoder>> {
    let chosen = chosen::choose(options, format, with_hop)?;
    let in_columns = |container, chosen, output| {
        columns::Transfers::new(container, chosen, options, output).map(|rows| Box::new(rows) as _)
    };
    Ok(match (format, chosen::text_schema(options)) {
        (TableFormat::Csv, Some(schema)) => Box::new(transfer_text::Transfers::csv(
            schema, options, with_hop, output,
        )),
        (TableFormat::Jsonl, Some(schema)) => {
            Box::new(transfer_text::Transfers::jsonl(schema, options, output))
        }
        (TableFormat::Csv | TableFormat::Jsonl, None) => {
            let columns = chosen.iter().map(|it| it.column.clone()).collect();
            let rows = row_encoder(format, columns, options, output)?;
            Box::new(ValueRows::new(rows, Values::new(chosen, options)))
        }
        (TableFormat::Parquet, _) => in_columns(Container::Parquet, chosen, output)?,
        (TableFormat::Ipc, _) => in_columns(Container::Ipc, chosen, output)?,
    })
}

/// Writes rows of typed values as they come, with bounded memory. Dropped without
/// [`Self::finish`], it leaves no file.
pub struct TableWriter {
    columns: Vec<Column>,
    encoder: Box<dyn RowEncoder>,
}

impl TableWriter {
    /// Opens the target. Fails at once if it could not be finished: an existing file
    /// without `overwrite`, a missing folder.
    ///
    /// Nothing reaches a stream before the first rows do, so a caller that fails early
    /// has printed no header.
    pub fn new(
        format: TableFormat,
        columns: Vec<Column>,
        options: &TransferTableOptions,
        target: &Target,
        overwrite: bool,
    ) -> Result<Self> {
        let output = Output::open(target, overwrite, format.has_metadata_file())?;
        Self::with_output(format, columns, options, output)
    }

    pub(crate) fn with_output(
        format: TableFormat,
        columns: Vec<Column>,
        options: &TransferTableOptions,
        output: Output,
    ) -> Result<Self> {
        options.validate(TableFormat::Parquet, true)?;
        let encoder = row_encoder(format, columns.clone(), options, output)?;
        Ok(Self { columns, encoder })
    }

    /// Appends a row: a value of its column's type, or an absent one, for each column.
    pub fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        check_row(&self.columns, row)?;
        self.encoder.push(row)
    }

    /// Writes what remains, and gives the file its name. Formats that cannot hold the
    /// metadata put it into a file next to theirs; without metadata there is no such file.
    pub fn finish(self, metadata: Option<&Metadata>) -> Result<Written> {
        self.encoder.finish(metadata)
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

/// Writes transfers as they come, with bounded memory. Dropped without
/// [`Self::finish`], it leaves no file.
pub struct TransferWriter {
    encoder: Box<dyn TransferEncoder>,
    target: Target,
}

impl TransferWriter {
    /// Opens the target. Fails at once if it could not be finished: an existing file
    /// without `overwrite`, a missing folder.
    pub fn new(
        format: TableFormat,
        options: &TransferTableOptions,
        target: &Target,
        overwrite: bool,
    ) -> Result<Self> {
        options.validate(format, false)?;
        let output = Output::open(target, overwrite, format.has_metadata_file())?;
        Ok(Self {
            encoder: transfer_encoder(format, options, false, output)?,
            target: target.clone(),
        })
    }

    /// Appends transfers. None are appended to find out whether more are wanted.
    pub fn write(&mut self, transfers: &[Transfer]) -> Result<()> {
        if self.target.is_closed() {
            return Err(Error::BrokenPipe);
        }
        self.encoder.write(TransferRows::Transfers(transfers))
    }

    /// The tokens that the columns of the table name; `None` if no column does.
    pub fn tokens(&mut self) -> Option<&mut TokenList> {
        self.encoder.values()?.tokens()
    }

    /// The transactions that the columns of the table state, to be filled in before their
    /// transfers are written; `None` if no column does.
    pub fn transactions(&mut self) -> Option<&mut Transactions> {
        self.encoder.values()?.transactions()
    }

    /// Writes what remains, and gives the file its name.
    pub fn finish(self, metadata: &Metadata) -> Result<Written> {
        self.encoder.finish(Some(metadata))
    }
}

impl std::fmt::Debug for TransferWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransferWriter").finish_non_exhaustive()
    }
}
