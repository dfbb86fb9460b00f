//! Whole chains from their genesis on a state in memory. No history is read from the database, so
//! that execution is tested separately from history.

use crate::support::{Present, database, genesis};
use std::path::Path;
use txgraph_block::state_root;
use txgraph_evm::MemoryState;
use txgraph_evm_tools::engine::in_order;
use txgraph_nodedb::NodeDb;
use txgraph_replay::{
    ChainRules, Difference, Error, Genesis, Mismatch, Record, ReplayOptions, Replayer,
};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// Executes all blocks up to the tip and compares the state root every `root_every` blocks.
fn replay_chain(name: &str, db: &NodeDb, genesis: Genesis, root_every: u64) {
    let options = ReplayOptions::recording(Record {
        changes: true,
        ..Record::default()
    });
    let Genesis { rules, state } = genesis;
    let replayer = Replayer::new(rules, db, Present::new(state), options).unwrap();
    let snapshot = db.snapshot().unwrap();
    for number in 1..=snapshot.tip() {
        let replay = replayer
            .block(number)
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let first = replay.mismatches.first();
        assert!(first.is_none(), "{name}: {}", first.unwrap());
        let present = replayer.history();
        present.advance(number, replay.hash, &replay.changes);
        if number % root_every == 0 || number == snapshot.tip() {
            let root = state_root(&in_order(&present.get()));
            let header = snapshot.header(number).unwrap();
            assert_eq!(
                root, header.state_root,
                "{name}: state after block {number}"
            );
        }
    }
}

fn replay_fixture(fixture: &Fixture, root_every: u64) {
    let db = database(fixture.path());
    replay_chain(&fixture.name, &db, genesis(fixture), root_every);
}

#[test]
fn replays_small_chains_from_genesis() {
    for fixture in fixtures::committed() {
        replay_fixture(&fixture, 1);
    }
}

#[test]
fn replays_large_chains_from_genesis() {
    for name in ["dev-v1", "dev-v2", "crashed/small-v2"] {
        if let Some(fixture) = fixtures::fixture(name) {
            replay_fixture(&fixture, 100);
        }
    }
}

#[test]
fn replays_long_chain_from_genesis() {
    if let Some(fixture) = fixtures::fixture("long-v2") {
        replay_fixture(&fixture, 2000);
    }
}

/// Receipts, senders or old bodies are pruned; the rest must agree.
#[test]
fn replays_pruned_chains_from_genesis() {
    for name in ["pruned/dev-v1-receipts", "pruned/small-v2-minimal"] {
        if let Some(fixture) = fixtures::fixture(name) {
            replay_fixture(&fixture, 100);
        }
    }
}

/// Every fork from Frontier to Prague, with proof of work and its rewards.
#[test]
fn replays_chain_with_all_forks() {
    let fixture = or_skip!(fixtures::fixture("odd/import-v2"));
    let file = fixtures::root().unwrap().join("odd/import-genesis.json");
    let genesis = Genesis::open(&file).unwrap();
    replay_chain(&fixture.name, &database(fixture.path()), genesis, 1);
}

/// A replay with wrong rules or a wrong state has mismatches.
#[test]
fn wrong_fork_or_state_is_a_mismatch() {
    let [fixture, _] = fixtures::committed();
    let db = database(fixture.path());
    let mut file = fixture.genesis.clone();
    file["config"]["cancunTime"] = file["config"]["pragueTime"].clone();
    let genesis = Genesis::parse(&file.to_string()).unwrap();
    let mut blocks = Vec::new();
    let options = ReplayOptions::recording(Record {
        changes: true,
        ..Record::default()
    });
    let history = Present::new(genesis.state);
    let replayer = Replayer::new(genesis.rules, &db, history, options.clone()).unwrap();
    for number in 1..20 {
        let replay = replayer.block(number).unwrap();
        blocks.extend(replay.mismatches.iter().map(|mismatch| mismatch.block));
        let history = replayer.history();
        history.advance(number, replay.hash, &replay.changes);
    }
    // Cancun starts at block 14.
    assert!(blocks.iter().all(|block| *block >= 14), "{blocks:?}");
    assert!(!blocks.is_empty());

    let genesis = self::genesis(&fixture);
    let empty = Present::new(MemoryState {
        block_hashes: genesis.state.block_hashes,
        ..MemoryState::default()
    });
    let replayer = Replayer::new(genesis.rules, &db, empty, options).unwrap();
    let replay = replayer.block(1).unwrap();
    assert!(matches!(
        &replay.mismatches[0],
        Mismatch {
            block: 1,
            transaction: Some((0, _)),
            difference: Difference::Refused(_),
        }
    ));
    assert!(replay.transactions.is_empty() && !replay.verified.header);
}

#[test]
fn chains_of_the_op_stack_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let sample = txgraph_chaingen::BlockSample::op(901, 50, 2);
    sample
        .write(folder.path(), txgraph_chaingen::Layout::V2.into())
        .unwrap();
    let db = database(folder.path());
    // With or without a genesis file.
    for file in [None, Some(Path::new("genesis.json"))] {
        let error = ChainRules::of_database(&db, file).unwrap_err();
        assert!(matches!(error, Error::OpStack { .. }), "{error}");
        assert!(error.to_string().contains("Fees need no replay"), "{error}");
    }
}

#[test]
fn database_of_another_chain_is_rejected() {
    let [fixture, _] = fixtures::committed();
    let db = database(fixture.path());
    let unknown = ChainRules::of_database(&db, None).unwrap_err();
    assert!(matches!(unknown, Error::UnknownChain { .. }), "{unknown}");
    let mut file = fixture.genesis.clone();
    file["timestamp"] = "0x1".into();
    let Genesis { rules, state } = Genesis::parse(&file.to_string()).unwrap();
    let options = ReplayOptions::default();
    let error = Replayer::new(rules, &db, Present::new(state), options.clone()).unwrap_err();
    assert!(matches!(error, Error::WrongChain { .. }), "{error}");
    let Genesis { rules, state } = genesis(&fixture);
    let replayer = Replayer::new(rules, &db, Present::new(state), options).unwrap();
    assert!(matches!(replayer.block(0), Err(Error::Genesis)));
    assert!(matches!(replayer.block(41), Err(Error::NodeDb(_))));
    assert!(matches!(
        replayer.block(2),
        Err(Error::Replaced { block: 2 })
    ));
}
