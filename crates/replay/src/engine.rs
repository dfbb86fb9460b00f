//! The interface between the execution of a block and the interpreter.

use crate::{Refusal, StateOverrides, Touched, error::StateError, look_back::LookBack};
use alloy_primitives::{Address, Bytes, KECCAK256_EMPTY, U256};
use txgraph_block::AccessList;
use txgraph_evm::{
    AccountChange, Block, Error, Evm, Fork, Inspector, Message, Outcome, State, StateMemory,
    StateSource, Transaction, Transition,
};

/// The reason why a transaction or a call has no outcome.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused(Refusal),
    State(StateError),
}

/// An interpreter with the state of one block.
pub(crate) trait Engine {
    /// Executes a transaction; `inspector` receives its events.
    fn transaction(
        &mut self,
        block: &Block,
        transaction: &Transaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome, Failure>;

    /// Executes a system call.
    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Outcome, Failure>;

    /// Whether an account has code in the present state.
    fn has_code(&mut self, address: Address) -> Result<bool, StateError>;

    /// Adds wei to a balance, outside of any transaction.
    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), StateError>;

    /// Sets a balance to zero, outside of any transaction, and returns it.
    fn drain_balance(&mut self, address: Address) -> Result<U256, StateError>;

    /// Changes the state, and returns the changed transaction. Only the engine of this project
    /// supports it; others return the transaction as it is.
    fn overrides(
        &mut self,
        _overrides: &StateOverrides,
        transaction: &Transaction,
    ) -> Result<Transaction, StateError> {
        Ok(transaction.clone())
    }

    /// The state changes of the last transaction, with all code; none unless the engine was
    /// created to record them.
    fn transitions(&mut self) -> Result<Vec<Transition>, StateError>;

    /// Executes calls on the present state without `undone`, which are all transitions of
    /// the last transaction or none, and discards their effects. `None` stands for a callee
    /// without code. Returns no outcomes at all if the engine does not support this.
    fn discarded_calls(
        &mut self,
        _block: &Block,
        _undone: &[Transition],
        _calls: &[Message],
    ) -> Result<Vec<Option<Outcome>>, StateError> {
        Ok(Vec::new())
    }

    /// Looks up what a transaction touched in the present state without `undone`, which are its
    /// transitions. Does nothing if the engine does not support this.
    fn look_up(
        &mut self,
        _touched: &mut Touched,
        _block: &Block,
        _transaction: &Transaction,
        _undone: &[Transition],
    ) -> Result<(), StateError> {
        Ok(())
    }

    /// Ends a step of the access list of the block (EIP-7928).
    fn end_step(&mut self) {}

    /// The access list of the block after its last step, if the engine collects it.
    fn access_list(&mut self) -> Option<AccessList> {
        None
    }

    /// The differences from the state before the block.
    fn changes(&mut self) -> Vec<AccountChange>;

    /// Returns and removes the first disagreement of two engines.
    fn divergence(&mut self) -> Option<String> {
        None
    }
}

/// The interpreter of this project.
#[derive(Debug)]
pub(crate) struct OurEvm<'a, S> {
    evm: &'a mut Evm,
    pub(crate) state: State<S>,
    /// Whether the caller wants transitions.
    transitions: bool,
    access_list: Option<AccessList>,
}

impl<'a, S> OurEvm<'a, S>
where
    S: StateSource<Error: Into<StateError>>,
{
    /// Creates an engine whose state uses the memory of an earlier one.
    pub(crate) fn new(
        evm: &'a mut Evm,
        fork: Fork,
        source: S,
        transitions: bool,
        memory: StateMemory,
    ) -> Self {
        evm.set_fork(fork);
        let mut state = State::with_memory(source, memory);
        state.keep_transitions(transitions);
        Self {
            evm,
            state,
            transitions,
            access_list: None,
        }
    }

    /// Collects the access list of the block.
    pub(crate) fn with_access_list(mut self) -> Self {
        self.state.keep_transitions(true);
        self.access_list = Some(AccessList::default());
        self
    }

    /// Adds the last changes to the access list.
    fn record(&mut self) {
        if let Some(list) = &mut self.access_list {
            list.record(self.state.transitions());
        }
    }
}

