//! Contract-heavy chains that revm executed when they were made: our interpreter, on the
//! states that we find, must come to every receipt, header and change set of theirs.

use crate::support::database;
use std::{collections::BTreeMap, ops::ControlFlow, path::Path, sync::Arc};
use tempfile::TempDir;
use txgraph_chaingen::Layout;
use txgraph_chaingen::execgen::{Chain, Plan};
use txgraph_nodedb::{BlockRange, NodeDb};
use txgraph_replay::{
    BlockReplay, ChainRules, EngineKind, FrameDetail, RangeReport, Record, ReplayOptions, Replayer,
};
use txgraph_state::{StateDb, StateOptions};

/// Past Osaka, which begins at block 48.
const BLOCKS: u64 = 72;

/// A chain of small blocks, with a reorganisation in it and one after Osaka.
fn chain(layout: Layout) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut chain = Chain::create(&dir.path().join("node"), Plan::new(7, layout, 2_500_000));
    let chain = chain.as_mut().unwrap();
    chain.append(30).unwrap();
    chain.unwind(11).unwrap();
    chain.append(50).unwrap();
    chain.unwind(58).unwrap();
    chain.append(BLOCKS - 58).unwrap();
    dir
}

/// Replays everything with full verification.
fn replay(
    path: &Path,
    engine: EngineKind,
    each: &mut dyn FnMut(BlockReplay),
) -> (RangeReport, bool) {
    let folder = path.join("node");
    let db = Arc::new(database(&folder));
    let rules = ChainRules::of_database(&db, Some(&folder.join("genesis.json"))).unwrap();
    let state = StateDb::new(Arc::clone(&db), StateOptions::default());
    let before = BlockRange {
        first: 0,
        last: BLOCKS - 1,
    };
    let states = state.range(before).unwrap();
    let is_walked = states.is_walked();
    let options = ReplayOptions {
        record: Record {
            frames: Some(FrameDetail::Calls),
            ..Record::default()
        },
        engine,
        threads: 2,
        ..ReplayOptions::default()
    };
    let replayer = Replayer::new(rules, &db, states, options).unwrap();
    let blocks = BlockRange {
        first: 1,
        last: BLOCKS,
    };
    let report = replayer.range(blocks, &mut |block| {
        assert!(block.mismatches.is_empty(), "{}", block.mismatches[0]);
        let verified = block.verified;
        assert!(verified.receipts && verified.header && verified.changes);
        each(block);
        ControlFlow::Continue(())
    });
    (report.unwrap(), is_walked)
}

/// Our interpreter agrees with revm, and the chains have what they are made for.
#[test]
fn both_layouts_replay_without_a_mismatch() {
    for layout in [Layout::V1, Layout::V2] {
        let dir = chain(layout);
        let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut failed, mut deepest, mut forks) = (0, 0, Vec::new());
        let (report, is_walked) = replay(dir.path(), EngineKind::Own, &mut |block| {
            forks.push(block.fork);
            for transaction in &block.transactions {
                failed += u64::from(!transaction.outcome.is_success());
                for moved in transaction.internal_transfers(block.timestamp) {
                    deepest = deepest.max(moved.trace_address.len());
                    *causes.entry(moved.cause.as_str()).or_default() += 1;
                }
            }
        });
        // Without RocksDB, v2 has no index.
        assert_eq!(is_walked, layout == Layout::V2);
        assert_eq!(report.blocks, BLOCKS);
        assert_eq!((report.without_receipt, report.without_changes), (0, 0));
        assert!(report.gas_used > BLOCKS * 2_500_000);
        forks.dedup();
        assert_eq!(forks.len(), 5, "Paris, Shanghai, Cancun, Prague, Osaka");
        for cause in ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"] {
            assert!(causes.get(cause) > Some(&10), "{causes:?}");
        }
        assert!(failed > 50 && deepest >= 4, "{failed}, {deepest}");
    }
}

/// A plan is all that a chain depends on.
#[test]
fn the_same_plan_gives_the_same_chain() {
    let tip = |layout, seed| {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("node");
        let mut chain = Chain::create(&folder, Plan::new(seed, layout, 300_000)).unwrap();
        chain.append(9).unwrap();
        chain.unwind(3).unwrap();
        chain.append(4).unwrap().hash
    };
    assert_eq!(tip(Layout::V1, 1), tip(Layout::V2, 1));
    assert_ne!(tip(Layout::V1, 1), tip(Layout::V1, 2));
}

/// What was unwound leaves no trace: the tables are those of a chain that never had it.
#[test]
fn the_state_after_an_unwind_is_the_state_before() {
    for layout in [Layout::V1, Layout::V2] {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("node");
        let mut chain = Chain::create(&folder, Plan::new(9, layout, 900_000)).unwrap();
        chain.append(20).unwrap();
        drop(chain);
        let expected = state_at(&folder, 20);

        let other = dir.path().join("other");
        let mut chain = Chain::create(&other, Plan::new(9, layout, 900_000)).unwrap();
        chain.append(40).unwrap();
        chain.unwind(20).unwrap();
        drop(chain);
        assert_eq!(state_at(&other, 20), expected);
    }
}

/// Every account and slot that ever changed, as of the tip, and where each change was.
fn state_at(folder: &Path, tip: u64) -> (Vec<String>, Vec<String>) {
    let db: Arc<NodeDb> = Arc::new(database(folder));
    let state = StateDb::new(Arc::clone(&db), StateOptions::default());
    assert_eq!(db.snapshot().unwrap().tip(), tip);
    let (mut now, mut before) = (Vec::new(), Vec::new());
    for block in 0..=tip {
        let changes = state.changes(block).unwrap();
        before.push(format!("{changes:?}"));
        let at = state.at(tip).unwrap();
        for change in &changes.accounts {
            now.push(format!("{:?}", at.account(change.address).unwrap()));
        }
        for change in &changes.storage {
            let slot = change.slot.into();
            now.push(format!("{:?}", at.storage(change.address, slot).unwrap()));
        }
    }
    assert!(now.len() > 1_000);
    (now, before)
}

/// Both engines over the states of the database, instruction by instruction.
#[cfg(feature = "oracle")]
#[test]
fn engines_agree_on_every_instruction() {
    let dir = chain(Layout::V1);
    let (report, _) = replay(dir.path(), EngineKind::Both, &mut |_| {});
    assert_eq!((report.blocks, report.mismatches), (BLOCKS, 0));
}
