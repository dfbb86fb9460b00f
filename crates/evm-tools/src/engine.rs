//! The interface of engines that the test runner uses, and the interpreter behind it.

use alloy_primitives::{Address, B256, Bytes, Log, U256, keccak256};
use std::sync::Arc;
use txgraph_block::{PlainAccount, PlainState};
use txgraph_evm::{
    Account, AccountChange, Block, CodeCache, DecodeAfter, Error, Evm, Fork, Inspector,
    MemoryState, MemoryStateError, Message, Outcome, State, StateSource, Status, Transaction,
};

/// The result of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Whether the outermost frame succeeded.
    pub success: bool,
    /// Gas charged: of a transaction after refunds, or of a bare frame.
    pub gas_used: u64,
    /// Return data, revert data, or deployed code.
    pub output: Bytes,
    /// Logs, in order.
    pub logs: Vec<Log>,
    /// The state after the execution.
    pub state: PlainState,
}

/// Why an engine did not execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExecuted {
    /// The transaction is invalid, for this reason. The state is unchanged.
    Invalid(String),
    /// The engine cannot execute this.
    Failed(String),
}

/// Executes tests on a state. The runner creates one engine for each thread.
pub trait TestEngine {
    /// Executes the only transaction of a block, then touches the beneficiary, like a
    /// reward of zero: the tests were generated this way.
    fn transaction(
        &mut self,
        fork: Fork,
        pre: &PlainState,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Executed, NotExecuted>;

    /// Executes one frame.
    fn frame(
        &mut self,
        _fork: Fork,
        _pre: &PlainState,
        _block: &Block,
        _message: &Message,
    ) -> Result<Executed, NotExecuted> {
        let why = "the engine runs whole transactions only";
        Err(NotExecuted::Failed(why.to_owned()))
    }

    /// Returns our interpreter if this engine is it. Only that one executes whole blocks.
    fn our_evm(&mut self) -> Option<&mut Evm> {
        None
    }
}

/// Copies a state into the form that the interpreter reads.
pub fn in_memory(state: &PlainState) -> MemoryState {
    let mut memory = MemoryState::default();
    for (address, account) in state {
        memory.insert(
            *address,
            account.balance,
            account.nonce,
            account.code.clone(),
        );
        for (key, value) in &account.storage {
            memory.set_storage(*address, *key, *value);
        }
    }
    memory
}

/// Copies a state into sorted maps, the reverse of [`in_memory`].
pub fn in_order(state: &MemoryState) -> PlainState {
    let account = |(address, account): (&Address, &Account)| {
        let plain = PlainAccount {
            balance: account.balance,
            nonce: account.nonce,
            code: (state.codes.get(&account.code_hash))
                .cloned()
                .unwrap_or_default(),
            storage: state.storage.get(address).cloned().unwrap_or_default(),
        };
        (*address, plain)
    };
    state.accounts.iter().map(account).collect()
}

/// Returns the result of `BLOCKHASH` in state tests: Keccak-256 of the number in decimal.
pub fn test_block_hash(number: u64) -> B256 {
    keccak256(number.to_string())
}

/// A state in memory with the block hashes of state tests.
#[derive(Debug, Default)]
pub struct TestState(pub MemoryState);

impl TestState {
    /// Copies a state.
    pub fn new(state: &PlainState) -> Self {
        Self(in_memory(state))
    }
}

impl StateSource for TestState {
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
        Ok(test_block_hash(number))
    }

    fn has_storage(&mut self, address: Address) -> Result<bool, MemoryStateError> {
        self.0.has_storage(address)
    }
}

/// Returns the state after `changes`.
pub fn changed(mut state: MemoryState, changes: &[AccountChange]) -> PlainState {
    state.apply(changes);
    in_order(&state)
}

/// Our interpreter.
#[derive(Debug)]
pub struct OurEvm {
    evm: Evm,
    /// Present if it executes instruction by instruction.
    steps: Option<Steps>,
}

/// An inspector that only asks for every instruction.
#[derive(Debug)]
struct Steps;

impl Inspector for Steps {
    fn needs_steps(&self) -> bool {
        true
    }
}

impl OurEvm {
    /// Creates it for chain 1, which all tests use.
    pub fn new() -> Self {
        Self {
            evm: Evm::new(Fork::LATEST, 1),
            steps: None,
        }
    }

    /// Creates it with another rule for which code is decoded. Results must not depend on it.
    pub fn decoding(after: DecodeAfter) -> Self {
        let codes = Arc::new(CodeCache::default().with_decode_after(after));
        Self {
            evm: Evm::with_code_cache(Fork::LATEST, 1, codes),
            steps: None,
        }
    }

    /// Creates it to execute transactions and frames, not blocks, instruction by instruction. Results must not
    /// depend on it.
    pub fn stepping() -> Self {
        Self {
            steps: Some(Steps),
            ..Self::new()
        }
    }
}

impl Default for OurEvm {
    fn default() -> Self {
        Self::new()
    }
}

fn unreadable(error: MemoryStateError) -> NotExecuted {
    NotExecuted::Failed(error.to_string())
}

/// Returns the result of an outcome, with the state after it.
pub fn executed(outcome: Outcome, state: PlainState) -> Executed {
    Executed {
        success: outcome.status == Status::Success,
        gas_used: outcome.gas_used,
        output: outcome.output,
        logs: outcome.logs,
        state,
    }
}

fn after(outcome: Outcome, mut state: State<TestState>) -> Executed {
    let changes = state.changes();
    let before = std::mem::take(&mut state.source_mut().0);
    executed(outcome, changed(before, &changes))
}

impl TestEngine for OurEvm {
    fn transaction(
        &mut self,
        fork: Fork,
        pre: &PlainState,
        block: &Block,
        transaction: &Transaction,
    ) -> Result<Executed, NotExecuted> {
        self.evm.set_fork(fork);
        let mut state = State::new(TestState::new(pre));
        let executed = match &mut self.steps {
            None => self.evm.execute_transaction(&mut state, block, transaction),
            Some(steps) => {
                let evm = &mut self.evm;
                evm.execute_transaction_inspected(&mut state, block, transaction, steps)
            }
        };
        match executed {
            Err(Error::Source(error)) => Err(unreadable(error)),
            Err(Error::Invalid(why)) => Err(NotExecuted::Invalid(why.to_string())),
            Ok(outcome) => {
                let reward = state.increase_balance(fork, block.beneficiary, U256::ZERO);
                reward.map_err(unreadable)?;
                Ok(after(outcome, state))
            }
        }
    }

    fn frame(
        &mut self,
        fork: Fork,
        pre: &PlainState,
        block: &Block,
        message: &Message,
    ) -> Result<Executed, NotExecuted> {
        self.evm.set_fork(fork);
        let mut state = State::new(TestState::new(pre));
        let executed = match &mut self.steps {
            None => self.evm.call(&mut state, block, message),
            Some(steps) => (self.evm).call_inspected(&mut state, block, message, steps),
        };
        match executed {
            Ok(outcome) => Ok(after(outcome, state)),
            Err(Error::Source(error)) => Err(unreadable(error)),
            Err(Error::Invalid(why)) => Err(NotExecuted::Failed(why.to_string())),
        }
    }

    fn our_evm(&mut self) -> Option<&mut Evm> {
        Some(&mut self.evm)
    }
}
