//! The balances that tokens return, compared with the logs of a transaction.

use alloy_primitives::{Address, U256};
use std::fmt;

/// The balances of selected tokens, compared with the logs of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BalanceCheck {
    /// The number of compared pairs of token and holder.
    pub compared: u64,
    /// The number of pairs for which the token returned no balance.
    pub unanswered: u64,
    /// The pairs that differ, ascending by token and holder.
    pub differing: Vec<BalanceDifference>,
}

/// A balance whose change differs from the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceDifference {
    /// The token contract.
    pub token: Address,
    /// The owner of the balance.
    pub holder: Address,
    /// The incoming amounts according to the logs.
    pub received: U256,
    /// The outgoing amounts according to the logs.
    pub sent: U256,
    /// The result of `balanceOf` before the transaction.
    pub before: U256,
    /// The result of `balanceOf` after it.
    pub after: U256,
}

impl BalanceDifference {
    /// The change according to the logs.
    pub fn logged(&self) -> SignedAmount {
        SignedAmount::between(self.sent, self.received)
    }

    /// The change according to `balanceOf`.
    pub fn actual(&self) -> SignedAmount {
        SignedAmount::between(self.before, self.after)
    }
}

/// A change of a balance; outgoing amounts are negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedAmount {
    /// Whether the amount is outgoing. Zero is not negative.
    pub is_negative: bool,
    /// The amount without its sign.
    pub magnitude: U256,
}

impl SignedAmount {
    fn between(less: U256, more: U256) -> Self {
        Self {
            is_negative: more < less,
            magnitude: more.abs_diff(less),
        }
    }
}

impl fmt::Display for SignedAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        write!(f, "{sign}{}", self.magnitude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_amounts_are_printed() {
        let between = |less: u64, more: u64| {
            SignedAmount::between(U256::from(less), U256::from(more)).to_string()
        };
        assert_eq!(between(3, 10), "7");
        assert_eq!(between(10, 3), "-7");
        assert_eq!(between(3, 3), "0");
        let all = SignedAmount::between(U256::MAX, U256::ZERO);
        assert_eq!(all.to_string(), format!("-{}", U256::MAX));
    }
}
