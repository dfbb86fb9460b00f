//! Transfers with chosen columns: some of the schema's, in any order, and others on request.
//!
//! Tables with the columns of the schema have encoders of their own, which are faster.

use super::{
    RowEncoder, TransferEncoder, TransferRows,
    rich::{RichFile, RichType},
    row_encoder,
};
use crate::{
    Column, ColumnType, ColumnTypes, Dataset, Error, Metadata, Result, TableFormat, TokenList,
    TransactionFacts, Transactions, TransferTableOptions, U256Type, Value, Written,
    decimal::{push_scaled, to_f64},
    output::Output,
    schema::{BLOCK_NUMBER, HOP, TOKEN_ID, VALUE, WIDTH},
};
use alloy_primitives::{B256, U256};
use std::borrow::Cow;
use txgraph_base::KnownChain;
use txgraph_graph::Asset;
use txgraph_labels::Labels;
use txgraph_transfers::{BlockTime, TokenStandard, Transfer};

/// Columns that are written on request only.
const ON_REQUEST: [(&str, Field); 9] = [
    ("amount", Field::Amount),
    ("symbol", Field::Symbol),
    ("decimals", Field::Decimals),
    ("from_label", Field::FromLabel),
    ("to_label", Field::ToLabel),
    ("transaction_from", Field::TransactionFrom),
    ("transaction_to", Field::TransactionTo),
    ("status", Field::Status),
    ("method", Field::Method),
];

/// What a column contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// The field of the schema at this position.
    Schema(usize),
    /// A 256-bit number at this position, as one of its types.
    Number(usize, U256Type),
    /// The number of the block in 32 bits.
    Block32,
    /// The value, or the id of an ERC-721 token, in decimal.
    ValueOrId,
    Hop,
    Amount,
    Symbol,
    Decimals,
    FromLabel,
    ToLabel,
    TransactionFrom,
    TransactionTo,
    /// 1 or 0, as in receipts (EIP-658).
    Status,
    Method,
}

/// A column, with the names by which it can be chosen.
struct Choice {
    column: Column,
    field: Field,
    /// The name without the suffix for the type of a number.
    base: &'static str,
    is_default: bool,
}

/// The columns of a format, in the order of the schema or of the table of another tool.
fn choices(options: &TransferTableOptions, is_text: bool, with_hop: bool) -> Vec<Choice> {
    match options.dataset {
        Some(dataset) => of_dataset(dataset, options, is_text),
        None => of_schema(options, is_text, with_hop),
    }
}

/// The columns of a number of 256 bits, one for each type that is asked for.
fn numbers(
    options: &TransferTableOptions,
    at: usize,
    base: &'static str,
) -> impl Iterator<Item = Choice> {
    options
        .u256_columns(base)
        .map(move |(name, encoding)| Choice {
            column: Column::new(name, number_type(encoding)),
            field: Field::Number(at, encoding),
            base,
            is_default: true,
        })
}

/// The columns of the table of another tool.
fn of_dataset(dataset: Dataset, options: &TransferTableOptions, is_text: bool) -> Vec<Choice> {
    let base_names = options.schema.base();
    let mut all = Vec::new();
    for &at in dataset.columns() {
        let base = base_names[at];
        let (column_type, field) = match at {
            VALUE | TOKEN_ID if dataset.is_cryo() => {
                all.extend(numbers(options, at, base));
                continue;
            }
            VALUE => (ColumnType::Text, Field::ValueOrId),
            BLOCK_NUMBER if dataset.is_cryo() => (ColumnType::U32, Field::Block32),
            // ethereum-etl writes text everywhere.
            _ => {
                let hex = options.hex || !dataset.is_cryo();
                (column_type(at, hex && !is_text), Field::Schema(at))
            }
        };
        all.push(Choice {
            column: Column::new(base, column_type),
            field,
            base,
            is_default: true,
        });
    }
    all
}

