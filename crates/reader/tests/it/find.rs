//! Transactions by their hash: from the index of the node, or by hashing all of them.

use crate::support::{Meter, database, range};
use alloy_primitives::B256;
use std::sync::Arc;
use txgraph_nodedb::NodeDb;
use txgraph_reader::{CancelFlag, ScanOptions, Threads, find_transaction};
use txgraph_testkit::{
    edit,
    fixtures::{self, Fixture, Unpacked},
};
use txgraph_transfers::{BlockRanges, FailureKind, SourceError};

/// The hash of every transaction, with its block and index.
fn transactions(fixture: &Fixture) -> Vec<(B256, (u64, u32))> {
    let mut all = Vec::new();
    for line in fixture.lines("receipts") {
        let block = line["block"].as_u64().unwrap();
        for (index, receipt) in (0..).zip(line["receipts"].as_array().unwrap()) {
            let hash = receipt["transactionHash"].as_str().unwrap();
            all.push((hash.parse().unwrap(), (block, index)));
        }
    }
    all
}

/// A prune checkpoint with a block number, without a transaction number: the length of the
/// number, the number, and the mode `full`.
const PRUNED_TO_30: [u8; 4] = [1, 1, 30, 0];

/// Marks the index of hashes (`TransactionLookup`, segment 1) of a layout v1 as pruned.
fn prune_index(copy: &Unpacked) {
    edit::put(copy.path(), "PruneCheckpoints", &[1], &PRUNED_TO_30);
}

/// A copy of the committed chain of layout v1 in which unknown hashes are searched for.
fn with_pruned_index() -> Unpacked {
    let [fixture, _] = fixtures::committed();
    let copy = fixture.unpack();
    prune_index(&copy);
    copy
}

fn unknown(db: &NodeDb, hash: B256, blocks: Option<&BlockRanges>) -> String {
    let error = find_transaction(db, hash, blocks, &ScanOptions::default()).unwrap_err();
    assert!(
        matches!(&error, SourceError::Failed(failure) if failure.kind == FailureKind::Missing),
        "{error}"
    );
    error.to_string()
}

fn full_chains() -> impl Iterator<Item = Fixture> {
    let large = ["dev-v1", "dev-v2", "long-v2"].into_iter();
    let large = large.filter_map(fixtures::fixture);
    fixtures::committed().into_iter().chain(large)
}

#[test]
fn finds_transactions_in_both_layouts() {
    for fixture in full_chains() {
        let db = database(fixture.path());
        let all = transactions(&fixture);
        // The first, the last, and some of each region of the chain.
        let step = (all.len() / 20).max(1);
        let last = all.last().into_iter();
        for (hash, location) in all.iter().step_by(step).chain(last) {
            for threads in [1, 3] {
                let options = ScanOptions {
                    threads: Threads::new(threads).unwrap(),
                    ..ScanOptions::default()
                };
                let found = find_transaction(&db, *hash, None, &options).unwrap();
                assert_eq!(found, *location, "{}: {hash}", fixture.name);
            }
        }
    }
}

#[test]
fn unknown_hash_names_the_searched_blocks() {
    for fixture in full_chains() {
        let db = database(fixture.path());
        let tip = fixture.tip().unwrap();
        let hash = B256::repeat_byte(0xee);
        let text = unknown(&db, hash, None);
        let expected = format!("transaction {hash} is not in blocks {}", range(0, tip));
        assert_eq!(text, expected, "{}", fixture.name);
    }
}

#[test]
fn searches_only_the_given_blocks() {
    for fixture in fixtures::committed() {
        let db = database(fixture.path());
        let blocks = BlockRanges::new(vec![range(3, 9), range(20, 30)]);
        let (mut inside, mut outside) = (0, 0);
        for (hash, location) in transactions(&fixture) {
            if blocks.contains(location.0) {
                let found = find_transaction(&db, hash, Some(&blocks), &ScanOptions::default());
                assert_eq!(found.unwrap(), location);
                inside += 1;
            } else if outside < 20 {
                let text = unknown(&db, hash, Some(&blocks));
                assert!(text.ends_with(&blocks.to_string()), "{text}");
                outside += 1;
            }
        }
        assert!(inside > 100 && outside == 20, "{inside} {outside}");
    }
}

#[test]
fn blocks_that_cannot_be_searched_are_named() {
    let copy = with_pruned_index();
    let db = database(copy.path());
    let text = unknown(&db, B256::repeat_byte(0xee), Some(&range(30, 50).into()));
    let missing = format!("not searched: {}", range(41, 50));
    assert!(
        text.contains(&missing) && text.contains("above the tip"),
        "{text}"
    );
}

#[test]
fn progress_counts_all_blocks_and_transactions() {
    let copy = with_pruned_index();
    let meter = Arc::new(Meter::default());
    let options = ScanOptions {
        progress: Some(meter.clone()),
        ..ScanOptions::default()
    };
    let db = database(copy.path());
    find_transaction(&db, B256::repeat_byte(0xee), None, &options).unwrap_err();
    assert_eq!(meter.read("transactions"), [41, 41, 521, 1]);
}

#[test]
fn search_can_be_canceled() {
    let copy = with_pruned_index();
    let cancel = CancelFlag::new();
    cancel.cancel();
    let options = ScanOptions {
        cancel,
        ..ScanOptions::default()
    };
    let db = database(copy.path());
    let error = find_transaction(&db, B256::repeat_byte(0xee), None, &options).unwrap_err();
    assert!(matches!(error, SourceError::Interrupted), "{error}");
}

/// A pruned index does not contain every hash, so that blocks are searched as well.
#[test]
fn pruned_index_is_not_used() {
    let [fixture, _] = fixtures::committed();
    let copy = fixture.unpack();
    let all = transactions(&fixture);
    let (hash, location) = all[all.len() / 2];
    edit::delete(copy.path(), "TransactionHashNumbers", hash.as_slice());
    let db = database(copy.path());
    let options = ScanOptions::default();
    let text = unknown(&db, hash, None);
    assert!(text.contains(&hash.to_string()), "{text}");
    drop(db);
    prune_index(&copy);
    let db = database(copy.path());
    let checkpoints = db.snapshot().unwrap().prune_checkpoints().unwrap();
    assert_eq!(
        (checkpoints[0].segment.as_str(), checkpoints[0].block),
        ("TransactionLookup", Some(30))
    );
    let found = find_transaction(&db, hash, None, &options).unwrap();
    assert_eq!(found, location);
}
