//! Amounts in units, and numbers in groups of digits.

pub(crate) use txgraph::{COIN_DECIMALS, grouped, in_units, thousands};

/// How many a second.
pub(crate) fn rate(count: u64, seconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = count as f64 / seconds.max(1e-9);
    rate
}
