//! The difference between the state and its source.

use crate::source::{Account, MemoryState};
use alloy_primitives::{Address, Bytes, U256};

/// An account that changed since the state was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Whose.
    pub address: Address,
    /// In the source; `None`: it did not exist.
    pub original: Option<Account>,
    /// Now; `None`: it does not exist.
    pub present: Option<Account>,
    /// The code, if it changed; empty when a delegation was cleared (EIP-7702).
    pub code: Option<Bytes>,
    /// All storage that the source has is gone; what is there now is in `slots`.
    pub storage_cleared: bool,
    /// Slots with another value than in the source, by key.
    pub slots: Vec<SlotChange>,
}

/// A slot that changed since the state was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// Which.
    pub key: U256,
    /// In the source. After the account's storage was cleared it is not read for new
    /// slots, and zero here.
    pub original: U256,
    /// Now.
    pub present: U256,
}

impl MemoryState {
    /// Applies the changes that [`State::changes`](crate::State::changes) returned for a state over
    /// this source.
    pub fn apply(&mut self, changes: &[AccountChange]) {
        for change in changes {
            let address = change.address;
            match change.present {
                Some(account) => drop(self.accounts.insert(address, account)),
                None => drop(self.accounts.remove(&address)),
            }
            if change.storage_cleared || change.present.is_none() {
                self.storage.remove(&address);
            }
            if let (Some(code), Some(account)) = (&change.code, change.present)
                && !code.is_empty()
            {
                self.codes.insert(account.code_hash, code.clone());
            }
            for slot in &change.slots {
                self.set_storage(address, slot.key, slot.present);
            }
        }
    }
}