impl<S> Engine for OurEvm<'_, S>
where
    S: StateSource<Error: Into<StateError>>,
{
    fn transaction(
        &mut self,
        block: &Block,
        transaction: &Transaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Outcome, Failure> {
        let state = &mut self.state;
        let outcome = match inspector {
            None => self.evm.execute_transaction(state, block, transaction),
            Some(inspector) => {
                (self.evm).execute_transaction_inspected(state, block, transaction, inspector)
            }
        };
        self.record();
        outcome.map_err(failure)
    }

    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Outcome, Failure> {
        let outcome = (self.evm).system_call(&mut self.state, block, contract, input);
        self.record();
        outcome.map_err(failure)
    }

    fn has_code(&mut self, address: Address) -> Result<bool, StateError> {
        let account = self.state.account(address).map_err(Into::into)?;
        Ok(account.is_some_and(|account| account.code_hash != KECCAK256_EMPTY))
    }

    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), StateError> {
        let fork = self.evm.fork();
        (self.state)
            .increase_balance(fork, address, amount)
            .map_err(Into::into)?;
        self.record();
        Ok(())
    }

    fn drain_balance(&mut self, address: Address) -> Result<U256, StateError> {
        let fork = self.evm.fork();
        (self.state)
            .drain_balance(fork, address)
            .map_err(Into::into)
    }

    fn overrides(
        &mut self,
        overrides: &StateOverrides,
        transaction: &Transaction,
    ) -> Result<Transaction, StateError> {
        let fork = self.evm.fork();
        let state = &mut self.state;
        overrides.apply(fork, state).map_err(Into::into)?;
        overrides
            .transaction(transaction, state)
            .map_err(Into::into)
    }

    fn transitions(&mut self) -> Result<Vec<Transition>, StateError> {
        if !self.transitions {
            return Ok(Vec::new());
        }
        let mut transitions = self.state.transitions().to_vec();
        for transition in &mut transitions {
            let hash = transition.before.unwrap_or_default().code_hash;
            if transition.code_before.is_none() && hash != KECCAK256_EMPTY {
                let code = self.state.source_mut().code(hash).map_err(Into::into)?;
                transition.code_before = Some(code);
            }
        }
        Ok(transitions)
    }

    fn discarded_calls(
        &mut self,
        block: &Block,
        undone: &[Transition],
        calls: &[Message],
    ) -> Result<Vec<Option<Outcome>>, StateError> {
        let mut state = State::new(LookBack::new(&mut self.state, undone));
        let mut outcomes = Vec::with_capacity(calls.len());
        for call in calls {
            let account = state.account(call.to.unwrap_or_default())?;
            if account.is_none_or(|account| account.code_hash == KECCAK256_EMPTY) {
                outcomes.push(None);
                continue;
            }
            match self.evm.call(&mut state, block, call) {
                Ok(outcome) => outcomes.push(Some(outcome)),
                Err(Error::Source(error)) => return Err(error),
                // A call outside of a transaction has nothing that could be invalid.
                Err(Error::Invalid(invalid)) => return Err(invalid.into()),
            }
        }
        Ok(outcomes)
    }

    fn look_up(
        &mut self,
        touched: &mut Touched,
        block: &Block,
        transaction: &Transaction,
        undone: &[Transition],
    ) -> Result<(), StateError> {
        let mut state = State::new(LookBack::new(&mut self.state, undone));
        touched.look_up(&mut state, block, transaction, undone)
    }

    fn end_step(&mut self) {
        if let Some(list) = &mut self.access_list {
            list.end_step();
        }
    }

    fn access_list(&mut self) -> Option<AccessList> {
        let mut list = self.access_list.take()?;
        list.accessed(self.state.accesses());
        Some(list)
    }

    fn changes(&mut self) -> Vec<AccountChange> {
        self.state.changes()
    }
}

fn failure<E: Into<StateError>>(error: Error<E>) -> Failure {
    match error {
        Error::Invalid(invalid) => Failure::Refused(invalid.into()),
        Error::Source(source) => Failure::State(source.into()),
    }
}
