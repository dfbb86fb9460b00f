//! Random blocks of every fork from Frontier to Osaka, executed by both engines. Contracts call,
//! create and destroy each other, over several blocks.
//!
//! `TXGRAPH_REPLAY_CASES` sets how many transactions (two of each case), `TXGRAPH_REPLAY_SEED` where to begin.

use super::{BlockEvm, Both, RevmCodes};
use crate::{
    BlockRules, Genesis, StateError, StoredBlock, StoredTransaction,
    block::testing::header,
    engine::{Engine, OurEvm},
    execution::{self, BlockObserver, ExecutedTransaction, ExecutionEnd},
};
use alloy_primitives::{Address, B256, U256, keccak256};
use std::{
    collections::BTreeMap,
    ops::{AddAssign, ControlFlow},
};
use txgraph_evm::{
    BlobSchedule, Evm, Fork, Inspector, MemoryState, State, StateMemory, Transaction,
};
use txgraph_nodedb::{Header, Withdrawal};
use txgraph_revm_peer::case::{CHAIN_ID, Case, case};
use txgraph_testkit::fixtures;

/// Blocks on each initial state.
const BLOCKS: usize = 4;
/// Cases in a block, with two transactions each.
const CASES: usize = 4;

/// The system contracts, from the genesis of a chain.
fn protocol() -> MemoryState {
    let [fixture, _] = fixtures::committed();
    let Genesis { mut state, .. } = Genesis::parse(&fixture.genesis.to_string()).unwrap();
    state
        .accounts
        .retain(|_, account| state.codes.contains_key(&account.code_hash));
    state.block_hashes = (0..400)
        .map(|number: u64| (number, keccak256(number.to_be_bytes())))
        .collect();
    state
}

/// The initial state of a case, with the system contracts.
fn world(case: &Case, protocol: &MemoryState) -> MemoryState {
    let mut state = protocol.clone();
    state.accounts.extend(&case.state.accounts);
    state.storage.extend(case.state.storage.clone());
    state.codes.extend(case.state.codes.clone());
    state
}

fn block_header(case: &Case, number: u64) -> Header {
    let fork = case.fork;
    let since = |first: Fork| fork >= first;
    let Header { fields, hash } = header(number, 0xbe);
    let fields = alloy_consensus::Header {
        timestamp: case.block.timestamp + number,
        gas_limit: case.block.gas_limit,
        base_fee_per_gas: since(Fork::London).then_some(7),
        mix_hash: case.block.prevrandao,
        difficulty: match since(Fork::Paris) {
            true => U256::ZERO,
            false => case.block.difficulty,
        },
        excess_blob_gas: since(Fork::Cancun).then_some(0),
        parent_beacon_block_root: since(Fork::Cancun).then_some(B256::repeat_byte(0xbb)),
        parent_hash: keccak256((number - 1).to_be_bytes()),
        ..fields
    };
    Header { fields, hash }
}

/// Assigns nonces, and removes transactions that may not be executed.
fn executable(
    evm: &mut Evm,
    block: &txgraph_evm::Block,
    state: &MemoryState,
    wanted: Vec<Transaction>,
) -> Vec<StoredTransaction> {
    let mut state = State::new(state.clone());
    let mut kept = Vec::new();
    for mut transaction in wanted {
        let sender = state
            .account(transaction.caller)
            .unwrap()
            .unwrap_or_default();
        transaction.nonce = sender.nonce;
        if evm
            .execute_transaction(&mut state, block, &transaction)
            .is_ok()
        {
            kept.push(StoredTransaction {
                hash: B256::ZERO,
                transaction,
            });
        }
    }
    kept
}

/// Collects the disagreements of the engines.
#[derive(Default)]
struct Judge {
    divergences: Vec<String>,
    executed: usize,
    failed: usize,
    logs: usize,
}

impl BlockObserver for Judge {
    fn inspector(&mut self, _: u32) -> Option<&mut dyn Inspector> {
        None
    }

