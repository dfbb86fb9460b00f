//! Replays the newest blocks of a chain while another process mines it, with all comparisons, and
//! compares states with the answers of that process.
//!
//! Runs for a few seconds by default; `TXGRAPH_SOAK_SECONDS=1200` sets twenty minutes for each
//! test.

use crate::support::database;
use alloy_primitives::{B256, KECCAK256_EMPTY};
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};
use txgraph_chaingen::Draw;
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{MASKING_BLOCKS, Memory, Miner, MinerPlan, Plan};
use txgraph_nodedb::{BlockRange, NodeDb};
use txgraph_replay::{ChainRules, Error, NewestReplay, ReplayOptions, Replayer};
use txgraph_state::{History, StateDb, StateOptions};
use txgraph_work::Threads;

/// The default duration of each test in seconds.
const SECONDS: u64 = 4;
/// Blocks of a pass that were replayed before; a pass also replays all newer ones.
const AGAIN: u64 = 6;
/// The most blocks of a pass.
const PASS_BLOCKS_MAX: u64 = 64;
/// Blocks below the tip whose states are compared.
const STATES_BACK: u64 = 80;
/// Blocks whose states are compared in a pass.
const STATES_PER_PASS: u64 = 5;
/// The longest time without a new block.
const STALL: Duration = Duration::from_secs(30);

/// The process of the mining node.
#[test]
fn miner() {
    txgraph_chaingen::execgen::mine_if_asked();
}

#[test]
fn follows_mining_node_of_layout_v1() {
    soak(plan(31, Layout::V1), History::Index);
}

#[test]
fn follows_mining_node_of_layout_v1_by_change_sets() {
    soak(plan(32, Layout::V1), History::Walk);
}

#[test]
fn follows_mining_node_of_layout_v2() {
    soak(plan(33, Layout::V2), History::Walk);
}

/// Partial persistence, with the defaults of reth.
#[test]
fn follows_masking_node_of_layout_v2() {
    let mut plan = plan(34, Layout::V2);
    plan.chain.memory = Memory::RETH;
    plan.chain.storage.masking_blocks = MASKING_BLOCKS;
    // The blocks of state are 35 to 80 blocks below the newest.
    plan.reorg_blocks = (1, 90);
    plan.blocks_at_start = 120;
    plan.commit_blocks_max = 12;
    soak(plan, History::Walk);
}

/// The same in layout v1, where plain state is not behind the blocks.
#[test]
fn follows_masking_node_of_layout_v1() {
    soak(often_writing(35, Layout::V1), History::Index);
}

/// Commits and reorganizations on disk follow each other quickly.
#[test]
fn follows_masking_node_that_writes_often() {
    soak(often_writing(36, Layout::V2), History::Walk);
}

fn plan(seed: u64, layout: Layout) -> MinerPlan {
    let mut chain = Plan::new(seed, layout, 2_000_000);
    chain.storage.blocks_per_file = 100;
    chain.answers_per_block = 8;
    MinerPlan {
        chain,
        blocks_at_start: 50,
        commit_blocks_max: 3,
        step_ms: Some(120),
        reorgs_permille: 60,
        reorg_blocks: (1, 24),
        flushes_permille: 0,
    }
}

fn often_writing(seed: u64, layout: Layout) -> MinerPlan {
    let mut plan = plan(seed, layout);
    plan.chain.gas_per_block = 1_000_000;
    plan.chain.memory = Memory {
        threshold: 9,
        buffer: 2,
    };
    plan.chain.storage.masking_blocks = 6;
    plan.commit_blocks_max = 5;
    plan.step_ms = Some(80);
    plan.flushes_permille = 30;
    plan
}

/// The blocks that were replayed while the chain grew.
#[derive(Debug, Default)]
struct Seen {
    passes: u64,
    replayed: u64,
    transactions: u64,
    gas: u64,
    /// Accounts and slots that were compared.
    answers: u64,
    /// Answers after blocks that were stored without their state.
    answers_behind: u64,
    /// Passes that ended with the error for a reorganization.
    retries: u64,
    /// Blocks that a pass found replaced by another branch.
    replaced: u64,
    /// The hash of the last replay of each block, by number.
    hashes: BTreeMap<u64, B256>,
    longest_wait: Duration,
}

impl Seen {
    fn newest(&self) -> u64 {
        self.hashes
            .last_key_value()
            .map_or(0, |(number, _)| *number)
    }

