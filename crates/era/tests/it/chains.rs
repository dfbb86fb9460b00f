//! Whole chains through both formats.

use crate::support::{
    Content, chain, erc20, expected, only, open, range, read_all, request, scan, write,
};
use alloy_primitives::{Log, U256};
use txgraph_era::{EraOptions, Format};
use txgraph_stored::StoredBlocks;
use txgraph_transfers::{
    BlockRanges, EIP7708_LOG_ADDRESS, Kind, SourceError, TransferFilter, TransferSource,
};

/// Blocks with value, tokens, and failures.
fn contents(count: u64, before_byzantium: bool) -> Vec<Content> {
    let content = |number: u64| Content {
        transactions: (0..number % 6)
            .map(|index| {
                let byte = u8::try_from((number + index) % 5 + 1).unwrap();
                let log = erc20(byte, byte, byte + 1, number + 1);
                (number * index, vec![log; usize::from(byte)])
            })
            .collect(),
        before_byzantium,
        withdrawals: None,
        difficulty: 100 + number,
        is_amsterdam: false,
    };
    (0..count).map(content).collect()
}

#[test]
fn both_formats_give_the_transfers_of_their_blocks() {
    for before_byzantium in [true, false] {
        let blocks = chain(16_000, &contents(40, before_byzantium));
        let expected = expected(&blocks, &TransferFilter::default());
        assert!(expected.len() > 200);
        for format in [Format::Ere, Format::Era1] {
            let folder = tempfile::tempdir().unwrap();
            let path = write(folder.path(), format, &blocks);
            for verify in [false, true] {
                assert_eq!(read_all(&path, verify).unwrap(), expected);
                assert_eq!(read_all(folder.path(), verify).unwrap(), expected);
            }
        }
    }
}

#[test]
fn withdrawals_and_blocks_after_the_merge_are_read() {
    let content = |number: u64| Content {
        transactions: vec![(number, vec![erc20(1, 2, 3, number)])],
        withdrawals: Some(vec![(9, number), (8, 5), (7, 0)]),
        ..Content::default()
    };
    let blocks = chain(20_000_000, &(0..10).map(content).collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Format::Ere, &blocks);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("mainnet-02441-"), "{name}");
    assert!(name.ends_with("-noproofs.ere"), "{name}");
    let expected = expected(&blocks, &TransferFilter::default());
    assert_eq!(read_all(&path, true).unwrap(), expected);
}

#[test]
fn chunks_do_not_change_the_answer() {
    let blocks = chain(8190, &contents(30, false));
    let folder = tempfile::tempdir().unwrap();
    // Two files, one of each format.
    write(folder.path(), Format::Era1, &blocks[..2]);
    write(folder.path(), Format::Ere, &blocks[2..]);
    let filter = TransferFilter::default();
    for chunk_blocks in [Some(1), Some(3), Some(1000), None] {
        let options = EraOptions {
            chunk_blocks,
            ..EraOptions::default()
        };
        let source = open(folder.path(), &options).unwrap();
        let ranges = BlockRanges::new(vec![range(8191, 8200), range(8205, 8219)]);
        let (transfers, report) = scan(&source, &request(ranges.clone())).unwrap();
        let parts = [&blocks[1..11], &blocks[15..]].concat();
        assert_eq!(transfers, expected(&parts, &filter));
        assert_eq!(report.covered, ranges);
        let last = blocks.last().unwrap().header.hash_slow();
        assert_eq!(report.last_block_hash, Some(last));
        assert_eq!(report.anchors.len(), 2);
    }
}

#[test]
fn a_condition_on_tokens_skips_blocks_by_their_bloom() {
    let blocks = chain(100, &contents(30, false));
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Format::Ere, &blocks);
    let source = open(&path, &EraOptions::default()).unwrap();
    let mut request = request(range(100, 129));
    request.filter = only(3);
    let (transfers, report) = scan(&source, &request).unwrap();
    assert_eq!(transfers, expected(&blocks, &request.filter));
    assert!(!transfers.is_empty());
    assert!(report.counts.skipped_blocks > 3, "{report:?}");
    assert_eq!(report.counts.blocks, 30);
}

