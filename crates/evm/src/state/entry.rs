//! The entries of the journal: accounts, slots, and changes that can be undone.

use crate::{source::Account, word::Word};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY};

/// An account that was read.
#[derive(Debug)]
pub(crate) struct AccountEntry {
    pub(crate) address: Address,
    pub(crate) balance: Word,
    pub(crate) nonce: u64,
    pub(crate) code_hash: B256,
    /// The number of the prepared code, once it was needed.
    pub(super) code: Option<u32>,
    /// Whether the account exists. Before EIP-161 an empty account may exist.
    pub(crate) exists: bool,
    /// Whether its storage in the source is deleted.
    pub(super) storage_cleared: bool,
    /// The account in the source.
    pub(super) original: Option<Account>,
    /// The first of its slots that were read, a linked list.
    pub(super) first_slot: u32,
    /// The transaction in which it became warm (EIP-2929).
    pub(super) warm: u32,
    /// The transaction in which it was touched (EIP-161).
    pub(super) touched: u32,
    /// The transaction in which it became a contract (EIP-6780).
    pub(super) created: u32,
    /// The transaction in which it was destroyed.
    pub(super) destroyed: u32,
    /// Whether any transaction accessed it (EIP-7928).
    pub(super) accessed: bool,
}

impl AccountEntry {
    pub(super) fn new(address: Address, original: Option<Account>, warm: u32) -> Self {
        let account = original.unwrap_or_default();
        Self {
            address,
            balance: account.balance.into(),
            nonce: account.nonce,
            code_hash: account.code_hash,
            code: None,
            exists: original.is_some(),
            storage_cleared: false,
            original,
            first_slot: NO_SLOT,
            warm,
            touched: 0,
            created: 0,
            destroyed: 0,
            accessed: false,
        }
    }

    pub(crate) fn has_code(&self) -> bool {
        self.code_hash != KECCAK256_EMPTY
    }

    /// Whether it is empty as defined by EIP-161.
    pub(crate) fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && !self.has_code()
    }

    pub(super) fn present(&self) -> Option<Account> {
        self.exists.then(|| Account {
            balance: self.balance.u256(),
            nonce: self.nonce,
            code_hash: self.code_hash,
        })
    }

    pub(super) fn forget_marks(&mut self) {
        (self.warm, self.touched, self.created, self.destroyed) = (0, 0, 0, 0);
    }
}

/// The number of slots that are found without the map.
pub(super) const RECENT_SLOTS: usize = 128;

/// The end of an account's list of slots.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A slot that was read.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) account: u32,
    pub(super) key: Word,
    /// The value in the source.
    pub(super) source: Word,
    /// The value before the transaction `seen`.
    pub(super) original: Word,
    pub(super) present: Word,
    /// The last transaction that used it.
    pub(super) seen: u32,
    /// The transaction in which it became warm (EIP-2929).
    pub(super) warm: u32,
    /// The account's next slot.
    pub(super) next: u32,
    /// Whether any transaction accessed it (EIP-7928).
    pub(super) accessed: bool,
}

impl Slot {
    pub(super) fn forget_marks(&mut self) {
        (self.seen, self.warm) = (0, 0);
    }
}

/// A slot of transient storage, which is discarded after the transaction (EIP-1153).
#[derive(Debug)]
pub(super) struct TransientSlot {
    pub(super) present: Word,
}

/// One change that can be undone.
#[derive(Debug)]
pub(super) enum Change {
    AccountWarmed {
        account: u32,
    },
    Touched {
        account: u32,
        existed: bool,
    },
    Balance {
        account: u32,
        before: Word,
    },
    Nonce {
        account: u32,
        before: u64,
    },
    Code {
        account: u32,
        before: Box<(B256, Option<u32>)>,
    },
    Created {
        account: u32,
        before: u32,
    },
    Destroyed {
        account: u32,
    },
    SlotWarmed {
        slot: u32,
    },
    Slot {
        slot: u32,
        before: Word,
    },
    Transient {
        slot: u32,
        before: Word,
    },
}
