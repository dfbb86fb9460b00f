//! Executes a stored block: the system operations around its transactions
//! ([`txgraph_block::BlockSteps`]) and the transactions themselves, each reported to a
//! [`BlockObserver`].

use crate::{
    BlockRules, Refusal, StoredBlock,
    engine::{Engine, Failure},
    error::StateError,
};
use alloy_primitives::{Address, Bytes, U256};
use std::ops::ControlFlow;
use txgraph_block::{BlockRequests, BlockSteps, Deposits, Executor};
use txgraph_evm::{Block, Fork, Inspector, Outcome, Transaction, Transition};

/// Receives the transactions of a block while it is executed.
pub(crate) trait BlockObserver {
    /// Called before each transaction, with `engine` in the state that it starts from. Returns
    /// the transaction to execute instead, if it is another one.
    fn before(
        &mut self,
        _index: u32,
        _engine: &mut dyn Engine,
    ) -> Result<Option<Transaction>, StateError> {
        Ok(None)
    }

    /// The inspector for a transaction; without one, execution runs at full speed.
    fn inspector(&mut self, index: u32) -> Option<&mut dyn Inspector>;

    /// Called after each transaction, with `engine` in the state that the transaction left.
    /// A break ends the execution of the block.
    fn executed(
        &mut self,
        transaction: ExecutedTransaction,
        engine: &mut dyn Engine,
    ) -> Result<ControlFlow<()>, StateError>;
}

/// The result of one transaction of a block.
#[derive(Debug)]
pub(crate) struct ExecutedTransaction {
    /// Index in the block.
    pub(crate) index: u32,
    pub(crate) outcome: Outcome,
    /// The changes by the transaction, if the engine records them.
    pub(crate) transitions: Vec<Transition>,
    /// The first disagreement of two engines about it.
    pub(crate) divergence: Option<String>,
}

/// The state could not be read.
#[derive(Debug)]
pub(crate) struct StateFailure {
    /// The index of the transaction that read it.
    pub(crate) transaction: Option<u32>,
    pub(crate) source: StateError,
}

impl StateFailure {
    fn of_block(source: StateError) -> Self {
        Self {
            transaction: None,
            source,
        }
    }

    fn of_transaction(index: u32) -> impl Fn(StateError) -> Self {
        move |source| Self {
            transaction: Some(index),
            source,
        }
    }
}

/// How the execution of a block ended.
#[derive(Debug)]
pub(crate) enum ExecutionEnd {
    /// After the last system operation; from Prague on with the requests of the block.
    Complete(BlockRequests),
    /// The observer stopped it.
    Stopped,
    /// At a transaction (by index) that may not be executed.
    Refused(u32, Refusal),
}

/// Executes a block.
pub(crate) fn execute(
    engine: &mut impl Engine,
    rules: &BlockRules,
    stored: &StoredBlock,
    observer: &mut dyn BlockObserver,
) -> Result<ExecutionEnd, StateFailure> {
    let block = stored.environment(rules);
    let steps = steps(rules, stored, &block);
    (steps.before(&mut EngineExecutor(engine, rules.fork))).map_err(StateFailure::of_block)?;
    engine.end_step();
    let mut deposits = Deposits::new(rules.deposit_contract);
    for (index, stored) in (0..).zip(&stored.transactions) {
        let failed = StateFailure::of_transaction(index);
        let changed = observer.before(index, engine).map_err(&failed)?;
        let transaction = changed.as_ref().unwrap_or(&stored.transaction);
        let inspector = observer.inspector(index);
        let outcome = match engine.transaction(&block, transaction, inspector) {
            Ok(outcome) => outcome,
            Err(Failure::Refused(refusal)) => return Ok(ExecutionEnd::Refused(index, refusal)),
            Err(Failure::State(error)) => return Err(failed(error)),
        };
        if rules.fork >= Fork::Prague {
            deposits.collect(&outcome.logs);
        }
        engine.end_step();
        let transitions = engine.transitions().map_err(&failed)?;
        let transaction = ExecutedTransaction {
            index,
            outcome,
            transitions,
            divergence: engine.divergence(),
        };
        if (observer.executed(transaction, engine))
            .map_err(&failed)?
            .is_break()
        {
            return Ok(ExecutionEnd::Stopped);
        }
    }
    let requests = steps.after(&mut EngineExecutor(engine, rules.fork), deposits);
    engine.end_step();
    (requests.map(ExecutionEnd::Complete)).map_err(StateFailure::of_block)
}

fn steps<'a>(rules: &'a BlockRules, stored: &StoredBlock, block: &'a Block) -> BlockSteps<'a> {
    let ommers = stored.ommers.iter();
    let withdrawals = stored.withdrawals.iter();
    BlockSteps {
        rules,
        block,
        parent_hash: stored.header.parent_hash,
        parent_beacon_block_root: stored.header.parent_beacon_block_root,
        ommers: ommers.map(|it| (it.number, it.beneficiary)).collect(),
        withdrawals: withdrawals.map(|it| (it.address, it.amount)).collect(),
    }
}

