//! The change set of a block.

use crate::Result;
use alloy_primitives::{Address, U256};
use txgraph_evm::Account;
use txgraph_nodedb::{BlockRange, Scratch, Snapshot};

/// The changes of a block, with the values before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockChanges {
    /// The block.
    pub block: u64,
    /// Ascending by address. Accounts of which only the storage changed are not included.
    pub accounts: Vec<AccountChange>,
    /// Ascending by address and slot.
    pub storage: Vec<StorageChange>,
}

/// An account that a block changed, created or destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Its address.
    pub address: Address,
    /// The account before the block; `None` if it did not exist.
    pub before: Option<Account>,
}

/// A slot that a block changed. The slots of destroyed accounts are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageChange {
    /// The account.
    pub address: Address,
    /// Its key.
    pub slot: U256,
    /// The value before the block; zero if it was not set.
    pub before: U256,
}

pub(crate) fn to_account(stored: txgraph_nodedb::Account) -> Account {
    Account {
        balance: stored.balance,
        nonce: stored.nonce,
        code_hash: stored.code_hash,
    }
}

impl BlockChanges {
    pub(crate) fn of(block: u64, snapshot: &Snapshot<'_>, scratch: &mut Scratch) -> Result<Self> {
        let mut changes = Self {
            block,
            ..Self::default()
        };
        let one = BlockRange::one(block);
        snapshot.for_each_account_change(one, scratch, &mut |_, address, before| {
            changes.accounts.push(AccountChange {
                address,
                before: before.decode()?.map(to_account),
            });
            Ok(())
        })?;
        snapshot.for_each_storage_change(one, scratch, &mut |_, address, slot, before| {
            changes.storage.push(StorageChange {
                address,
                slot: slot.into(),
                before,
            });
        })?;
        Ok(changes)
    }

    /// Returns the change of an account, if the block changed it.
    pub fn account(&self, address: Address) -> Option<&AccountChange> {
        let at = self
            .accounts
            .binary_search_by_key(&address, |change| change.address);
        at.ok().map(|at| &self.accounts[at])
    }

    /// Returns the change of a slot, if the block changed it.
    pub fn slot(&self, address: Address, slot: U256) -> Option<&StorageChange> {
        let at = self
            .storage
            .binary_search_by_key(&(address, slot), |change| (change.address, change.slot));
        at.ok().map(|at| &self.storage[at])
    }
}
