//! The journaled state of a block.

use crate::source::{Account, StateSource};
use alloy_primitives::{Address, B256, Bytes, U256};

/// Everything read and changed so far, over a source that is never written. Lives
/// as long as the transactions of a block (or of several blocks).
#[derive(Debug)]
pub struct State<S> {
    source: S,
}

/// An account that changed since the state was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    /// Whose.
    pub address: Address,
    /// In the source; `None`: it did not exist.
    pub original: Option<Account>,
    /// Now; `None`: it does not exist.
    pub present: Option<Account>,
    /// The code, if it changed.
    pub code: Option<Bytes>,
    /// All storage that the source has is gone; what is now there is in `slots`.
    pub storage_cleared: bool,
    /// Slots with another value than in the source, by key; after
    /// `storage_cleared` those that are not zero.
    pub slots: Vec<SlotChange>,
}

/// A slot that changed since the state was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    /// Which.
    pub key: U256,
    /// In the source.
    pub original: U256,
    /// Now.
    pub present: U256,
}

impl<S: StateSource> State<S> {
    /// Nothing read yet.
    pub fn new(source: S) -> Self {
        Self { source }
    }

    /// What lies below.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// The account now.
    pub fn account(&mut self, _address: Address) -> Result<Option<Account>, S::Error> {
        todo!()
    }

    /// The slot now.
    pub fn storage(&mut self, _address: Address, _key: U256) -> Result<U256, S::Error> {
        todo!()
    }

    /// The code now.
    pub fn code(&mut self, _address: Address) -> Result<Bytes, S::Error> {
        todo!()
    }

    /// Adds wei outside of any transaction: withdrawals (EIP-4895), block rewards.
    /// Touches the account: an empty one does not stay (EIP-161) or is created
    /// (before it), by the rules of `fork`.
    pub fn increase_balance(
        &mut self,
        _fork: crate::Fork,
        _address: Address,
        _amount: U256,
    ) -> Result<(), S::Error> {
        todo!()
    }

    /// What differs from the source, by address.
    pub fn changes(&self) -> Vec<AccountChange> {
        todo!()
    }

    /// Forgets everything read and changed; keeps its memory.
    pub fn clear(&mut self) {
        todo!()
    }

    /// For a change of fork or block number: nothing. Kept for hashes of blocks.
    pub fn block_hash(&mut self, number: u64) -> Result<B256, S::Error> {
        self.source.block_hash(number)
    }
}
