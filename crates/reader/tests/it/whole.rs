//! Directories that hold all of their chain: transfers equal what the node said
//! in its receipts, log by log, however the work is cut.

use crate::support::{answer, assert_same, everything, open, open_with, range};
use alloy_primitives::B256;
use std::collections::BTreeSet;
use txgraph_reader::{ScanOptions, Threads};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    naive::{Decoded, decode_fixture, decode_logs, quantity},
    or_skip,
};
use txgraph_transfers::{
    AddressFilter, BlockAnchor, BlockRanges, BlockTime, DecodeCounts, Direction, Kind, SourceError,
    TokenFilter, TokenStandard, Transfer, TransferFilter, TransferSource, testing,
};

fn check_against_naive(fixture: &Fixture) -> Decoded {
    let expected = decode_fixture(fixture);
    let tip = fixture.tip().unwrap();
    assert_eq!(expected.blocks, tip + 1);
    let source = open(fixture.path());
    assert_eq!(Some(source.chain().chain_id), fixture.chain_id());
    let (transfers, report) = answer(&source, &everything(range(0, tip)));
    assert_same(&transfers, &expected.transfers, &fixture.name);
    let counts = DecodeCounts {
        blocks: expected.blocks,
        skipped_blocks: 0,
        transactions: expected.receipts,
        logs: expected.logs,
        transfers: expected.transfers.len() as u64,
        malformed: expected.malformed,
        wraps_deduplicated: expected.wraps_deduplicated,
        // The naive decoder does not distinguish these.
        malformed_erc1155: report.counts.malformed_erc1155,
        dirty_addresses: report.counts.dirty_addresses,
        ..DecodeCounts::default()
    };
    assert_eq!(report.counts, counts);
    let hash = fixture.chain_info["tip_on_disk"]["hash"].as_str().unwrap();
    assert_eq!(report.last_block_hash.unwrap().to_string(), hash);
    expected
}

#[test]
fn committed_chains_match_the_node() {
    for fixture in fixtures::committed() {
        check_against_naive(&fixture);
    }
}

#[test]
fn large_chains_match_the_node() {
    for name in ["dev-v1", "dev-v2", "small/v1", "small/v2"] {
        let fixture = or_skip!(fixtures::fixture(name));
        let expected = check_against_naive(&fixture);
        let kinds: BTreeSet<_> = expected
            .transfers
            .iter()
            .map(|t| (t.token_standard, t.kind))
            .collect();
        assert!(kinds.len() >= 8, "{name}: only {kinds:?}");
    }
}

/// Beside this chain there are the receipts, but not the blocks: no values of
/// transactions, no withdrawals.
#[test]
fn long_chain_matches_the_logs_of_the_node() {
    let fixture = or_skip!(fixtures::fixture("long-v2"));
    let mut expected = Decoded::default();
    for line in fixture.lines("receipts") {
        for receipt in line["receipts"].as_array().unwrap() {
            let log = &receipt["logs"][0];
            if log.is_null() {
                continue;
            }
            let row = Transfer {
                block_timestamp: BlockTime::new(quantity(&log["blockTimestamp"]).to()),
                transaction_index: quantity(&receipt["transactionIndex"]).to(),
                transaction_hash: receipt["transactionHash"]
                    .as_str()
                    .map(|it| it.parse().unwrap()),
                ..testing::transfer(line["block"].as_u64().unwrap())
            };
            decode_logs(&row, &receipt["logs"], &mut expected);
        }
    }
    let source = open(fixture.path());
    let mut request = everything(range(0, fixture.tip().unwrap()));
    request.filter.standards = vec![
        TokenStandard::Erc20,
        TokenStandard::Erc721,
        TokenStandard::Erc1155,
    ];
    let (transfers, report) = answer(&source, &request);
    assert_same(&transfers, &expected.transfers, "long-v2");
    let counts = &fixture.chain_info["counts"];
    assert_eq!(Some(report.counts.logs), counts["logs"].as_u64());
    assert_eq!(Some(report.counts.transactions), counts["txs"].as_u64());
    assert_eq!(report.counts.malformed, expected.malformed);

    // The coin itself: at least its rows can be counted.
    request.filter.standards = vec![TokenStandard::Native];
    let (transfers, _) = answer(&source, &request);
    let withdrawals = transfers
        .iter()
        .filter(|t| t.kind == Kind::Withdrawal)
        .count() as u64;
    assert_eq!(Some(withdrawals), counts["withdrawals"].as_u64());
    assert!(transfers.iter().any(|t| t.kind == Kind::Value));
}

