//! Streams transfers to a file.

use crate::{
    Metadata, Result, TableFormat, Target, TransferTableOptions, Written,
    columns::{ColumnBuilder, ColumnFile, NumberBuilder},
    csv,
    jsonl::Keys,
    line::Line,
    output::{Output, TextOutput},
    pieces::thread_count,
    schema::HOP,
};
use polars::prelude::Column;
use txgraph_transfers::Transfer;

/// Writes transfers as they come, with bounded memory. Dropped without
/// [`Self::finish`], it leaves no file.
pub struct TransferWriter(TransferRows);

impl TransferWriter {
    /// Opens the target. Fails at once if it could not be finished: an existing
    /// file without `overwrite`, a missing folder.
    pub fn new(
        format: TableFormat,
        options: &TransferTableOptions,
        target: &Target,
        overwrite: bool,
    ) -> Result<Self> {
        let output = Output::open(target, overwrite, format.is_text())?;
        Ok(Self(TransferRows::new(format, options, false, output)?))
    }

    /// Appends transfers.
    pub fn write(&mut self, transfers: &[Transfer]) -> Result<()> {
        self.0.write(transfers.len(), &|i| (&transfers[i], None))
    }

    /// Writes what remains, and gives the file its name.
    pub fn finish(self, metadata: &Metadata) -> Result<Written> {
        self.0.finish(metadata)
    }
}

/// Transfers as rows, with or without the hop they have in a graph.
pub(crate) struct TransferRows(Encoder);

enum Encoder {
    Csv(TextOutput, Box<csv::Rows>),
    Jsonl(TextOutput, Box<Keys>),
    Columns(Box<ColumnFile>, Box<TransferColumns>),
}

/// A transfer by its number among those that are written together, and its hop.
type Row<'a> = (&'a Transfer, Option<u32>);

impl TransferRows {
    pub(crate) fn new(
        format: TableFormat,
        options: &TransferTableOptions,
        with_hop: bool,
        output: Output,
    ) -> Result<Self> {
        let text = |output| TextOutput::with_threads(output, options.threads);
        Ok(Self(match format {
            TableFormat::Csv => {
                let mut text = text(output);
                csv::header(&mut text.buffer, options.schema, with_hop);
                Encoder::Csv(text, Box::new(csv::Rows::new(options.chain_id)))
            }
            TableFormat::Jsonl => {
                let keys = Keys::new(options.schema, options.chain_id);
                Encoder::Jsonl(text(output), Box::new(keys))
            }
            TableFormat::Parquet | TableFormat::Ipc => {
                let mut columns = TransferColumns::new(options, with_hop);
                let fields: Vec<_> = columns.builders().map(|builder| builder.field()).collect();
                let threads = thread_count(options.threads);
                let file = ColumnFile::new(format, options.compression, &fields, threads, output)?;
                Encoder::Columns(Box::new(file), Box::new(columns))
            }
        }))
    }

    /// Appends so many rows. The hop is given for all or for none, as [`Self::new`] was told.
    pub(crate) fn write<'a>(
        &mut self,
        count: usize,
        row: &(impl Fn(usize) -> Row<'a> + Sync),
    ) -> Result<()> {
        match &mut self.0 {
            Encoder::Csv(text, rows) => text.write_rows(count, &|numbers, out| {
                let mut line = Line::new();
                for (transfer, hop) in numbers.map(row) {
                    rows.push(&mut line, transfer, hop);
                    out.extend_from_slice(line.as_bytes());
                }
                Ok(())
            }),
            Encoder::Jsonl(text, keys) => text.write_rows(count, &|numbers, out| {
                let mut line = Line::new();
                for (transfer, hop) in numbers.map(row) {
                    keys.push(&mut line, transfer, hop);
                    line.byte(b'\n');
                    out.extend_from_slice(line.as_bytes());
                }
                Ok(())
            }),
            Encoder::Columns(file, columns) => {
                for (transfer, hop) in (0..count).map(row) {
                    columns.push(transfer, hop);
                    if columns.rows >= columns.rows_max {
                        file.write(columns.take())?;
                    }
                }
                Ok(())
            }
        }
    }

    pub(crate) fn finish(self, metadata: &Metadata) -> Result<Written> {
        match self.0 {
            Encoder::Csv(text, _) | Encoder::Jsonl(text, _) => text.finish(Some(metadata)),
            Encoder::Columns(mut file, mut columns) => {
                if columns.rows > 0 {
                    file.write(columns.take())?;
                }
                file.finish(metadata)
            }
        }
    }
}

