//! The DAO fork (EIP-779): the accounts that were drained, and the account that received
//! their wei.

use alloy_primitives::{Address, address};

/// The contract that paid refunds to the token holders.
pub const REFUND: Address = address!("bf4ed7b27f1d666546e30d74d50d173d20bca754");

/// The DAO, its extra balance account, and their child DAOs.
pub fn drained() -> impl Iterator<Item = Address> {
    let lines = include_str!("dao.txt").lines();
    lines.map(|line| line.parse().expect(line))
}
