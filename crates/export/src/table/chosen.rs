//! The columns of transfers: those of the schema, of the table of another tool, or chosen ones in any
//! order.

use crate::{
    Column, ColumnType, Dataset, Error, Result, TransferTableOptions, U256Type,
    fields::FIELDS,
    schema::{BLOCK_NUMBER, CHAIN_ID, HOP, TOKEN_ID, VALUE, number_type},
};

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
pub(crate) enum Field {
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
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) column: Column,
    pub(crate) field: Field,
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

const fn on_request_type(field: Field, hex: bool) -> ColumnType {
    match field {
        Field::Decimals | Field::Status => ColumnType::U32,
        Field::TransactionFrom | Field::TransactionTo if !hex => ColumnType::Address,
        _ => ColumnType::Text,
    }
}

/// The type of the column of the schema at a position.
const fn column_type(at: usize, hex: bool) -> ColumnType {
    let column_type = match at {
        CHAIN_ID => ColumnType::U64,
        _ => FIELDS[at].get.column_type(),
    };
    match column_type {
        ColumnType::Address | ColumnType::Hash if hex => ColumnType::Text,
        other => other,
    }
}

/// Whether the options ask for other columns of text than those of the schema.
pub(crate) const fn is_chosen(options: &TransferTableOptions) -> bool {
    options.dataset.is_some() || !options.columns.is_empty() || !options.exclude.is_empty()
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

/// The columns that the options choose for a table of text or of columns.
pub(crate) fn choose(
    options: &TransferTableOptions,
    is_text: bool,
    with_hop: bool,
) -> Result<Vec<Choice>> {
    let all = choices(options, is_text, with_hop);
    let is = |it: &Choice, name: &String| it.column.name == *name || it.base == name;
    let mut chosen: Vec<_> = match options.columns.is_empty() {
        true => all.into_iter().filter(|it| it.is_default).collect(),
        false => (options.columns.iter())
            .flat_map(|name| all.iter().filter(move |it| is(it, name)).cloned())
            .collect(),
    };
    chosen.retain(|it| !options.exclude.iter().any(|name| is(it, name)));
    match chosen.is_empty() {
        true => Err(Error::NoColumns),
        false => Ok(chosen),
    }
}
