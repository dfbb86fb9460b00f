//! A transfer to start from, for the tests of this crate and of those that use it. Not for
//! production.

use crate::{Kind, TokenStandard, Transfer};
use alloy_primitives::{Address, U256};

/// Returns the value of the first transaction of a block: 0 wei between zero addresses, without
/// time and hash. Tests set other fields with `..`.
pub const fn transfer(block_number: u64) -> Transfer {
    Transfer {
        block_number,
        block_timestamp: None,
        transaction_index: 0,
        log_index: None,
        sub_index: 0,
        transaction_hash: None,
        token_address: None,
        from_address: Address::ZERO,
        to_address: Address::ZERO,
        value: U256::ZERO,
        token_id: None,
        token_standard: TokenStandard::Native,
        kind: Kind::Value,
    }
}
