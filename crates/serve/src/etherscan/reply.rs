//! The parts of an answer.

use crate::{
    ask::{Ask, Ending},
    fault::Answer,
    paging::Page,
};
use alloy_primitives::Address;
use serde_json::Value;
use std::ops::ControlFlow;

/// An answer, which the envelope is made for.
pub(super) enum Reply {
    /// Rows, and the message if there are none.
    Rows(Vec<Value>, &'static str),
    /// The same, if the node does not keep what would show whether there is another row.
    Partial(Vec<Value>, &'static str),
    /// One value.
    Value(Value),
    /// One value, which the clock can change.
    Passing(Value),
    /// Nothing, and the message.
    Nothing(&'static str),
}

/// The rows of a page, which a scan finds in order.
pub(super) struct PageRows {
    page: Page,
    found: usize,
    rows: Vec<Value>,
    ending: Ending,
}

impl PageRows {
    pub(super) const fn new(page: Page) -> Self {
        Self {
            page,
            found: 0,
            rows: Vec::new(),
            ending: Ending::new(),
        }
    }

    /// Adds a row of about this many bytes, unless it is before the page. Breaks after the last.
    pub(super) fn add(
        &mut self,
        ask: &Ask<'_>,
        bytes: usize,
        row: impl FnOnce() -> txgraph::Result<Value>,
    ) -> txgraph::Result<ControlFlow<()>> {
        self.found += 1;
        if self.found <= self.page.skip {
            return Ok(ControlFlow::Continue(()));
        }
        if self.ending.note(ask.count(bytes)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.rows.push(row()?);
        Ok(match self.rows.len() < self.page.rows {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    }

    /// The rows, or why there are too many.
    pub(super) fn finish(self) -> Answer<Vec<Value>> {
        self.ending.finish()?;
        Ok(self.rows)
    }
}

/// No transactions, transfers or withdrawals.
pub(super) const NO_TRANSACTIONS: &str = "No transactions found";

/// The number of blocks since a block.
pub(super) fn confirmations(ask: &Ask<'_>, block: u64) -> Value {
    text(ask.tip.number.saturating_sub(block))
}

/// The hash that Etherscan writes for an account of the genesis, which no transaction made.
pub(super) fn genesis_hash(of: Address) -> Value {
    format!("GENESIS_{of:x}").into()
}

/// A number in decimal digits.
pub(super) fn text(number: impl ToString) -> Value {
    Value::String(number.to_string())
}
