//! Following a node that appends and replaces blocks.

use crate::answers::seen;
use crate::support::{Twin, ask, assert_same, everything, node, open, options, range};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use txgraph_chaingen::{Config, Layout, LiveNode};
use txgraph_index::{BuildOptions, Indexed, build, update, verify};
use txgraph_transfers::{BlockRanges, ScanRequest};

#[test]
fn updates_follow_appends_and_undo_what_was_replaced() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(5, Layout::V2)).unwrap();
    live.append(90).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    let options = options(32);
    build(place.path(), &node, &options).unwrap();
    let mut chance = SmallRng::seed_from_u64(8);
    let mut undone = 0;
    for round in 0..12 {
        // The node goes on, and sometimes back first.
        if round % 3 == 2 {
            let back = chance.random_range(1..20);
            live.unwind(live.tip().number - back).unwrap();
        }
        live.append(chance.random_range(1..12)).unwrap();
        // The index lags behind, and may hold blocks that are gone: same answers.
        let old = open(place.path(), &node);
        let twin = Twin::of(&node);
        for _ in 0..10 {
            let request = ScanRequest {
                with_hashes: true,
                ..twin.question(&mut chance)
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
        undone += built.undone_blocks;
        let index = open(place.path(), &node);
        let tip = live.tip().number;
        let last = index.blocks().span().unwrap().last;
        assert!(last >= tip - round % 4, "{last} of {tip}");
        assert_eq!(index.blocks(), range(0, last).into());
        verify(&index, &node, false).unwrap();
        // Full ranges are one segment each; the last has few.
        let full = usize::try_from((last + 1) / 32).unwrap();
        assert!(index.segments().len() <= full + 6, "{:?}", index.segments());
    }
    assert!(undone > 0);
    live.kill().unwrap();
}

#[test]
fn blocks_that_the_node_has_pruned_stay_in_the_index() {
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
    // Following goes on without them.
    live.append(30).unwrap();
    update(place.path(), &node, &options(32)).unwrap();
    assert_eq!(open(place.path(), &node).blocks(), range(0, 150).into());
    live.kill().unwrap();
}

/// What was pruned before it could be indexed is left out, and what comes after is not.
#[test]
fn an_update_leaves_out_what_is_gone() {
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
            .gone
            .is_empty()
    );
    let gone = live.prune_receipts(80).unwrap().expect("whole files below");
    let built = update(place.path(), &node, &options(32)).unwrap();
    assert_eq!(built.gone, range(31, gone).into());
    let index = open(place.path(), &node);
    let have: BlockRanges = [range(0, 30), range(gone + 1, 120)].into_iter().collect();
    assert_eq!(index.blocks(), have);
    let verified = verify(&index, &node, false).unwrap();
    // Nobody prunes block 0, which has no receipts.
    assert_eq!(verified.unread, range(1, 30).into());
    // A build is asked for all blocks, and says so.
    build(place.path(), &node, &options(32)).unwrap_err();
    live.kill().unwrap();
}
