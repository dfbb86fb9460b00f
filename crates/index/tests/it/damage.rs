//! Damage gives errors, never a panic or a read out of bounds.

use crate::support::{self, Sample, ask, everything, node, open, options, range};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{fs, path::Path};
use txgraph_index::{BuildOptions, Error, Index, Indexed, build, drop_index, fuzzing, update};
use txgraph_testkit::fixtures;
use txgraph_transfers::{FailureKind, TransferSource, WrappedNative};

pub(crate) fn sample() -> Sample {
    support::sample(|place, node, options| build(place, node, options).unwrap())
}

pub(crate) fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths = fixtures::paths_in(folder);
    paths.retain(|path| path.extension().is_some_and(|it| it == "segment"));
    paths
}

#[test]
fn invalid_content_with_right_checksums_does_not_panic() {
    let sample = sample();
    let good = fs::read(&segments(sample.place.path())[0]).unwrap();
    let answered = fuzzing::ask_everything(good.clone());
    assert!(answered > 1000, "{answered}");
    let mut chance = SmallRng::seed_from_u64(2);
    for _ in 0..2000 {
        let bad = fuzzing::with_nonsense(good.clone(), &mut |limit| chance.random_range(0..limit));
        fuzzing::ask_everything(bad);
    }
}

#[test]
fn a_damaged_index_is_dropped_before_another_is_built() {
    let sample = sample();
    let place = sample.place.path();
    let [other, _] = fixtures::committed();
    let refused = Index::open(place, node(other.path()).chain()).unwrap_err();
    assert!(matches!(refused, Error::WrongChain { .. }), "{refused}");

    let manifest = place.join("MANIFEST");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("txgraph-index", "something", 1)).unwrap();
    let refused = Index::open(place, sample.node.chain()).unwrap_err();
    assert_eq!(refused.failure_kind(), FailureKind::UnusableIndex);
    assert!(refused.to_string().contains("build it again"), "{refused}");
    assert!(drop_index(place).unwrap().is_empty());
    assert!(!place.exists());
    assert!(matches!(
        drop_index(place).unwrap_err(),
        Error::NotAStore { .. }
    ));
    let nothing = update(place, &sample.node, &options(32)).unwrap_err();
    assert!(matches!(nothing, Error::NotAStore { .. }), "{nothing}");
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
    let chain = sample.node.chain();
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
        "(Amounts",
        ") do not match their checksum",
        "drop the index",
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
