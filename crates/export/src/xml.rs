//! Elements, attributes and escapes for GraphML and GEXF.

use crate::{Column, ColumnType, Value, decimal::to_f64, text::printable, value::ValueText};

/// Appends any text as content or attribute of an element. XML 1.0 cannot represent most
/// control characters, not even escaped, so they are replaced.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    for c in printable(text).chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\'' => out.extend_from_slice(b"&apos;"),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

pub(crate) fn push_attribute(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    push_text(out, value);
    out.push(b'"');
}

/// Appends a value as content or attribute.
pub(crate) fn push_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value.as_text() {
        Some(words) => push_text(out, words),
        None => value.push_plain(out),
    }
}

/// Calls `each` with the name and the type of every attribute: one for each column, and after an
/// exact amount, which is text, a rounded double.
pub(crate) fn for_each_attribute(columns: &[Column], mut each: impl FnMut(&str, &str)) {
    for column in columns {
        each(&column.name, type_word(column.column_type));
        if column.column_type == ColumnType::Amount {
            each(&format!("{}_f64", column.name), "double");
        }
    }
}

/// Calls `each` with the name and the value of every attribute that a row has.
pub(crate) fn for_each_value(
    columns: &[Column],
    row: &[Value<'_>],
    mut each: impl FnMut(&str, &Value<'_>),
) {
    for (column, value) in columns.iter().zip(row) {
        if *value == Value::Absent {
            continue;
        }
        each(&column.name, value);
        if let Value::Amount(amount) = value {
            let number = Value::F64(to_f64(amount.as_limbs()));
            each(&format!("{}_f64", column.name), &number);
        }
    }
}

/// The first line of the file.
pub(crate) const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// The word of both formats for the type of a column.
const fn type_word(column_type: ColumnType) -> &'static str {
    match column_type {
        // GraphML's `int` and `long` are signed; only `long` holds a `u32`.
        ColumnType::U32 | ColumnType::U64 => "long",
        ColumnType::F64 => "double",
        ColumnType::Bool => "boolean",
        // GEXF 1.3 has `biginteger`, which networkx 3.6 does not read.
        ColumnType::Amount
        | ColumnType::SignedAmount
        | ColumnType::Text
        | ColumnType::Address
        | ColumnType::Hash
        | ColumnType::Indices
        | ColumnType::Json => "string",
    }
}
