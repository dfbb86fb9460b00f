//! Compares a replay with the stored receipts, the header and the change sets.

use crate::{Difference, StoredBlock, StoredReceipt};
use alloy_primitives::{Address, B256};
use txgraph_block::{AccessList, BlockRequests, Receipts};
use txgraph_evm::{AccountChange, Fork, Outcome};
use txgraph_nodedb::Header;
use txgraph_state::BlockChanges;

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
