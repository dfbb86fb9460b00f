//! Damage gives errors, never a panic or a read out of bounds.

use crate::support::{ask, everything, node, open, options, range};
use nix::sys::resource::{Resource, setrlimit};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{env, fs, path::Path, process::Command};
use txgraph_chaingen::{Appender, Config, Layout};
use txgraph_index::{
    BuildOptions, Error, Index, Indexed, build, drop_index, fuzzing, update, verify,
};
use txgraph_reader::NodeSource;
use txgraph_testkit::fixtures;
use txgraph_transfers::WrappedNative;

pub(crate) struct Sample {
    _chain: tempfile::TempDir,
    pub(crate) node: NodeSource,
    pub(crate) place: tempfile::TempDir,
}

pub(crate) fn sample() -> Sample {
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(9, Layout::V2)).unwrap();
    appender.append(60).unwrap();
    // A process may open a database only once.
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

pub(crate) fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "segment"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn flipped_bits_are_detected_without_panic() {
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
        let error = error.unwrap_err();
        assert!(
            matches!(error, Error::Damaged { .. }),
            "round {round}: {error}"
        );
    }
}

#[test]
fn invalid_content_with_right_checksums_does_not_panic() {
    let sample = sample();
    let good = fs::read(&segments(sample.place.path())[0]).unwrap();
    let mut chance = SmallRng::seed_from_u64(2);
    for _ in 0..2000 {
        let bad = fuzzing::with_nonsense(good.clone(), &mut |limit| chance.random_range(0..limit));
        fuzzing::ask_everything(bad);
    }
}

#[test]
fn another_chain_or_version_is_refused() {
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
        ("txgraph-index 4", "txgraph-index 3", true),
        ("txgraph-index 4", "txgraph-index 5", true),
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
        let message = refused.to_string();
        assert!(message.contains("build it again"), "{message}");
        assert!(message.contains(place.to_str().unwrap()), "{message}");
        // A damaged index has to be dropped before another is built.
        build(place, &sample.node, &options(32)).unwrap_err();
    }
    assert!(drop_index(place).unwrap().is_empty());
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
fn drop_refuses_a_folder_without_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("0000000000-0000000001-00000000.segment");
    fs::write(&file, "mine").unwrap();
    drop_index(folder.path()).unwrap_err();
    assert!(file.exists());
}

#[test]
fn second_writer_is_refused() {
    let sample = sample();
    let lock = fs::File::options()
        .write(true)
        .open(sample.place.path().join("LOCK"))
        .unwrap();
    lock.lock().unwrap();
    for refused in [
        build(sample.place.path(), &sample.node, &options(32)).map(drop),
        update(sample.place.path(), &sample.node, &options(32)).map(drop),
        drop_index(sample.place.path()).map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    }
    drop(lock);
    update(sample.place.path(), &sample.node, &options(32)).unwrap();
}

/// A segment of the same blocks that was copied from another index has valid checksums.
#[test]
fn segment_of_another_index_is_refused() {
    let sample = sample();
    let other = tempfile::tempdir().unwrap();
    let without_wraps = BuildOptions {
        wrapped_native: WrappedNative::None,
        ..options(32)
    };
    build(other.path(), &sample.node, &without_wraps).unwrap();
    let (ours, theirs) = (segments(sample.place.path()), segments(other.path()));
    assert_ne!(fs::read(&ours[0]).unwrap(), fs::read(&theirs[0]).unwrap());
    assert_eq!(ours[0].file_name(), theirs[0].file_name());
    fs::copy(&theirs[0], &ours[0]).unwrap();
    let chain = txgraph_transfers::TransferSource::chain(&sample.node);
    let refused = Index::open(sample.place.path(), chain).unwrap_err();
    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains("manifest"), "{refused}");
}

/// The message names the file, the bytes, their part and the remedy.
#[test]
fn damage_names_file_bytes_and_remedy() {
    let sample = sample();
    let path = &segments(sample.place.path())[0];
    let good = fs::read(path).unwrap();
    let (_, amounts) = fuzzing::regions(&good)
        .into_iter()
        .rfind(|(name, _)| name == "Amounts")
        .unwrap();
    let mut bad = good;
    bad[amounts.end - 1] ^= 1;
    fs::write(path, bad).unwrap();
    let index = open(sample.place.path(), &sample.node);
    let error = ask(
        &Indexed::new(&index, &sample.node),
        &everything(range(0, 31)),
    )
    .unwrap_err();
    let message = error.to_string();
    for part in [
        path.to_str().unwrap(),
        "Amounts) do not match their checksum",
        "verify the index",
        "build it again",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn drop_refuses_a_symbolic_link_before_it_deletes_anything() {
    let sample = sample();
    let place = sample.place.path();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(place, &link).unwrap();
    let before = fs::read_dir(place).unwrap().count();
    for path in [link.clone(), link.join("")] {
        let refused = drop_index(&path).unwrap_err();
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
        assert_eq!(fs::read_dir(place).unwrap().count(), before);
    }
    // Asking through the link works.
    open(&link, &sample.node);
}

#[test]
fn drop_names_foreign_files_and_keeps_them() {
    let sample = sample();
    let place = sample.place.path();
    for name in ["notes.txt", "b"] {
        fs::write(place.join(name), "not of the index").unwrap();
    }
    assert_eq!(drop_index(place).unwrap(), ["b", "notes.txt"]);
    let left: Vec<_> = fs::read_dir(place).unwrap().collect();
    assert_eq!(left.len(), 2);
}

const CHAIN: &str = "TXGRAPH_TEST_FULL_CHAIN";
const PLACE: &str = "TXGRAPH_TEST_FULL_PLACE";

/// Not a test: builds under the limit of [`full_disk_leaves_no_unfinished_file`].
#[test]
fn build_under_a_limit() {
    let (Some(chain), Some(place)) = (env::var_os(CHAIN), env::var_os(PLACE)) else {
        return;
    };
    let node = node(Path::new(&chain));
    setrlimit(Resource::RLIMIT_FSIZE, 64 << 10, 64 << 10).unwrap();
    let error = build(Path::new(&place), &node, &options(1 << 20)).unwrap_err();
    let Error::Io { path, .. } = &error else {
        panic!("{error}");
    };
    assert!(path.to_str().unwrap().ends_with(".segment.tmp"), "{error}");
}

/// A disk on which a segment does not fit, imitated by a limit on the length of files.
#[test]
fn full_disk_leaves_no_unfinished_file() {
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(9, Layout::V2)).unwrap();
    appender.append(400).unwrap();
    drop(appender);
    let place = tempfile::tempdir().unwrap();
    // Writing beyond the limit raises SIGXFSZ unless it is ignored, which `exec` keeps.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args([
            "damage::build_under_a_limit",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHAIN, chain.path())
        .env(PLACE, place.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut names: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    // The build created both before it failed.
    assert_eq!(names, ["LOCK", "MANIFEST"]);
}
