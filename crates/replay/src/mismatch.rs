//! Differences between a replay and what the node stored.

use crate::{Refusal, RequestFault};
use alloy_primitives::{Address, B256, U256};
use std::fmt;

/// A difference between a replay and what the node stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The block.
    pub block: u64,
    /// Index and hash of the transaction, if the difference belongs to one.
    pub transaction: Option<(u32, B256)>,
    /// The difference.
    pub difference: Difference,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.block)?;
        if let Some((index, hash)) = self.transaction {
            write!(f, ", transaction {index} ({hash})")?;
        }
        write!(f, ": {}", self.difference)
    }
}

/// A difference between replay and chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// The transaction may not be executed. The rest of the block was not replayed.
    #[error("the transaction may not be executed: {0}")]
    Refused(Refusal),
    /// The results of two engines ([`EngineKind::Both`](crate::EngineKind)).
    #[error("the engines disagree: {0}")]
    Engines(String),
    /// The status of the transaction.
    #[error("status is {}, the receipt has {}", status(*replayed), status(*stored))]
    Status {
        /// In the receipt.
        stored: bool,
        /// In the replay.
        replayed: bool,
    },
    /// The gas of the transaction.
    #[error("gas used is {replayed}, the receipt has {stored}")]
    GasUsed {
        /// In the receipt.
        stored: u64,
        /// In the replay.
        replayed: u64,
    },
    /// The number of logs.
    #[error("{replayed} logs, the receipt has {stored}")]
    LogCount {
        /// In the receipt.
        stored: usize,
        /// In the replay.
        replayed: usize,
    },
    /// A log.
    #[error("log {index} differs from the receipt")]
    Log {
        /// The index in the transaction.
        index: usize,
    },
    /// The number of stored receipts.
    #[error("the node stores {stored} receipts for {transactions} transactions")]
    ReceiptCount {
        /// The number of receipts.
        stored: usize,
        /// The number of transactions.
        transactions: usize,
    },
    /// The gas of the block.
    #[error("gas used by the block is {replayed}, the header has {header}")]
    BlockGasUsed {
        /// In the header.
        header: u64,
        /// In the replay.
        replayed: u64,
    },
    /// The blob gas of the block (EIP-4844).
    #[error("blob gas used by the block is {replayed}, the header has {header}")]
    BlobGasUsed {
        /// In the header.
        header: u64,
        /// In the replay.
        replayed: u64,
    },
    /// The root of the receipts.
    #[error("receipts root is {replayed}, the header has {header}")]
    ReceiptsRoot {
        /// In the header.
        header: B256,
        /// In the replay.
        replayed: B256,
    },
    /// The bloom filter of the logs.
    #[error("the logs bloom differs from the header")]
    LogsBloom,
    /// The hash of the requests (EIP-7685).
    #[error("requests hash is {}, the header has {}", or_none(*replayed), or_none(*header))]
    RequestsHash {
        /// In the header.
        header: Option<B256>,
        /// In the replay.
        replayed: Option<B256>,
    },
    /// The requests could not be collected.
    #[error("the requests could not be collected: {0}")]
    Requests(RequestFault),
    /// The hash of the block access list (EIP-7928).
    #[error("block access list hash is {replayed}, the header has {}", or_none(*header))]
    AccessListHash {
        /// In the header.
        header: Option<B256>,
        /// In the replay.
        replayed: B256,
    },
    /// The block accesses more than its gas limit allows (EIP-7928).
    #[error("the block access list has {items} items, too many for a gas limit of {gas_limit}")]
    AccessListItems {
        /// The number of accounts and slots.
        items: usize,
        /// The gas limit of the block.
        gas_limit: u64,
    },
    /// The root of the state after the block.
    #[error("state root is {replayed}, the header has {header}")]
    StateRoot {
        /// In the header.
        header: B256,
        /// In the replay.
        replayed: B256,
    },
    /// An account that changed and is not in the change set.
    #[error("account {address} changed, but is not in the change set")]
    AccountNotRecorded {
        /// The account.
        address: Address,
    },
    /// An account that is in the change set and did not change.
    #[error("account {address} is in the change set, but did not change")]
    AccountNotChanged {
        /// The account.
        address: Address,
    },
    /// An account with another state before the block.
    #[error("account {address}: the state before the block differs from the change set")]
    AccountBefore {
        /// The account.
        address: Address,
    },
    /// A slot that changed and is not in the change set.
    #[error("slot {key:#x} of {address} changed, but is not in the change set")]
    SlotNotRecorded {
        /// The account.
        address: Address,
        /// The slot.
        key: U256,
    },
    /// A slot that is in the change set and did not change.
    #[error("slot {key:#x} of {address} is in the change set, but did not change")]
    SlotNotChanged {
        /// The account.
        address: Address,
        /// The slot.
        key: U256,
    },
    /// A slot with another value before the block.
    #[error(
        "slot {key:#x} of {address} was {replayed:#x} before the block, the change set has {recorded:#x}"
    )]
    SlotBefore {
        /// The account.
        address: Address,
        /// The slot.
        key: U256,
        /// In the change set.
        recorded: U256,
        /// In the replay.
        replayed: U256,
    },
}

const fn status(success: bool) -> &'static str {
    if success { "success" } else { "failure" }
}

fn or_none(hash: Option<B256>) -> String {
    hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string())
}
