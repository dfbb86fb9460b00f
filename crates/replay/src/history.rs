//! What a replay needs of the past: the state after any block, and what a block changed.

use crate::error::StateError;
use alloy_primitives::{Address, U256};
use std::collections::BTreeMap;
use txgraph_evm::{Account, StateSource};

/// States of a chain, by block. Shared between threads, each of which asks for the state
/// before the block it replays.
pub trait StateHistory: Sync {
    /// A state, cheap to make and used for one block.
    type At<'a>: StateSource<Error: Into<StateError>>
    where
        Self: 'a;

    /// The state at the end of `block`.
    ///
    /// # Errors
    ///
    /// It is gone (pruned), not there yet, or cannot be read.
    fn at(&self, block: u64) -> Result<Self::At<'_>, StateError>;

    /// What `block` changed; `None` where nobody wrote that down.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn changes(&self, block: u64) -> Result<Option<RecordedChanges>, StateError>;
}

/// What a block changed, with the values before it: reth's change sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedChanges {
    /// Accounts; `None`: it did not exist.
    pub accounts: BTreeMap<Address, Option<Account>>,
    /// Slots, by account.
    pub storage: BTreeMap<Address, BTreeMap<U256, U256>>,
}
