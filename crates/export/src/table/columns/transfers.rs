//! Transfers in columns.

use super::{
    Container,
    builder::{ColumnBuilder, NumberBuilder},
    file::ColumnFile,
};
use crate::{
    Metadata, Result, TransferTableOptions, Written,
    output::Output,
    schema::HOP,
    table::{TransferEncoder, TransferRows},
};
use polars::prelude::Column;
use txgraph_transfers::{BlockTime, Transfer};

/// Encodes transfers.
pub(crate) struct Transfers {
    file: ColumnFile,
    columns: TransferColumns,
}

impl Transfers {
    pub(crate) fn new(
        container: Container,
        options: &TransferTableOptions,
        with_hop: bool,
        output: Output,
    ) -> Result<Self> {
        let mut columns = TransferColumns::new(options, with_hop);
        let fields: Vec<_> = columns.builders().map(|builder| builder.field()).collect();
        let threads = options.threads.count();
        let file = ColumnFile::new(container, &fields, threads, output)?;
        Ok(Self { file, columns })
    }
}

impl TransferEncoder for Transfers {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        for (transfer, hop) in (0..rows.len()).map(|number| rows.get(number)) {
            self.columns.push(transfer, hop);
            if self.columns.rows >= self.columns.rows_max {
                self.file.write(self.columns.take())?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        if self.columns.rows > 0 {
            self.file.write(self.columns.take())?;
        }
        self.file.finish(metadata)
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

    /// Returns the builders in the order of the schema.
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
        // Destructured, so that a new field cannot be forgotten.
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
        self.block_timestamp
            .push_u64(block_timestamp.map(BlockTime::seconds));
        self.transaction_index.push_u32(Some(*transaction_index));
        self.log_index.push_u32(*log_index);
        self.sub_index.push_u32(Some(*sub_index));
        self.transaction_hash
            .push_bytes(transaction_hash.as_ref().map(|hash| hash.as_slice()));
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
