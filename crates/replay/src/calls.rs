//! Calls on the state at the end of a block, outside of any transaction, and transactions that are in no block.

use crate::{
    BlockOverrides, BlockSource, Error, Record, Refusal, Replayer, Result, StateError,
    StateHistory, StateOverrides, TransactionReplay,
    engine::{Engine, Failure, OurEvm},
    inspect::InspectorPair,
    look_back::LookBack,
    wanted::{WhileWanted, state_error},
    worker::{self, Worker},
};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY};
use txgraph_evm::{
    Account, Block, Checks, Inspector, Message, Outcome, State, StateMemory, StateSource,
    Transaction,
};

/// The state and the block of transactions that are in no block.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// The block at whose end they are executed.
    pub block: u64,
    /// Changed accounts.
    pub overrides: StateOverrides,
    /// Changed fields of the block.
    pub block_overrides: BlockOverrides,
    /// The checks before each transaction.
    pub checks: Checks,
}

/// Executes transactions that are in no block. Each begins with the same state.
pub trait Simulate {
    /// The environment of a transaction.
    fn environment(&self) -> &Block;

    /// An account before the transactions, and its code.
    ///
    /// # Errors
    ///
    /// If the state cannot be read.
    fn account(&mut self, address: Address) -> Result<(Account, Bytes)>;

    /// Executes a transaction with the nonce of its sender, observed by `inspector`, and discards its changes.
    ///
    /// # Errors
    ///
    /// If the state cannot be read, or the execution was interrupted.
    fn execute(
        &mut self,
        transaction: Transaction,
        record: Record,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<std::result::Result<TransactionReplay, Refusal>>;
}

/// Successive calls on one state; each sees the changes of the calls before it.
pub(crate) struct Calls<S> {
    worker: Worker,
    state: State<S>,
    environment: Block,
}

impl<H: StateHistory, B: BlockSource> Replayer<'_, H, B> {
    pub(crate) fn calls(&self, number: u64) -> Result<Calls<WhileWanted<H::At<'_>>>> {
        self.calls_in(number, &BlockOverrides::default())
    }

    fn calls_in(
        &self,
        number: u64,
        changed: &BlockOverrides,
    ) -> Result<Calls<WhileWanted<H::At<'_>>>> {
        let header = self.blocks.header(number)?;
        // The stored header shows whether these are the rules of its chain.
        worker::rules_at(&self.rules, &header)?;
        let (rules, environment) = changed.apply(&self.rules, &header);
        let state = self
            .history
            .at(number)
            .map_err(|source| Error::state(number, source))?;
        let mut worker = self.worker();
        worker.evm.set_fork(rules.fork);
        Ok(Calls {
            worker,
            state: State::new(WhileWanted::new(state, &self.options.cancel)),
            environment,
        })
    }

    /// Lets `ask` execute transactions after a block, in the environment of that block.
    ///
    /// # Errors
    ///
    /// If the block or its state cannot be read.
    pub fn simulate<T>(
        &self,
        simulation: &Simulation,
        ask: impl FnOnce(&mut dyn Simulate) -> T,
    ) -> Result<T> {
        let mut calls = self.calls_in(simulation.block, &simulation.block_overrides)?;
        calls.worker.evm.set_checks(simulation.checks);
        calls.change(&simulation.overrides)?;
        Ok(ask(&mut calls))
    }
}

impl<S: StateSource<Error: Into<StateError>>> Simulate for Calls<S> {
    fn environment(&self) -> &Block {
        &self.environment
    }

    fn account(&mut self, address: Address) -> Result<(Account, Bytes)> {
        let block = self.environment.number;
        let account = self.state.account(address);
        let read = account.and_then(|account| Ok((account, self.state.code(address)?)));
        let (account, code) = read.map_err(|source| state_error(block, None, source.into()))?;
        Ok((account.unwrap_or_default(), code))
    }

    fn execute(
        &mut self,
        mut transaction: Transaction,
        record: Record,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<std::result::Result<TransactionReplay, Refusal>> {
        let block = &self.environment;
        let failed = |source| state_error(block.number, None, source);
        let wanted = self.state.source_mut().check_wanted();
        wanted.map_err(|source| failed(source.into()))?;
        let sender = self.state.account(transaction.caller);
        let sender = sender.map_err(|source| failed(source.into()))?;
        transaction.nonce = sender.unwrap_or_default().nonce;
        let evm = &mut self.worker.evm;
        let fork = evm.fork();
        let recorded = InspectorPair::recording(record.frames, record.touched);
        let mut inspectors = InspectorPair(recorded, inspector);
        let mut engine = OurEvm::new(
            evm,
            fork,
            LookBack::new(&mut self.state, &[]),
            record.transitions || record.touched,
            StateMemory::default(),
        );
        let inspector = (!inspectors.is_empty()).then_some(&mut inspectors as &mut dyn Inspector);
        let outcome = match engine.transaction(block, &transaction, inspector) {
            Ok(outcome) => outcome,
            Err(Failure::Refused(refusal)) => return Ok(Err(refusal)),
            Err(Failure::State(source)) => return Err(failed(source)),
        };
        let mut replay = TransactionReplay {
            block: block.number,
            fork,
            index: 0,
            hash: B256::ZERO,
            transaction,
            outcome,
            first_log: 0,
            frames: None,
            transitions: engine.transitions().map_err(failed)?,
            touched: None,
            balances: None,
            without_overrides: None,
        };
        if let Some(recorded) = &mut inspectors.0 {
            recorded.check_complete(block.number)?;
            let transitions = std::mem::take(&mut replay.transitions);
            let taken = recorded.take(&mut replay, block, &transitions, &mut engine);
            taken.map_err(failed)?;
            replay.transitions = transitions;
        }
        Ok(Ok(replay))
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
