//! Damage gives errors that name the file, never a panic or a wrong result. One process writes.

use crate::{
    again::{again, paths},
    stores::{Kind, files},
    support::{self, Sample, chain, node, options},
};
use nix::sys::resource::{Resource, setrlimit};
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{fs, process::Command};
use txgraph_chaingen::Profile;
use txgraph_stored::{StoreError, folder::FolderError};
use txgraph_testkit::{
    fixtures,
    queries::{ask, everything, range},
};
use txgraph_transfers::{AddressFilter, Direction, ScanRequest, Transfer, TransferSource};

for_both_stores!(
    damage_of_each_file_gives_errors,
    another_chain_or_version_is_refused,
    second_writer_is_refused,
    full_disk_leaves_no_unfinished_file,
);

fn sample(kind: &Kind) -> Sample {
    support::sample(|place, node, options| (kind.build)(place, node.into(), options).unwrap())
}

/// Asks for everything and for some addresses. Each result must be right or an error.
fn ask_all(source: &dyn TransferSource, all: &[Transfer], chance: &mut SmallRng) -> Vec<String> {
    let mut errors = Vec::new();
    for direction in [None, Some(Direction::Out), Some(Direction::In)] {
        let mut request = ScanRequest {
            with_hashes: true,
            ..everything(range(0, 60))
        };
        if let Some(direction) = direction {
            let addresses = all.choose_multiple(chance, 5).map(|it| it.from_address);
            request.filter.touching = Some(AddressFilter::new(
                addresses.chain([Default::default()]),
                direction,
            ));
        }
        match ask(source, &request) {
            Ok((found, _)) => {
                let expected = all.iter().filter(|it| request.filter.matches(it));
                assert!(
                    found.iter().eq(expected),
                    "a wrong answer from a damaged store"
                );
            }
            Err(error) => errors.push(error.to_string()),
        }
        if let Err(error) = source.by_frontier(&request) {
            errors.push(error.to_string());
        }
    }
    errors
}

fn damage_of_each_file_gives_errors(kind: &Kind, _: &str) {
    let Sample { node, place, .. } = &sample(kind);
    let request = ScanRequest {
        with_hashes: true,
        ..everything(range(0, 60))
    };
    let (all, _) = ask(node, &request).unwrap();
    let mut chance = SmallRng::seed_from_u64(3);
    let mut files: Vec<_> = files(place.path()).into_iter().collect();
    files.retain(|(name, _)| !name.ends_with("LOCK"));
    let mut refused = 0;
    for round in 0..300 {
        let (name, good) = files.choose(&mut chance).unwrap();
        let mut bad = good.clone();
        match round % 4 {
            0 => bad.truncate(chance.random_range(0..bad.len())),
            1 => bad.extend([0; 7]),
            _ => {
                for _ in 0..chance.random_range(1..4) {
                    let at = chance.random_range(0..bad.len());
                    bad[at] ^= 1 << chance.random_range(0..8);
                }
            }
        }
        if bad == *good {
            continue;
        }
        fs::write(place.path().join(name), &bad).unwrap();
        let is_manifest = name.ends_with(kind.manifest);
        match (kind.open)(place.path(), node) {
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("is damaged") || (is_manifest && text.contains("has version")),
                    "{error}"
                );
                refused += 1;
            }
            Ok(open) => {
                for error in ask_all(&*open.source(node), &all, &mut chance) {
                    assert!(error.contains("is damaged"), "{error}");
                    refused += 1;
                }
                // White space of a manifest may differ.
                let verified = kind.opened(place.path(), node).verify(node, true);
                let is_damage = matches!(verified, Err(StoreError::Damaged { .. }));
                assert_eq!(is_damage, !is_manifest, "{name:?}: {verified:?}");
            }
        }
        fs::write(place.path().join(name), good).unwrap();
    }
    assert!(refused > 100, "{refused}");
    for (name, good) in files
        .iter()
        .filter(|(name, _)| !name.ends_with(kind.manifest))
    {
        fs::remove_file(place.path().join(name)).unwrap();
        let refused = match (kind.open)(place.path(), node) {
            Err(error) => error.to_string(),
            Ok(open) => open.verify(node, true).unwrap_err().to_string(),
        };
        let built = (kind.build)(place.path(), node.into(), &options(32));
        for refused in [refused, built.unwrap_err().to_string()] {
            assert!(
                refused.contains("is damaged: it does not exist"),
                "{refused}"
            );
        }
        fs::write(place.path().join(name), good).unwrap();
    }
    kind.verified(place.path(), node);
}

