//! The difference between the state and its source, and the changes by one transaction.

use crate::source::{Account, MemoryState};
use alloy_primitives::{Address, Bytes, U256};

/// An account that differs from the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// The address of the account.
    pub address: Address,
    /// The account in the source; `None` if it does not exist there.
    pub original: Option<Account>,
    /// The present account; `None` if it does not exist.
    pub present: Option<Account>,
    /// The code, if it changed; empty if a delegation was removed (EIP-7702).
    pub code: Option<Bytes>,
    /// Whether all storage of the source was deleted. The present storage is in `slots`.
    pub storage_cleared: bool,
    /// The slots that differ from the source, sorted by key. If the storage was cleared, all slots
    /// that are not zero, even those that have their old value again.
    pub slots: Vec<SlotChange>,
}

/// A slot that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// The key of the slot.
    pub key: U256,
    /// The value before. For an [`AccountChange`], the value in the source; if the account's storage
    /// was cleared, new slots are not read from the source and have zero here.
    pub original: U256,
    /// The present value.
    pub present: U256,
}

/// The change of an account by one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The address of the account.
    pub address: Address,
    /// The account before; `None` if it did not exist.
    pub before: Option<Account>,
    /// The account after; `None` if it does not exist.
    pub after: Option<Account>,
    /// The code before, if it was used. Otherwise the source has it under the hash in `before`.
    pub code_before: Option<Bytes>,
    /// The code after, if it changed.
    pub code_after: Option<Bytes>,
    /// Whether it became a contract.
    pub created: bool,
    /// Whether `SELFDESTRUCT` deleted it with all of its storage.
    pub destroyed: bool,
    /// The slots whose value changed, sorted by key. `original` is the value before the transaction.
    pub slots: Vec<SlotChange>,
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
