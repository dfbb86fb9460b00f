//! Accounts and slots that are warm before code uses them (EIP-2929, 2930, 3651).
//!
//! They are not read from the source until they are used: a source may contain only what the
//! protocol reads (an execution witness).

use alloy_primitives::{
    Address, B256,
    map::{AddressSet, HashSet},
};

/// The warm accounts and slots of the current transaction that were not read so far.
#[derive(Debug, Default)]
pub(super) struct WarmSet {
    pub(super) accounts: AddressSet,
    pub(super) slots: HashSet<(Address, B256)>,
}

impl WarmSet {
    pub(super) fn has_account(&self, address: &Address) -> bool {
        !self.accounts.is_empty() && self.accounts.contains(address)
    }

    pub(super) fn has_slot(&self, address: Address, key: B256) -> bool {
        !self.slots.is_empty() && self.slots.contains(&(address, key))
    }

    pub(super) fn clear(&mut self) {
        self.accounts.clear();
        self.slots.clear();
    }
}