/// The columns of a schema, and those that are written on request.
fn of_schema(options: &TransferTableOptions, is_text: bool, with_hop: bool) -> Vec<Choice> {
    let base_names = options.schema.base();
    let text_names = options.schema.text_columns();
    let mut all = Vec::new();
    for (at, base) in base_names.into_iter().enumerate() {
        if matches!(at, VALUE | TOKEN_ID) && !is_text {
            all.extend(numbers(options, at, base));
            continue;
        }
        all.push(Choice {
            column: Column::new(text_names[at], column_type(at, options.hex && !is_text)),
            field: Field::Schema(at),
            base,
            is_default: true,
        });
    }
    if with_hop {
        all.push(Choice {
            column: Column::new(HOP, ColumnType::U32),
            field: Field::Hop,
            base: HOP,
            is_default: true,
        });
    }
    all.extend(ON_REQUEST.into_iter().map(|(name, field)| Choice {
        column: Column::new(name, on_request_type(field, options.hex && !is_text)),
        field,
        base: name,
        is_default: false,
    }));
    all
}

const fn number_type(encoding: U256Type) -> ColumnType {
    match encoding {
        // 32 bytes.
        U256Type::Binary => ColumnType::Hash,
        U256Type::String => ColumnType::Text,
        U256Type::F64 => ColumnType::F64,
    }
}

const fn on_request_type(field: Field, hex: bool) -> ColumnType {
    match field {
        Field::Decimals | Field::Status => ColumnType::U32,
        Field::TransactionFrom | Field::TransactionTo if !hex => ColumnType::Address,
        _ => ColumnType::Text,
    }
}

/// The types of the fields of a transfer, in the order of the schema.
const TYPES: [ColumnType; WIDTH] = {
    use ColumnType::{Address, Amount, Hash, Text, U32, U64};
    [
        U64, U64, U32, U32, U32, Hash, Address, Address, Address, Amount, Amount, Text, Text, U64,
    ]
};

const fn column_type(at: usize, hex: bool) -> ColumnType {
    match TYPES[at] {
        ColumnType::Address | ColumnType::Hash if hex => ColumnType::Text,
        other => other,
    }
}

/// Whether the options ask for other columns than those of the schema.
pub(crate) fn is_chosen(options: &TransferTableOptions, format: TableFormat) -> bool {
    let hex = options.hex && !format.is_text();
    let rich = options.types == ColumnTypes::Rich;
    hex || rich
        || options.dataset.is_some()
        || !options.columns.is_empty()
        || !options.exclude.is_empty()
}

/// Checks the names of chosen columns.
pub(crate) fn validate(options: &TransferTableOptions) -> Result<()> {
    for name in options.columns.iter().chain(&options.exclude) {
        let known = [false, true].iter().any(|is_text| {
            let all = choices(options, *is_text, true);
            all.iter()
                .any(|it| it.column.name == *name || it.base == name)
        });
        if !known {
            let all = choices(options, true, true);
            let known: Vec<_> = all.into_iter().map(|it| it.base).collect();
            return Err(Error::UnknownColumn {
                name: crate::text::printable_short(name, 40),
                known: known.join(", "),
            });
        }
    }
    let twice = |(at, name): (usize, &String)| options.columns[..at].contains(name);
    if let Some((_, name)) = options.columns.iter().enumerate().find(|it| twice(*it)) {
        return Err(Error::ColumnTwice(name.clone()));
    }
    Ok(())
}

/// What rows are written to.
enum Encoder {
    Plain(Box<dyn RowEncoder>),
    Rich(Box<RichFile>),
}

/// Encodes transfers with chosen columns.
pub(crate) struct Chosen {
    encoder: Encoder,
    fields: Fields,
}

/// Makes the values of rows.
struct Fields {
    columns: Vec<Column>,
    fields: Vec<Field>,
    chain_id: u64,
    tokens: TokenList,
    labels: Labels,
    transactions: Transactions,
}

