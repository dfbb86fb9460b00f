//! The state of a chain in memory, as revm reads and changes it, and the changes of each
//! block with the previous values.

use super::error::Missing;
use crate::{Account, Changed, ExecutedBlock, FirstAccount};
use alloy_primitives::{
    Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256,
    map::{AddressMap, B256HashMap},
};
use revm::{
    Database, DatabaseCommit,
    bytecode::Bytecode,
    state::{Account as Touched, AccountInfo},
};
use std::collections::BTreeMap;

/// The current state.
#[derive(Debug, Default)]
pub(crate) struct State {
    accounts: AddressMap<Account>,
    /// Slots that are not zero. Sorted, because the destruction of an account lists them
    /// all.
    storage: AddressMap<BTreeMap<U256, U256>>,
    codes: B256HashMap<Bytecode>,
    /// Hashes of all blocks by number.
    hashes: Vec<B256>,
    /// Previous values of what the current block changed.
    accounts_before: BTreeMap<Address, Option<Account>>,
    slots_before: BTreeMap<(Address, U256), U256>,
    new_codes: Vec<(B256, Bytes)>,
}

impl State {
    /// Creates the state of block 0.
    pub(crate) fn new(accounts: &BTreeMap<Address, FirstAccount>, hash: B256) -> Self {
        let mut state = Self {
            hashes: vec![hash],
            ..Self::default()
        };
        for (address, first) in accounts {
            let code_hash = (!first.code.is_empty()).then(|| keccak256(&first.code));
            if let Some(hash) = code_hash {
                state
                    .codes
                    .insert(hash, Bytecode::new_raw(first.code.clone()));
            }
            let account = Account {
                nonce: first.nonce,
                balance: first.balance,
                code_hash,
            };
            state.accounts.insert(*address, account);
            let slots = first
                .storage
                .iter()
                .map(|(slot, value)| (U256::from_be_bytes(slot.0), *value));
            state.storage.insert(*address, slots.collect());
        }
        state
    }

    pub(crate) fn nonce(&self, address: Address) -> u64 {
        self.accounts
            .get(&address)
            .map_or(0, |account| account.nonce)
    }

    pub(crate) fn account(&self, address: Address) -> Option<Account> {
        self.accounts.get(&address).copied()
    }

    pub(crate) fn has_code(&self, address: Address) -> bool {
        let account = self.accounts.get(&address);
        account.is_some_and(|account| account.code_hash.is_some())
    }

    pub(crate) fn pay(&mut self, address: Address, wei: U256) {
        if wei.is_zero() {
            return;
        }
        let mut account = self.accounts.get(&address).copied().unwrap_or_default();
        account.balance += wei;
        self.set_account(address, Some(account));
    }

    /// Ends a block: writes its changes into it. Its hash is the hash of its header.
    pub(crate) fn finish(&mut self, block: &mut ExecutedBlock, hash: B256) {
        self.hashes.push(hash);
        for (address, before) in std::mem::take(&mut self.accounts_before) {
            let after = self.accounts.get(&address).copied();
            if before != after {
                block.accounts.insert(address, Changed { before, after });
            }
        }
        for ((address, slot), before) in std::mem::take(&mut self.slots_before) {
            let after = self.slot(address, slot);
            if before != after {
                let changed = Changed { before, after };
                block.slots.insert((address, slot.into()), changed);
            }
        }
        block.codes = std::mem::take(&mut self.new_codes);
    }

    /// Removes the newest block.
    pub(crate) fn take_back(&mut self, block: &ExecutedBlock) {
        self.hashes.pop();
        for (address, changed) in &block.accounts {
            match changed.before {
                Some(before) => drop(self.accounts.insert(*address, before)),
                None => drop(self.accounts.remove(address)),
            }
        }
        for ((address, slot), changed) in &block.slots {
            self.put_slot(*address, U256::from_be_bytes(slot.0), changed.before);
        }
    }

    pub(super) fn slot(&self, address: Address, slot: U256) -> U256 {
        let slots = self.storage.get(&address);
        slots
            .and_then(|slots| slots.get(&slot))
            .copied()
            .unwrap_or_default()
    }

    fn put_slot(&mut self, address: Address, slot: U256, value: U256) {
        let slots = self.storage.entry(address).or_default();
        if value.is_zero() {
            slots.remove(&slot);
        } else {
            slots.insert(slot, value);
        }
    }

    fn set_slot(&mut self, address: Address, slot: U256, value: U256) {
        let before = self.slot(address, slot);
        self.slots_before.entry((address, slot)).or_insert(before);
        self.put_slot(address, slot, value);
    }

    fn set_account(&mut self, address: Address, after: Option<Account>) {
        let before = match after {
            Some(after) => self.accounts.insert(address, after),
            None => self.accounts.remove(&address),
        };
        self.accounts_before.entry(address).or_insert(before);
    }

    fn destroy(&mut self, address: Address) {
        let slots = self.storage.get(&address).cloned().unwrap_or_default();
        for slot in slots.keys() {
            self.set_slot(address, *slot, U256::ZERO);
        }
        self.set_account(address, None);
    }
}

impl Database for State {
    type Error = Missing;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Missing> {
        let account = self.accounts.get(&address);
        Ok(account.map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash.unwrap_or(KECCAK256_EMPTY),
            code: None,
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Missing> {
        if hash == KECCAK256_EMPTY {
            return Ok(Bytecode::default());
        }
        self.codes.get(&hash).cloned().ok_or(Missing::Code(hash))
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Missing> {
        Ok(self.slot(address, slot))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Missing> {
        let at = usize::try_from(number).map_err(|_| Missing::Block(number))?;
        self.hashes.get(at).copied().ok_or(Missing::Block(number))
    }
}

impl DatabaseCommit for State {
    /// Applies the changes of a transaction. Records the value before the block once.
    fn commit(&mut self, changes: AddressMap<Touched>) {
        let mut changes: Vec<_> = changes.into_iter().collect();
        // New code is returned in this order.
        changes.sort_unstable_by_key(|(address, _)| *address);
        for (address, touched) in changes {
            if !touched.is_touched() {
                continue;
            }
            // Empty accounts are removed (EIP-161).
            if touched.is_selfdestructed() || touched.is_empty() {
                self.destroy(address);
                continue;
            }
            let info = touched.info;
            let code_hash = (info.code_hash != KECCAK256_EMPTY).then_some(info.code_hash);
            if let (Some(hash), Some(code)) = (code_hash, info.code)
                && !self.codes.contains_key(&hash)
            {
                self.new_codes.push((hash, code.original_bytes()));
                self.codes.insert(hash, code);
            }
            let account = Account {
                nonce: info.nonce,
                balance: info.balance,
                code_hash,
            };
            self.set_account(address, Some(account));
            let mut slots: Vec<_> = touched.storage.into_iter().collect();
            slots.sort_unstable_by_key(|(slot, _)| *slot);
            for (slot, value) in slots.iter().filter(|(_, value)| value.is_changed()) {
                self.set_slot(address, *slot, value.present_value());
            }
        }
    }
}
