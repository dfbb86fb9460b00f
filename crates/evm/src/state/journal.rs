//! The journal: every change is recorded with the value before, so that it can be undone.
//!
//! Marks for one transaction (warm, touched, created, destroyed) are the number of that
//! transaction, so that nothing is reset between transactions.

use super::{
    changes::{AccountChange, SlotChange, Transition},
    codes::Codes,
    entry::{AccountEntry, Change, NO_SLOT, RECENT_SLOTS, Slot, TransientSlot},
    keys::SlotKey,
    state_gas::StateGas,
    warm_set::WarmSet,
};
use crate::{fork::Fork, word::Word};
use alloy_primitives::{
    Address, B256, Log, U256, address,
    map::{AddressMap, HashMap},
};

/// A touch of this account is never undone. All clients had this bug when one transaction of mainnet
/// depended on it (EIP-161, block 2,675,119), so it is part of the rules.
const RIPEMD160: Address = address!("0000000000000000000000000000000000000003");

/// A position in the journal to which changes can be undone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checkpoint {
    changes: usize,
    logs: usize,
    bytes_kept: usize,
    refund: i64,
    pub(crate) state_gas: StateGas,
}

/// The bytes that a log with `data` bytes of data uses, with its topics and allocations.
pub(crate) const fn log_bytes(data: usize) -> usize {
    data + 384
}

/// Accounts and slots by number, and the journal over them.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(super) accounts: Vec<AccountEntry>,
    pub(super) account_ids: AddressMap<u32>,
    pub(super) slots: Vec<Slot>,
    pub(super) slot_ids: HashMap<SlotKey, u32>,
    /// The numbers of slots that were used recently, each at an index that depends on its key.
    pub(super) recent_slots: [u32; RECENT_SLOTS],
    pub(super) transient: Vec<TransientSlot>,
    pub(super) transient_ids: HashMap<SlotKey, u32>,
    pub(super) block_hashes: HashMap<u64, B256>,
    pub(super) changes: Vec<Change>,
    /// The accounts that were touched, including those whose touch was undone.
    pub(super) touched: Vec<u32>,
    /// Warm accounts and slots that were not read.
    pub(super) warm: WarmSet,
    pub(crate) codes: Codes,
    /// The transitions of the last transaction, if they are kept.
    pub(super) transitions: Option<Vec<Transition>>,
    /// The number of the current transaction, from 1.
    pub(super) transaction: u32,
    /// The logs of the current transaction.
    pub(crate) logs: Vec<Log>,
    /// The bytes of these logs, and those that code deployed by the transaction may use.
    pub(super) bytes_kept: usize,
    /// The refund counter, which may be below zero within a transaction.
    pub(crate) refund: i64,
    /// The state gas of the current transaction; zero before Amsterdam.
    pub(crate) state_gas: StateGas,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            accounts: Vec::new(),
            account_ids: AddressMap::default(),
            slots: Vec::new(),
            slot_ids: HashMap::default(),
            recent_slots: [NO_SLOT; RECENT_SLOTS],
            transient: Vec::new(),
            transient_ids: HashMap::default(),
            block_hashes: HashMap::default(),
            changes: Vec::new(),
            touched: Vec::new(),
            warm: WarmSet::default(),
            codes: Codes::default(),
            transitions: None,
            transaction: 1,
            logs: Vec::new(),
            bytes_kept: 0,
            refund: 0,
            state_gas: StateGas::default(),
        }
    }
}

