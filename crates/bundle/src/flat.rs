//! Flat state: accounts and slots by key.

use alloy_primitives::{Address, B256, Bytes, U256};
use std::collections::BTreeMap;
use txgraph_evm::Account;

/// An account before a block, and the slots that the block reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatAccount {
    /// Balance, nonce and code hash.
    pub account: Account,
    /// The slots that are read, also those that are zero.
    pub storage: BTreeMap<U256, U256>,
    /// Whether the account has storage (EIP-7610), if that was asked.
    pub has_storage: Option<bool>,
}

/// The state before a block, as far as the block reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatState {
    /// Accounts by address; `None` for one that does not exist.
    pub accounts: BTreeMap<Address, Option<FlatAccount>>,
    /// Code by hash.
    pub codes: BTreeMap<B256, Bytes>,
    /// Hashes of earlier blocks by number.
    pub block_hashes: BTreeMap<u64, B256>,
}
