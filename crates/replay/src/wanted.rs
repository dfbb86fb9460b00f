//! States whose execution ends when it is no longer wanted.

use crate::{Error, StateError};
use alloy_primitives::{Address, B256, Bytes, U256};
use txgraph_evm::{Account, StateSource};
use txgraph_work::CancelFlag;

/// The reason of an execution that was ended.
#[derive(Debug, thiserror::Error)]
#[error("the execution was interrupted")]
struct NotWanted;

/// A state whose execution ends when a flag is set.
#[derive(Debug)]
pub(crate) struct WhileWanted<S> {
    source: S,
    cancel: CancelFlag,
}

impl<S> WhileWanted<S> {
    pub(crate) fn new(source: S, cancel: &CancelFlag) -> Self {
        Self {
            source,
            cancel: cancel.clone(),
        }
    }
}

/// The error of a state that could not be read, or of an execution that was ended.
pub(crate) fn state_error(block: u64, transaction: Option<u32>, source: StateError) -> Error {
    match source.is::<NotWanted>() {
        true => Error::Interrupted,
        false => Error::State {
            block,
            transaction,
            source,
        },
    }
}

impl<S: StateSource<Error: Into<StateError>>> StateSource for WhileWanted<S> {
    type Error = StateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, StateError> {
        self.check_wanted()?;
        self.source.account(address).map_err(Into::into)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, StateError> {
        self.check_wanted()?;
        self.source.storage(address, key).map_err(Into::into)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, StateError> {
        self.source.code(code_hash).map_err(Into::into)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        self.source.block_hash(number).map_err(Into::into)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, StateError> {
        self.source.has_storage(address).map_err(Into::into)
    }

    fn check_wanted(&mut self) -> Result<(), StateError> {
        match self.cancel.is_canceled() {
            false => Ok(()),
            true => Err(NotWanted.into()),
        }
    }
}
