//! Executed blocks, as they are stored.
//!
//! The chain writer generates effects of transactions. A caller that executes them
//! instead provides receipts, and every account and slot that a block changed, before and
//! after.

use super::{
    encode::Account,
    header::{self, blob_params},
};
use alloy_consensus::{EthereumReceipt, EthereumTxEnvelope, Header, TxEip4844};
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A changed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<T> {
    /// The value before the block.
    pub before: T,
    /// The value after the block.
    pub after: T,
}

/// An executed transaction.
#[derive(Clone, Debug)]
pub struct ExecutedTransaction {
    /// The signer.
    pub sender: Address,
    /// The signed transaction.
    pub transaction: EthereumTxEnvelope<TxEip4844>,
    /// Its receipt.
    pub receipt: EthereumReceipt,
}

/// An executed block.
#[derive(Clone, Debug, Default)]
pub struct ExecutedBlock {
    /// The complete header.
    pub header: Header,
    /// Transactions, in order.
    pub transactions: Vec<ExecutedTransaction>,
    /// Withdrawals, paid after the transactions.
    pub withdrawals: Vec<Withdrawal>,
    /// Changed accounts. `None` means that the account does not exist.
    pub accounts: BTreeMap<Address, Changed<Option<Account>>>,
    /// Changed slots by account and slot.
    pub slots: BTreeMap<(Address, B256), Changed<U256>>,
    /// New code in this block, by hash.
    pub codes: Vec<(B256, Bytes)>,
}

/// An account of block 0.
#[derive(Clone, Debug, Default)]
pub struct FirstAccount {
    /// Balance in wei.
    pub balance: U256,
    /// Nonce; contracts begin with one.
    pub nonce: u64,
    /// Code; empty for an account that is not a contract.
    pub code: Bytes,
    /// Slots that are not zero.
    pub storage: BTreeMap<B256, U256>,
}

/// Returns the header of block 0 with this state root.
pub fn first_header(state_root: B256, gas_limit: u64) -> Header {
    header::first(state_root, gas_limit)
}

/// Returns the header of an empty block after `parent`, without a beneficiary. Forks
/// begin at fixed blocks: Shanghai at 8, Cancun at 16, Prague at 32, Osaka at 48.
///
/// The state root is a placeholder.
pub fn next_header(parent: &Header, parent_hash: B256) -> Header {
    header::next(parent, parent_hash, parent.gas_limit)
}

/// Returns the blob limit of a block, and the blob gas price in wei.
pub fn blobs(header: &Header) -> (u64, U256) {
    let max = blob_params(header.number).max_blob_count;
    (max, header::blob_fee(header))
}

/// Returns `genesis.json` of a chain with these accounts.
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
