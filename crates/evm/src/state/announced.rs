//! Accounts and slots that are warm before code uses them (EIP-2929, 2930, 3651).
//!
//! They are not read from the source until they are used: a source may contain only what the
//! protocol reads (an execution witness).

use super::{Journal, keys::SlotKey};
use alloy_primitives::{
    Address, B256,
    map::{AddressSet, HashSet},
};

/// The announced accounts and slots of the current transaction that were not read so far.
#[derive(Debug, Default)]
pub(super) struct Announced {
    accounts: AddressSet,
    slots: HashSet<(Address, B256)>,
}

impl Announced {
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

impl Journal {
    /// Makes an account warm for this transaction, without reading it.
    pub(crate) fn announce_account(&mut self, address: Address) {
        match self.account_ids.get(&address).copied() {
            Some(account) => drop(self.warm_account(account)),
            None => drop(self.announced.accounts.insert(address)),
        }
    }

    /// Makes a slot warm for this transaction, without reading it.
    pub(crate) fn announce_slot(&mut self, address: Address, key: B256) {
        match self.known_slot(address, key) {
            Some(slot) => drop(self.warm_slot(slot)),
            None => drop(self.announced.slots.insert((address, key))),
        }
    }

    fn known_slot(&self, address: Address, key: B256) -> Option<u32> {
        let account = *self.account_ids.get(&address)?;
        let key = key.into();
        self.slot_ids.get(&SlotKey { account, key }).copied()
    }

    /// Whether an account is cold, without reading it.
    #[cold]
    pub(crate) fn is_cold(&self, address: &Address) -> bool {
        match self.account_ids.get(address) {
            Some(account) => self.account(*account).warm != self.transaction,
            None => !self.announced.has_account(address),
        }
    }

    /// Whether a slot is cold, without reading it.
    #[cold]
    pub(crate) fn is_slot_cold(&self, account: u32, key: crate::word::Word) -> bool {
        match self.slot_ids.get(&SlotKey { account, key }) {
            Some(slot) => self.slots[*slot as usize].warm != self.transaction,
            None => {
                let address = self.account(account).address;
                !(self.announced).has_slot(address, B256::from(key.u256()))
            }
        }
    }
}