/// Adapts an engine to the system operations of a block.
struct EngineExecutor<'a, E>(&'a mut E, Fork);

impl<E: Engine> Executor for EngineExecutor<'_, E> {
    type Error = StateError;

    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Option<Outcome>, StateError> {
        let has_code = self.0.has_code(contract)?;
        // A call without code does nothing, but belongs to the access list (EIP-7928).
        if !has_code && self.1 < Fork::Amsterdam {
            return Ok(None);
        }
        match self.0.system_call(block, contract, input) {
            Ok(outcome) => Ok(has_code.then_some(outcome)),
            Err(Failure::State(error)) => Err(error),
            // A system call has no sender, nonce or fee that could be invalid.
            Err(Failure::Refused(_)) => Ok(None),
        }
    }

    fn increase_balance(&mut self, address: Address, amount: U256) -> Result<(), StateError> {
        self.0.increase_balance(address, amount)
    }

    fn drain_balance(&mut self, address: Address) -> Result<U256, StateError> {
        self.0.drain_balance(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{block::testing::header, engine::OurEvm};
    use txgraph_block::dao;
    use txgraph_evm::{BlobSchedule, Evm, MemoryState, StateMemory};
    use txgraph_nodedb::{Header, Withdrawal};

    struct NoObserver;

    impl BlockObserver for NoObserver {
        fn inspector(&mut self, _: u32) -> Option<&mut dyn Inspector> {
            None
        }

        fn executed(
            &mut self,
            _: ExecutedTransaction,
            _: &mut dyn Engine,
        ) -> Result<ControlFlow<()>, StateError> {
            Ok(ControlFlow::Continue(()))
        }
    }

    /// Executes an empty block 10 of `fork` and returns the balances after it.
    fn balances(
        fork: Fork,
        moves_dao: bool,
        ommers: Vec<Header>,
        state: MemoryState,
    ) -> impl Fn(Address) -> u128 {
        let rules = BlockRules {
            fork,
            blobs: BlobSchedule::CANCUN,
            moves_dao,
            deposit_contract: Address::ZERO,
        };
        let block = StoredBlock {
            header: header(10, 0xaa),
            transactions: Vec::new(),
            ommers,
            withdrawals: vec![Withdrawal {
                index: 0,
                validator_index: 0,
                address: Address::repeat_byte(0xcc),
                amount: 3,
            }],
            receipts: None,
        };
        let mut evm = Evm::new(fork, 1);
        let mut engine = OurEvm::new(&mut evm, fork, state, false, StateMemory::default());
        let end = execute(&mut engine, &rules, &block, &mut NoObserver).unwrap();
        assert!(matches!(end, ExecutionEnd::Complete(Ok(_))));
        let changes = engine.changes();
        move |address| {
            let change = changes.iter().find(|change| change.address == address);
            let account = change.and_then(|change| change.present);
            account.map_or(0, |account| account.balance.to())
        }
    }

    const fn finney(amount: u128) -> u128 {
        amount * 1_000_000_000_000_000
    }

    #[test]
    fn pays_block_and_ommer_rewards_until_the_merge() {
        for (fork, ether) in [
            (Fork::Frontier, 5),
            (Fork::SpuriousDragon, 5),
            (Fork::Byzantium, 3),
            (Fork::Petersburg, 2),
            (Fork::London, 2),
            (Fork::Paris, 0),
        ] {
            // Ommers one and six generations back.
            let ommers = vec![header(9, 0xbb), header(4, 0xdd)];
            let of = balances(fork, false, ommers, MemoryState::default());
            let reward = finney(1000 * ether);
            assert_eq!(
                of(Address::repeat_byte(0xaa)),
                reward + reward / 32 * 2,
                "{fork}"
            );
            assert_eq!(of(Address::repeat_byte(0xbb)), reward * 7 / 8, "{fork}");
            assert_eq!(of(Address::repeat_byte(0xdd)), reward * 2 / 8, "{fork}");
            assert_eq!(of(Address::repeat_byte(0xcc)), 3_000_000_000, "{fork}");
        }
    }

    #[test]
    fn beneficiary_may_also_be_an_ommer() {
        let of = balances(
            Fork::Byzantium,
            false,
            vec![header(8, 0xaa)],
            MemoryState::default(),
        );
        let expected = finney(3000) + finney(3000) / 32 + finney(3000) * 6 / 8;
        assert_eq!(of(Address::repeat_byte(0xaa)), expected);
    }

    #[test]
    fn moves_dao_balances_in_the_fork_block_only() {
        let mut state = MemoryState::default();
        for (n, address) in (1u64..).zip(dao::drained()) {
            state.insert(address, U256::from(n), 1, Bytes::new());
        }
        state.insert(dao::REFUND, U256::from(5), 1, Bytes::new());
        let of = balances(Fork::Homestead, true, Vec::new(), state.clone());
        assert_eq!(of(dao::REFUND), 5 + 116 * 117 / 2);
        assert_eq!(of(dao::drained().nth(7).unwrap()), 0);
        let of = balances(Fork::Homestead, false, Vec::new(), state);
        assert_eq!(of(dao::REFUND), 0, "state unchanged");
    }
}
