//! What is asked of a replay, and what it answers.

use crate::{BalanceCheck, Frames, Mismatch};
use alloy_primitives::B256;
use txgraph_evm::{AccountChange, Fork, Outcome, Transition};

/// What is kept of each transaction, beside its outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The tree of its call frames.
    pub frames: Option<FrameDetail>,
    /// What it changed.
    pub transitions: bool,
    /// What the whole block changed.
    pub changes: bool,
}

/// How much is kept of a call frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameDetail {
    /// Who called whom, with what value and gas; of the input the selector.
    Calls,
    /// Also inputs, outputs and logs.
    Everything,
}

/// What a replay is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verify {
    /// Each transaction against its stored receipt, where there is one.
    pub receipts: bool,
    /// The block against gas, roots, bloom filter and hashes of its header.
    pub header: bool,
    /// The block's changes against the change sets, where there are any.
    pub changes: bool,
}

impl Default for Verify {
    /// Everything.
    fn default() -> Self {
        Self {
            receipts: true,
            header: true,
            changes: true,
        }
    }
}

/// A block, replayed.
#[derive(Clone, Debug)]
pub struct BlockReplay {
    /// Number of the block.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// Hash of the block before.
    pub parent_hash: B256,
    /// Unix seconds.
    pub timestamp: u64,
    /// What its transactions saw of it.
    pub environment: txgraph_evm::Block,
    /// The fork whose rules held.
    pub fork: Fork,
    /// Of all transactions.
    pub gas_used: u64,
    /// In order; fewer than the block has when one was refused.
    pub transactions: Vec<TransactionReplay>,
    /// What the block changed, if asked for.
    pub changes: Vec<AccountChange>,
    /// Where the replay disagrees with the node; none is as it should be.
    pub mismatches: Vec<Mismatch>,
    /// What it was held against: what was asked for and is there.
    pub verified: Verify,
}

/// A transaction, replayed.
#[derive(Clone, Debug)]
pub struct TransactionReplay {
    /// Number of its block.
    pub block: u64,
    /// The fork whose rules held.
    pub fork: Fork,
    /// Index in the block.
    pub index: u32,
    /// Its hash.
    pub hash: B256,
    /// As it was executed.
    pub transaction: txgraph_evm::Transaction,
    /// Status, gas, logs, output.
    pub outcome: Outcome,
    /// Index of its first log in the block.
    pub first_log: u32,
    /// The tree of its call frames, if asked for.
    pub frames: Option<Frames>,
    /// What it changed, if asked for.
    pub transitions: Vec<Transition>,
    /// Balances beside logs, if [tokens](crate::ReplayOptions::tokens) were named.
    pub balances: Option<BalanceCheck>,
}
