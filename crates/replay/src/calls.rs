//! Calls on the state at the end of a block, outside of any transaction.

use crate::{
    BlockSource, Error, Replayer, Result, StateError, StateHistory, StateOverrides,
    wanted::{WhileWanted, state_error},
    worker::{self, Worker},
};
use alloy_primitives::{Address, KECCAK256_EMPTY};
use txgraph_evm::{Block, Inspector, Message, Outcome, State, StateSource};

/// Successive calls on one state; each sees the changes of the calls before it.
pub(crate) struct Calls<S> {
    worker: Worker,
    state: State<S>,
    environment: Block,
}

impl<H: StateHistory, B: BlockSource> Replayer<'_, H, B> {
    pub(crate) fn calls(&self, number: u64) -> Result<Calls<WhileWanted<H::At<'_>>>> {
        let header = self.blocks.header(number)?;
        let rules = worker::rules_at(&self.rules, &header)?;
        let state = self
            .history
            .at(number)
            .map_err(|source| Error::state(number, source))?;
        let mut worker = self.worker();
        worker.evm.set_fork(rules.fork);
        Ok(Calls {
            worker,
            state: State::new(WhileWanted::new(state, &self.options.cancel)),
            environment: rules.environment(&header),
        })
    }
}

impl<S: StateSource<Error: Into<StateError>>> Calls<S> {
    /// Changes the state before the next call.
    pub(crate) fn change(&mut self, overrides: &StateOverrides) -> Result<()> {
        let fork = self.worker.evm.fork();
        let changed = overrides.apply(fork, &mut self.state);
        let block = self.environment.number;
        changed.map_err(|source| state_error(block, None, source.into()))
    }

    /// Whether a contract may be created at an address later: it has no code, and has sent nothing.
    pub(crate) fn is_unused(&mut self, address: Address) -> Result<bool> {
        let account = self.state.account(address);
        let block = self.environment.number;
        let account = account.map_err(|source| state_error(block, None, source.into()))?;
        Ok(account.is_none_or(|it| it.nonce == 0 && it.code_hash == KECCAK256_EMPTY))
    }

    pub(crate) fn call(
        &mut self,
        message: &Message,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome> {
        let evm = &mut self.worker.evm;
        let (state, environment) = (&mut self.state, &self.environment);
        let outcome = match inspector {
            None => evm.call(state, environment, message),
            Some(inspector) => evm.call_inspected(state, environment, message, inspector),
        };
        let block = environment.number;
        outcome.map_err(|error| match error {
            txgraph_evm::Error::Source(source) => state_error(block, None, source.into()),
            // A call has no sender, nonce or fee that could be invalid.
            txgraph_evm::Error::Invalid(source) => Error::Unreachable {
                block,
                index: 0,
                source: source.into(),
            },
        })
    }
}