    /// Records a replayed block; returns whether it is new.
    fn note(&mut self, number: u64, hash: B256) -> bool {
        let before = self.hashes.insert(number, hash);
        self.replaced += u64::from(before.is_some_and(|before| before != hash));
        before != Some(hash)
    }
}

fn seconds() -> u64 {
    match std::env::var("TXGRAPH_SOAK_SECONDS") {
        Ok(seconds) => seconds.parse().unwrap(),
        Err(_) => SECONDS,
    }
}

#[expect(clippy::print_stdout, reason = "a long run prints its counts")]
fn soak(plan: MinerPlan, history: History) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let layout = plan.chain.storage.layout;
    let is_behind = plan.chain.storage.masking_blocks > 0 && layout == Layout::V2;
    let mut miner = Miner::start("soak::miner", &folder, plan).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let options = StateOptions {
        history,
        ..StateOptions::default()
    };
    let newest = Arc::new(NewestReplay::new(rules.clone()));
    let state = StateDb::new(Arc::clone(&db), options).with_newest(newest);
    let mut draw = Draw::new(plan.chain.seed, "soak", &[]);
    let mut seen = Seen::default();
    let begun = Instant::now();
    let (mut last_new, time) = (begun, Duration::from_secs(seconds()));
    let tolerate = |seen: &mut Seen, error: Error| {
        assert!(is_of_a_reorganization(&error), "{error}");
        seen.retries += 1;
    };
    let mut follow = |seen: &mut Seen, miner: &Miner| {
        let is_new = pass(&db, &state, &rules, seen);
        let compared = compare_states(&state, miner, &mut draw, seen);
        compared.unwrap_or_else(|error| tolerate(seen, error));
        is_new.unwrap_or_else(|error| {
            tolerate(seen, error);
            false
        })
    };
    let has_enough = |seen: &Seen| {
        let is_compared = seen.answers > 0 && (seen.answers_behind > 0 || !is_behind);
        is_compared && seen.passes > 2 && seen.newest() > plan.blocks_at_start
    };
    while begun.elapsed() < time || !has_enough(&seen) {
        if follow(&mut seen, &miner) {
            seen.longest_wait = seen.longest_wait.max(last_new.elapsed());
            last_new = Instant::now();
        }
        assert!(last_new.elapsed() < STALL, "no new block was replayed");
        miner.progress().unwrap();
    }
    // The miner has stopped: replay the rest of the chain.
    let mined = miner.stop().unwrap();
    while common(&db, &mut seen).unwrap() != (mined.tip.number, mined.tip.number) {
        assert!(
            follow(&mut seen, &miner),
            "no new block, but not at the tip"
        );
    }
    let lowest = mined.tip.number.saturating_sub(STATES_BACK);
    compare_states_of(&state, &miner, lowest, mined.tip.number, &mut seen).unwrap();
    println!(
        "{layout:?}, {history:?}, masking {}: {} s; {} mined, {} reorganizations ({} on disk, {} \
         below the block of state) took back {}; tip {}, state {}; {} passes replayed {} blocks, \
         {} transactions, {:.1} Ggas; {} answers equal, {} of them after blocks without state; \
         {} retries, {} replaced blocks seen; longest wait for a new block {:.2} s",
        plan.chain.storage.masking_blocks,
        begun.elapsed().as_secs(),
        mined.mined,
        mined.reorgs,
        mined.reorgs_on_disk,
        mined.reorgs_below_state,
        mined.taken_back,
        mined.tip.number,
        mined.state,
        seen.passes,
        seen.replayed,
        seen.transactions,
        seen.gas as f64 / 1e9,
        seen.answers,
        seen.answers_behind,
        seen.retries,
        seen.replaced,
        seen.longest_wait.as_secs_f64(),
    );
    // Every block of the canonical branch was replayed.
    let snapshot = db.snapshot().unwrap();
    assert_eq!(seen.hashes.len() as u64, mined.tip.number);
    for (number, hash) in &seen.hashes {
        assert_eq!(snapshot.block_hash(*number).unwrap(), *hash, "{number}");
    }
    assert_eq!(seen.hashes.get(&mined.tip.number), Some(&mined.tip.hash));
    assert!(mined.reorgs > 0 || (seen.retries, seen.replaced) == (0, 0));
    assert!(mined.mined > plan.blocks_at_start && seen.passes > 2);
    assert!(seen.newest() > plan.blocks_at_start);
}

