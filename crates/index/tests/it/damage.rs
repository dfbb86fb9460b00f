//! What is wrong is said, and never a reason to panic or to read out of bounds.

use crate::support::{node, open, options};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{fs, path::Path};
use txgraph_chaingen::{Appender, Config, Layout};
use txgraph_index::{Error, Index, build, drop_index, fuzzing, update, verify};
use txgraph_reader::NodeSource;
use txgraph_testkit::fixtures;

struct Sample {
    _chain: tempfile::TempDir,
    node: NodeSource,
    place: tempfile::TempDir,
}

fn sample() -> Sample {
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(9, Layout::V2)).unwrap();
    appender.append(60).unwrap();
    // One process opens a database once.
    drop(appender);
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(32)).unwrap();
    Sample {
        _chain: chain,
        node,
        place,
    }
}

fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "segment"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn flipped_bits_are_found_and_never_panic() {
    let sample = sample();
    let path = &segments(sample.place.path())[0];
    let good = fs::read(path).unwrap();
    let answered = fuzzing::ask_everything(good.clone());
    assert!(answered > 1000, "{answered}");
    let mut chance = SmallRng::seed_from_u64(1);
    for round in 0..600 {
        let mut bad = good.clone();
        for _ in 0..chance.random_range(1..20) {
            let at = chance.random_range(0..bad.len());
            bad[at] ^= 1 << chance.random_range(0..8);
        }
        if round % 10 == 0 {
            bad.truncate(chance.random_range(0..bad.len()));
        }
        if bad == good {
            continue;
        }
        fuzzing::ask_everything(bad.clone());
        fs::write(path, bad).unwrap();
        let error = Index::open(
            sample.place.path(),
            txgraph_transfers::TransferSource::chain(&sample.node),
        )
        .and_then(|index| verify(&index, &sample.node, true));
        // Zeros between two parts are all that nobody reads.
        if let Ok(verified) = error {
            assert!(verified.segments > 0);
            let bad = fs::read(path).unwrap();
            let changed = (0..bad.len()).filter(|at| bad[*at] != good[*at]);
            assert!(changed.count() < 8, "round {round}");
        }
    }
}

#[test]
fn heads_with_right_checksums_and_nonsense_do_not_panic() {
    let sample = sample();
    let good = fs::read(&segments(sample.place.path())[0]).unwrap();
    let mut chance = SmallRng::seed_from_u64(2);
    for _ in 0..2000 {
        let bad = fuzzing::with_nonsense(good.clone(), &mut |limit| chance.random_range(0..limit));
        fuzzing::ask_everything(bad);
    }
}

#[test]
fn an_index_of_another_chain_or_version_is_refused() {
    let sample = sample();
    let place = sample.place.path();
    let [other, _] = fixtures::committed();
    let other = node(other.path());
    let refused = Index::open(place, txgraph_transfers::TransferSource::chain(&other)).unwrap_err();
    assert!(matches!(refused, Error::WrongChain { .. }), "{refused}");
    let refused = update(place, &other, &options(32)).unwrap_err();
    assert!(matches!(refused, Error::WrongChain { .. }), "{refused}");

    let manifest = place.join("MANIFEST");
    let text = fs::read_to_string(&manifest).unwrap();
    for (from, to, version) in [
        ("txgraph-index 3", "txgraph-index 4", true),
        ("\"segments\"", "\"segment\"", false),
        ("txgraph-index", "something", false),
    ] {
        fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        let chain = txgraph_transfers::TransferSource::chain(&sample.node);
        let refused = Index::open(place, chain).unwrap_err();
        assert_eq!(
            matches!(refused, Error::Version { .. }),
            version,
            "{refused}"
        );
        assert!(refused.is_damage());
        // A broken index can be dropped, and only then is there room for another.
        build(place, &sample.node, &options(32)).unwrap_err();
    }
    drop_index(place).unwrap();
    assert!(!place.exists());
    assert!(matches!(
        drop_index(place).unwrap_err(),
        Error::NotAnIndex { .. }
    ));
    let nothing = update(place, &sample.node, &options(32)).unwrap_err();
    assert!(matches!(nothing, Error::NotAnIndex { .. }), "{nothing}");
    assert!(!place.exists());
    build(place, &sample.node, &options(32)).unwrap();
    open(place, &sample.node);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("0000000000-0000000001-00000000.segment");
    fs::write(&file, "mine").unwrap();
    drop_index(folder.path()).unwrap_err();
    assert!(file.exists());
}

#[test]
fn two_writers_do_not_meet() {
    let sample = sample();
    let lock = fs::File::options()
        .write(true)
        .open(sample.place.path().join("LOCK"))
        .unwrap();
    lock.lock().unwrap();
    for refused in [
        build(sample.place.path(), &sample.node, &options(32)).map(drop),
        update(sample.place.path(), &sample.node, &options(32)).map(drop),
        drop_index(sample.place.path()),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    }
    drop(lock);
    update(sample.place.path(), &sample.node, &options(32)).unwrap();
}
