//! A transfer to start from, and a naive decoder, for the tests of this crate and of those that use it.
//! Not for production.

pub mod naive;

use crate::Transfer;

/// Returns [`Transfer::first_of`] a block, to set other fields with `..`.
pub const fn transfer(block_number: u64) -> Transfer {
    Transfer::first_of(block_number)
}