impl Chosen {
    pub(crate) fn new(
        format: TableFormat,
        options: &TransferTableOptions,
        with_hop: bool,
        output: Output,
    ) -> Result<Self> {
        let all = choices(options, format.is_text(), with_hop);
        let is = |it: &Choice, name: &String| it.column.name == *name || it.base == name;
        let mut picked: Vec<&Choice> = match options.columns.is_empty() {
            true => all.iter().filter(|it| it.is_default).collect(),
            false => (options.columns.iter())
                .flat_map(|name| all.iter().filter(move |it| is(it, name)))
                .collect(),
        };
        picked.retain(|it| !options.exclude.iter().any(|name| is(it, name)));
        if picked.is_empty() {
            return Err(Error::NoColumns);
        }
        let columns: Vec<_> = picked.iter().map(|it| it.column.clone()).collect();
        let encoder = match (options.types, format) {
            (ColumnTypes::Plain, _) => {
                Encoder::Plain(row_encoder(format, columns.clone(), options, output)?)
            }
            (ColumnTypes::Rich, TableFormat::Parquet) => {
                let rich: Vec<_> = (picked.iter())
                    .map(|it| (it.column.name.clone(), rich_type(it.field, &it.column)))
                    .collect();
                // Logs and native movements of a transaction have no common order by columns.
                let base = options.schema.base();
                let order = [base[0], base[2]];
                let file = RichFile::new(&rich, &order, options.group_rows, output)?;
                Encoder::Rich(Box::new(file))
            }
            (ColumnTypes::Rich, other) => return Err(Error::TypesOnlyInParquet(other)),
        };
        Ok(Self {
            encoder,
            fields: Fields {
                columns,
                fields: picked.iter().map(|it| it.field).collect(),
                chain_id: options.chain_id,
                tokens: options.tokens.clone().unwrap_or_default(),
                labels: options.labels.clone().unwrap_or_default(),
                transactions: options.transactions.clone(),
            },
        })
    }
}

impl Fields {
    /// Refuses a transfer that a column has no room for.
    fn check(&self, transfer: &Transfer) -> Result<()> {
        let is_wide = u32::try_from(transfer.block_number).is_err();
        match is_wide && self.fields.contains(&Field::Block32) {
            true => Err(Error::BlockNumber(transfer.block_number)),
            false => Ok(()),
        }
    }

    /// The values of a transfer.
    fn row<'a>(&'a self, transfer: &'a Transfer, hop: Option<u32>) -> Vec<Value<'a>> {
        let columns = self.columns.iter().zip(&self.fields);
        columns
            .map(|(column, field)| self.value(*field, column, transfer, hop))
            .collect()
    }

    fn value<'a>(
        &'a self,
        field: Field,
        column: &Column,
        transfer: &'a Transfer,
        hop: Option<u32>,
    ) -> Value<'a> {
        match field {
            Field::Hop => hop.into(),
            Field::Schema(at) => in_column(schema_value(transfer, at, self.chain_id), column),
            Field::TransactionFrom => {
                let from = self.transaction(transfer).map(|it| it.from);
                in_column(from.into(), column)
            }
            Field::TransactionTo => {
                let to = self.transaction(transfer).and_then(|it| it.to);
                in_column(to.into(), column)
            }
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
            // Checked before the row is written.
            Field::Block32 => u32::try_from(transfer.block_number).ok().into(),
            Field::ValueOrId => {
                let id = (transfer.token_standard == TokenStandard::Erc721)
                    .then_some(transfer.token_id)
                    .flatten();
                id.unwrap_or(transfer.value).to_string().into()
            }
            Field::Number(at, encoding) => match at {
                VALUE => number(Some(transfer.value), encoding),
                _ => number(transfer.token_id, encoding),
            },
            Field::Symbol => self.symbol(transfer).map_or(Value::Absent, Value::Text),
            Field::FromLabel => self.labels.name(transfer.from_address).into(),
            Field::ToLabel => self.labels.name(transfer.to_address).into(),
            Field::Decimals => self.decimals(transfer).map(u32::from).into(),
            Field::Amount => match self.decimals(transfer) {
                None => Value::Absent,
                Some(decimals) => {
                    let mut text = Vec::new();
                    push_scaled(&mut text, transfer.value.as_limbs(), decimals);
                    text.retain(|byte| *byte != b',');
                    let text: String = text.into_iter().map(char::from).collect();
                    text.into()
                }
            },
        }
    }

    /// The transaction of a transfer. Withdrawals and issuance have none.
    fn transaction(&self, transfer: &Transfer) -> Option<&TransactionFacts> {
        transfer.transaction_hash?;
        let place = (transfer.block_number, transfer.transaction_index);
        self.transactions.get(&place)
    }

    /// The symbol of the token, if it is known.
    fn symbol(&self, transfer: &Transfer) -> Option<Cow<'_, str>> {
        match transfer.token_address {
            None => Some(Cow::Borrowed(KnownChain::native_symbol_of(self.chain_id))),
            Some(token) => {
                let symbol = self.tokens.symbol(self.chain_id, token)?;
                Some(Cow::Borrowed(symbol))
            }
        }
    }

    /// The decimals of the token, if they are known. Tokens of ERC-721 and ERC-1155 have none.
    fn decimals(&self, transfer: &Transfer) -> Option<u8> {
        let asset = Asset {
            token_address: transfer.token_address,
            token_standard: transfer.token_standard,
        };
        match (transfer.token_standard, transfer.token_address) {
            (TokenStandard::Erc20, Some(token)) => {
                Some(self.tokens.lookup(self.chain_id, token)?.decimals)
            }
            _ => Some(self.tokens.decimals(self.chain_id, &asset)),
        }
    }
}

