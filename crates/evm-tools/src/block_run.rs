//! A block on our interpreter, with its access list.

use alloy_primitives::{Address, Bytes, U256};
use txgraph_block::{AccessList, Executor};
use txgraph_evm::{Block, Error, Evm, MemoryState, MemoryStateError, Outcome, State, Transaction};

/// A block while it is executed.
#[derive(Debug)]
pub struct BlockRun<'a> {
    evm: &'a mut Evm,
    state: State<MemoryState>,
    access_list: AccessList,
    without_code: Vec<Address>,
}

impl<'a> BlockRun<'a> {
    /// Begins a block on a state.
    pub fn new(evm: &'a mut Evm, source: MemoryState) -> Self {
        let mut state = State::new(source);
        state.keep_transitions(true);
        Self {
            evm,
            state,
            access_list: AccessList::default(),
            without_code: Vec::new(),
        }
    }

    /// Executes a transaction.
    ///
    /// # Errors
    ///
    /// The transaction is invalid, or the state is incomplete.
    pub fn transaction(
        &mut self,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Outcome, Error<MemoryStateError>> {
        let executed = (self.evm).execute_transaction(&mut self.state, block, transaction);
        self.access_list.record(self.state.transitions());
        executed
    }

    /// Ends a step of the access list (EIP-7928): the system calls before the transactions, a
    /// transaction, or all that follows.
    pub fn end_step(&mut self) {
        self.access_list.end_step();
    }

    /// The system contracts that were called and have no code.
    pub fn without_code(&self) -> &[Address] {
        &self.without_code
    }

    /// Ends the block, and returns the state after it and the access list.
    pub fn finish(mut self) -> (State<MemoryState>, AccessList) {
        self.access_list.accessed(self.state.accesses());
        (self.state, self.access_list)
    }
}

impl Executor for BlockRun<'_> {
    type Error = MemoryStateError;

    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Option<Outcome>, MemoryStateError> {
        let has_code = !self.state.code(contract)?.is_empty();
        if !has_code {
            self.without_code.push(contract);
        }
        let called = (self.evm).system_call(&mut self.state, block, contract, input);
        self.access_list.record(self.state.transitions());
        match called {
            Ok(outcome) => Ok(has_code.then_some(outcome)),
            Err(Error::Source(error)) => Err(error),
            // System calls have no validity rules.
            Err(Error::Invalid(_)) => Ok(None),
        }
    }

    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), MemoryStateError> {
        let fork = self.evm.fork();
        self.state.increase_balance(fork, address, amount)?;
        self.access_list.record(self.state.transitions());
        Ok(())
    }

    fn drain_balance(&mut self, address: Address) -> Result<U256, MemoryStateError> {
        let fork = self.evm.fork();
        self.state.drain_balance(fork, address)
    }
}
