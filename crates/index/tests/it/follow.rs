//! Following a node that appends and replaces blocks.

use crate::support::{Reference, ask, assert_same, everything, node, open, options, range, seen};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::sync::Mutex;
use txgraph_chaingen::{Config, Layout, LiveNode};
use txgraph_index::{BuildOptions, Indexed, build, update, verify};
use txgraph_testkit::questions::Changing;
use txgraph_transfers::{BlockRanges, Indexable, ScanRequest};

#[test]
fn updates_follow_appends_and_remove_replaced_segments() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(5, Layout::V2)).unwrap();
    live.append(90).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    let options = options(32);
    build(place.path(), &node, &options).unwrap();
    let mut chance = SmallRng::seed_from_u64(8);
    let mut removed = 0;
    for round in 0..12 {
        // The node appends blocks, sometimes after an unwind.
        if round % 3 == 2 {
            let back = chance.random_range(1..20);
            live.unwind(live.tip().number - back).unwrap();
        }
        live.append(chance.random_range(1..12)).unwrap();
        // The index is behind the tip and may have replaced blocks. The answers are the same.
        let old = open(place.path(), &node);
        let reference = Reference::of(&node);
        for _ in 0..10 {
            let request = ScanRequest {
                with_hashes: true,
                ..reference.question(&mut chance)
            };
            let (found, report) = ask(&Indexed::new(&old, &node), &request).unwrap();
            let (expected, expected_report) = ask(&node, &request).unwrap();
            assert_same(&found, &expected, "lagging");
            assert_eq!(seen(&report), seen(&expected_report));
        }
        let buffered = BuildOptions {
            reorg_buffer: round % 4,
            ..options.clone()
        };
        let built = update(place.path(), &node, &buffered).unwrap();
        removed += built.removed_blocks;
        let index = open(place.path(), &node);
        let tip = live.tip().number;
        let last = index.blocks().span().unwrap().last;
        assert!(last >= tip - round % 4, "{last} of {tip}");
        assert_eq!(index.blocks(), range(0, last).into());
        verify(&index, &node, false).unwrap();
        // Full ranges have one segment each, and the last range a few.
        let full = usize::try_from((last + 1) / 32).unwrap();
        assert!(index.segments().len() <= full + 6, "{:?}", index.segments());
    }
    assert!(removed > 0);
    live.kill().unwrap();
}

#[test]
fn pruned_blocks_stay_in_the_index() {
    let chain = tempfile::tempdir().unwrap();
    let config = Config {
        blocks_per_file: 20,
        ..Config::small(6, Layout::V2)
    };
    let mut live = LiveNode::start("imitated_node", chain.path(), config).unwrap();
    live.append(120).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(32)).unwrap();
    let request = everything(range(0, 120));
    let (expected, expected_report) = ask(&node, &request).unwrap();
    live.prune_receipts(60)
        .unwrap()
        .expect("whole files below block 60");
    ask(&node, &request).unwrap_err();
    let index = open(place.path(), &node);
    let (found, report) = ask(&Indexed::new(&index, &node), &request).unwrap();
    assert_same(&found, &expected, "pruned");
    assert_eq!(report, expected_report);
    let verified = verify(&index, &node, false).unwrap();
    assert!(!verified.unread.is_empty());
    assert_eq!(verified.unread.blocks() + verified.blocks, 121);
    // Updates continue without them.
    live.append(30).unwrap();
    update(place.path(), &node, &options(32)).unwrap();
    assert_eq!(open(place.path(), &node).blocks(), range(0, 150).into());
    live.kill().unwrap();
}

/// Blocks that were pruned before they were indexed are left out; later blocks are not.
#[test]
fn update_leaves_out_pruned_blocks() {
    let chain = tempfile::tempdir().unwrap();
    let config = Config {
        blocks_per_file: 20,
        ..Config::small(7, Layout::V2)
    };
    let mut live = LiveNode::start("imitated_node", chain.path(), config).unwrap();
    live.append(120).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    let until_30 = BuildOptions {
        last_block: Some(30),
        ..options(32)
    };
    assert!(
        build(place.path(), &node, &until_30)
            .unwrap()
            .unavailable
            .is_empty()
    );
    let gone = live.prune_receipts(80).unwrap().expect("whole files below");
    let built = update(place.path(), &node, &options(32)).unwrap();
    assert_eq!(built.unavailable, range(31, gone).into());
    let index = open(place.path(), &node);
    let have: BlockRanges = [range(0, 30), range(gone + 1, 120)].into_iter().collect();
    assert_eq!(index.blocks(), have);
    let verified = verify(&index, &node, false).unwrap();
    // Block 0 has no receipts and is not pruned.
    assert_eq!(verified.unread, range(1, 30).into());
    // A build needs all blocks, and fails.
    build(place.path(), &node, &options(32)).unwrap_err();
    live.kill().unwrap();
}

/// A chain that grows faster than it is read is read up to where it ended at the start.
#[test]
fn a_chain_that_grows_in_every_pass_is_no_reorganisation() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(9, Layout::V2)).unwrap();
    live.append(40).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    let options = options(16);
    let growing = Changing {
        source: &node,
        change: Mutex::new(Box::new(|| {
            live.append(3).unwrap();
        })),
    };
    build(place.path(), &growing, &options).unwrap();
    assert_eq!(open(place.path(), &node).blocks(), range(0, 40).into());
    let tip = node.tip().unwrap();
    assert!(tip > 40);
    update(place.path(), &growing, &options).unwrap();
    assert_eq!(open(place.path(), &node).blocks(), range(0, tip).into());
    drop(growing);
    live.kill().unwrap();
}
