//! Directories that lack blocks: refused with what is missing and what is there,
//! or answered in part with the gap reported.

use crate::support::{answer, ask, assert_same, everything, open, range};
use txgraph_testkit::{
    edit,
    fixtures::{self, Fixture},
    naive::decode_fixture,
    or_skip,
};
use txgraph_transfers::{BlockRange, BlockRanges, SourceError, Transfer};

fn missing_of(gaps: &[txgraph_transfers::Unavailable]) -> BlockRanges {
    gaps.iter().map(|gap| gap.blocks).collect()
}

/// Asks for `asked` of a directory that has not all of it. What is available.
fn check(fixture: &Fixture, asked: BlockRange) -> BlockRanges {
    let source = open(fixture.path());
    let mut request = everything(asked);
    let Err(SourceError::Unavailable { missing, available }) = ask(&source, &request) else {
        panic!("{}: not refused", fixture.name)
    };
    let missing = missing_of(&missing);
    assert_eq!(
        BlockRanges::from(asked).subtract(&available),
        missing,
        "{}",
        fixture.name
    );
    assert!(!available.is_empty() && !missing.is_empty());

    // With `allow_partial` the rest is returned and the gap reported.
    request.allow_partial = true;
    let (transfers, report) = answer(&source, &request);
    assert_eq!(missing_of(&report.missing), missing);
    assert!(report.missing.iter().all(|gap| !gap.reason.is_empty()));
    if let Some(full) = fixture.full_chain()
        && full.has("blocks")
    {
        let expected: Vec<Transfer> = decode_fixture(&full)
            .transfers
            .into_iter()
            .filter(|t| asked.contains(t.block_number) && available.contains(t.block_number))
            .collect();
        assert_same(&transfers, &expected, &fixture.name);
    }

    // And asked for alone, it is not a partial result.
    request.allow_partial = false;
    request.blocks = available.intersect(&asked.into());
    let (alone, _) = answer(&source, &request);
    assert_same(&alone, &transfers, &fixture.name);
    available
}

#[test]
fn blocks_above_the_tip() {
    let [fixture, _] = fixtures::committed();
    assert_eq!(check(&fixture, range(30, 50)), range(0, 40).into());
    assert_eq!(check(&fixture, range(0, u64::MAX)), range(0, 40).into());
    let source = open(fixture.path());
    let refused = ask(&source, &everything(range(41, 41))).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("41:42 (above the tip 40") && text.contains("0:41"),
        "{text}"
    );

    let mut request = everything(BlockRanges::new(vec![range(38, 45), range(50, 60)]));
    request.allow_partial = true;
    let (_, report) = answer(&source, &request);
    assert_eq!(report.covered, range(38, 40).into());
    assert_eq!(report.missing.len(), 2);
}

#[test]
fn empty_request_returns_nothing() {
    let [fixture, _] = fixtures::committed();
    let (transfers, report) = answer(&open(fixture.path()), &everything(BlockRanges::default()));
    assert!(transfers.is_empty());
    assert_eq!(report, Default::default());
}

/// The blocks that the node itself answers for (`blocks_the_node_answers_for`).
#[test]
fn pruned_directories_have_the_blocks_of_their_node() {
    for name in ["dev-v1-receipts", "dev-v2-distance", "long-v2-full"] {
        let Some(fixture) = fixtures::fixture(&format!("pruned/{name}")) else {
            return;
        };
        let tip = fixture.tip().unwrap();
        let available = check(&fixture, range(0, tip));
        let receipts = &fixture.chain_info["blocks_the_node_answers_for"]["receipts"];
        let complete_from = receipts["complete_from"].as_u64().unwrap();
        let last_without = receipts["last_block_without"].as_u64().unwrap();
        // Blocks without transactions between the two lack nothing.
        let missing = BlockRanges::from(range(0, tip)).subtract(&available);
        assert_eq!(missing.span().unwrap().last, last_without, "{name}");
        assert!(
            BlockRanges::from(range(complete_from, tip))
                .subtract(&available)
                .is_empty()
        );
    }
}