fn another_chain_or_version_is_refused(kind: &Kind, _: &str) {
    let Sample { node, place, .. } = &sample(kind);
    let place = place.path();
    let [other, _] = fixtures::committed();
    let other = self::node(other.path());
    let open = kind.opened(place, node);
    for refused in [
        (kind.update)(place, (&other).into(), &options(32)).map(drop),
        (kind.build)(place, (&other).into(), &options(32)).map(drop),
        open.verify(&other, false).map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::WrongChain { .. })),
            "{refused:?}"
        );
    }
    let manifest = place.join(kind.manifest);
    let text = fs::read_to_string(&manifest).unwrap();
    for (from, to, what) in kind.changes.iter().copied() {
        fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        let refused = (kind.open)(place, node).map(drop).unwrap_err();
        let message = refused.to_string();
        assert!(message.contains(what), "{message}");
        assert!(message.contains(place.to_str().unwrap()), "{message}");
        let is_version = matches!(refused, StoreError::Version { .. });
        assert_eq!(is_version, what.starts_with("has version"), "{message}");
        // A damaged store is not overwritten.
        (kind.build)(place, node.into(), &options(32)).unwrap_err();
    }
    let nowhere = place.join("nowhere");
    for refused in [
        (kind.update)(&nowhere, node.into(), &options(32)).map(drop),
        (kind.open)(&nowhere, node).map(drop),
        (kind.write_otherwise)(&nowhere),
    ] {
        assert!(
            matches!(refused, Err(StoreError::NotAStore { .. })),
            "{refused:?}"
        );
    }
    assert!(!nowhere.exists());
}

fn second_writer_is_refused(kind: &Kind, _: &str) {
    let Sample { node, place, .. } = &sample(kind);
    let place = place.path();
    let lock = fs::File::options()
        .write(true)
        .open(place.join("LOCK"))
        .unwrap();
    lock.lock().unwrap();
    for refused in [
        (kind.build)(place, node.into(), &options(32)).map(drop),
        (kind.update)(place, node.into(), &options(32)).map(drop),
        (kind.write_otherwise)(place),
    ] {
        let refused = refused.unwrap_err();
        assert!(refused.is_locked(), "{refused}");
    }
    drop(lock);
    (kind.update)(place, node.into(), &options(32)).unwrap();
}

/// A disk on which a unit does not fit, imitated by a limit on the length of files.
fn full_disk_leaves_no_unfinished_file(kind: &Kind, name: &str) {
    if let Some([chain, place]) = paths() {
        let node = node(&chain);
        setrlimit(Resource::RLIMIT_FSIZE, 64 << 10, 64 << 10).unwrap();
        let error = (kind.build)(&place, (&node).into(), &options(1 << 20)).unwrap_err();
        let StoreError::Folder(FolderError::Io { path, .. }) = &error else {
            panic!("{error}");
        };
        assert!(path.to_str().unwrap().contains("tmp"), "{error}");
        return;
    }
    let (folder, node) = chain(Profile::Mainnet, 400);
    let place = tempfile::tempdir().unwrap();
    // Writing beyond the limit raises SIGXFSZ unless it is ignored, which `exec` keeps.
    let child = again(name, &[folder.path(), place.path()]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    shell.arg(child.get_program()).args(child.get_args());
    let variables = child.get_envs();
    shell.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // The build wrote a manifest before it failed.
    kind.assert_tidy(place.path(), &node);
    assert_eq!(kind.opened(place.path(), &node).units(), 0);
}
