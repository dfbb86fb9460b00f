//! Directories that lack blocks: refused with what is missing and what is there,
//! or answered in part with the gap reported.

use crate::support::{answer, ask, assert_same, everything, open, range};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    naive::decode_fixture,
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

    // And asked for alone, it is no partial answer.
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
        text.contains("41..=41 (above the tip 40") && text.contains("0..=40"),
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

/// What the node itself answers for (`blocks_the_node_answers_for`).
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
        let Some(fixture) = fixtures::fixture(name) else {
            return;
        };
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
        let Some(fixture) = fixtures::fixture(name) else {
            return;
        };
        let tip = open(fixture.path()).db().snapshot().unwrap().tip();
        check(&fixture, range(0, tip));
    }
}

/// `--minimal` on a chain shorter than its distance: no senders, but all the rest.
#[test]
fn absent_senders_are_recovered() {
    let Some(fixture) = fixtures::fixture("pruned/small-v2-minimal") else {
        return;
    };
    let full = fixture.full_chain().unwrap();
    let (transfers, _) = answer(&open(fixture.path()), &everything(range(0, 40)));
    assert_same(&transfers, &decode_fixture(&full).transfers, &fixture.name);
}

/// Static files that hold blocks of an abandoned branch above the tip.
#[test]
fn crashed_node_has_all_blocks_up_to_its_tip() {
    let Some(fixture) = fixtures::fixture("crashed/small-v2") else {
        return;
    };
    assert_eq!(check(&fixture, range(20, 30)), range(0, 28).into());
}
