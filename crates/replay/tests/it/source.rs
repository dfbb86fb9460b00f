//! Replay as a source, beside the source that reads logs.

use crate::support::{Opened, database, open, rules};
use std::{ops::ControlFlow, sync::Arc};
use txgraph_reader::{NodeSource, ScanOptions};
use txgraph_replay::ReplaySource;
use txgraph_testkit::fixtures;
use txgraph_transfers::{
    BlockRange, BlockRanges, Kind, ScanReport, ScanRequest, SourceError, Transfer, TransferFilter,
    TransferSource, WrappedNative,
};

fn request(blocks: BlockRange) -> ScanRequest {
    ScanRequest {
        blocks: blocks.into(),
        filter: TransferFilter::default(),
        wrapped_native: WrappedNative::Any,
        with_times: true,
        with_hashes: true,
        allow_partial: false,
    }
}

fn scan(source: &dyn TransferSource, request: &ScanRequest) -> (ScanReport, Vec<Transfer>) {
    let mut all = Vec::new();
    let report = source.scan(request, &mut |batch| {
        let places = batch.transfers.iter().map(|transfer| transfer.block_number);
        assert!(places.into_iter().all(|block| batch.blocks.contains(block)));
        all.extend(batch.transfers);
        ControlFlow::Continue(())
    });
    (report.unwrap(), all)
}

fn source(opened: &Opened, with_fees: bool) -> ReplaySource<'_> {
    ReplaySource::new(&opened.state, opened.rules.clone(), 2, with_fees).unwrap()
}

/// Without what no log tells, it is the same; and all of it is in order.
#[test]
fn logs_tell_a_part_of_it() {
    for name in ["small/v1", "small/v2", "dev-v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            return;
        };
        let opened = open(&fixture);
        let whole = BlockRange {
            first: 0,
            last: opened.blocks.last,
        };
        let node = Arc::clone(opened.state.node());
        let node = NodeSource::new(node, ScanOptions::default(), None).unwrap();
        let (expected_report, expected) = scan(&node, &request(whole));
        let (report, mut found) = scan(&source(&opened, true), &request(whole));
        assert!(found.is_sorted_by(|a, b| a.position() < b.position()));
        let count = found.len();
        let only_replayed = |transfer: &Transfer| {
            let burnt = transfer.kind == Kind::Burn && transfer.token_address.is_none();
            burnt || matches!(transfer.kind, Kind::Internal | Kind::Fee | Kind::Priority)
        };
        found.retain(|transfer| !only_replayed(transfer));
        assert!(count > found.len());
        assert_eq!(found, expected, "{name}");
        assert_eq!(report.covered, BlockRanges::from(whole));
        assert_eq!(report.last_block_hash, expected_report.last_block_hash);
        assert_eq!(report.counts.transfers, count as u64);
        assert_eq!(report.counts.logs, expected_report.counts.logs);
        assert_eq!(report.counts.blocks, expected_report.counts.blocks);
    }
}

#[test]
fn filters_hold_for_internal_transfers() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let mut asked = request(BlockRange { first: 1, last: 30 });
    let (_, all) = scan(&source(&opened, false), &asked);
    assert!(
        all.iter()
            .all(|transfer| !matches!(transfer.kind, Kind::Fee | Kind::Priority))
    );
    asked.filter.kinds = vec![Kind::Internal];
    let (report, internal) = scan(&source(&opened, false), &asked);
    let expected: Vec<_> = all
        .iter()
        .filter(|one| one.kind == Kind::Internal)
        .cloned()
        .collect();
    assert!(!internal.is_empty());
    assert_eq!(internal, expected);
    assert_eq!(report.counts.transfers, internal.len() as u64);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let Some(opened) = Opened::fixture("pruned/dev-v2-distance") else {
        return;
    };
    let source = source(&opened, false);
    let mut asked = request(BlockRange {
        first: 440,
        last: 801,
    });
    let error = source
        .scan(&asked, &mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    let SourceError::Unavailable { missing, available } = error else {
        panic!("{error}");
    };
    let blocks: Vec<_> = missing
        .iter()
        .map(|gap| (gap.blocks.first, gap.blocks.last))
        .collect();
    assert_eq!(blocks, [(440, 449), (801, 801)]);
    assert!(missing.iter().all(|gap| !gap.reason.is_empty()));
    assert_eq!(available.span(), BlockRange::new(450, 800));
    asked.allow_partial = true;
    let (report, _) = scan(&source, &asked);
    assert_eq!(report.covered.span(), BlockRange::new(450, 800));
    assert_eq!(report.missing, missing);

    let mut batches = 0;
    let report = source.scan(&asked, &mut |_| {
        batches += 1;
        if batches == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(report.unwrap().covered.span(), BlockRange::new(450, 452));
}

/// Transfers of a replay that disagrees with the node are not handed over.
#[test]
fn a_wrong_replay_tells_nothing() {
    let [fixture, _] = fixtures::committed();
    let opened = open(&fixture);
    let mut file = fixture.genesis.clone();
    file["config"]["cancunTime"] = file["config"]["pragueTime"].clone();
    let wrong = txgraph_replay::Genesis::parse(&file.to_string())
        .unwrap()
        .rules;
    assert_eq!(
        wrong.genesis_hash,
        rules(&fixture, &database(fixture.path())).genesis_hash
    );
    let source = ReplaySource::new(&opened.state, wrong, 1, false).unwrap();
    let mut last = 0;
    let error = source.scan(
        &request(BlockRange {
            first: 10,
            last: 20,
        }),
        &mut |batch| {
            last = batch.blocks.last;
            ControlFlow::Continue(())
        },
    );
    let error = error.unwrap_err();
    assert!(matches!(error, SourceError::Failed(_)), "{error}");
    // Cancun begins with block 14, and shows in a receipt of the next.
    assert!(error.to_string().contains("block 15"), "{error}");
    assert_eq!(last, 14);
}
