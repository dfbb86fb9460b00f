//! Sums of amounts.

use alloy_primitives::U256;

/// An exact sum of 256-bit amounts: it has room for 2^64 of the largest. Prints in
/// decimal.
pub type AmountSum = alloy_primitives::aliases::U320;

/// Returns an amount as a sum.
pub fn widen(amount: U256) -> AmountSum {
    AmountSum::from_limbs_slice(amount.as_limbs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_the_largest_amounts_exactly() {
        let sum = widen(U256::MAX) + widen(U256::MAX);
        assert_eq!(
            sum.to_string(),
            "231584178474632390847141970017375815706539969331281128078915168015826259279870"
        );
    }
}
