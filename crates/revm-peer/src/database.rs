//! Our states as a database of revm.

use alloy_primitives::{Address, B256, U256, map::B256HashMap};
use revm::{Database, bytecode::Bytecode, database_interface::DBErrorMarker, state::AccountInfo};
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};
use txgraph_evm::StateSource;

/// An error of a state's source, of any type.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Code in the form of revm, by hash. Analyzed once, like ours; shared by clones.
#[derive(Clone, Debug, Default)]
pub struct RevmCodes(Arc<RwLock<B256HashMap<Bytecode>>>);

impl RevmCodes {
    fn get(&self, hash: &B256) -> Option<Bytecode> {
        let codes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        codes.get(hash).cloned()
    }

    fn insert(&self, hash: B256, code: Bytecode) {
        let mut codes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        codes.insert(hash, code);
    }
}

/// An error of the state, as the type that revm requires.
#[derive(Debug)]
pub(crate) struct SourceFailed(pub(crate) SourceError);

impl fmt::Display for SourceFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SourceFailed {}

impl DBErrorMarker for SourceFailed {}

/// A state, and the code that revm has analyzed.
#[derive(Debug)]
pub(crate) struct Source<S> {
    pub(crate) state: S,
    pub(crate) codes: RevmCodes,
}

impl<S: StateSource<Error: Into<SourceError>>> Database for Source<S> {
    type Error = SourceFailed;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, SourceFailed> {
        let account = self.state.account(address).map_err(failed)?;
        Ok(account.map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            code: None,
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, SourceFailed> {
        if let Some(code) = self.codes.get(&hash) {
            return Ok(code);
        }
        let code = Bytecode::new_raw(self.state.code(hash).map_err(failed)?);
        self.codes.insert(hash, code.clone());
        Ok(code)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, SourceFailed> {
        self.state.storage(address, key).map_err(failed)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, SourceFailed> {
        self.state.block_hash(number).map_err(failed)
    }
}

fn failed(error: impl Into<SourceError>) -> SourceFailed {
    SourceFailed(error.into())
}
