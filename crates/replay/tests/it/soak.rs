//! Replays the newest blocks of a chain while another process mines it, with all comparisons.
//!
//! Runs for a few seconds by default; `TXGRAPH_SOAK_SECONDS=600` sets ten minutes.

use crate::support::database;
use alloy_primitives::B256;
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{Miner, MinerPlan, Plan};
use txgraph_nodedb::{BlockRange, NodeDb};
use txgraph_replay::{ChainRules, Error, ReplayOptions, Replayer};
use txgraph_state::{History, StateDb, StateOptions};
use txgraph_work::Threads;

/// The default duration of each test in seconds.
const SECONDS: u64 = 4;
/// Blocks of a pass that were replayed before; a pass also replays all newer ones.
const AGAIN: u64 = 6;
/// The most blocks of a pass.
const PASS_BLOCKS_MAX: u64 = 64;
/// The longest time without a new block.
const STALL: Duration = Duration::from_secs(30);

/// The process of the mining node.
#[test]
fn miner() {
    txgraph_chaingen::execgen::mine_if_asked();
}

#[test]
fn follows_mining_node_of_layout_v1() {
    soak(Layout::V1, History::Index, 31);
}

#[test]
fn follows_mining_node_of_layout_v1_by_change_sets() {
    soak(Layout::V1, History::Walk, 32);
}

#[test]
fn follows_mining_node_of_layout_v2() {
    soak(Layout::V2, History::Walk, 33);
}

/// The blocks that were replayed while the chain grew.
#[derive(Debug, Default)]
struct Seen {
    passes: u64,
    replayed: u64,
    transactions: u64,
    gas: u64,
    /// Passes that ended with the error for a reorganisation.
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
fn soak(layout: Layout, history: History, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("node");
    let mut chain = Plan::new(seed, layout, 2_000_000);
    chain.storage.blocks_per_file = 100;
    let plan = MinerPlan {
        chain,
        blocks_at_start: 50,
        commit_blocks_max: 3,
        step_ms: Some(120),
        reorgs_permille: 60,
        reorg_blocks: (1, 24),
        flushes_permille: 0,
    };
    let miner = Miner::start("soak::miner", &folder, plan).unwrap();
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let options = StateOptions {
        history,
        ..StateOptions::default()
    };
    let state = StateDb::new(Arc::clone(&db), options);
    let mut seen = Seen::default();
    let begun = Instant::now();
    let (mut last_new, time) = (begun, Duration::from_secs(seconds()));
    let follow = |seen: &mut Seen| match pass(&db, &state, &rules, seen) {
        Ok(is_new) => is_new,
        Err(error) => {
            assert!(is_of_a_reorganisation(&error), "{error}");
            seen.retries += 1;
            false
        }
    };
    while begun.elapsed() < time {
        if follow(&mut seen) {
            seen.longest_wait = seen.longest_wait.max(last_new.elapsed());
            last_new = Instant::now();
        }
        assert!(last_new.elapsed() < STALL, "no new block was replayed");
        miner.progress().unwrap();
    }
    // The miner has stopped: replay the rest of the chain.
    let mined = miner.stop().unwrap();
    while common(&db, &mut seen).unwrap() != (mined.tip.number, mined.tip.number) {
        assert!(follow(&mut seen), "no new block, but not at the tip");
    }
    println!(
        "{layout:?}, {history:?}: {} s; {} mined, {} reorganisations took back {}; tip {}; \
         {} passes replayed {} blocks, {} transactions, {:.1} Ggas; {} retries, {} replaced \
         blocks seen; longest wait for a new block {:.2} s",
        begun.elapsed().as_secs(),
        mined.mined,
        mined.reorgs,
        mined.taken_back,
        mined.tip.number,
        seen.passes,
        seen.replayed,
        seen.transactions,
        seen.gas as f64 / 1e9,
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

/// Whether a reorganisation caused the error; no other errors are allowed.
fn is_of_a_reorganisation(error: &Error) -> bool {
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
    let blocks = BlockRange {
        first,
        last: tip.min(first + PASS_BLOCKS_MAX - 1),
    };
    let failed = |source: txgraph_state::Error| Error::State {
        block: blocks.first,
        transaction: None,
        source: source.into(),
    };
    let states = state.range(BlockRange {
        first: blocks.first - 1,
        last: blocks.last - 1,
    });
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
