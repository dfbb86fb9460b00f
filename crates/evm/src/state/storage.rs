//! Slots in the journal, persistent and transient.

use super::{
    entry::{Change, NO_SLOT, RECENT_SLOTS, Slot, TransientSlot},
    journal::Journal,
    keys::SlotKey,
};
use crate::{
    source::{Failed, Source},
    word::Word,
};
use alloy_primitives::{Address, B256};

impl Journal {
    /// The number of a slot, which is read on its first use.
    #[inline]
    pub(crate) fn slot(
        &mut self,
        source: &mut dyn Source,
        account: u32,
        key: Word,
    ) -> Result<u32, Failed> {
        // The low bits differ for neighboring slots and for hashes.
        let recent = (key.0[0] as usize ^ account as usize) % RECENT_SLOTS;
        let slot = self.recent_slots[recent];
        let slot = match self.slots.get(slot as usize) {
            Some(entry) if entry.account == account && entry.key.same(key) => slot,
            _ => {
                let known = self.slot_ids.get(&SlotKey { account, key }).copied();
                let slot = match known {
                    Some(slot) => slot,
                    None => self.load_slot(source, account, key)?,
                };
                self.recent_slots[recent] = slot;
                slot
            }
        };
        let entry = &mut self.slots[slot as usize];
        if entry.seen != self.transaction {
            entry.seen = self.transaction;
            entry.original = entry.present;
        }
        Ok(slot)
    }

    #[cold]
    fn load_slot(
        &mut self,
        source: &mut dyn Source,
        account: u32,
        key: Word,
    ) -> Result<u32, Failed> {
        let entry = self.account(account);
        // An account without original has no storage. Neither has one that was created now
        // (EIP-7610) or deleted before.
        let value =
            if entry.storage_cleared || entry.original.is_none() || self.was_created_now(account) {
                Word::ZERO
            } else {
                source.storage(entry.address, key.u256())?.into()
            };
        let is_warm = (self.warm).has_slot(entry.address, B256::from(key.u256()));
        let slot = self.slots.len() as u32;
        let entry = self.entry(account);
        let next = std::mem::replace(&mut entry.first_slot, slot);
        self.slots.push(Slot {
            account,
            key,
            source: value,
            original: value,
            present: value,
            seen: self.transaction,
            warm: if is_warm { self.transaction } else { 0 },
            next,
            accessed: false,
        });
        self.slot_ids.insert(SlotKey { account, key }, slot);
        Ok(slot)
    }

    /// Whether a slot is warm in this transaction (EIP-2929).
    #[inline(always)]
    pub(crate) fn is_slot_warm(&self, slot: u32) -> bool {
        self.slots[slot as usize].warm == self.transaction
    }

    /// Makes a slot warm; returns whether it was cold in this transaction.
    #[inline(always)]
    pub(crate) fn warm_slot(&mut self, slot: u32) -> bool {
        let entry = &mut self.slots[slot as usize];
        if entry.warm == self.transaction {
            return false;
        }
        entry.warm = self.transaction;
        self.changes.push(Change::SlotWarmed { slot });
        true
    }

    /// Makes a slot warm for this transaction, without reading it.
    pub(crate) fn announce_slot(&mut self, address: Address, key: B256) {
        match self.known_slot(address, key) {
            Some(slot) => drop(self.warm_slot(slot)),
            None => drop(self.warm.slots.insert((address, key))),
        }
    }

    fn known_slot(&self, address: Address, key: B256) -> Option<u32> {
        let account = *self.account_ids.get(&address)?;
        let key = key.into();
        self.slot_ids.get(&SlotKey { account, key }).copied()
    }

    /// Whether a slot is cold, without reading it.
    #[cold]
    pub(crate) fn is_slot_cold(&self, account: u32, key: Word) -> bool {
        match self.slot_ids.get(&SlotKey { account, key }) {
            Some(slot) => !self.is_slot_warm(*slot),
            None => {
                let address = self.account(account).address;
                !(self.warm).has_slot(address, B256::from(key.u256()))
            }
        }
    }

    /// Like [`mark_accessed`](Self::mark_accessed), for a slot.
    #[inline(always)]
    pub(crate) fn mark_slot_accessed(&mut self, slot: u32) {
        self.slots[slot as usize].accessed = true;
    }

    /// The slots of an account that were read, the last one first.
    pub(super) fn slots_of(&self, account: u32) -> impl Iterator<Item = &Slot> {
        let slot = |number: u32| self.slots.get(number as usize);
        std::iter::successors(slot(self.account(account).first_slot), move |entry| {
            slot(entry.next)
        })
    }

    #[inline(always)]
    pub(crate) fn slot_value(&self, slot: u32) -> Word {
        self.slots[slot as usize].present
    }

    /// The value before this transaction.
    #[inline(always)]
    pub(crate) fn slot_original(&self, slot: u32) -> Word {
        self.slots[slot as usize].original
    }

    #[inline(always)]
    pub(crate) fn set_slot(&mut self, slot: u32, value: Word) {
        let before = std::mem::replace(&mut self.slots[slot as usize].present, value);
        self.changes.push(Change::Slot { slot, before });
    }

    /// Whether the account has storage, in the source or written since (EIP-7610).
    pub(crate) fn has_storage(
        &mut self,
        source: &mut dyn Source,
        account: u32,
    ) -> Result<bool, Failed> {
        let entry = self.account(account);
        let mut slot = entry.first_slot;
        while slot != NO_SLOT {
            let entry = &self.slots[slot as usize];
            if !entry.present.is_zero() {
                return Ok(true);
            }
            slot = entry.next;
        }
        if entry.storage_cleared || entry.original.is_none() {
            return Ok(false);
        }
        source.has_storage(entry.address)
    }

    pub(crate) fn transient(&self, account: u32, key: Word) -> Word {
        let slot = self.transient_ids.get(&SlotKey { account, key });
        slot.map_or(Word::ZERO, |slot| self.transient[*slot as usize].present)
    }

    pub(crate) fn set_transient(&mut self, account: u32, key: Word, value: Word) {
        let next = self.transient.len() as u32;
        let slot = *(self.transient_ids)
            .entry(SlotKey { account, key })
            .or_insert(next);
        if slot == next {
            self.transient.push(TransientSlot {
                present: Word::ZERO,
            });
        }
        let before = std::mem::replace(&mut self.transient[slot as usize].present, value);
        self.changes.push(Change::Transient { slot, before });
    }

    /// The hash of a block within the window of `BLOCKHASH`.
    pub(crate) fn block_hash(
        &mut self,
        source: &mut dyn Source,
        number: u64,
    ) -> Result<B256, Failed> {
        if let Some(hash) = self.block_hashes.get(&number) {
            return Ok(*hash);
        }
        let hash = source.block_hash(number)?;
        self.block_hashes.insert(number, hash);
        Ok(hash)
    }
}