    fn executed(
        &mut self,
        transaction: ExecutedTransaction,
        _: &mut dyn Engine,
    ) -> Result<ControlFlow<()>, StateError> {
        self.executed += 1;
        self.failed += usize::from(!transaction.outcome.is_success());
        self.logs += transaction.outcome.logs.len();
        let place = |what: String| format!("transaction {}: {what}", transaction.index);
        self.divergences.extend(transaction.divergence.map(place));
        Ok(ControlFlow::Continue(()))
    }
}

/// Counts of a comparison.
#[derive(Debug, Default)]
struct Compared {
    transactions: usize,
    failed: usize,
    logs: usize,
}

impl AddAssign for Compared {
    fn add_assign(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.failed += other.failed;
        self.logs += other.logs;
    }
}

/// Executes blocks on the initial state of the first case, with the transactions of all cases.
fn compare(cases: &[Case], protocol: &MemoryState, evm: &mut Evm) -> Compared {
    let first = &cases[0];
    let fork = first.fork;
    let rules = BlockRules {
        fork,
        blobs: BlobSchedule::of(fork),
        moves_dao: false,
        deposit_contract: Address::repeat_byte(0xdd),
    };
    evm.set_fork(fork);
    let codes = RevmCodes::default();
    let mut state = world(first, protocol);
    let mut sum = Compared::default();
    for (number, cases) in (300..).zip(cases.chunks(CASES)) {
        let mut block = StoredBlock {
            header: block_header(first, number),
            transactions: Vec::new(),
            ommers: match fork < Fork::Paris {
                true => vec![header(number - 2, 0xc1)],
                false => Vec::new(),
            },
            withdrawals: match fork >= Fork::Shanghai {
                true => vec![withdrawal(0xc0), withdrawal(0x77)],
                false => Vec::new(),
            },
            receipts: None,
        };
        let environment = block.environment(&rules);
        let wanted = cases.iter().flat_map(|case| case.transactions.clone());
        block.transactions = executable(evm, &environment, &state, wanted.collect());

        let own = OurEvm::new(evm, fork, state.clone(), false, StateMemory::default());
        let peer = BlockEvm::new(&codes, fork, CHAIN_ID, &environment, state.clone());
        let mut engine = Both::new(own, peer);
        let mut judge = Judge::default();
        let end = execution::execute(&mut engine, &rules, &block, &mut judge).unwrap();
        let what = format!("{fork}, block {number}");
        // System calls may have changed a nonce.
        let is_whole = matches!(
            end,
            ExecutionEnd::Complete(Ok(_)) | ExecutionEnd::Refused(..)
        );
        assert!(is_whole, "{what}: {end:?}");
        let changes = engine.changes();
        judge.divergences.extend(engine.divergence());
        assert_eq!(
            judge.divergences,
            [] as [String; 0],
            "{what}\n{:#?}",
            block.transactions
        );
        state.apply(&changes);
        sum.transactions += judge.executed;
        sum.failed += judge.failed;
        sum.logs += judge.logs;
    }
    sum
}

fn withdrawal(to: u8) -> Withdrawal {
    Withdrawal {
        index: 0,
        validator_index: 0,
        address: Address::with_last_byte(to),
        amount: 3,
    }
}

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(value) => value.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

#[test]
fn random_blocks_of_every_fork() {
    let first = number("TXGRAPH_REPLAY_SEED", 0);
    let count = number("TXGRAPH_REPLAY_CASES", 1_200);
    let protocol = protocol();
    let mut by_fork: BTreeMap<Fork, Vec<Case>> = BTreeMap::new();
    for case in (first..first + count).map(case) {
        by_fork.entry(case.fork).or_default().push(case);
    }
    let mut evm = Evm::new(Fork::Frontier, CHAIN_ID);
    let mut all = Compared::default();
    for cases in by_fork
        .values()
        .flat_map(|cases| cases.chunks(BLOCKS * CASES))
    {
        all += compare(cases, &protocol, &mut evm);
    }
    if count >= 1_200 {
        assert_eq!(by_fork.len(), 14, "every fork but Constantinople");
        assert!(all.transactions > 2_200 && all.logs > 50, "{all:?}");
        assert!(all.failed < all.transactions, "{all:?}");
    }
}
