//! Amounts in units, and numbers in groups of digits.

use alloy_primitives::{U256, utils::format_units};

pub(crate) use txgraph::{grouped, thousands};

/// Decimals of the native coin: of ETH, and of the coins of all known chains.
pub(crate) const COIN_DECIMALS: u8 = 18;

/// An amount with a decimal point, without zeros at its end.
pub(crate) fn in_units(amount: U256, decimals: u8) -> String {
    match format_units(amount, decimals) {
        Ok(text) if text.contains('.') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Ok(text) => text,
        // More decimals than a number of 256 bits has digits.
        Err(_) => format!("{amount}e-{decimals}"),
    }
}

/// How many a second.
pub(crate) fn rate(count: u64, seconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = count as f64 / seconds.max(1e-9);
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_no_zeros_at_their_end() {
        for (amount, decimals, text) in [
            (1_500_000u64, 6, "1.5"),
            (1_000_000, 6, "1"),
            (100, 0, "100"),
            (0, 18, "0"),
            (7, 200, "7e-200"),
        ] {
            assert_eq!(in_units(U256::from(amount), decimals), text);
        }
    }
}