/// There are no answers beside these; nodedb's tests hold them to their headers.
/// Here: all of it is there, and the layouts agree.
#[test]
fn unusual_directories_are_read_completely() {
    for (name, tip) in [("odd/migrated-v2", None), ("odd/import-v2", Some(44))] {
        let fixture = or_skip!(fixtures::fixture(name));
        let source = open(fixture.path());
        let last = source.db().snapshot().unwrap().tip();
        assert!(
            tip.is_none_or(|tip| (tip..=tip + 1).contains(&last)),
            "{name}: {last}"
        );
        let (transfers, report) = answer(&source, &everything(range(0, last)));
        assert!(
            report.counts.transactions > 100,
            "{name}: {:?}",
            report.counts
        );
        assert!(transfers.iter().any(|t| t.kind == Kind::Value), "{name}");
    }
}

#[test]
fn chunk_size_does_not_change_rows() {
    let [v1, v2] = fixtures::committed();
    let request = everything(range(0, 40));
    let (expected, report) = answer(&open(v1.path()), &request);
    assert_eq!(
        answer(&open(v2.path()), &request),
        (expected.clone(), report.clone())
    );
    for threads in [1, 2, 3, 8] {
        for chunk_blocks in [1, 2, 3, 4, 5, 7, 11, 13, 20, 39, 40, 41, 42, 1000, u64::MAX] {
            for memory_bytes_max in [None, Some(1)] {
                let options = ScanOptions {
                    threads: Threads::new(threads).unwrap(),
                    chunk_blocks: Some(chunk_blocks),
                    // With the smaller memory also the shorter snapshots.
                    snapshot_blocks_max: memory_bytes_max.map(|_| 3),
                    memory_bytes_max,
                    ..ScanOptions::default()
                };
                let source = open_with(v2.path(), options);
                let what = format!("{threads} threads, {chunk_blocks} blocks");
                let (found, other) = answer(&source, &request);
                assert_same(&found, &expected, &what);
                assert_eq!(other, report, "{what}");
            }
        }
    }
}

#[test]
fn chunk_size_does_not_change_rows_of_a_larger_chain() {
    let fixture = or_skip!(fixtures::fixture("dev-v1"));
    let blocks = BlockRanges::new(vec![range(0, 333), range(400, 400), range(402, 800)]);
    let request = everything(blocks);
    let (expected, report) = answer(&open(fixture.path()), &request);
    for (threads, chunk_blocks) in [(1, 1), (2, 10), (4, 63), (3, 333), (2, 801), (1, 200)] {
        let options = ScanOptions {
            threads: Threads::new(threads).unwrap(),
            chunk_blocks: Some(chunk_blocks),
            memory_bytes_max: Some(1 << 20),
            ..ScanOptions::default()
        };
        let (found, other) = answer(&open_with(fixture.path(), options), &request);
        assert_same(
            &found,
            &expected,
            &format!("{threads} threads, {chunk_blocks} blocks"),
        );
        assert_eq!(other, report);
    }
}

#[test]
fn filters_only_select_rows() {
    let [v1, _] = fixtures::committed();
    let source = open(v1.path());
    let all = everything(range(3, 37));
    let (rows, report) = answer(&source, &all);
    let pick = |want: &dyn Fn(&&Transfer) -> bool| rows.iter().find(want).unwrap().clone();
    let token = pick(&|t| t.token_standard == TokenStandard::Erc20);
    let coin = pick(&|t| t.kind == Kind::Value);
    let touching =
        |direction| AddressFilter::new([token.from_address, coin.from_address], direction);
    let only = |native| TokenFilter::Only {
        tokens: token.token_address.into_iter().collect(),
        native,
    };
    let filters = [
        TransferFilter {
            tokens: only(false),
            ..Default::default()
        },
        TransferFilter {
            tokens: only(true),
            ..Default::default()
        },
        TransferFilter {
            touching: Some(touching(Direction::Out)),
            ..Default::default()
        },
        TransferFilter {
            touching: Some(touching(Direction::In)),
            ..Default::default()
        },
        TransferFilter {
            touching: Some(touching(Direction::Both)),
            tokens: only(true),
            ..Default::default()
        },
        TransferFilter {
            min_value: coin.value,
            ..Default::default()
        },
        TransferFilter {
            standards: vec![TokenStandard::Erc721],
            ..Default::default()
        },
        TransferFilter {
            kinds: vec![Kind::Withdrawal],
            ..Default::default()
        },
        TransferFilter {
            kinds: vec![Kind::Value, Kind::Mint],
            ..Default::default()
        },
    ];
    for filter in filters {
        let expected: Vec<_> = rows.iter().filter(|t| filter.matches(t)).cloned().collect();
        assert!(
            !expected.is_empty() && expected.len() < rows.len(),
            "{filter:?}"
        );
        let request = txgraph_transfers::ScanRequest {
            filter,
            ..all.clone()
        };
        let (found, other) = answer(&source, &request);
        assert_same(&found, &expected, &format!("{:?}", request.filter));
        // What was not read was not counted.
        let (all, some) = (report.counts, other.counts);
        assert_eq!(some.blocks, all.blocks);
        assert_eq!(some.transfers, expected.len() as u64);
        assert!(some.malformed <= all.malformed);
        if request.filter.kinds == [Kind::Withdrawal] {
            assert_eq!((some.transactions, some.logs), (0, 0));
        } else if some.skipped_blocks == 0 {
            assert_eq!((some.transactions, some.logs), (all.transactions, all.logs));
        }
    }
}

