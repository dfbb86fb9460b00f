//! What a replay is held against: stored receipts, the header, and change sets.

use crate::{Refusal, RequestFault, StoredBlock, StoredReceipt};
use alloy_primitives::{Address, B256, U256};
use std::fmt;
use txgraph_block::{BlockRequests, Receipts};
use txgraph_evm::{AccountChange, Fork, Outcome};
use txgraph_state::BlockChanges;

/// A replay that disagrees with what the node stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The block.
    pub block: u64,
    /// Index and hash of the transaction, if it is about one.
    pub transaction: Option<(u32, B256)>,
    /// What disagrees.
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

/// What disagrees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// The transaction is in the block, and may not be executed. The rest of the block
    /// was not replayed.
    #[error("it may not be executed: {0}")]
    Refused(Refusal),
    /// Two engines ([`EngineKind::Both`](crate::EngineKind)).
    #[error("two engines disagree: {0}")]
    Engines(String),
    /// Status.
    #[error("it {}, the receipt says that it {}", status(*replayed), status(*stored))]
    Status {
        /// By the receipt.
        stored: bool,
        /// By the replay.
        replayed: bool,
    },
    /// Gas of the transaction.
    #[error("it used {replayed} gas, the receipt says {stored}")]
    GasUsed {
        /// By the receipt.
        stored: u64,
        /// By the replay.
        replayed: u64,
    },
    /// How many logs.
    #[error("it wrote {replayed} logs, the receipt holds {stored}")]
    LogCount {
        /// In the receipt.
        stored: usize,
        /// By the replay.
        replayed: usize,
    },
    /// A log.
    #[error("its log {index} is another than in the receipt")]
    Log {
        /// In the transaction.
        index: usize,
    },
    /// How many receipts are there.
    #[error("{stored} receipts are stored for {transactions} transactions")]
    ReceiptCount {
        /// Receipts.
        stored: usize,
        /// Transactions.
        transactions: usize,
    },
    /// Gas of the block.
    #[error("its transactions used {replayed} gas, the header says {header}")]
    BlockGasUsed {
        /// By the header.
        header: u64,
        /// By the replay.
        replayed: u64,
    },
    /// Blob gas of the block (EIP-4844).
    #[error("its transactions used {replayed} blob gas, the header says {header}")]
    BlobGasUsed {
        /// By the header.
        header: u64,
        /// By the replay.
        replayed: u64,
    },
    /// Root of the receipts.
    #[error("the receipts root is {replayed}, the header says {header}")]
    ReceiptsRoot {
        /// By the header.
        header: B256,
        /// By the replay.
        replayed: B256,
    },
    /// Bloom filter of the logs.
    #[error("the bloom filter of its logs is not that of the header")]
    LogsBloom,
    /// Hash of the requests (EIP-7685).
    #[error("the requests hash is {replayed:?}, the header says {header:?}")]
    RequestsHash {
        /// By the header.
        header: Option<B256>,
        /// By the replay.
        replayed: Option<B256>,
    },
    /// The requests could not be collected.
    #[error("no requests: {0}")]
    Requests(RequestFault),
    /// An account that the change sets do not know of.
    #[error("account {address} changed, its change set does not say so")]
    AccountNotRecorded {
        /// Whose.
        address: Address,
    },
    /// An account that the replay did not change.
    #[error("account {address} did not change, its change set says so")]
    AccountNotChanged {
        /// Whose.
        address: Address,
    },
    /// An account with another value before the block.
    #[error("account {address} was not before the block what its change set says")]
    AccountBefore {
        /// Whose.
        address: Address,
    },
    /// A slot that the change sets do not know of.
    #[error("slot {key:#x} of {address} changed, its change set does not say so")]
    SlotNotRecorded {
        /// Whose.
        address: Address,
        /// Which.
        key: U256,
    },
    /// A slot that the replay did not change.
    #[error("slot {key:#x} of {address} did not change, its change set says so")]
    SlotNotChanged {
        /// Whose.
        address: Address,
        /// Which.
        key: U256,
    },
    /// A slot with another value before the block.
    #[error(
        "slot {key:#x} of {address} was {replayed:#x} before the block, its change set says {recorded:#x}"
    )]
    SlotBefore {
        /// Whose.
        address: Address,
        /// Which.
        key: U256,
        /// By the change set.
        recorded: U256,
        /// By the replay.
        replayed: U256,
    },
}

const fn status(success: bool) -> &'static str {
    if success { "succeeded" } else { "failed" }
}

