//! The history that a replay reads: the state after a block, and the changes of a block.

use crate::error::StateError;
use alloy_primitives::B256;
use txgraph_evm::{AccountChange, StateSource};
use txgraph_state::{BlockChanges, StateAt, StateDb, StateRange};

/// The states of a chain, by block. Shared between threads; each thread reads the state before
/// the block that it replays.
pub trait StateHistory: Sync {
    /// A state: cheap to create, and used for one block.
    type At<'a>: StateSource<Error: Into<StateError>>
    where
        Self: 'a;

    /// The state at the end of `block`.
    ///
    /// # Errors
    ///
    /// The state is pruned, is above the tip, or cannot be read.
    fn at(&self, block: u64) -> Result<Self::At<'_>, StateError>;

    /// The same state for an execution of the next block. An implementation may read the
    /// values that this block changes in advance.
    ///
    /// # Errors
    ///
    /// As for [`at`](Self::at).
    fn before_next(&self, block: u64) -> Result<Self::At<'_>, StateError> {
        self.at(block)
    }

    /// The changes of `block`, which must have this hash; `None` where the node does not store
    /// them or pruned them.
    ///
    /// # Errors
    ///
    /// The changes cannot be read, or the block was replaced.
    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError>;

    /// The state root at the end of `block`, given all of its changes; `None` where only the
    /// accounts and slots that the block reads are known.
    ///
    /// # Errors
    ///
    /// A part of the state that the root depends on cannot be read.
    fn state_root_after(
        &self,
        _block: u64,
        _changes: &[AccountChange],
    ) -> Result<Option<B256>, StateError> {
        Ok(None)
    }
}

impl<H: StateHistory> StateHistory for &H {
    type At<'a>
        = H::At<'a>
    where
        Self: 'a;

    fn at(&self, block: u64) -> Result<Self::At<'_>, StateError> {
        (**self).at(block)
    }

    fn before_next(&self, block: u64) -> Result<Self::At<'_>, StateError> {
        (**self).before_next(block)
    }

    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError> {
        (**self).changes(block, hash)
    }

    fn state_root_after(
        &self,
        block: u64,
        changes: &[AccountChange],
    ) -> Result<Option<B256>, StateError> {
        (**self).state_root_after(block, changes)
    }
}

/// Reads the node's history indices.
impl StateHistory for StateDb {
    type At<'a> = StateAt<'a>;

    fn at(&self, block: u64) -> Result<StateAt<'_>, StateError> {
        Ok(Self::at(self, block)?)
    }

    fn before_next(&self, block: u64) -> Result<StateAt<'_>, StateError> {
        prefetched(Self::at(self, block)?)
    }

    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError> {
        if_there(self.changes_of(block, hash))
    }
}

/// Reads the node's history indices or an overlay of change sets.
impl<'db> StateHistory for StateRange<'db> {
    type At<'a>
        = StateAt<'db>
    where
        Self: 'a;

    fn at(&self, block: u64) -> Result<StateAt<'db>, StateError> {
        Ok(Self::at(self, block)?)
    }

    fn before_next(&self, block: u64) -> Result<StateAt<'db>, StateError> {
        prefetched(Self::at(self, block)?)
    }

    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError> {
        if_there(self.changes_of(block, hash))
    }
}

/// Reads all values that the next block changes in one pass.
fn prefetched(mut state: StateAt<'_>) -> Result<StateAt<'_>, StateError> {
    match state.next_changes() {
        Ok(next) => state.prefetch(&next),
        Err(error) if error.is_missing() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(state)
}

fn if_there(
    changes: txgraph_state::Result<BlockChanges>,
) -> Result<Option<BlockChanges>, StateError> {
    match changes {
        Ok(changes) => Ok(Some(changes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
