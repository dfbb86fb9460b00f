//! The course of a block: what is done before, between and after its transactions
//! (the execution specification's `apply_body`).

use crate::{
    BlockRules, Refusal, StoredBlock, dao,
    engine::{Engine, Failure},
    error::StateError,
    requests,
};
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS, eip7685::Requests,
};
use alloy_primitives::{Address, U256};
use std::ops::ControlFlow;
use txgraph_evm::{Block, Fork, Inspector, Outcome, Transition};

/// Wei in a Gwei.
const GWEI: u64 = 1_000_000_000;
/// Wei in an ether.
const ETHER: u64 = 1_000_000_000_000_000_000;

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

/// The requests of a block; none before Prague.
pub(crate) type Requested = Result<Option<Requests>, RequestFault>;

/// How a block's course ended.
#[derive(Debug)]
pub(crate) enum End {
    /// After everything that belongs to a block. Since Prague with its requests.
    Complete(Requested),
    /// The audience had seen enough.
    Broken,
    /// A transaction that may not be executed.
    Refused(u32, Refusal),
}

/// Why a block has no requests though it should (EIP-7685): no node accepts such a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// The call failed.
    #[error("contract {0} of the protocol failed")]
    Failed(Address),
    /// A log of the deposit contract has another form than EIP-6110 says.
    #[error("a deposit log is malformed")]
    Deposit,
}

/// Executes a block.
pub(crate) fn execute(
    engine: &mut impl Engine,
    rules: &BlockRules,
    stored: &StoredBlock,
    audience: &mut dyn Audience,
) -> Result<End, StateError> {
    let block = stored.environment(rules);
    before(engine, rules, stored, &block)?;
    let mut deposits = requests::Deposits::new(rules.deposit_contract);
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
    after(engine, rules, stored, &block, deposits).map(End::Complete)
}

fn before(
    engine: &mut impl Engine,
    rules: &BlockRules,
    stored: &StoredBlock,
    block: &Block,
) -> Result<(), StateError> {
    if rules.moves_dao {
        for address in dao::DRAINED {
            let amount = engine.drain_balance(address)?;
            engine.increase_balance(dao::REFUND, amount)?;
        }
    }
    // What becomes of these two calls does not matter to the block.
    if let Some(root) = stored.header.parent_beacon_block_root
        && rules.fork >= Fork::Cancun
    {
        call(engine, block, BEACON_ROOTS_ADDRESS, root.into())?;
    }
    if rules.fork >= Fork::Prague {
        let parent = stored.header.parent_hash;
        call(engine, block, HISTORY_STORAGE_ADDRESS, parent.into())?;
    }
    Ok(())
}

fn call(
    engine: &mut impl Engine,
    block: &Block,
    contract: Address,
    input: alloy_primitives::Bytes,
) -> Result<Option<Outcome>, StateError> {
    if !engine.has_code(contract)? {
        return Ok(None);
    }
    match engine.system_call(block, contract, input) {
        Ok(outcome) => Ok(Some(outcome)),
        Err(Failure::State(error)) => Err(error),
        // A call of the protocol has nothing that could be refused.
        Err(Failure::Refused(_)) => Ok(None),
    }
}

fn after(
    engine: &mut impl Engine,
    rules: &BlockRules,
    stored: &StoredBlock,
    block: &Block,
    deposits: requests::Deposits,
) -> Result<Requested, StateError> {
    reward(engine, rules.fork, stored)?;
    for withdrawal in &stored.withdrawals {
        let amount = U256::from(withdrawal.amount_gwei) * U256::from(GWEI);
        engine.increase_balance(withdrawal.address, amount)?;
    }
    if rules.fork < Fork::Prague {
        return Ok(Ok(None));
    }
    let mut outputs = Vec::new();
    for (kind, contract) in requests::CONTRACTS {
        // EIP-7002 and 7251 call a block without the contract invalid; development chains
        // have none, and their node does not mind.
        let Some(outcome) = call(engine, block, contract, Default::default())? else {
            continue;
        };
        if !outcome.is_success() {
            return Ok(Err(RequestFault::Failed(contract)));
        }
        outputs.push((kind, outcome.output));
    }
    Ok(deposits.requests(outputs).map(Some))
}

/// Pays whoever found the block, and its ommers, until the merge.
fn reward(engine: &mut impl Engine, fork: Fork, stored: &StoredBlock) -> Result<(), StateError> {
    let ether = match fork {
        fork if fork >= Fork::Paris => return Ok(()),
        fork if fork >= Fork::Constantinople => 2,
        fork if fork >= Fork::Byzantium => 3,
        _ => 5,
    };
    let base = U256::from(ether * u128::from(ETHER));
    let number = stored.header.number;
    for ommer in &stored.ommers {
        // At most six blocks back, or the block was not valid.
        let age = number.saturating_sub(ommer.number).min(8);
        let share = base * U256::from(8 - age) / U256::from(8);
        engine.increase_balance(ommer.beneficiary, share)?;
    }
    let for_ommers = base / U256::from(32) * U256::from(stored.ommers.len());
    engine.increase_balance(stored.header.beneficiary, base + for_ommers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{block::testing::header, engine::Own};
    use alloy_primitives::Bytes;
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
