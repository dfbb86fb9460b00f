//! The values of transfers in the columns of a table.

use super::{RowEncoder, TransferEncoder, TransferRows, chosen::Choice};
use crate::{
    Column, ColumnType, Error, Metadata, Result, TokenList, TransactionFacts, Transactions,
    TransferTableOptions, Value, Written,
    decimal::{scaled, to_f64},
    fields::{FIELDS, Get},
    schema::{BLOCK_NUMBER, CHAIN_ID, Field},
};
use alloy_primitives::{B256, U256};
use txgraph_base::KnownChain;
use txgraph_graph::Asset;
use txgraph_labels::Labels;
use txgraph_transfers::{TokenStandard, Transfer};

/// Makes the values of rows.
pub(crate) struct Values {
    columns: Vec<(Column, Field)>,
    chain_id: u64,
    tokens: TokenList,
    labels: Labels,
    transactions: Transactions,
}

impl Values {
    pub(crate) fn new(chosen: Vec<Choice>, options: &TransferTableOptions) -> Self {
        Self {
            columns: (chosen.into_iter())
                .map(|it| (it.column, it.field))
                .collect(),
            chain_id: options.chain_id,
            tokens: options.tokens.clone(),
            labels: options.labels.clone().unwrap_or_default(),
            transactions: options.transactions.clone(),
        }
    }

    /// Refuses a transfer that a column has no room for.
    pub(crate) fn check(&self, rows: TransferRows<'_>) -> Result<()> {
        let is_small = |(column, field): &(Column, Field)| {
            *field == Field::Schema(BLOCK_NUMBER) && column.column_type == ColumnType::U32
        };
        if !self.columns.iter().any(is_small) {
            return Ok(());
        }
        let mut blocks = (0..rows.len()).map(|number| rows.get(number).0.block_number);
        match blocks.find(|block| u32::try_from(*block).is_err()) {
            Some(block) => Err(Error::BlockNumber(block)),
            None => Ok(()),
        }
    }

    fn has(&self, fields: &[Field]) -> bool {
        (self.columns.iter()).any(|(_, field)| fields.contains(field))
    }

    /// How the column at a position is read, if it is a field of the transfer.
    pub(crate) fn get(&self, at: usize) -> Option<Get> {
        match self.columns[at].1 {
            Field::Schema(at) => Some(FIELDS.get(at)?.get),
            _ => None,
        }
    }

    /// The tokens that columns name; `None` if no column does.
    pub(crate) fn tokens(&mut self) -> Option<&mut TokenList> {
        let is_named = self.has(&[
            Field::Amount,
            Field::RoundedAmount,
            Field::Symbol,
            Field::Decimals,
        ]);
        is_named.then_some(&mut self.tokens)
    }

    /// The transactions that columns state; `None` if no column does.
    pub(crate) fn transactions(&mut self) -> Option<&mut Transactions> {
        let is_stated = self.has(&[
            Field::TransactionFrom,
            Field::TransactionTo,
            Field::Status,
            Field::Method,
        ]);
        is_stated.then_some(&mut self.transactions)
    }

    fn row<'a>(&'a self, transfer: &'a Transfer, hop: Option<u32>) -> Vec<Value<'a>> {
        let columns = 0..self.columns.len();
        columns.map(|at| self.value(at, transfer, hop)).collect()
    }

    /// The value of a transfer in the column at a position.
    pub(crate) fn value<'a>(
        &'a self,
        at: usize,
        transfer: &'a Transfer,
        hop: Option<u32>,
    ) -> Value<'a> {
        let (column, field) = &self.columns[at];
        match *field {
            Field::Hop => hop.into(),
            Field::Schema(CHAIN_ID) => self.chain_id.into(),
            Field::Schema(at) => in_column(FIELDS[at].get.value(transfer), column),
            Field::TransactionFrom => self.transaction(transfer).map(|it| it.from).into(),
            Field::TransactionTo => self.transaction(transfer).and_then(|it| it.to).into(),
            Field::Status => {
                let status = self.transaction(transfer).map(|it| u32::from(it.success));
                status.into()
            }
            Field::Method => {
                let method = self
                    .transaction(transfer)
                    .and_then(|it| it.method.as_deref());
                method.into()
            }
            Field::ValueOrId => {
                let id = (transfer.token_standard == TokenStandard::Erc721)
                    .then_some(transfer.token_id)
                    .flatten();
                id.unwrap_or(transfer.value).to_string().into()
            }
            Field::Symbol => self.symbol(transfer).into(),
            Field::FromLabel => self.labels.name(transfer.from_address).into(),
            Field::ToLabel => self.labels.name(transfer.to_address).into(),
            Field::Decimals => self.decimals(transfer).map(u32::from).into(),
            Field::Amount => self.amount(transfer).into(),
            Field::RoundedAmount => {
                // Division by a power of ten would round twice.
                let nearest = self
                    .amount(transfer)
                    .and_then(|text| text.parse::<f64>().ok());
                nearest.into()
            }
        }
    }

    /// The transaction of a transfer. Withdrawals and issuance have none.
    fn transaction(&self, transfer: &Transfer) -> Option<&TransactionFacts> {
        transfer.transaction_hash?;
        self.transactions.get(&transfer.transaction())
    }

    /// The symbol of the token, if it is known.
    fn symbol(&self, transfer: &Transfer) -> Option<&str> {
        match transfer.token_address {
            None => Some(KnownChain::native_symbol_of(self.chain_id)),
            Some(token) => self.tokens.symbol(self.chain_id, token),
        }
    }

    /// The value in units of the token, exact, if its decimals are known.
    fn amount(&self, transfer: &Transfer) -> Option<String> {
        let decimals = self.decimals(transfer)?;
        Some(scaled(transfer.value.as_limbs(), decimals).replace(',', ""))
    }

    /// The decimals of the token, if they are known.
    fn decimals(&self, transfer: &Transfer) -> Option<u8> {
        let asset = Asset::of(transfer);
        self.tokens.known_decimals(self.chain_id, &asset)
    }
}

/// A value as its column holds it. Text of numbers, addresses and hashes is left to the formats.
fn in_column<'a>(value: Value<'a>, column: &Column) -> Value<'a> {
    match (value, column.column_type) {
        (Value::Amount(amount), ColumnType::F64) => to_f64(amount.as_limbs()).into(),
        (Value::Amount(amount), ColumnType::Hash) => B256::from(amount.to::<U256>()).into(),
        // Checked before the row is written.
        (Value::U64(number), ColumnType::U32) => u32::try_from(number).ok().into(),
        (value, _) => value,
    }
}

/// Writes transfers as rows of values, for text whose columns differ from the schema.
pub(crate) struct ValueRows {
    encoder: Box<dyn RowEncoder>,
    values: Values,
}

impl ValueRows {
    pub(crate) fn new(encoder: Box<dyn RowEncoder>, values: Values) -> Self {
        Self { encoder, values }
    }
}

impl TransferEncoder for ValueRows {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        self.values.check(rows)?;
        for (transfer, hop) in (0..rows.len()).map(|number| rows.get(number)) {
            self.encoder.push(&self.values.row(transfer, hop))?;
        }
        Ok(())
    }

    fn values(&mut self) -> Option<&mut Values> {
        Some(&mut self.values)
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.encoder.finish(metadata)
    }
}
