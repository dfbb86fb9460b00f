//! The parts of an answer.

use crate::ask::Ask;
use serde_json::Value;

/// An answer, which the envelope is made for.
pub(super) enum Reply {
    /// Rows, and the message if there are none.
    Rows(Vec<Value>, &'static str),
    /// One value.
    Value(Value),
}

/// No transactions, transfers or withdrawals.
pub(super) const NO_TRANSACTIONS: &str = "No transactions found";

/// The most rows that all pages of a query have.
pub(super) const WINDOW: u64 = 10_000;

/// The number of blocks since a block.
pub(super) fn confirmations(ask: &Ask<'_>, block: u64) -> Value {
    text(ask.tip.number.saturating_sub(block))
}

/// A number in decimal digits.
pub(super) fn text(number: impl ToString) -> Value {
    Value::String(number.to_string())
}
