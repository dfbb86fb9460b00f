//! Options and results of a replay.

use crate::{BalanceCheck, FrameDetail, Frames, Mismatch, Touched};
use alloy_primitives::B256;
use txgraph_evm::{AccountChange, Fork, Outcome, Transition};

/// Data recorded in addition to the outcome of each transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The tree of call frames, with this detail.
    pub frames: Option<FrameDetail>,
    /// The state changes of the transaction.
    pub transitions: bool,
    /// The accounts and slots that the transaction touches, with their values before it. Not supported by
    /// revm.
    pub touched: bool,
    /// The state changes of the whole block.
    pub changes: bool,
}

/// The data that a replay is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verify {
    /// The transactions of the block with its transactions root, and every stored sender with the
    /// signer of its transaction. A difference is damage, which is an error and not a
    /// [`Mismatch`]. Recovering a signer takes about 50 µs.
    pub transactions: bool,
    /// Each transaction with its stored receipt, where there is one.
    pub receipts: bool,
    /// The block with gas, roots, bloom filter and hashes of its header.
    pub header: bool,
    /// The changes of the block with the change sets, where there are any. For a bundle with trie
    /// nodes, the state root with the header.
    pub changes: bool,
}

impl Default for Verify {
    /// All comparisons.
    fn default() -> Self {
        Self {
            transactions: true,
            receipts: true,
            header: true,
            changes: true,
        }
    }
}

/// A replayed block.
#[derive(Clone, Debug)]
pub struct BlockReplay {
    /// The block number.
    pub number: u64,
    /// The block hash.
    pub hash: B256,
    /// The hash of the parent block.
    pub parent_hash: B256,
    /// The block time in Unix seconds.
    pub timestamp: u64,
    /// The block environment of its transactions.
    pub environment: txgraph_evm::Block,
    /// The fork whose rules apply.
    pub fork: Fork,
    /// The gas used by all transactions.
    pub gas_used: u64,
    /// The transactions, in order; those from a refused one on are absent.
    pub transactions: Vec<TransactionReplay>,
    /// The state changes of the block, if recorded.
    pub changes: Vec<AccountChange>,
    /// The differences from the node; none for undamaged data.
    pub mismatches: Vec<Mismatch>,
    /// The comparisons that were made: those requested for which the node has data.
    pub verified: Verify,
}

/// A replayed transaction.
#[derive(Clone, Debug)]
pub struct TransactionReplay {
    /// The number of its block.
    pub block: u64,
    /// The fork whose rules apply.
    pub fork: Fork,
    /// The index in the block.
    pub index: u32,
    /// The transaction hash.
    pub hash: B256,
    /// The executed transaction.
    pub transaction: txgraph_evm::Transaction,
    /// Status, gas, logs, output.
    pub outcome: Outcome,
    /// The index in the block of its first log.
    pub first_log: u32,
    /// The tree of call frames, if recorded.
    pub frames: Option<Frames>,
    /// The state changes, if recorded.
    pub transitions: Vec<Transition>,
    /// The accounts and slots that it touches, if recorded.
    pub touched: Option<Touched>,
    /// The comparison of balances with logs, if [tokens](crate::ReplayOptions::tokens) are given.
    pub balances: Option<BalanceCheck>,
    /// The run without the [overrides](crate::ReplayOptions::overrides), if any are given.
    pub without_overrides: Option<Box<TransactionReplay>>,
}
