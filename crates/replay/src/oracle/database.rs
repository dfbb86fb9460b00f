//! Our states as revm reads them.

use crate::error::StateError;
use alloy_primitives::{Address, B256, U256, map::B256HashMap};
use revm::{Database, bytecode::Bytecode, database_interface::DBErrorMarker, state::AccountInfo};
use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};
use txgraph_evm::StateSource;

/// Code in revm's form, by hash; analysed once, as ours is.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerCodes(Arc<RwLock<B256HashMap<Bytecode>>>);

impl PeerCodes {
    fn get(&self, hash: &B256) -> Option<Bytecode> {
        let codes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        codes.get(hash).cloned()
    }

    fn insert(&self, hash: B256, code: Bytecode) {
        let mut codes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        codes.insert(hash, code);
    }
}

/// A state's error in the clothes that revm asks for.
#[derive(Debug)]
pub(crate) struct SourceFailed(pub(crate) StateError);

impl fmt::Display for SourceFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SourceFailed {}

impl DBErrorMarker for SourceFailed {}

/// A state.
#[derive(Debug)]
pub(crate) struct Source<S> {
    pub(super) state: S,
    pub(super) codes: PeerCodes,
}

impl<S: StateSource<Error: Into<StateError>>> Database for Source<S> {
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

fn failed(error: impl Into<StateError>) -> SourceFailed {
    SourceFailed(error.into())
}
