//! Damage gives errors that name the file, never a panic or a wrong result.

use crate::support::{
    self, Sample, ask, everything, file_path, files, open, range, reseal, source, work,
};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{fs, ops::ControlFlow};
use txgraph_lake::{build, check, verify};
use txgraph_testkit::says;
use txgraph_transfers::{AddressFilter, Direction, ScanRequest, SourceError, TransferSource};

fn sample() -> Sample {
    support::sample(|place, node, options| build(place, node, options).unwrap())
}

fn request() -> ScanRequest {
    ScanRequest {
        with_hashes: true,
        ..everything(range(0, 60))
    }
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
    says(&error, "transfers.parquet is damaged: it has no column");
}

/// Anyone can make a lake. Wrong content with right checksums gives a wrong result or an error, but
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
    let (all, _) = ask(&sample.node, &request()).unwrap();
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
        touching.filter.touching = Some(AddressFilter::new(
            all.iter().take(20).map(|it| it.to_address),
            Direction::Both,
        ));
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