#[test]
fn filtered_receipts_are_found_by_counting() {
    for name in ["pruned/small-v1-logfilter", "pruned/small-v2-logfilter"] {
        let fixture = or_skip!(fixtures::fixture(name));
        let available = check(&fixture, range(0, 40));
        let receipts = &fixture.chain_info["blocks_the_node_answers_for"]["receipts"];
        let with = receipts["earlier_blocks_with"].as_array().unwrap();
        for block in with {
            assert!(
                available.contains(block.as_u64().unwrap()),
                "{name}: {block}"
            );
        }
        let last_without = receipts["last_block_without"].as_u64().unwrap();
        assert!(!available.contains(last_without));
        // Every block that lacks receipts has transactions.
        let missing = 41 - available.blocks();
        assert_eq!(
            Some(missing),
            receipts["blocks_without"].as_u64(),
            "{name}: {available}"
        );
    }
    for name in [
        "odd/filter-v1",
        "odd/filter-v2",
        "odd/pruned-v1",
        "odd/pruned-v2",
    ] {
        let fixture = or_skip!(fixtures::fixture(name));
        let tip = open(fixture.path()).db().snapshot().unwrap().tip();
        check(&fixture, range(0, tip));
    }
}

/// `--minimal` on a chain shorter than its distance: no senders, but all the rest.
#[test]
fn absent_senders_are_recovered() {
    let fixture = or_skip!(fixtures::fixture("pruned/small-v2-minimal"));
    let full = fixture.full_chain().unwrap();
    let (transfers, _) = answer(&open(fixture.path()), &everything(range(0, 40)));
    assert_same(&transfers, &decode_fixture(&full).transfers, &fixture.name);
}

/// Static files that hold blocks of an abandoned branch above the tip.
#[test]
fn crashed_node_has_all_blocks_up_to_its_tip() {
    let fixture = or_skip!(fixtures::fixture("crashed/small-v2"));
    assert_eq!(check(&fixture, range(20, 30)), range(0, 28).into());
}

/// The form of `reth init-state --without-evm` for block 30: headers below it without bodies, and
/// block 30 with an empty body, although its header has transactions.
#[test]
fn bodies_below_an_imported_state_are_missing() {
    for fixture in fixtures::committed() {
        let copy = fixture.unpack();
        let first_tx = {
            let source = open(copy.path());
            let snapshot = source.db().snapshot().unwrap();
            assert!(snapshot.body(30).unwrap().tx_count > 0);
            snapshot.body(31).unwrap().first_tx
        };
        let table = "BlockBodyIndices";
        for block in 1..30_u64 {
            edit::delete(copy.path(), table, &block.to_be_bytes());
        }
        // Two bytes of number, no bytes of count.
        let [high, low] = u16::try_from(first_tx).unwrap().to_be_bytes();
        let empty = [2, high, low];
        edit::put(copy.path(), table, &30_u64.to_be_bytes(), &empty);

        let source = open(copy.path());
        let error = ask(&source, &everything(range(0, 40))).unwrap_err();
        let text = error.to_string();
        for part in [
            "1:30 (not stored: the node began with the state of a later block",
            "30:31 (only the header is stored: the node began with the state after this block",
            "available: 0:1, 31:41",
        ] {
            assert!(text.contains(part), "{}: {text}", fixture.name);
        }
        // A query that begins after the hole, at the block with the header only.
        let error = ask(&source, &everything(range(30, 40))).unwrap_err();
        assert!(error.to_string().contains("30:31 (only the"), "{error}");

        let mut partial = everything(range(0, 40));
        partial.allow_partial = true;
        let (transfers, report) = answer(&source, &partial);
        let (expected, _) = answer(&source, &everything(range(31, 40)));
        assert_same(&transfers, &expected, &fixture.name);
        assert!(!transfers.is_empty());
        assert_eq!(
            report.covered,
            BlockRanges::new(vec![range(0, 0), range(31, 40)])
        );
        let info = source.db().snapshot().unwrap().info().unwrap();
        assert_eq!(info.receipts, [range(0, 0), range(31, 40)]);
        assert_eq!(info.headers, [range(0, 40)]);
        let note = info.notes.iter().find(|note| note.contains("1:30"));
        assert!(note.is_some(), "{:?}", info.notes);
    }
}
