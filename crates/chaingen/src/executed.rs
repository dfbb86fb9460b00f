//! Blocks that somebody executed, as they are stored.
//!
//! The chain writer of this module makes up what transactions do. Who executes them knows,
//! and tells: receipts, and every account and slot that a block changed, before and after.

use super::{
    encode::Account,
    header::{self, blob_params},
};
use alloy_consensus::{EthereumReceipt, EthereumTxEnvelope, Header, TxEip4844};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A value that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<T> {
    /// Before the block.
    pub before: T,
    /// After it.
    pub after: T,
}

/// A transaction that was executed.
#[derive(Clone, Debug)]
pub struct ExecutedTransaction {
    /// Who signed it.
    pub sender: Address,
    /// Itself, signed.
    pub transaction: EthereumTxEnvelope<TxEip4844>,
    /// What came of it.
    pub receipt: EthereumReceipt,
}

/// A block that was executed.
#[derive(Clone, Debug, Default)]
pub struct ExecutedBlock {
    /// Its header, whole.
    pub header: Header,
    /// In order.
    pub transactions: Vec<ExecutedTransaction>,
    /// Paid after them.
    pub withdrawals: Vec<Withdrawal>,
    /// All that differ; `None`: there is no such account.
    pub accounts: BTreeMap<Address, Changed<Option<Account>>>,
    /// All that differ, by account and slot.
    pub slots: BTreeMap<(Address, B256), Changed<U256>>,
    /// Code that is new in this block, with its hash.
    pub codes: Vec<(B256, Bytes)>,
}

/// An account of block 0.
#[derive(Clone, Debug, Default)]
pub struct FirstAccount {
    /// In wei.
    pub balance: U256,
    /// Its own; contracts begin with one.
    pub nonce: u64,
    /// None: no contract.
    pub code: Bytes,
    /// Slots that are not zero.
    pub storage: BTreeMap<B256, U256>,
}

/// The header of block 0 with this state root.
pub fn first_header(state_root: B256, gas_limit: u64) -> Header {
    header::first(state_root, gas_limit)
}

/// The header of an empty block on top of `parent`, without a beneficiary. Forks begin
/// at fixed blocks: Shanghai at 8, Cancun at 16, Prague at 32, Osaka at 48.
///
/// The state root is a placeholder.
pub fn next_header(parent: &Header, parent_hash: B256) -> Header {
    header::next(parent, parent_hash, parent.gas_limit)
}

/// The most blobs of a block, and the wei that a unit of their gas costs.
pub fn blobs(header: &Header) -> (u64, U256) {
    let max = blob_params(header.number).max_blob_count;
    (max, header::blob_fee(header))
}

/// `genesis.json` of a chain with these first accounts.
pub fn genesis_file(
    chain_id: u64,
    gas_limit: u64,
    accounts: &BTreeMap<Address, FirstAccount>,
) -> Value {
    let alloc: Map<String, Value> = accounts
        .iter()
        .map(|(address, account)| {
            let value = json!({
                "balance": account.balance,
                "nonce": format!("{:#x}", account.nonce),
                "code": account.code,
                "storage": account.storage,
            });
            (format!("{address:#x}"), value)
        })
        .collect();
    header::specification_of(chain_id, gas_limit, alloc)
}
