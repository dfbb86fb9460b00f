//! Damage gives errors that name the file, never a panic or a wrong answer.

use crate::{
    answers::chain,
    support::{
        ask, everything, file_path, files, node, open, options, range, reseal, source, work,
    },
};
use alloy_primitives::Address;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{fs, ops::ControlFlow, path::Path};
use txgraph_chaingen::Profile;
use txgraph_lake::{Error, Lake, build, check, verify};
use txgraph_reader::NodeSource;
use txgraph_transfers::{Direction, ScanRequest, SourceError, Touching, Transfer, TransferSource};

struct Sample {
    _chain: tempfile::TempDir,
    node: NodeSource,
    place: tempfile::TempDir,
    all: Vec<Transfer>,
}

fn sample() -> Sample {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Mainnet, 60);
    let node = node(folder.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(32)).unwrap();
    let (all, _) = ask(&node, &request()).unwrap();
    Sample {
        _chain: folder,
        node,
        place,
        all,
    }
}

fn request() -> ScanRequest {
    ScanRequest {
        with_hashes: true,
        ..everything(range(0, 60))
    }
}

/// Asks for everything and for some addresses. Each answer must be right or an error.
fn ask_all(lake: &Lake, all: &[Transfer], chance: &mut SmallRng) -> Vec<String> {
    let mut errors = Vec::new();
    let lake_source = source(lake);
    for direction in [None, Some(Direction::Out), Some(Direction::In)] {
        let mut request = request();
        if let Some(direction) = direction {
            let addresses = all.choose_multiple(chance, 5).map(|it| it.from_address);
            request.filter.touching = Some(Touching {
                addresses: addresses.chain([Address::ZERO]).collect(),
                direction,
            });
        }
        match ask(&lake_source, &request) {
            Ok((found, _)) => {
                let expected: Vec<_> = all
                    .iter()
                    .filter(|it| request.filter.wants(it))
                    .cloned()
                    .collect();
                assert!(found == expected, "a wrong answer from a damaged lake");
            }
            Err(error) => errors.push(error.to_string()),
        }
        if let Err(error) = lake_source.by_frontier(&request) {
            errors.push(error.to_string());
        }
    }
    errors
}

/// Names a file within the lake.
fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn flipped_bits_and_truncated_files_give_errors() {
    let sample = sample();
    let mut chance = SmallRng::seed_from_u64(3);
    let paths = files(sample.place.path());
    let mut refused = 0;
    for round in 0..240 {
        let path = paths.choose(&mut chance).unwrap();
        let good = fs::read(path).unwrap();
        let mut bad = good.clone();
        match round % 4 {
            0 => bad.truncate(chance.random_range(0..bad.len())),
            1 => bad.extend([0; 7]),
            _ => {
                let at = chance.random_range(0..bad.len());
                bad[at] ^= 1 << chance.random_range(0..8);
            }
        }
        fs::write(path, &bad).unwrap();
        match Lake::open(sample.place.path()) {
            Err(error) => {
                assert!(name(path).contains("manifest"), "{error}");
                refused += 1;
            }
            Ok(lake) => {
                let is_same = name(path) == "manifest.json";
                for error in ask_all(&lake, &sample.all, &mut chance) {
                    assert!(error.contains("is damaged"), "{error}");
                    refused += 1;
                }
                let verified = check(&open(sample.place.path()), &work());
                assert_eq!(
                    verified.is_ok(),
                    is_same,
                    "{}: {verified:?}",
                    path.display()
                );
            }
        }
        fs::write(path, good).unwrap();
    }
    assert!(refused > 100, "{refused}");
    verify(&open(sample.place.path()), &sample.node).unwrap();
}

/// Another table under the name of a file, with right checksums.
#[test]
fn tables_with_other_columns_are_refused() {
    let sample = sample();
    let lake = open(sample.place.path());
    let partition = &lake.partitions()[0];
    let (blocks, transfers) = (
        file_path(&lake, partition, "blocks.parquet"),
        file_path(&lake, partition, "transfers.parquet"),
    );
    fs::copy(blocks, transfers).unwrap();
    reseal(sample.place.path());
    let lake = open(sample.place.path());
    let error = ask(&source(&lake), &request()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("transfers.parquet is damaged: it has no column"),
        "{error}"
    );
}

/// Anyone can make a lake. Wrong content with right checksums gives a wrong answer or an error, but
/// never a panic.
#[test]
fn content_that_was_made_to_harm_gives_no_panic() {
    let sample = sample();
    let mut chance = SmallRng::seed_from_u64(4);
    let paths: Vec<_> = files(sample.place.path())
        .into_iter()
        .filter(|path| path.extension().is_some_and(|it| it == "parquet"))
        .collect();
    let manifest = sample.place.path().join("manifest.json");
    let good_manifest = fs::read(&manifest).unwrap();
    let (mut errors, mut answers) = (0, 0);
    for _ in 0..300 {
        let path = paths.choose(&mut chance).unwrap();
        let checksums = path.with_file_name("checksums.json");
        let (good, good_checksums) = (fs::read(path).unwrap(), fs::read(&checksums).unwrap());
        let mut bad = good.clone();
        for _ in 0..chance.random_range(1..4) {
            // Half of the changes are near the end, in the footer and the page index.
            let from = if chance.random() {
                bad.len() - bad.len() / 5
            } else {
                0
            };
            let at = chance.random_range(from..bad.len());
            bad[at] = chance.random();
        }
        fs::write(path, bad).unwrap();
        reseal(sample.place.path());
        let lake = open(sample.place.path());
        let mut touching = request();
        touching.filter.touching = Some(Touching {
            addresses: sample.all.iter().take(20).map(|it| it.to_address).collect(),
            direction: Direction::Both,
        });
        for request in [request(), touching] {
            match ask_unchecked(&source(&lake), &request) {
                Ok(()) => answers += 1,
                Err(_) => errors += 1,
            }
        }
        errors += u64::from(check(&lake, &work()).is_err());
        fs::write(path, good).unwrap();
        fs::write(&checksums, good_checksums).unwrap();
        fs::write(&manifest, &good_manifest).unwrap();
    }
    assert!(errors > 100 && answers > 10, "{errors} {answers}");
    verify(&open(sample.place.path()), &sample.node).unwrap();
}

fn ask_unchecked(source: &dyn TransferSource, request: &ScanRequest) -> Result<(), SourceError> {
    source
        .scan(request, &mut |_| ControlFlow::Continue(()))
        .map(drop)
}

#[test]
fn manifests_of_other_versions_and_formats_are_refused() {
    let sample = sample();
    let manifest = sample.place.path().join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let error = |text: String| {
        fs::write(&manifest, text).unwrap();
        Lake::open(sample.place.path()).unwrap_err()
    };
    let found = error(text.replace("\"version\": 1", "\"version\": 9"));
    assert!(
        matches!(
            found,
            Error::Version {
                found: 9,
                known: 1,
                ..
            }
        ),
        "{found}"
    );
    for (from, to, what) in [
        ("txgraph-lake", "other", "its format is not"),
        (
            "\"partition_blocks\": 32",
            "\"partition_blocks\": 33",
            "does not match its checksum",
        ),
        ("{", "<html>", "expected"),
    ] {
        let changed = text.replacen(from, to, 1);
        let found = error(changed);
        assert!(found.to_string().contains(what), "{found}");
    }
}
