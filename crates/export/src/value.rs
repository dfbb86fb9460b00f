//! Typed values, for every table that is not plain transfers: written as text or
//! columns by [`crate::table`], and as attributes of vertices and edges by the graph
//! formats.

use crate::{
    Error, Result,
    decimal::{push_decimal, push_integer},
    json_text::{push_json, push_key, quoted},
    text::push_hex,
};
use alloy_primitives::{Address, B256, U256};
use serde::Serialize;
use std::{borrow::Cow, io::Write};
use txgraph_graph::{AmountSum, widen};

/// The type of the values in a column. Any of them may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Text of any origin.
    Text,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// An amount of up to 320 bits. Parquet and Arrow IPC have a column for each
    /// [`crate::ColumnWord`] of numbers that [`crate::TransferTableOptions::columns`] has.
    Amount,
    /// An amount of up to 256 bits with a sign. Decimal text in every format.
    SignedAmount,
    /// A double.
    F64,
    /// True or false.
    Bool,
    /// 20 bytes.
    Address,
    /// 32 bytes.
    Hash,
    /// A list of numbers: an array in JSONL, elsewhere text joined by `_` (as cryo
    /// writes trace addresses).
    Indices,
    /// JSON, already encoded. Text in formats that do not nest.
    Json,
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value; allowed in a column of any type.
    Absent,
    /// [`ColumnType::Text`].
    Text(Cow<'a, str>),
    /// [`ColumnType::U32`].
    U32(u32),
    /// [`ColumnType::U64`].
    U64(u64),
    /// [`ColumnType::Amount`].
    Amount(AmountSum),
    /// [`ColumnType::SignedAmount`].
    SignedAmount {
        /// Whether it is below zero.
        is_negative: bool,
        /// The amount without its sign.
        magnitude: U256,
    },
    /// [`ColumnType::F64`].
    F64(f64),
    /// [`ColumnType::Bool`].
    Bool(bool),
    /// [`ColumnType::Address`].
    Address(Address),
    /// [`ColumnType::Hash`].
    Hash(B256),
    /// [`ColumnType::Indices`].
    Indices(Cow<'a, [u32]>),
    /// [`ColumnType::Json`].
    Json(Vec<u8>),
}

macro_rules! value_from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from(value: $type) -> Self {
                let make: fn($type) -> Value<'a> = $make;
                make(value)
            }
        })+
    };
}

value_from! {
    &'a str => |text| Self::Text(Cow::Borrowed(text)),
    String => |text| Self::Text(Cow::Owned(text)),
    u32 => Self::U32,
    u64 => Self::U64,
    U256 => |number| Self::Amount(widen(number)),
    AmountSum => Self::Amount,
    f64 => Self::F64,
    bool => Self::Bool,
    Address => Self::Address,
    B256 => Self::Hash,
    &'a [u32] => |list| Self::Indices(Cow::Borrowed(list)),
    Vec<u32> => |list| Self::Indices(Cow::Owned(list)),
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

impl Value<'_> {
    /// Encodes a value of a [`ColumnType::Json`]. Characters that are not seen as they are
    /// (control characters, changes of direction) are escaped.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded, for example a map whose keys are not text.
    pub fn json(value: &impl Serialize) -> Result<Value<'static>> {
        let mut json = Vec::new();
        push_json(&mut json, value)?;
        Ok(Value::Json(json))
    }

    /// The type of column this value belongs in; `None` for an absent value, which
    /// belongs in any.
    pub const fn column_type(&self) -> Option<ColumnType> {
        Some(match self {
            Self::Absent => return None,
            Self::Text(_) => ColumnType::Text,
            Self::U32(_) => ColumnType::U32,
            Self::U64(_) => ColumnType::U64,
            Self::Amount(_) => ColumnType::Amount,
            Self::SignedAmount { .. } => ColumnType::SignedAmount,
            Self::F64(_) => ColumnType::F64,
            Self::Bool(_) => ColumnType::Bool,
            Self::Address(_) => ColumnType::Address,
            Self::Hash(_) => ColumnType::Hash,
            Self::Indices(_) => ColumnType::Indices,
            Self::Json(_) => ColumnType::Json,
        })
    }

    /// The text of a text value, which needs the escapes of its format.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Appends the value as data files hold it: numbers in decimal, hashes and
    /// addresses in lower-case hex. Text is not escaped.
    pub(crate) fn push_plain(&self, out: &mut Vec<u8>) {
        match self {
            Self::Absent => {}
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
            Self::U32(number) => push_integer(out, *number),
            Self::U64(number) => push_integer(out, *number),
            Self::Amount(amount) => push_decimal(out, amount.as_limbs()),
            Self::SignedAmount {
                is_negative,
                magnitude,
            } => {
                if *is_negative {
                    out.push(b'-');
                }
                push_decimal(out, magnitude.as_limbs());
            }
            Self::F64(number) => {
                // Writing to a vector cannot fail.
                let _ = write!(out, "{number}");
            }
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Address(address) => push_hex(out, address.as_slice()),
            Self::Hash(hash) => push_hex(out, hash.as_slice()),
            Self::Indices(list) => push_joined(out, list, b'_'),
            Self::Json(json) => out.extend_from_slice(json),
        }
    }

    /// Appends the value as JSON. Amounts are strings: most readers of JSON hold 53 bits
    /// of a number.
    pub(crate) fn push_json(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Absent => out.extend_from_slice(b"null"),
            Self::Text(text) => push_json(out, text)?,
            Self::F64(number) => serde_json::to_writer(out, number)?,
            Self::Amount(_) | Self::SignedAmount { .. } | Self::Address(_) | Self::Hash(_) => {
                quoted(out, |out| self.push_plain(out));
            }
            Self::Indices(list) => {
                out.push(b'[');
                push_joined(out, list, b',');
                out.push(b']');
            }
            Self::U32(_) | Self::U64(_) | Self::Bool(_) | Self::Json(_) => self.push_plain(out),
        }
        Ok(())
    }
}

fn push_joined(out: &mut Vec<u8>, list: &[u32], between: u8) {
    for (i, number) in list.iter().enumerate() {
        if i > 0 {
            out.push(between);
        }
        push_integer(out, *number);
    }
}

/// The name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, in `snake_case`; unique in its table.
    pub name: String,
    /// Type of its values.
    pub column_type: ColumnType,
}

impl Column {
    /// A column of this name and type.
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> Self {
        Self {
            name: name.into(),
            column_type,
        }
    }
}

/// Checks that a row has a value of the right type, or an absent one, for each column.
pub(crate) fn check_row(columns: &[Column], row: &[Value<'_>]) -> Result<()> {
    if columns.len() != row.len() {
        return Err(Error::RowLength {
            columns: columns.len(),
            values: row.len(),
        });
    }
    for (column, value) in columns.iter().zip(row) {
        if let Some(found) = value.column_type().filter(|t| *t != column.column_type) {
            return Err(Error::RowType {
                column: column.name.clone(),
                wanted: column.column_type,
                found,
            });
        }
    }
    Ok(())
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
