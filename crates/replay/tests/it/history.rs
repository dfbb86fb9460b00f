//! Blocks on the states of the database, compared with receipts, header and change sets.

use crate::support::{Opened, open};
use alloy_primitives::{Address, B256, U256, bytes};
use std::ops::ControlFlow;
use txgraph_evm::{Message, Status};
use txgraph_nodedb::BlockRange;
use txgraph_replay::{
    BlockReplay, Error, FrameDetail, RangeReport, Record, ReplayOptions, Replayer,
    TransactionLocation,
};
use txgraph_state::StateRange;
use txgraph_testkit::fixtures;
use txgraph_work::Threads;

/// Replays a range and returns all of its blocks.
fn collect(
    replayer: &Replayer<'_, StateRange<'_>>,
    blocks: BlockRange,
) -> (RangeReport, Vec<BlockReplay>) {
    let mut all = Vec::new();
    let report = replayer.range(blocks, &mut |replay| {
        all.push(replay);
        ControlFlow::Continue(())
    });
    (report.unwrap(), all)
}

/// Replays every block whose parent state is available.
fn replay_all(name: &str) -> Option<RangeReport> {
    let opened = Opened::fixture(name)?;
    let report = opened.replay(ReplayOptions::default(), &mut |replay| {
        assert!(replay.verified.header, "{name}: block {}", replay.number);
    });
    assert_eq!(
        (report.mismatches, report.without_changes),
        (0, 0),
        "{name}"
    );
    Some(report)
}

#[test]
fn replays_every_block_of_full_databases() {
    for (name, transactions) in [
        ("small/v1", 521),
        ("small/v2", 521),
        ("dev-v1", 12_558),
        ("dev-v2", 12_558),
        ("long-v2", 4_481),
        ("crashed/small-v2", 382),
        ("odd/migrated-v2", 1_298),
        ("odd/import-v2", 160),
    ] {
        if let Some(report) = replay_all(name) {
            assert_eq!(report.transactions, transactions, "{name}");
            assert_eq!(report.without_receipt, 0, "{name}");
        }
    }
}

/// Receipts are compared where they exist, and headers for every block.
#[test]
fn replays_every_available_block_of_pruned_databases() {
    for (name, blocks, without_receipt) in [
        ("pruned/dev-v1-receipts", 800, 8_666),
        ("pruned/dev-v2-distance", 351, 687),
        ("pruned/long-v2-full", 10_070, 0),
        ("pruned/small-v1-logfilter", 40, 519),
        ("pruned/small-v2-logfilter", 40, 519),
        ("pruned/small-v2-minimal", 40, 0),
        ("odd/pruned-v1", 300, 0),
        ("odd/pruned-v2", 300, 0),
        ("odd/filter-v1", 1_500, 564),
        ("odd/filter-v2", 1_500, 564),
    ] {
        if let Some(report) = replay_all(name) {
            assert_eq!(
                (report.blocks, report.without_receipt),
                (blocks, without_receipt),
                "{name}"
            );
        }
    }
}

/// Results depend neither on the number of threads nor on prefetched values.
#[test]
fn results_do_not_depend_on_threads() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let answer = |threads, changes| {
        let mut options = ReplayOptions {
            threads: Threads::new(threads).unwrap(),
            ..everything()
        };
        options.verify.changes = changes;
        let (report, all) = collect(&opened.replayer(options), opened.blocks);
        assert_eq!(report.mismatches, 0);
        let texts = all
            .iter()
            .map(|replay| format!("{:?}", (&replay.transactions, &replay.changes)));
        texts.collect::<Vec<_>>()
    };
    let one = answer(1, true);
    assert_eq!(one.len(), 40);
    for (threads, changes) in [(2, true), (7, true), (1, false), (3, false)] {
        assert!(answer(threads, changes) == one, "{threads} threads");
    }
}

pub(crate) fn everything() -> ReplayOptions {
    ReplayOptions::recording(Record {
        frames: Some(FrameDetail::Everything),
        transitions: true,
        changes: true,
        ..Record::default()
    })
}

#[test]
fn sink_can_stop_a_range() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let mut seen = Vec::new();
    let report = opened
        .replayer(ReplayOptions::default())
        .range(opened.blocks, &mut |replay| {
            seen.push(replay.number);
            if replay.number == 11 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
    assert_eq!(report.unwrap().blocks, 11);
    assert_eq!(seen, Vec::from_iter(1..=11));
}

/// A transaction replayed alone has the same result as in its block.
#[test]
fn replays_single_transactions() {
    for fixture in fixtures::committed() {
        let opened = open(&fixture);
        let replayer = opened.replayer(everything());
        let blocks = BlockRange { first: 4, last: 9 };
        for block in collect(&replayer, blocks).1 {
            for whole in &block.transactions {
                let location =
                    TransactionLocation::new(block.number, whole.index, Some(whole.hash));
                let (alone, mismatches) = replayer.transaction(location, None).unwrap();
                assert_eq!(mismatches, []);
                assert_eq!(format!("{alone:?}"), format!("{whole:?}"));
            }
        }
        let beyond = TransactionLocation::new(4, 1_000, None);
        let error = replayer.transaction(beyond, None).unwrap_err();
        assert!(
            matches!(error, Error::NoSuchTransaction { index: 1_000, .. }),
            "{error}"
        );
        // The block was replaced after the transaction was looked up.
        let replaced = TransactionLocation::new(4, 0, Some(B256::repeat_byte(7)));
        let error = replayer.transaction(replaced, None).unwrap_err();
        assert!(matches!(error, Error::Replaced { block: 4 }), "{error}");
    }
}

/// A call sees the environment of its block and the state after it.
#[test]
fn calls_see_block_and_state() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let replayer = opened.replayer(ReplayOptions::default());
    // Returns NUMBER and the hash of block 6.
    let code = bytes!("4360005260064060205260406000f3");
    let message = Message {
        caller: Address::repeat_byte(1),
        input: code,
        gas_limit: 100_000,
        ..Message::default()
    };
    let outcome = replayer.call(&message, 7, None).unwrap();
    assert_eq!(outcome.status, Status::Success);
    assert_eq!(U256::from_be_slice(&outcome.output[..32]), U256::from(7));
    let hash = opened.db.snapshot().unwrap().block_hash(6).unwrap();
    assert_eq!(outcome.output[32..], hash[..]);
}
