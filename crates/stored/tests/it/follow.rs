//! Following a node that appends and replaces blocks.

use crate::{
    stores::{Kind, Open, files},
    support::{chain, node, options, until},
};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{path::Path, sync::Mutex};
use txgraph_chaingen::{Config, Layout, LiveNode, Profile, serve_if_asked};
use txgraph_reader::NodeSource;
use txgraph_stored::{BuildOptions, StoreError};
use txgraph_testkit::queries::{Changing, Reference, ask, assert_same, everything, range, seen};
use txgraph_transfers::{FailureKind, Indexable, ScanRequest, WrappedNative};

for_both_stores!(
    updates_follow_appends_and_remove_replaced_units,
    pruned_blocks_stay_in_the_store,
    a_build_in_another_way_is_refused,
    a_node_that_is_far_behind_removes_nothing,
    a_chain_that_grows_in_every_pass_is_no_reorganization,
);

/// A node of its own process, its folder, and its source. `None` if this process is the node.
fn live(name: &str, seed: u64, blocks: u64) -> Option<(tempfile::TempDir, LiveNode, NodeSource)> {
    if serve_if_asked() {
        return None;
    }
    let chain = tempfile::tempdir().unwrap();
    let config = Config {
        blocks_per_file: 20,
        ..Config::small(seed, Layout::V2)
    };
    let (_, name) = name.split_once("::").unwrap();
    let mut live = LiveNode::start(name, chain.path(), config).unwrap();
    live.append(blocks).unwrap();
    let node = node(chain.path());
    Some((chain, live, node))
}

/// Compares answers to random requests about the blocks that a store answers.
fn compare(open: &Open, node: &NodeSource, chance: &mut SmallRng) {
    let reference = Reference::of(node);
    for _ in 0..10 {
        let mut request = ScanRequest {
            with_hashes: true,
            ..reference.query(chance)
        };
        request.blocks = (request.blocks).intersect(&open.answered(reference.tip));
        let (found, report) = ask(&*open.source(node), &request).unwrap();
        let (expected, expected_report) = ask(node, &request).unwrap();
        assert_same(&found, &expected, "following");
        assert_eq!(seen(&report), seen(&expected_report));
    }
}

fn a_node_that_is_far_behind_removes_nothing(kind: &Kind, name: &str) {
    let Some((_chain, _live, node)) = live(name, 6, 300) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let options = options(32);
    (kind.build)(place.path(), (&node).into(), &options).unwrap();
    let before = files(place.path());
    // The same chain, as a node that syncs again has it.
    let Some((_chain, _live, behind)) = live(name, 6, 20) else {
        return;
    };
    let error = (kind.update)(place.path(), (&behind).into(), &options).unwrap_err();
    let is_ahead = matches!(error, StoreError::AheadOfSource { stored: 300, .. });
    assert!(is_ahead, "{error}");
    assert!(files(place.path()) == before);
}

fn updates_follow_appends_and_remove_replaced_units(kind: &Kind, name: &str) {
    let Some((_chain, mut live, node)) = live(name, 5, 90) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let options = options(32);
    (kind.build)(place.path(), (&node).into(), &options).unwrap();
    let mut chance = SmallRng::seed_from_u64(8);
    let (mut removed, mut replaced) = (0, 0);
    for round in 0..12 {
        // The node appends blocks, sometimes after an unwind.
        if round % 3 == 2 {
            let back = chance.random_range(1..20);
            live.unwind(live.tip().number - back).unwrap();
        }
        live.append(chance.random_range(1..12)).unwrap();
        let old = kind.opened(place.path(), &node);
        // An index is behind the tip and may have replaced blocks. The answers are the same.
        if matches!(old, Open::Index(_)) {
            compare(&old, &node, &mut chance);
        }
        let stale = old.verify(&node, false).err();
        drop(old);
        let buffered = BuildOptions {
            reorg_buffer: round % 4,
            ..options.clone()
        };
        let built = (kind.update)(place.path(), (&node).into(), &buffered).unwrap();
        removed += built.removed_blocks;
        assert_eq!(stale.is_some(), built.removed_blocks > 0);
        // The remedy is to update the store, not to make it again.
        let is_replaced = |error: StoreError| {
            matches!(error, StoreError::Replaced { .. })
                && error.failure_kind() != FailureKind::UnusableIndex
        };
        assert!(stale.is_none_or(is_replaced));
        if round % 2 == 1 && kind.settle.is_some() {
            replaced += settle_like_one_build(kind, place.path(), &node);
        }
        kind.assert_tidy(place.path(), &node);
        let open = kind.opened(place.path(), &node);
        let tip = live.tip().number;
        let last = open.blocks().span().unwrap().last;
        assert!(last >= tip - round % 4, "{last} of {tip}");
        assert_eq!(open.blocks(), range(0, last).into());
        open.verify(&node, false).unwrap();
        compare(&open, &node, &mut chance);
        // Full ranges have one segment each, and the last range a few.
        let full = usize::try_from((last + 1) / 32).unwrap();
        assert!(
            kind.settle.is_some() || open.units() <= full + 6,
            "{}",
            open.units()
        );
    }
    assert!(removed > 0);
    assert_eq!(replaced > 0, kind.settle.is_some());
    live.kill().unwrap();
}

