//! Opening databases, and a history in memory.

use alloy_primitives::{Address, B256, Bytes, U256};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard},
};
use txgraph_evm::{Account, AccountChange, MemoryState, MemoryStateError, StateSource};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_replay::{Genesis, StateError, StateHistory};
use txgraph_state::BlockChanges;
use txgraph_testkit::fixtures::Fixture;

pub(crate) fn database(path: &Path) -> NodeDb {
    NodeDb::open(&DataDir::new(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub(crate) fn genesis(fixture: &Fixture) -> Genesis {
    Genesis::parse(&fixture.genesis.to_string()).unwrap_or_else(|e| panic!("{}: {e}", fixture.name))
}

/// The state after one block, which moves on with the chain.
#[derive(Debug)]
pub(crate) struct Present {
    state: Mutex<MemoryState>,
}

impl Present {
    pub(crate) fn new(state: MemoryState) -> Self {
        Self {
            state: Mutex::new(state),
        }
    }

    pub(crate) fn get(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().unwrap()
    }

    /// The next block was executed.
    pub(crate) fn advance(&self, number: u64, hash: B256, changes: &[AccountChange]) {
        let mut state = self.get();
        state.apply(changes);
        state.block_hashes.insert(number, hash);
    }
}

impl StateHistory for Present {
    type At<'a> = At<'a>;

    fn at(&self, _: u64) -> Result<At<'_>, StateError> {
        Ok(At(self.get()))
    }

    fn changes(&self, _: u64) -> Result<Option<BlockChanges>, StateError> {
        Ok(None)
    }
}

pub(crate) struct At<'a>(MutexGuard<'a, MemoryState>);

impl StateSource for At<'_> {
    type Error = MemoryStateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, MemoryStateError> {
        self.0.account(address)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, MemoryStateError> {
        self.0.storage(address, key)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, MemoryStateError> {
        self.0.code(code_hash)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, MemoryStateError> {
        self.0.block_hash(number)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, MemoryStateError> {
        self.0.has_storage(address)
    }
}
