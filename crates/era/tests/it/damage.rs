//! Damaged files: an error or the same answer, never a wrong one, and never a panic.

use crate::support::{Content, chain, erc20, read_all, write};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{fs, path::PathBuf};
use tempfile::TempDir;
use txgraph_era::Format;
use txgraph_testkit::says;

/// The first chunk of a compressed record.
const SNAPPY_START: &[u8] = b"\xff\x06\x00\x00sNaPpY";

/// A small file of each format, after the merge and before.
fn files() -> Vec<(TempDir, PathBuf)> {
    let content = |number: u64, difficulty: u64| Content {
        transactions: vec![(number + 1, vec![erc20(1, 2, 3, number)]); 2],
        withdrawals: (difficulty == 0).then(|| vec![(9, number + 1)]),
        difficulty,
        ..Content::default()
    };
    let cases = [(Format::Ere, 0), (Format::Ere, 9), (Format::Era1, 9)];
    let files = cases.map(|(format, difficulty)| {
        let contents: Vec<_> = (0..3).map(|number| content(number, difficulty)).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), format, &chain(100, &contents));
        (folder, path)
    });
    files.into()
}

#[test]
fn a_flipped_bit_gives_an_error_or_the_same_answer() {
    let mut random = StdRng::seed_from_u64(15);
    for (_folder, path) in files() {
        let intact = fs::read(&path).unwrap();
        let expected = read_all(&path, false).unwrap();
        let mut errors = 0;
        for at in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[at] ^= 1 << random.random_range(0..8);
            fs::write(&path, &damaged).unwrap();
            match read_all(&path, false) {
                Ok(transfers) => assert_eq!(transfers, expected, "byte {at}"),
                Err(error) => {
                    assert!(error.contains("mainnet-00000"), "byte {at}: {error}");
                    errors += 1;
                }
            }
        }
        // Everything but difficulties and accumulators is checked.
        assert!(
            errors > intact.len() * 3 / 4,
            "{errors} of {}",
            intact.len()
        );
    }
}

#[test]
fn a_truncated_file_gives_an_error() {
    for (_folder, path) in files() {
        let intact = fs::read(&path).unwrap();
        for len in (0..intact.len()).step_by(3) {
            fs::write(&path, &intact[..len]).unwrap();
            let error = read_all(&path, false).unwrap_err();
            assert!(error.contains("not a complete"), "{len} bytes: {error}");
        }
        // Bytes that are missing at the begin, and bytes after the end.
        for damaged in [&intact[8..], &[&intact[..], &[0]].concat()] {
            fs::write(&path, damaged).unwrap();
            assert!(read_all(&path, false).is_err());
        }
    }
}

/// Replaces words of the index, of record heads and of data by extreme values.
#[test]
fn wrong_lengths_and_positions_give_an_error_or_the_same_answer() {
    let mut random = StdRng::seed_from_u64(16);
    for (_folder, path) in files() {
        let intact = fs::read(&path).unwrap();
        let expected = read_all(&path, false).unwrap();
        for _ in 0..2000 {
            let mut damaged = intact.clone();
            let width = [1, 4, 8][random.random_range(0..3)];
            let at = random.random_range(0..damaged.len() - width);
            let value: u64 = match random.random_range(0..4) {
                0 => u64::MAX,
                1 => 0,
                2 => random.random_range(0..300),
                _ => random.random(),
            };
            damaged[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
            fs::write(&path, &damaged).unwrap();
            if let Ok(transfers) = read_all(&path, false) {
                assert_eq!(transfers, expected, "byte {at}");
            }
        }
    }
}

#[test]
fn errors_of_compression_name_the_block() {
    let (_folder, path) = files().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let mut starts = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(SNAPPY_START));
    // The record of the second header.
    let second = starts.nth(1).unwrap();
    // The checksum of its first chunk.
    bytes[second + SNAPPY_START.len() + 4] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = read_all(&path, false).unwrap_err();
    says(&error, "block 101: its snappy data is damaged");
    bytes[second] = 0;
    fs::write(&path, &bytes).unwrap();
    let error = read_all(&path, false).unwrap_err();
    says(&error, "block 101: its data is not a snappy frame stream");
}