/// A store that is settled has the same files as one that was built at once. Returns the number of
/// units that were replaced.
fn settle_like_one_build(kind: &Kind, place: &Path, node: &NodeSource) -> usize {
    let replaced = kind.settled(place);
    let fresh = tempfile::tempdir().unwrap();
    let last = kind.opened(place, node).blocks().span().unwrap().last;
    let until = until(last, 32);
    (kind.build)(fresh.path(), node.into(), &until).unwrap();
    // Names of folders have the number of the compaction.
    let contents = |place: &Path| -> Vec<_> {
        let files = files(place).into_iter();
        let units = files.filter(|(name, _)| !name.ends_with(kind.manifest));
        units
            .map(|(name, bytes)| (name.file_name().unwrap().to_owned(), bytes))
            .collect()
    };
    assert!(contents(place) == contents(fresh.path()));
    assert_eq!(kind.settled(place), 0);
    replaced
}

fn pruned_blocks_stay_in_the_store(kind: &Kind, name: &str) {
    let Some((_chain, mut live, node)) = live(name, 6, 120) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    (kind.build)(place.path(), (&node).into(), &options(32)).unwrap();
    let request = everything(range(0, 120));
    let (expected, expected_report) = ask(&node, &request).unwrap();
    live.prune_receipts(60)
        .unwrap()
        .expect("whole files below block 60");
    ask(&node, &request).unwrap_err();
    let open = kind.opened(place.path(), &node);
    let (found, report) = ask(&*open.source(&node), &request).unwrap();
    assert_same(&found, &expected, "pruned");
    assert_eq!(report, expected_report);
    let verified = open.verify(&node, false).unwrap();
    assert!(!verified.unread.is_empty());
    assert_eq!(verified.unread.blocks() + verified.blocks, 121);
    // Updates continue without them.
    live.append(30).unwrap();
    (kind.update)(place.path(), (&node).into(), &options(32)).unwrap();
    let open = kind.opened(place.path(), &node);
    assert_eq!(open.blocks(), range(0, 150).into());
    live.kill().unwrap();
}

/// Settings that are fixed when a store is created are not ignored later.
fn a_build_in_another_way_is_refused(kind: &Kind, _: &str) {
    let (_chain, node) = chain(Profile::Mainnet, 60);
    let place = tempfile::tempdir().unwrap();
    let first = BuildOptions {
        first_block: 8,
        ..until(30, 16)
    };
    let build = |options: &BuildOptions| (kind.build)(place.path(), (&node).into(), options);
    build(&first).unwrap();
    let earlier = BuildOptions {
        first_block: 4,
        ..first.clone()
    };
    let unwrapped = BuildOptions {
        wrapped_native: WrappedNative::None,
        ..first
    };
    for (options, what) in [
        (until(60, 32), "of 16 blocks; build it in the same way"),
        (earlier, "from block 8 on"),
        (unwrapped, "wrapped coins"),
    ] {
        let error = build(&options).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    // The first block need not be repeated.
    build(&until(60, 16)).unwrap();
    assert_eq!(kind.verified(place.path(), &node), range(8, 60).into());
}

/// A chain that grows faster than it is read is read up to where it ended at the start.
fn a_chain_that_grows_in_every_pass_is_no_reorganization(kind: &Kind, name: &str) {
    let Some((_chain, mut live, node)) = live(name, 9, 40) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let options = options(16);
    let growing = Changing {
        source: &node,
        change: Mutex::new(Box::new(|| {
            live.append(3).unwrap();
        })),
    };
    (kind.build)(place.path(), (&growing).into(), &options).unwrap();
    let blocks = || kind.opened(place.path(), &node).blocks();
    assert_eq!(blocks(), range(0, 40).into());
    let tip = node.tip().unwrap();
    assert!(tip > 40);
    (kind.update)(place.path(), (&growing).into(), &options).unwrap();
    assert_eq!(blocks(), range(0, tip).into());
    drop(growing);
    live.kill().unwrap();
}
