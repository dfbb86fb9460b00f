//! Compares a replay with the stored receipts, the header and the change sets.

use crate::{Refusal, RequestFault, StoredBlock, StoredReceipt};
use alloy_primitives::{Address, B256, U256};
use std::fmt;
use txgraph_block::{AccessList, BlockRequests, Receipts};
use txgraph_evm::{AccountChange, Fork, Outcome};
use txgraph_nodedb::Header;
use txgraph_state::BlockChanges;

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

/// What differs.
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

/// Compares a transaction with its receipt. `cumulative` is the gas of the transactions before.
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
    // Before EIP-658, receipts contained a state root instead of the status.
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

/// Compares the access list of a block with its header.
pub(crate) fn access_list(header: &Header, list: &AccessList) -> Option<Difference> {
    let (expected, replayed) = (header.block_access_list_hash, list.hash());
    if expected != Some(replayed) {
        return Some(Difference::AccessListHash {
            header: expected,
            replayed,
        });
    }
    let (items, gas_limit) = (list.items(), header.gas_limit);
    (!list.fits(gas_limit)).then_some(Difference::AccessListItems { items, gas_limit })
}

/// Compares the changes of a block with its change sets.
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
            // The change set then contains all slots of the account, read or not.
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
        // After the storage was cleared, the old value is not read.
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
