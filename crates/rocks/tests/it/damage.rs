//! Changed files: an error or the same answer, and no panic.

use super::{all, directories, rocksdb};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Files that are read, with their content.
fn copy(from: &Path, to: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_read = ["CURRENT", "MANIFEST", ".log", ".sst"]
            .iter()
            .any(|part| name.contains(part));
        let bytes = fs::read(&path).unwrap();
        if is_read && !bytes.is_empty() {
            fs::write(to.join(name), &bytes).unwrap();
            files.push((to.join(name), bytes));
        }
    }
    files.sort();
    files
}

/// `TXGRAPH_DAMAGED_FILES` sets how many files are changed.
#[test]
fn a_changed_byte_is_an_error_or_changes_nothing() {
    let rounds = std::env::var("TXGRAPH_DAMAGED_FILES");
    let rounds: usize = rounds.map_or(700, |rounds| rounds.parse().unwrap());
    let mut random = StdRng::seed_from_u64(0xda3a);
    let (mut errors, mut equal) = (0, 0);
    // The small ones, so that all rows are read each time.
    let fixtures: Vec<_> = directories()
        .into_iter()
        .filter(|fixture| !fixture.name.contains("long"))
        .collect();
    let per_fixture = rounds.div_ceil(fixtures.len());
    for fixture in &fixtures {
        let directory = tempfile::tempdir().unwrap();
        let files = copy(&rocksdb(fixture), directory.path());
        let answer = all(directory.path()).unwrap();
        for round in 0..per_fixture {
            let (path, bytes) = &files[round % files.len()];
            let mut changed = bytes.clone();
            let at = random.random_range(0..bytes.len());
            changed[at] ^= match random.random_range(0..3) {
                0 => 1 << random.random_range(0..8),
                1 => 0xff,
                _ => random.random_range(1..=255),
            };
            fs::write(path, &changed).unwrap();
            match all(directory.path()) {
                Ok(found) => {
                    assert!(
                        found == answer,
                        "byte {at} of {}: another answer",
                        path.display()
                    );
                    equal += 1;
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    errors += 1;
                }
            }
            fs::write(path, bytes).unwrap();
        }
        assert!(all(directory.path()).unwrap() == answer);
    }
    println!(
        "{} changed files: {errors} errors, {equal} equal answers",
        errors + equal
    );
    assert!(errors > 10 * equal);
}

/// Shorter files: an error, or the rows that were there when the file was so long.
#[test]
fn a_cut_file_never_panics() {
    let mut random = StdRng::seed_from_u64(0xc07);
    for fixture in directories().iter().take(3) {
        let directory = tempfile::tempdir().unwrap();
        let files = copy(&rocksdb(fixture), directory.path());
        for round in 0..150 {
            let (path, bytes) = &files[round % files.len()];
            let len = random.random_range(0..bytes.len());
            fs::write(path, &bytes[..len]).unwrap();
            let answer = all(directory.path());
            let is_table = path.extension().is_some_and(|extension| extension == "sst");
            assert!(
                !is_table || answer.is_err(),
                "{} with {len} bytes",
                path.display()
            );
            fs::write(path, bytes).unwrap();
        }
    }
}