/// Whether a reorganization caused the error; no other errors are allowed.
fn is_of_a_reorganization(error: &Error) -> bool {
    let is_gone = match error {
        Error::NodeDb(error) => error.is_missing(),
        Error::State { source, .. } | Error::Changes { source, .. } => source
            .downcast_ref::<txgraph_state::Error>()
            .is_some_and(txgraph_state::Error::is_missing),
        _ => false,
    };
    is_gone || error.is_stale()
}

/// Returns the tip and the newest replayed block that is still canonical. Removes the replayed
/// blocks of abandoned branches.
fn common(db: &NodeDb, seen: &mut Seen) -> Result<(u64, u64), Error> {
    let snapshot = db.snapshot()?;
    let tip = snapshot.tip();
    while let Some((number, hash)) = seen.hashes.last_key_value() {
        if *number <= tip && snapshot.block_hash(*number)? == *hash {
            break;
        }
        seen.hashes.pop_last();
        seen.replaced += 1;
    }
    Ok((tip, seen.newest()))
}

/// Replays the newest blocks; returns whether one of them is new.
fn pass(db: &NodeDb, state: &StateDb, rules: &ChainRules, seen: &mut Seen) -> Result<bool, Error> {
    let (tip, known) = common(db, seen)?;
    let first = (known + 1).saturating_sub(AGAIN).max(1);
    let blocks = BlockRange::from_to(first, tip.min(first + PASS_BLOCKS_MAX - 1));
    let failed = |source: txgraph_state::Error| Error::State {
        block: blocks.first,
        transaction: None,
        source: source.into(),
    };
    let states = state.range(BlockRange::from_to(blocks.first - 1, blocks.last - 1));
    let states = states.map_err(failed)?;
    let options = ReplayOptions {
        threads: Threads::new(2).unwrap(),
        ..ReplayOptions::default()
    };
    let replayer = Replayer::new(rules.clone(), db, states, options)?;
    let mut is_new = false;
    let report = replayer.range(blocks, &mut |block| {
        if let Some(mismatch) = block.mismatches.first() {
            panic!("{mismatch}");
        }
        let verified = block.verified;
        assert!(verified.receipts && verified.header && verified.changes);
        is_new |= seen.note(block.number, block.hash);
        ControlFlow::Continue(())
    })?;
    assert_eq!(report.blocks, blocks.last - blocks.first + 1);
    seen.passes += 1;
    seen.replayed += report.blocks;
    seen.transactions += report.transactions;
    seen.gas += report.gas_used;
    Ok(is_new)
}

/// Compares states after some of the newest blocks.
fn compare_states(
    state: &StateDb,
    miner: &Miner,
    draw: &mut Draw,
    seen: &mut Seen,
) -> Result<(), Error> {
    let tip = state.node().snapshot()?.tip();
    let last = tip - draw.below(STATES_BACK.min(tip));
    let first = last.saturating_sub(STATES_PER_PASS - 1);
    compare_states_of(state, miner, first, last, seen)
}

/// Compares the states after all blocks of a range.
fn compare_states_of(
    state: &StateDb,
    miner: &Miner,
    first: u64,
    last: u64,
    seen: &mut Seen,
) -> Result<(), Error> {
    let failed = |source: txgraph_state::Error| Error::State {
        block: first,
        transaction: None,
        source: source.into(),
    };
    let stored = state.available().map_err(failed)?.state_block;
    let states = state.range(BlockRange { first, last }).map_err(failed)?;
    for block in first..=last {
        let at = states.at(block).map_err(failed)?;
        // The block of this snapshot, whatever the miner has done since.
        let hash = at.snapshot().block_hash(block)?;
        for answer in miner.answers(hash) {
            let account = at.account(answer.address).map_err(failed)?;
            let account = account.map(|it| (it.nonce, it.balance, it.code_hash));
            let expected = answer.account;
            let expected = expected
                .map(|(nonce, balance, code)| (nonce, balance, code.unwrap_or(KECCAK256_EMPTY)));
            assert_eq!(account, expected, "{} after block {block}", answer.address);
            let value = at.storage(answer.address, answer.slot).map_err(failed)?;
            let place = (answer.address, answer.slot);
            assert_eq!(value, answer.value, "{place:?} after block {block}");
            seen.answers += 2;
            seen.answers_behind += 2 * u64::from(block > stored);
        }
    }
    Ok(())
}