#[test]
fn fills_in_hashes_later() {
    let [v1, v2] = fixtures::committed();
    for fixture in [v1, v2] {
        let source = open(fixture.path());
        let mut request = everything(range(0, 40));
        let (expected, _) = answer(&source, &request);
        request.with_hashes = false;
        for with_times in [true, false] {
            request.with_times = with_times;
            let (mut found, report) = answer(&source, &request);
            assert!(found.iter().all(|t| t.transaction_hash.is_none()));
            assert!(
                found
                    .iter()
                    .all(|t| t.block_timestamp.is_some() == with_times)
            );
            source.fill_hashes(&mut found, &report.anchors).unwrap();
            assert_same(&found, &expected, "in order");
        }

        // Some, in an odd order, from a source that has never scanned.
        let mixed: Vec<_> = (0..expected.len())
            .map(|i| i * 7919 % expected.len())
            .collect();
        let mut some: Vec<_> = mixed
            .iter()
            .map(|&i| Transfer {
                transaction_hash: None,
                ..expected[i].clone()
            })
            .collect();
        open(fixture.path()).fill_hashes(&mut some, &[]).unwrap();
        assert!(
            some.iter()
                .zip(&mixed)
                .all(|(found, &i)| *found == expected[i])
        );
    }
}

#[test]
fn time_zero_is_compared_with_the_header() {
    let [fixture, _] = fixtures::committed();
    let source = open(fixture.path());
    let (expected, _) = answer(&source, &everything(range(0, 40)));
    let mut first = [expected[0].clone()];
    for (time, right) in [(None, true), (BlockTime::new(0), false)] {
        first[0].block_timestamp = time;
        let filled = source.fill_hashes(&mut first, &[]);
        match filled {
            Ok(()) => assert!(right && first[0] == expected[0]),
            Err(SourceError::Reorged { block }) => {
                assert!(!right && block == expected[0].block_number);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn pin_counts_for_one_call() {
    let [fixture, _] = fixtures::committed();
    let source = open(fixture.path());
    let mut request = everything(range(0, 40));
    let (expected, report) = answer(&source, &request);
    let right = BlockAnchor {
        blocks: range(0, 40),
        parent_hash: Some(B256::ZERO),
        hash: report.last_block_hash.unwrap(),
    };
    assert_eq!(report.anchors, [right]);
    (request.with_times, request.with_hashes) = (false, false);
    let (unknown, _) = answer(&source, &request);
    let fill = |anchors: &[BlockAnchor]| {
        let mut transfers = unknown.clone();
        source
            .fill_hashes(&mut transfers, anchors)
            .map(|()| transfers)
    };
    let wrong = BlockAnchor {
        hash: B256::ZERO,
        ..right
    };
    for _ in 0..2 {
        assert_same(&fill(&[right]).unwrap(), &expected, "pinned");
        assert_same(&fill(&[]).unwrap(), &expected, "not pinned");
        let refused = fill(&[wrong]).unwrap_err();
        assert!(matches!(refused, SourceError::Reorged { block: 40 }));
    }
    // The times of pinned blocks come from the scan. Others are compared with the headers.
    let mut wrong_time = expected.clone();
    wrong_time[0].block_timestamp = BlockTime::new(1);
    for _ in 0..2 {
        let compared = source.fill_hashes(&mut wrong_time.clone(), &[]);
        assert!(matches!(compared, Err(SourceError::Reorged { .. })));
        source.fill_hashes(&mut wrong_time[..1], &[right]).unwrap();
    }
}