/// The columns of one row group.
struct TransferColumns {
    rows: usize,
    rows_max: usize,
    chain: u64,
    block_number: ColumnBuilder,
    block_timestamp: ColumnBuilder,
    transaction_index: ColumnBuilder,
    log_index: ColumnBuilder,
    sub_index: ColumnBuilder,
    transaction_hash: ColumnBuilder,
    token_address: ColumnBuilder,
    from_address: ColumnBuilder,
    to_address: ColumnBuilder,
    value: NumberBuilder,
    token_id: NumberBuilder,
    token_standard: ColumnBuilder,
    kind: ColumnBuilder,
    chain_id: ColumnBuilder,
    hop: Option<ColumnBuilder>,
}

impl TransferColumns {
    fn new(options: &TransferTableOptions, with_hop: bool) -> Self {
        let [
            block_number,
            block_timestamp,
            transaction_index,
            log_index,
            sub_index,
            transaction_hash,
            token_address,
            from_address,
            to_address,
            value,
            token_id,
            token_standard,
            kind,
            chain_id,
        ] = options.schema.base().map(str::to_owned);
        Self {
            rows: 0,
            rows_max: options.group_rows.max(1),
            chain: options.chain_id,
            block_number: ColumnBuilder::u64(block_number),
            block_timestamp: ColumnBuilder::u64(block_timestamp),
            transaction_index: ColumnBuilder::u32(transaction_index),
            log_index: ColumnBuilder::u32(log_index),
            sub_index: ColumnBuilder::u32(sub_index),
            transaction_hash: ColumnBuilder::binary(transaction_hash),
            token_address: ColumnBuilder::binary(token_address),
            from_address: ColumnBuilder::binary(from_address),
            to_address: ColumnBuilder::binary(to_address),
            value: NumberBuilder::new(&value, options),
            token_id: NumberBuilder::new(&token_id, options),
            token_standard: ColumnBuilder::text(token_standard),
            kind: ColumnBuilder::text(kind),
            chain_id: ColumnBuilder::u64(chain_id),
            hop: with_hop.then(|| ColumnBuilder::u32(HOP.to_owned())),
        }
    }

    /// In the order of the schema.
    fn builders(&mut self) -> impl Iterator<Item = &mut ColumnBuilder> {
        [
            &mut self.block_number,
            &mut self.block_timestamp,
            &mut self.transaction_index,
            &mut self.log_index,
            &mut self.sub_index,
            &mut self.transaction_hash,
            &mut self.token_address,
            &mut self.from_address,
            &mut self.to_address,
        ]
        .into_iter()
        .chain(self.value.builders())
        .chain(self.token_id.builders())
        .chain([&mut self.token_standard, &mut self.kind, &mut self.chain_id])
        .chain(&mut self.hop)
    }

    fn push(&mut self, transfer: &Transfer, hop: Option<u32>) {
        // Taken apart, so that a new field cannot be forgotten.
        let Transfer {
            block_number,
            block_timestamp,
            transaction_index,
            log_index,
            sub_index,
            transaction_hash,
            token_address,
            from_address,
            to_address,
            value,
            token_id,
            token_standard,
            kind,
        } = transfer;
        self.block_number.push_u64(Some(*block_number));
        self.block_timestamp.push_u64(Some(*block_timestamp));
        self.transaction_index.push_u32(Some(*transaction_index));
        self.log_index.push_u32(*log_index);
        self.sub_index.push_u32(Some(*sub_index));
        self.transaction_hash
            .push_bytes(Some(transaction_hash.as_slice()));
        self.token_address
            .push_bytes(token_address.as_ref().map(|token| token.as_slice()));
        self.from_address.push_bytes(Some(from_address.as_slice()));
        self.to_address.push_bytes(Some(to_address.as_slice()));
        self.value.push(Some(value.as_limbs()));
        self.token_id
            .push(token_id.as_ref().map(|id| id.as_limbs().as_slice()));
        self.token_standard.push_text(Some(token_standard.as_str()));
        self.kind.push_text(Some(kind.as_str()));
        self.chain_id.push_u64(Some(self.chain));
        if let Some(column) = &mut self.hop {
            column.push_u32(hop);
        }
        self.rows += 1;
    }

    fn take(&mut self) -> Vec<Column> {
        self.rows = 0;
        self.builders().map(ColumnBuilder::take).collect()
    }
}
