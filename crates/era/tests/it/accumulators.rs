//! Total difficulties and accumulators of files before the merge.

use crate::support::{Content, chain, read_all, write};
use std::fs;
use txgraph_era::Format;

#[test]
fn verification_finds_wrong_difficulties_and_accumulators() {
    let content = |number: u64| Content {
        transactions: vec![(number, Vec::new())],
        difficulty: 17 + number,
        ..Content::default()
    };
    let blocks = chain(8192, &(0..5).map(content).collect::<Vec<_>>());
    for format in [Format::Ere, Format::Era1] {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), format, &blocks);
        let expected = read_all(&path, true).unwrap();
        let intact = fs::read(&path).unwrap();
        let total = blocks[4].total_difficulty.to_le_bytes::<32>();
        let total = intact
            .windows(32)
            .position(|bytes| *bytes == total)
            .unwrap();
        let head = [0x07, 0, 32, 0, 0, 0, 0, 0];
        let accumulator = intact.windows(8).rposition(|bytes| bytes == head).unwrap();
        for (at, reason) in [
            (total, "the sum of the difficulties"),
            (accumulator + head.len(), "do not have the accumulator"),
        ] {
            let mut damaged = intact.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            // Transfers do not depend on them.
            assert_eq!(read_all(&path, false).unwrap(), expected);
            let error = read_all(&path, true).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}

#[test]
fn blocks_after_the_merge_are_not_in_the_accumulator() {
    let content = |number: u64| Content {
        difficulty: if number < 3 { 17 } else { 0 },
        ..Content::default()
    };
    let blocks = chain(8192, &(0..6).map(content).collect::<Vec<_>>());
    for format in [Format::Ere, Format::Era1] {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), format, &blocks);
        assert!(read_all(&path, true).is_ok());
    }
}