/// Compares one transaction with its receipt, which begins at `cumulative` gas.
pub(crate) fn transaction(
    outcome: &Outcome,
    stored: &StoredReceipt,
    cumulative: u64,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    let (success, gas_used) = (outcome.is_success(), outcome.gas_used);
    if success != stored.success {
        differences.push(Difference::Status {
            stored: stored.success,
            replayed: success,
        });
    }
    let stored_gas = stored.cumulative_gas_used.saturating_sub(cumulative);
    if gas_used != stored_gas {
        differences.push(Difference::GasUsed {
            stored: stored_gas,
            replayed: gas_used,
        });
    }
    let mut pairs = outcome.logs.iter().zip(&stored.logs);
    if outcome.logs.len() != stored.logs.len() {
        differences.push(Difference::LogCount {
            stored: stored.logs.len(),
            replayed: outcome.logs.len(),
        });
    } else if let Some(index) = pairs.position(|(replayed, stored)| replayed != stored) {
        differences.push(Difference::Log { index });
    }
    differences
}

/// Compares all receipts with the header.
pub(crate) fn receipts(receipts: &Receipts, fork: Fork, block: &StoredBlock) -> Vec<Difference> {
    let header = &block.header;
    let mut differences = Vec::new();
    if receipts.block_gas.used() != header.gas_used {
        differences.push(Difference::BlockGasUsed {
            header: header.gas_used,
            replayed: receipts.block_gas.used(),
        });
    }
    if let Some(blob_gas_used) = header.blob_gas_used
        && blob_gas_used != receipts.blob_gas_used
    {
        differences.push(Difference::BlobGasUsed {
            header: blob_gas_used,
            replayed: receipts.blob_gas_used,
        });
    }
    if receipts.bloom() != header.logs_bloom {
        differences.push(Difference::LogsBloom);
    }
    // Before EIP-658 receipts carried a state root in place of the status.
    if fork >= Fork::Byzantium {
        let root = receipts.root();
        if root != header.receipts_root {
            differences.push(Difference::ReceiptsRoot {
                header: header.receipts_root,
                replayed: root,
            });
        }
    }
    differences
}

/// Compares the requests of a block with its header.
pub(crate) fn requests(header: Option<B256>, requests: BlockRequests) -> Option<Difference> {
    let replayed = match requests {
        Ok(requests) => requests.map(|requests| requests.requests_hash()),
        Err(fault) => return Some(Difference::Requests(fault)),
    };
    (replayed != header).then_some(Difference::RequestsHash { header, replayed })
}

/// Compares what a block changed with its change sets.
pub(crate) fn changes(changes: &[AccountChange], recorded: &BlockChanges) -> Vec<Difference> {
    let mut differences = Vec::new();
    for change in changes {
        let address = change.address;
        match recorded.account(address) {
            None if change.present != change.original => {
                differences.push(Difference::AccountNotRecorded { address });
            }
            Some(recorded) if recorded.before != change.original => {
                differences.push(Difference::AccountBefore { address });
            }
            _ => {}
        }
        slots(change, recorded, &mut differences);
    }
    let changed = |address: &Address| {
        let at = changes.binary_search_by_key(address, |change| change.address);
        at.ok().map(|at| &changes[at])
    };
    for recorded in &recorded.accounts {
        let address = recorded.address;
        if changed(&address).is_none_or(|change| change.present == change.original) {
            differences.push(Difference::AccountNotChanged { address });
        }
    }
    for recorded in &recorded.storage {
        let (address, key) = (recorded.address, recorded.slot);
        let is_changed = changed(&address).is_some_and(|change| {
            // All slots are recorded then, also those that nobody looked at.
            change.storage_cleared
                || (change.slots.binary_search_by_key(&key, |slot| slot.key)).is_ok()
        });
        if !is_changed {
            differences.push(Difference::SlotNotChanged { address, key });
        }
    }
    differences
}

fn slots(change: &AccountChange, recorded: &BlockChanges, differences: &mut Vec<Difference>) {
    let address = change.address;
    for slot in &change.slots {
        // What was there is not read when the storage was cleared before.
        if change.storage_cleared && slot.original.is_zero() {
            continue;
        }
        let key = slot.key;
        match recorded.slot(address, key) {
            None => differences.push(Difference::SlotNotRecorded { address, key }),
            Some(recorded) if recorded.before != slot.original => {
                differences.push(Difference::SlotBefore {
                    address,
                    key,
                    recorded: recorded.before,
                    replayed: slot.original,
                });
            }
            Some(_) => {}
        }
    }
}
