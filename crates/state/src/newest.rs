//! The state at the tip of a node that has stored its newest blocks without their state.
//!
//! A default node since reth 2.6.0 stores blocks and change sets up to its tip T, and the hashed
//! state up to an earlier block F. The value of an account or slot after a block is then
//!
//! 1. the value before its first later change, from the change sets up to T;
//! 2. without a later change, and if a block of F + 1 to T changed it: the value after the last of
//!    these changes. No table has it. [`NewestBlocks`](crate::NewestBlocks) executes the blocks to obtain it;
//! 3. else the value in the hashed tables.
//!
//! Up to block F the second case does not occur.

use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{AddressHashMap, B256HashMap},
};
use std::collections::BTreeMap;
use txgraph_evm::{Account, AccountChange};

/// The changes of consecutive blocks, with the values after the last of them.
#[derive(Clone, Debug)]
pub struct NewestState {
    /// The block before them.
    base: u64,
    last: u64,
    last_hash: B256,
    accounts: AddressHashMap<Option<Account>>,
    storage: AddressHashMap<Slots>,
    codes: B256HashMap<Bytes>,
}

/// The changed slots of an account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// The account was destroyed: all slots without a value here are zero.
    pub(crate) cleared: bool,
    pub(crate) values: BTreeMap<B256, U256>,
}

impl NewestState {
    /// No changes, after a block with this hash.
    pub fn after(block: u64, hash: B256) -> Self {
        Self {
            base: block,
            last: block,
            last_hash: hash,
            accounts: AddressHashMap::default(),
            storage: AddressHashMap::default(),
            codes: B256HashMap::default(),
        }
    }

    /// The block before the changes.
    pub const fn base(&self) -> u64 {
        self.base
    }

    /// The last block whose changes it has.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// The hash of the [last block](Self::last).
    pub const fn last_hash(&self) -> B256 {
        self.last_hash
    }

    /// Adds the changes of the next block, which has this hash.
    pub fn apply(&mut self, hash: B256, changes: &[AccountChange]) {
        self.last += 1;
        self.last_hash = hash;
        for change in changes {
            let address = change.address;
            self.accounts.insert(address, change.present);
            if let (Some(account), Some(code)) = (&change.present, &change.code) {
                self.codes.insert(account.code_hash, code.clone());
            }
            let cleared = change.storage_cleared || change.present.is_none();
            if !cleared && change.slots.is_empty() {
                continue;
            }
            let slots = self.storage.entry(address).or_default();
            if cleared {
                slots.cleared = true;
                slots.values.clear();
            }
            let present = change.slots.iter();
            let present = present.map(|slot| (slot.key.into(), slot.present));
            slots.values.extend(present);
        }
    }

    /// The account, if the blocks changed it: `Some(None)` if it does not exist after them.
    pub(crate) fn account(&self, address: Address) -> Option<Option<Account>> {
        self.accounts.get(&address).copied()
    }

    /// The value of a slot, if the blocks changed it.
    pub(crate) fn slot(&self, address: Address, slot: B256) -> Option<U256> {
        let slots = self.slots(address)?;
        let value = slots.values.get(&slot).copied();
        value.or(slots.cleared.then_some(U256::ZERO))
    }

    /// The slots of an account that the blocks changed.
    pub(crate) fn slots(&self, address: Address) -> Option<&Slots> {
        self.storage.get(&address)
    }

    /// Code that the blocks deployed.
    pub(crate) fn code(&self, hash: B256) -> Option<&Bytes> {
        self.codes.get(&hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_evm::SlotChange;

    fn change(present: Option<Account>, cleared: bool, slots: &[(u64, u64)]) -> AccountChange {
        AccountChange {
            address: Address::ZERO,
            original: None,
            present,
            code: None,
            storage_cleared: cleared,
            slots: slots
                .iter()
                .map(|(key, present)| SlotChange {
                    key: U256::from(*key),
                    original: U256::ZERO,
                    present: U256::from(*present),
                })
                .collect(),
        }
    }

    #[test]
    fn a_later_change_replaces_an_earlier_one() {
        let slot = |state: &NewestState, key: u64| {
            let value = state.slot(Address::ZERO, U256::from(key).into());
            value.map(|value| value.to::<u64>())
        };
        let account = Some(Account::default());
        let mut state = NewestState::after(7, B256::ZERO);
        assert_eq!(state.account(Address::ZERO), None);
        state.apply(B256::ZERO, &[change(account, false, &[(1, 10), (2, 20)])]);
        state.apply(B256::ZERO, &[change(account, false, &[(2, 0)])]);
        assert_eq!(
            (slot(&state, 1), slot(&state, 2), slot(&state, 3)),
            (Some(10), Some(0), None)
        );
        // Destroyed: slots that no block wrote are zero, too.
        state.apply(B256::ZERO, &[change(None, false, &[])]);
        assert_eq!(state.account(Address::ZERO), Some(None));
        assert_eq!((slot(&state, 1), slot(&state, 3)), (Some(0), Some(0)));
        // Created again.
        state.apply(B256::ZERO, &[change(account, true, &[(3, 30)])]);
        assert_eq!((slot(&state, 1), slot(&state, 3)), (Some(0), Some(30)));
    }
}
