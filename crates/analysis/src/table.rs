//! A table of typed values. The result of every measure turns into one or more of them, so
//! that a terminal or a CSV writer depends on no measure.

use crate::{Attribute, Column, ColumnType, Value};
use serde::Serialize;

/// `block:index`, a name of a transaction that commands accept.
pub(crate) fn transaction_name(block: u64, index: u32) -> String {
    format!("{block}:{index}")
}

/// The result of a measure. Serialized, it holds everything; its tables may leave out
/// what does not fit rows.
pub trait MeasureResult: Serialize {
    /// The result as tables, the main one first.
    fn tables(&self) -> Vec<Table>;
}

/// A table. Every row has one value per column, of the column's type or absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Names the table in its measure: `top-senders-by-amount`. Part of the
    /// interface of programs; the title is not.
    pub id: &'static str,
    /// A heading, with remarks such as how much was left out.
    pub title: String,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Rows, in the order the measure defines.
    pub rows: Vec<Vec<Value<'static>>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(id: &'static str, title: impl Into<String>, columns: &[(&str, ColumnType)]) -> Self {
        let column = |&(name, column_type): &(&str, _)| Column::new(name, column_type);
        Self {
            id,
            title: title.into(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Creates a table with a row for each item.
    pub fn of<T: Copy>(
        id: &'static str,
        title: impl Into<String>,
        items: impl IntoIterator<Item = T>,
        attributes: &[Attribute<'static, T>],
    ) -> Self {
        let mut table = Self {
            id,
            title: title.into(),
            columns: Column::of(attributes),
            rows: Vec::new(),
        };
        for item in items {
            table.push(Value::row(attributes, item));
        }
        table
    }

    /// Adds a row; in debug builds, checks it against the columns. Small integers are widened.
    pub fn push(&mut self, mut row: Vec<Value<'static>>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.title);
        for (value, column) in row.iter_mut().zip(&self.columns) {
            if let (Value::U32(number), ColumnType::U64) = (&*value, column.column_type) {
                *value = Value::U64((*number).into());
            }
            let is_right = value
                .column_type()
                .is_none_or(|it| it == column.column_type);
            debug_assert!(is_right, "{}: {value:?}", self.title);
        }
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_type_of_their_column() {
        let columns = [("n", ColumnType::U64), ("share", ColumnType::F64)];
        let mut table = Table::new("id", "title", &columns);
        table.push(vec![7u32.into(), f64::NAN.into()]);
        table.push(vec![7usize.into(), 0.25.into()]);
        assert_eq!(table.rows[0], [Value::U64(7), Value::Absent]);
        assert_eq!(table.rows[1], [Value::U64(7), Value::F64(0.25)]);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "title")]
    fn rows_of_the_wrong_type_panic() {
        Table::new("id", "title", &[("n", ColumnType::U64)]).push(vec!["x".into()]);
    }
}
