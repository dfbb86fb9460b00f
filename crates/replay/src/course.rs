//! The course of a stored block: its transactions, watched by an audience, within what
//! is done before and after them ([`txgraph_block::BlockSteps`]).

use crate::{
    BlockRules, Refusal, StoredBlock,
    engine::{Engine, Failure},
    error::StateError,
};
use alloy_primitives::{Address, Bytes, U256};
use std::ops::ControlFlow;
use txgraph_block::{BlockRequests, BlockSteps, Deposits, Executor};
use txgraph_evm::{Block, Fork, Inspector, Outcome, Transition};

/// Who looks on while a block is executed.
pub(crate) trait Audience {
    /// Watches a transaction; without it, execution runs at full speed.
    fn inspector(&mut self, index: u32) -> Option<&mut dyn Inspector>;

    /// A transaction is done. To break ends the block's course.
    /// `engine` may be asked, and finds the state as the transaction left it.
    fn done(&mut self, done: Done, engine: &mut dyn Engine) -> Result<ControlFlow<()>, StateError>;
}

/// A transaction that was executed.
#[derive(Debug)]
pub(crate) struct Done {
    /// In the block.
    pub(crate) index: u32,
    /// Of the transaction.
    pub(crate) outcome: Outcome,
    /// What it did, if the engine keeps that.
    pub(crate) transitions: Vec<Transition>,
    /// Where two engines disagreed about it.
    pub(crate) divergence: Option<String>,
}

/// How a block's course ended.
#[derive(Debug)]
pub(crate) enum End {
    /// After everything that belongs to a block. Since Prague with its requests.
    Complete(BlockRequests),
    /// The audience had seen enough.
    Broken,
    /// A transaction that may not be executed.
    Refused(u32, Refusal),
}

/// Executes a block.
pub(crate) fn execute(
    engine: &mut impl Engine,
    rules: &BlockRules,
    stored: &StoredBlock,
    audience: &mut dyn Audience,
) -> Result<End, StateError> {
    let block = stored.environment(rules);
    let course = course(rules, stored, &block);
    course.before(&mut Around(engine))?;
    let mut deposits = Deposits::new(rules.deposit_contract);
    for (index, stored) in (0..).zip(&stored.transactions) {
        let inspector = audience.inspector(index);
        let outcome = match engine.transaction(&block, &stored.transaction, inspector) {
            Ok(outcome) => outcome,
            Err(Failure::Refused(refusal)) => return Ok(End::Refused(index, refusal)),
            Err(Failure::State(error)) => return Err(error),
        };
        if rules.fork >= Fork::Prague {
            deposits.collect(&outcome.logs);
        }
        let transitions = engine.transitions()?;
        let done = Done {
            index,
            outcome,
            transitions,
            divergence: engine.divergence(),
        };
        if audience.done(done, engine)?.is_break() {
            return Ok(End::Broken);
        }
    }
    let requested = course.after(&mut Around(engine), deposits);
    requested.map(End::Complete)
}

fn course<'a>(rules: &'a BlockRules, stored: &StoredBlock, block: &'a Block) -> BlockSteps<'a> {
    let ommers = stored.ommers.iter();
    let withdrawals = stored.withdrawals.iter();
    BlockSteps {
        rules,
        block,
        parent_hash: stored.header.parent_hash,
        parent_beacon_block_root: stored.header.parent_beacon_block_root,
        ommers: ommers.map(|it| (it.number, it.beneficiary)).collect(),
        withdrawals: withdrawals.map(|it| (it.address, it.amount_gwei)).collect(),
    }
}

/// An engine as the course of a block sees it.
struct Around<'a, E>(&'a mut E);

impl<E: Engine> Executor for Around<'_, E> {
    type Error = StateError;

    fn system_call(
        &mut self,
        block: &Block,
        contract: Address,
        input: Bytes,
    ) -> Result<Option<Outcome>, StateError> {
        if !self.0.has_code(contract)? {
            return Ok(None);
        }
        match self.0.system_call(block, contract, input) {
            Ok(outcome) => Ok(Some(outcome)),
            Err(Failure::State(error)) => Err(error),
            // A call of the protocol has nothing that could be refused.
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
    use crate::{block::testing::header, engine::Own};
    use txgraph_block::dao;
    use txgraph_evm::{BlobSchedule, Evm, MemoryState};
    use txgraph_nodedb::{Header, Withdrawal};

    struct Nobody;

    impl Audience for Nobody {
        fn inspector(&mut self, _: u32) -> Option<&mut dyn Inspector> {
            None
        }

        fn done(&mut self, _: Done, _: &mut dyn Engine) -> Result<ControlFlow<()>, StateError> {
            Ok(ControlFlow::Continue(()))
        }
    }

    /// An empty block 10 of `fork`, and the balances after it.
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
                amount_gwei: 3,
            }],
            receipts: None,
        };
        let mut evm = Evm::new(fork, 1);
        let mut engine = Own::new(&mut evm, fork, state, false);
        let end = execute(&mut engine, &rules, &block, &mut Nobody).unwrap();
        assert!(matches!(end, End::Complete(Ok(_))));
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
    fn blocks_and_ommers_are_paid_until_the_merge() {
        for (fork, ether) in [
            (Fork::Frontier, 5),
            (Fork::SpuriousDragon, 5),
            (Fork::Byzantium, 3),
            (Fork::Petersburg, 2),
            (Fork::London, 2),
            (Fork::Paris, 0),
        ] {
            // One generation back, and six.
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
    fn the_finder_may_be_an_ommer_too() {
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
    fn the_daos_wei_move_once() {
        let mut state = MemoryState::default();
        for (n, address) in (1u64..).zip(dao::DRAINED) {
            state.insert(address, U256::from(n), 1, Bytes::new());
        }
        state.insert(dao::REFUND, U256::from(5), 1, Bytes::new());
        let of = balances(Fork::Homestead, true, Vec::new(), state.clone());
        assert_eq!(of(dao::REFUND), 5 + 116 * 117 / 2);
        assert_eq!(of(dao::DRAINED[7]), 0);
        let of = balances(Fork::Homestead, false, Vec::new(), state);
        assert_eq!(of(dao::REFUND), 0, "not changed");
    }
}
