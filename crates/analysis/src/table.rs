//! A table of typed cells. The result of every measure turns into one or more of them, so
//! that a terminal or a CSV writer depends on no measure.

use alloy_primitives::Address;
use serde::{Serialize, Serializer};
use std::fmt;
use txgraph_graph::AmountSum;

/// The kind of the cells of a column. Any cell may be [`Cell::Absent`] instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CellKind {
    /// Text.
    Text,
    /// A count, block number or index.
    Integer,
    /// An exact amount in the smallest unit of the token in the `token_address` column of the
    /// same row; of the native coin if that cell is absent.
    Amount,
    /// A share or a mean, rounded to a double.
    Ratio,
    /// An address.
    Address,
}

impl CellKind {
    /// Whether such cells are right-aligned.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Amount | Self::Ratio)
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name, in `snake_case`; unique in its table.
    pub name: String,
    /// The kind of its cells.
    pub kind: CellKind,
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text from any source, such as labels of users: escape it before printing.
    Text(String),
    /// A count, block number or index.
    Integer(u64),
    /// An exact amount, smallest unit; see [`CellKind::Amount`].
    Amount(AmountSum),
    /// A share or a mean. Always finite.
    Ratio(f64),
    /// An address.
    Address(Address),
    /// No value: the native coin among tokens, a mean of nothing.
    Absent,
}

impl Cell {
    /// Returns the kind of column that the cell belongs in; `None` for an absent cell.
    pub const fn kind(&self) -> Option<CellKind> {
        match self {
            Self::Text(_) => Some(CellKind::Text),
            Self::Integer(_) => Some(CellKind::Integer),
            Self::Amount(_) => Some(CellKind::Amount),
            Self::Ratio(_) => Some(CellKind::Ratio),
            Self::Address(_) => Some(CellKind::Address),
            Self::Absent => None,
        }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

macro_rules! cell_from {
    ($($type:ty => $make:expr),+ $(,)?) => {
        $(impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                let make: fn($type) -> Cell = $make;
                make(value)
            }
        })+
    };
}

cell_from! {
    &str => |value| Cell::Text(value.to_owned()),
    String => Cell::Text,
    u64 => Cell::Integer,
    u32 => |value| Cell::Integer(value.into()),
    usize => |value| Cell::Integer(value as u64),
    AmountSum => Cell::Amount,
    f64 => |value| if value.is_finite() { Cell::Ratio(value) } else { Cell::Absent },
    Address => Cell::Address,
}

/// As in data files: amounts in decimal, addresses in lower-case hex, absent cells empty.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Amount(amount) => write!(f, "{amount}"),
            Self::Ratio(ratio) => write!(f, "{ratio}"),
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Absent => Ok(()),
        }
    }
}

/// Integers and ratios as numbers, absent cells as null, others as text: amounts exceed the
/// numbers of JSON readers.
impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Integer(number) => serializer.serialize_u64(*number),
            Self::Ratio(ratio) => serializer.serialize_f64(*ratio),
            Self::Absent => serializer.serialize_none(),
            text => serializer.collect_str(text),
        }
    }
}

/// The result of a measure. Serialised, it holds everything; its tables may leave out
/// what does not fit rows.
pub trait MeasureResult: Serialize {
    /// The result as tables, the main one first.
    fn tables(&self) -> Vec<Table>;
}

/// A table. Every row has one cell per column, of the column's kind or absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Names the table among those of its measure: `top-senders-by-amount`. Part of the
    /// interface of programs; the title is not.
    pub id: &'static str,
    /// A heading, with remarks such as how much was left out.
    pub title: String,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Rows, in the order the measure defines.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(id: &'static str, title: impl Into<String>, columns: &[(&str, CellKind)]) -> Self {
        let column = |&(name, kind): &(&str, _)| Column {
            name: name.to_owned(),
            kind,
        };
        Self {
            id,
            title: title.into(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; in debug builds, checks it against the columns.
    pub fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.title);
        debug_assert!(
            row.iter()
                .zip(&self.columns)
                .all(|(cell, column)| cell.kind().is_none_or(|kind| kind == column.kind)),
            "{}: {row:?}",
            self.title
        );
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_print_and_serialise() {
        let cells = [
            (Cell::from("a\"b"), "a\"b", r#""a\"b""#),
            (7u64.into(), "7", "7"),
            (
                AmountSum::MAX.into(),
                AMOUNT_MAX,
                &format!("\"{AMOUNT_MAX}\""),
            ),
            (0.25.into(), "0.25", "0.25"),
            (
                Address::repeat_byte(0xAB).into(),
                "0xabababababababababababababababababababab",
                "\"0xabababababababababababababababababababab\"",
            ),
            (Option::<u64>::None.into(), "", "null"),
            (f64::NAN.into(), "", "null"),
        ];
        for (cell, printed, json) in cells {
            assert_eq!(cell.to_string(), printed);
            assert_eq!(serde_json::to_string(&cell).unwrap(), json);
        }
    }

    /// 2^320 - 1.
    const AMOUNT_MAX: &str = "2135987035920910082395021706169552114602704522356652769947041607822219725780640550022962086936575";

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "title")]
    fn rows_of_the_wrong_kind_panic() {
        Table::new("id", "title", &[("n", CellKind::Integer)]).push(vec!["x".into()]);
    }
}
