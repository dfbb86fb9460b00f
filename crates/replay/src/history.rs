//! What a replay needs of the past: the state after any block, and what a block changed.

use crate::error::StateError;
use alloy_primitives::B256;
use txgraph_evm::StateSource;
use txgraph_state::{BlockChanges, StateAt, StateDb, StateRange};

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

    /// The same, for somebody who is about to execute the next block, of which more may
    /// be known.
    ///
    /// # Errors
    ///
    /// As [`at`](Self::at).
    fn before_next(&self, block: u64) -> Result<Self::At<'_>, StateError> {
        self.at(block)
    }

    /// What `block`, the one with this hash, changed; `None` where nobody wrote that
    /// down, or not any more.
    ///
    /// # Errors
    ///
    /// It cannot be read, or another block has taken its place.
    fn changes(&self, block: u64, hash: B256) -> Result<Option<BlockChanges>, StateError>;
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
}

/// By the node's history indices.
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

/// By the node's indices, or by an overlay of change sets.
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

/// Everything that the next block changes is read in one go.
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
