//! Typed values as text, for every table that is not plain transfers: written as text or
//! columns by [`crate::table`], and as attributes of vertices and edges by the graph
//! formats.

use crate::{
    Column, Error, Result, Value,
    decimal::{push_decimal, push_integer},
    json_text::{push_json, push_key, push_scalar, quoted},
    text::push_hex,
};
use serde::Serialize;
use std::{borrow::Borrow, io::Write};

/// Whole numbers below are exact in a double.
const EXACT_MAX: f64 = (1u64 << 53) as f64;

/// Encodes a value of a [`crate::ColumnType::Json`]. Characters that are not seen as they are
/// (control characters, changes of direction) are escaped.
///
/// # Errors
///
/// If it cannot be encoded, for example a map whose keys are not text.
pub fn json_value(value: &impl Serialize) -> Result<Value<'static>> {
    let mut json = Vec::new();
    push_json(&mut json, value)?;
    Ok(Value::Json(json))
}

/// Returns the value as data files hold it. Text is not escaped.
pub fn plain_text(value: &Value<'_>) -> String {
    let mut text = Vec::new();
    value.push_plain(&mut text);
    String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub(crate) trait ValueText {
    /// The text of a text value, which needs the escapes of its format.
    fn as_text(&self) -> Option<&str>;

    /// Appends the value as data files hold it: numbers in decimal, hashes and
    /// addresses in lower-case hex. Text is not escaped.
    fn push_plain(&self, out: &mut Vec<u8>);

    /// Appends the value as JSON. Amounts are strings: most readers of JSON hold 53 bits
    /// of a number.
    fn push_json(&self, out: &mut Vec<u8>);
}

impl ValueText for Value<'_> {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn push_plain(&self, out: &mut Vec<u8>) {
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
                // Writing to a vector cannot fail. Digits of larger numbers would look exact.
                let _ = match number.abs() < EXACT_MAX {
                    true => write!(out, "{number}"),
                    false => write!(out, "{number:e}"),
                };
            }
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Address(address) => push_hex(out, address.as_slice()),
            Self::Hash(hash) => push_hex(out, hash.as_slice()),
            Self::Indices(list) => push_joined(out, list, b'_'),
            Self::Json(json) => out.extend_from_slice(json),
        }
    }

    fn push_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Absent => out.extend_from_slice(b"null"),
            Self::Text(text) => push_scalar(out, text),
            Self::F64(number) => push_scalar(out, number),
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

/// Appends a JSON object, without an end of line.
pub(crate) fn push_object<'k, 'v, V: Borrow<Value<'v>>>(
    out: &mut Vec<u8>,
    fields: impl Iterator<Item = (&'k str, V)>,
) {
    for (i, (name, value)) in fields.enumerate() {
        out.push(if i == 0 { b'{' } else { b',' });
        push_key(out, name);
        value.borrow().push_json(out);
    }
    out.push(b'}');
}
