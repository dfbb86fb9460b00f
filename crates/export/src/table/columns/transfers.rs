//! Transfers in columns.

use super::{ColumnBuilder, Container, Groups};
use crate::{
    Metadata, Result, Schema, TransferTableOptions, Written,
    output::Output,
    schema::{BLOCK_NUMBER, Field, KIND, TIMESTAMP, TOKEN_STANDARD, TRANSACTION_INDEX},
    table::{TransferEncoder, TransferRows, chosen::Choice, values::Values},
};
use std::ops::Range;

/// Rows that are appended column by column before the next ones, so that they stay in the cache.
const PIECE: usize = 512;

pub(crate) struct Transfers {
    groups: Groups,
    values: Values,
}

impl Transfers {
    pub(crate) fn new(
        container: Container,
        chosen: Vec<Choice>,
        options: &TransferTableOptions,
        output: Output,
    ) -> Result<Self> {
        let columns = chosen.iter().map(|it| {
            let builder = match it.is_rich {
                true => rich(it),
                false => ColumnBuilder::plain(it.column.column_type),
            };
            (it.column.name.clone(), builder)
        });
        // Logs and native movements of a transaction have no common order by columns.
        let names = Schema::Txgraph.base();
        let order = [names[BLOCK_NUMBER], names[TRANSACTION_INDEX]];
        let order = chosen.iter().any(|it| it.is_rich).then_some(&order[..]);
        let threads = options.threads.count();
        Ok(Self {
            groups: Groups::new(
                container,
                columns.collect(),
                order,
                options,
                threads,
                output,
            )?,
            values: Values::new(chosen, options),
        })
    }

    /// Appends the rows with these numbers to the column at a position.
    fn extend(&mut self, at: usize, rows: TransferRows<'_>, numbers: Range<usize>) -> Result<()> {
        let transfers = numbers.clone().map(|number| rows.get(number).0);
        let Some(get) = self.values.get(at) else {
            return self.extend_by_value(at, rows, numbers);
        };
        if self.groups.builders[at].extend(get, transfers)? {
            return Ok(());
        }
        self.extend_by_value(at, rows, numbers)
    }

    fn extend_by_value(
        &mut self,
        at: usize,
        rows: TransferRows<'_>,
        mut numbers: Range<usize>,
    ) -> Result<()> {
        let (values, column) = (&self.values, &mut self.groups.builders[at]);
        numbers.try_for_each(|number| {
            let (transfer, hop) = rows.get(number);
            Ok(column.push(&values.value(at, transfer, hop))?)
        })
    }
}

/// The column of a choice with rich types.
fn rich(choice: &Choice) -> ColumnBuilder {
    match choice.field {
        Field::Schema(TIMESTAMP) => ColumnBuilder::time(),
        Field::Schema(TOKEN_STANDARD | KIND)
        | Field::Symbol
        | Field::FromLabel
        | Field::ToLabel
        | Field::Method => ColumnBuilder::word(),
        _ => ColumnBuilder::fixed(choice.column.column_type),
    }
}

impl TransferEncoder for Transfers {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        self.values.check(rows)?;
        let mut first = 0;
        while first < rows.len() {
            let room = self.groups.rows_max - self.groups.rows;
            let count = PIECE.min(room).min(rows.len() - first);
            for at in 0..self.groups.builders.len() {
                self.extend(at, rows, first..first + count)?;
            }
            self.groups.added(count)?;
            first += count;
        }
        Ok(())
    }

    fn values(&mut self) -> Option<&mut Values> {
        Some(&mut self.values)
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.groups.finish(metadata)
    }
}