impl Journal {
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            changes: self.changes.len(),
            logs: self.logs.len(),
            bytes_kept: self.bytes_kept,
            refund: self.refund,
            state_gas: self.state_gas,
        }
    }

    /// Undoes all changes since `checkpoint`, in reverse order.
    pub(crate) fn revert(&mut self, checkpoint: Checkpoint) {
        while self.changes.len() > checkpoint.changes {
            if let Some(change) = self.changes.pop() {
                self.undo(change);
            }
        }
        self.logs.truncate(checkpoint.logs);
        self.bytes_kept = checkpoint.bytes_kept;
        self.refund = checkpoint.refund;
        self.state_gas = checkpoint.state_gas;
    }

    pub(crate) fn add_log(&mut self, log: Log) {
        self.bytes_kept += log_bytes(log.data.data.len());
        self.logs.push(log);
    }

    /// Removes the logs of the current transaction. Their vector stays: it would grow again in each transaction.
    pub(crate) fn take_logs(&mut self) -> Vec<Log> {
        self.logs.drain(..).collect()
    }

    /// The maximum number of bytes that the journal uses on the heap, for the limit of an untrusted
    /// run. Elements count twice, because vectors and maps double when they are full.
    pub(crate) fn footprint(&self) -> usize {
        const ACCOUNT: usize = size_of::<AccountEntry>() + size_of::<(Address, u32)>();
        const SLOT: usize = size_of::<Slot>() + size_of::<(SlotKey, u32)>();
        const TRANSIENT: usize = size_of::<TransientSlot>() + size_of::<(SlotKey, u32)>();
        let elements = self.changes.len() * size_of::<Change>()
            + self.touched.len() * size_of::<u32>()
            + self.accounts.len() * ACCOUNT
            + self.slots.len() * SLOT
            + self.transient.len() * TRANSIENT;
        2 * elements + self.bytes_kept
    }

    fn undo(&mut self, change: Change) {
        match change {
            Change::AccountWarmed { account } => self.entry(account).warm = 0,
            Change::Touched { account, existed } => {
                let entry = self.entry(account);
                (entry.exists, entry.touched) = (existed, 0);
            }
            Change::Balance { account, before } => self.entry(account).balance = before,
            Change::Nonce { account, before } => self.entry(account).nonce = before,
            Change::Code { account, before } => {
                let entry = self.entry(account);
                let undone;
                (entry.code_hash, undone, entry.code) = (before.0, entry.code, before.1);
                if let Some(code) = undone {
                    self.codes.remove(code);
                }
            }
            Change::Created { account, before } => self.entry(account).created = before,
            Change::Destroyed { account } => self.entry(account).destroyed = 0,
            Change::SlotWarmed { slot } => self.slots[slot as usize].warm = 0,
            Change::Slot { slot, before } => self.slots[slot as usize].present = before,
            Change::Transient { slot, before } => self.transient[slot as usize].present = before,
        }
    }

    /// Ends a transaction: deletes destroyed accounts, and touched ones that are empty (EIP-161).
    /// Since EIP-8246 a destroyed account keeps its wei. Its changes can no longer be undone.
    pub(crate) fn finish_transaction(&mut self, fork: Fork) {
        let mut before = self.transitions.is_some().then(|| self.before());
        let mut touched = std::mem::take(&mut self.touched);
        for account in touched.drain(..) {
            let transaction = self.transaction;
            let entry = self.entry(account);
            let destroyed = entry.destroyed == transaction;
            let touched = entry.touched == transaction || entry.address == RIPEMD160;
            let empty = fork >= Fork::SpuriousDragon && touched && entry.is_empty();
            if destroyed || empty {
                if let Some(before) = &mut before {
                    // The journal does not contain a touch that was undone.
                    let entry = &self.accounts[account as usize];
                    before.entry(account).or_insert_with(|| entry.into());
                }
                let keeps_wei = destroyed && fork >= Fork::Amsterdam;
                self.delete(account, keeps_wei);
            }
        }
        self.touched = touched;
        self.transitions = before.map(|before| self.since(before));
        self.changes.clear();
        self.warm.clear();
        self.logs.clear();
        self.bytes_kept = 0;
        self.refund = 0;
        self.state_gas = StateGas::default();
        if !self.transient.is_empty() {
            self.transient.clear();
            self.transient_ids.clear();
        }
        self.next_transaction();
    }

    fn next_transaction(&mut self) {
        self.transaction = self.transaction.checked_add(1).unwrap_or_else(|| {
            // The number wraps, and marks of four billion transactions ago would be current.
            for entry in &mut self.accounts {
                entry.forget_marks();
            }
            for slot in &mut self.slots {
                slot.forget_marks();
            }
            1
        });
    }

    /// Deletes an account and its storage. If it `keeps_wei` and has some, only its nonce, code and
    /// storage.
    fn delete(&mut self, account: u32, keeps_wei: bool) {
        let entry = self.entry(account);
        if !keeps_wei {
            entry.balance = Word::ZERO;
        }
        entry.nonce = 0;
        entry.code_hash = alloy_primitives::KECCAK256_EMPTY;
        entry.code = None;
        entry.exists = !entry.balance.is_zero();
        entry.storage_cleared = true;
        let mut slot = entry.first_slot;
        while slot != NO_SLOT {
            let entry = &mut self.slots[slot as usize];
            entry.present = Word::ZERO;
            slot = entry.next;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.accounts.clear();
        self.account_ids.clear();
        self.slots.clear();
        self.slot_ids.clear();
        self.transient.clear();
        self.transient_ids.clear();
        self.block_hashes.clear();
        self.codes.clear();
        self.changes.clear();
        self.touched.clear();
        self.warm.clear();
        self.logs.clear();
        self.bytes_kept = 0;
        self.refund = 0;
        self.state_gas = StateGas::default();
        if let Some(transitions) = &mut self.transitions {
            transitions.clear();
        }
    }

    pub(super) fn accesses(&self) -> Vec<(Address, Vec<U256>)> {
        let accessed = (0..)
            .zip(&self.accounts)
            .filter(|(_, entry)| entry.accessed);
        let mut accesses: Vec<_> = accessed
            .map(|(account, entry)| {
                let slots = self.slots_of(account).filter(|slot| slot.accessed);
                let mut keys: Vec<_> = slots.map(|slot| slot.key.u256()).collect();
                keys.sort_unstable();
                (entry.address, keys)
            })
            .collect();
        accesses.sort_unstable_by_key(|(address, _)| *address);
        accesses
    }

    pub(super) fn changes(&self) -> Vec<AccountChange> {
        let mut changes: Vec<_> = (self.accounts.iter())
            .filter_map(|entry| self.change(entry))
            .collect();
        changes.sort_unstable_by_key(|change| change.address);
        changes
    }

    fn change(&self, entry: &AccountEntry) -> Option<AccountChange> {
        let mut slots = Vec::new();
        let mut next = entry.first_slot;
        while next != NO_SLOT {
            let slot = &self.slots[next as usize];
            // A cleared storage lacks a slot that was written again, even with its old value.
            let written_again = entry.storage_cleared && !slot.present.is_zero();
            if written_again || slot.present != slot.source {
                slots.push(SlotChange {
                    key: slot.key.u256(),
                    original: slot.source.u256(),
                    present: slot.present.u256(),
                });
            }
            next = slot.next;
        }
        let present = entry.present();
        let storage_cleared = entry.storage_cleared && entry.original.is_some();
        if present == entry.original && slots.is_empty() && !storage_cleared {
            return None;
        }
        slots.sort_unstable_by_key(|slot| slot.key);
        let before = entry.original.unwrap_or_default().code_hash;
        let code_changed = entry.exists && entry.code_hash != before;
        let code = entry.code.map(|code| self.codes.get(code).bytes().clone());
        Some(AccountChange {
            address: entry.address,
            original: entry.original,
            present,
            code: code_changed.then(|| code.unwrap_or_default()),
            storage_cleared,
            slots,
        })
    }
}