#[test]
fn hashes_and_times_are_filled_in_later() {
    let blocks = chain(100, &contents(20, false));
    let expected = expected(&blocks, &TransferFilter::default());
    for format in [Format::Ere, Format::Era1] {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), format, &blocks);
        let source = open(&path, &EraOptions::default()).unwrap();
        let mut without = request(range(100, 119));
        without.with_hashes = false;
        let (mut transfers, _) = scan(&source, &without).unwrap();
        assert!(transfers.iter().all(|it| it.transaction_hash.is_none()));
        transfers.reverse();
        for transfer in &mut transfers {
            transfer.block_timestamp = None;
        }
        source.fill_hashes(&mut transfers, &[]).unwrap();
        transfers.reverse();
        assert_eq!(transfers, expected);
    }
}

#[test]
fn blocks_between_files_are_missing() {
    let blocks = chain(100, &contents(30, false));
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), Format::Ere, &blocks[..10]);
    write(folder.path(), Format::Ere, &blocks[20..]);
    let source = open(folder.path(), &EraOptions::default()).unwrap();
    let available = BlockRanges::new(vec![range(100, 109), range(120, 129)]);
    assert_eq!(source.blocks().available(), available);
    let mut request = request(range(95, 125));
    let error = scan(&source, &request).unwrap_err();
    assert!(matches!(error, SourceError::Unavailable { .. }), "{error}");
    for part in [
        "95:100 (not in the files)",
        "110:120 (not",
        "available: 100:110",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    request.allow_partial = true;
    let (transfers, report) = scan(&source, &request).unwrap();
    let parts = [&blocks[..10], &blocks[20..26]].concat();
    assert_eq!(transfers, expected(&parts, &request.filter));
    assert_eq!(report.missing.len(), 2);
}

/// Archives have no traces, but blocks of Amsterdam have logs of the same. Older ones are refused.
#[test]
fn internal_transfers_come_from_logs() {
    let moved = |amount| Log {
        address: EIP7708_LOG_ADDRESS,
        ..erc20(0, 1, 2, amount)
    };
    let content = |number: u64| Content {
        transactions: (0..6)
            .map(|index| {
                let logs = vec![moved(number + 1), erc20(3, 4, 5, 6), moved(index + 1)];
                // Failed transactions have no logs.
                (index % 3, if index % 5 == 4 { vec![] } else { logs })
            })
            .collect(),
        withdrawals: Some(Vec::new()),
        is_amsterdam: number >= 5,
        ..Content::default()
    };
    let contents: Vec<_> = (0..20).map(content).collect();
    let blocks = chain(100, &contents);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), Format::Ere, &blocks);
    let source = open(&path, &EraOptions::default()).unwrap();
    let mut request = request(range(105, 119));
    request.filter.internal = true;
    let (found, _) = scan(&source, &request).unwrap();
    assert_eq!(found, expected(&blocks[5..], &request.filter));
    let inside = found.iter().filter(|it| it.kind == Kind::Internal);
    assert_eq!(inside.count(), 15 * 5 * 2);
    let values = found.iter().filter(|it| it.kind == Kind::Value);
    assert_eq!(values.count(), 15 * 3);
    // The value of a transaction is known also if it is not wanted.
    request.filter.min_value = U256::from(5);
    let (found, _) = scan(&source, &request).unwrap();
    assert_eq!(found, expected(&blocks[5..], &request.filter));
    for blocks in [range(104, 119), range(100, 102)] {
        request.blocks = blocks.into();
        let error = scan(&source, &request).unwrap_err();
        assert!(matches!(error, SourceError::Unsupported { .. }), "{error}");
    }
}