/// The type of a column in a file with rich types.
fn rich_type(field: Field, column: &Column) -> RichType {
    match (field, column.column_type) {
        (Field::Schema(1), _) => RichType::Time,
        (
            Field::Schema(11 | 12)
            | Field::Symbol
            | Field::FromLabel
            | Field::ToLabel
            | Field::Method,
            _,
        ) => RichType::Word,
        (_, ColumnType::U32) => RichType::U32,
        (_, ColumnType::U64) => RichType::U64,
        (_, ColumnType::F64) => RichType::F64,
        (_, ColumnType::Address) => RichType::Address,
        (_, ColumnType::Hash) => RichType::Hash,
        _ => RichType::Text,
    }
}

/// A value as its column holds it: addresses and hashes may be text.
fn in_column<'a>(value: Value<'a>, column: &Column) -> Value<'a> {
    match value {
        Value::Address(address) if column.column_type == ColumnType::Text => {
            format!("{address:#x}").into()
        }
        Value::Hash(hash) if column.column_type == ColumnType::Text => format!("{hash:#x}").into(),
        value => value,
    }
}

/// The field of a transfer at a position of the schema.
fn schema_value(transfer: &Transfer, at: usize, chain_id: u64) -> Value<'_> {
    match at {
        0 => transfer.block_number.into(),
        1 => transfer.block_timestamp.map(BlockTime::seconds).into(),
        2 => transfer.transaction_index.into(),
        3 => transfer.log_index.into(),
        4 => transfer.sub_index.into(),
        5 => transfer.transaction_hash.into(),
        6 => transfer.token_address.into(),
        7 => transfer.from_address.into(),
        8 => transfer.to_address.into(),
        VALUE => transfer.value.into(),
        TOKEN_ID => transfer.token_id.into(),
        11 => transfer.token_standard.as_str().into(),
        12 => transfer.kind.as_str().into(),
        _ => chain_id.into(),
    }
}

/// A number of 256 bits as one of its types.
fn number(number: Option<U256>, encoding: U256Type) -> Value<'static> {
    let Some(number) = number else {
        return Value::Absent;
    };
    match encoding {
        U256Type::Binary => Value::Hash(B256::from(number)),
        U256Type::String => number.to_string().into(),
        U256Type::F64 => to_f64(number.as_limbs()).into(),
    }
}

impl TransferEncoder for Chosen {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        for number in 0..rows.len() {
            let (transfer, hop) = rows.get(number);
            self.fields.check(transfer)?;
            let row = self.fields.row(transfer, hop);
            match &mut self.encoder {
                Encoder::Plain(encoder) => encoder.push(&row)?,
                Encoder::Rich(file) => file.push(&row)?,
            }
        }
        Ok(())
    }

    fn tokens(&mut self) -> Option<&mut TokenList> {
        let names = [Field::Amount, Field::Symbol, Field::Decimals];
        let is_named = self.fields.fields.iter().any(|field| names.contains(field));
        is_named.then_some(&mut self.fields.tokens)
    }

    fn transactions(&mut self) -> Option<&mut Transactions> {
        let facts = [
            Field::TransactionFrom,
            Field::TransactionTo,
            Field::Status,
            Field::Method,
        ];
        let is_stated = self.fields.fields.iter().any(|field| facts.contains(field));
        is_stated.then_some(&mut self.fields.transactions)
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        match self.encoder {
            Encoder::Plain(encoder) => encoder.finish(metadata),
            Encoder::Rich(file) => file.finish(metadata),
        }
    }
}
