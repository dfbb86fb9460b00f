//! A view of a block's state with the last transaction undone. Calls on it use a separate
//! journal, which is discarded, so that they do not affect the block.

use crate::error::StateError;
use alloy_primitives::{
    Address, B256, Bytes, U256,
    map::{AddressHashMap, B256HashMap},
};
use txgraph_evm::{Account, State, StateSource, Transition};

/// The present state of a block without the changes of `undone`.
pub(crate) struct LookBack<'a, S> {
    state: &'a mut State<S>,
    undone: AddressHashMap<&'a Transition>,
    /// Accounts by code hash: the code of a contract that the block created is not in the source.
    owners: B256HashMap<Address>,
}

impl<'a, S> LookBack<'a, S> {
    /// `undone` contains all transitions of the last transaction, or none.
    pub(crate) fn new(state: &'a mut State<S>, undone: &'a [Transition]) -> Self {
        let undone = undone.iter().map(|one| (one.address, one)).collect();
        Self {
            state,
            undone,
            owners: B256HashMap::default(),
        }
    }
}

impl<S: StateSource<Error: Into<StateError>>> StateSource for LookBack<'_, S> {
    type Error = StateError;

    fn account(&mut self, address: Address) -> Result<Option<Account>, StateError> {
        let account = match self.undone.get(&address) {
            Some(transition) => transition.before,
            None => self.state.account(address).map_err(Into::into)?,
        };
        if let Some(account) = account {
            self.owners.insert(account.code_hash, address);
        }
        Ok(account)
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, StateError> {
        let Some(transition) = self.undone.get(&address) else {
            return self.state.storage(address, key).map_err(Into::into);
        };
        if let Ok(at) = transition.slots.binary_search_by_key(&key, |slot| slot.key) {
            return Ok(transition.slots[at].original);
        }
        if transition.destroyed {
            // The slot was deleted with its account and not written before. Its old value is
            // in the source, unless an earlier transaction of the block wrote it.
            let source = self.state.source_mut();
            return source.storage(address, key).map_err(Into::into);
        }
        self.state.storage(address, key).map_err(Into::into)
    }

    fn code(&mut self, code_hash: B256) -> Result<Bytes, StateError> {
        let owner = self.owners.get(&code_hash).copied();
        let undone = owner.and_then(|owner| self.undone.get(&owner));
        if let Some(transition) = undone
            && let Some(code) = &transition.code_before
        {
            return Ok(code.clone());
        }
        let is_kept = undone.is_none_or(|it| it.code_after.is_none() && !it.destroyed);
        match owner.filter(|_| is_kept) {
            Some(owner) => self.state.code(owner).map_err(Into::into),
            None => self.state.source_mut().code(code_hash).map_err(Into::into),
        }
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, StateError> {
        let source = self.state.source_mut();
        source.block_hash(number).map_err(Into::into)
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, StateError> {
        let source = self.state.source_mut();
        source.has_storage(address).map_err(Into::into)
    }

    fn check_wanted(&mut self) -> Result<(), StateError> {
        self.state.source_mut().check_wanted().map_err(Into::into)
    }
}
