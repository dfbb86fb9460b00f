//! Following a node that appends and replaces blocks.

use crate::support::{
    Reference, ask, assert_same, assert_tidy, content, everything, node, open, options, range,
    seen, source, work,
};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};
use txgraph_chaingen::{Config, Layout, LiveNode};
use txgraph_lake::{BuildOptions, append, build, check, compact, verify};
use txgraph_testkit::questions::Changing;
use txgraph_transfers::Indexable;

#[test]
fn appends_follow_the_tip_and_remove_replaced_partitions() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(5, Layout::V2)).unwrap();
    live.append(90).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    let options = options(32);
    build(place.path(), &node, &options).unwrap();
    let mut chance = SmallRng::seed_from_u64(8);
    let (mut removed, mut replaced) = (0, 0);
    for round in 0..12 {
        // The node appends blocks, sometimes after an unwind.
        if round % 3 == 2 {
            let back = chance.random_range(1..20);
            live.unwind(live.tip().number - back).unwrap();
        }
        live.append(chance.random_range(1..12)).unwrap();
        let buffered = BuildOptions {
            reorg_buffer: round % 4,
            ..options.clone()
        };
        removed += append(place.path(), &node, &buffered)
            .unwrap()
            .removed_blocks;
        if round % 2 == 1 {
            let compacted = compact(place.path(), &work()).unwrap();
            replaced += compacted.replaced;
            // The same files as those of a single build.
            let fresh = tempfile::tempdir().unwrap();
            let last = open(place.path()).blocks().span().unwrap().last;
            let until = BuildOptions {
                last_block: Some(last),
                ..options.clone()
            };
            build(fresh.path(), &node, &until).unwrap();
            let (compacted, fresh) = (open(place.path()), open(fresh.path()));
            assert!(content(&compacted) == content(&fresh), "round {round}");
            assert_eq!(compacted.status().unsettled_partitions, 0);
            assert_eq!(compact(place.path(), &work()).unwrap().replaced, 0);
        }
        assert_tidy(place.path());
        let lake = open(place.path());
        let tip = live.tip().number;
        let last = lake.blocks().span().unwrap().last;
        assert!(last >= tip - round % 4, "{last} of {tip}");
        assert_eq!(*lake.blocks(), range(0, last).into());
        verify(&lake, &node).unwrap();
        let reference = Reference::of(&node);
        for _ in 0..5 {
            let mut request = reference.question(&mut chance);
            request.blocks = request.blocks.intersect(lake.blocks());
            let (found, report) = ask(&source(&lake), &request).unwrap();
            let (expected, expected_report) = ask(&node, &request).unwrap();
            assert_same(&found, &expected, "following");
            assert_eq!(seen(&report), seen(&expected_report));
        }
    }
    assert!(removed > 0 && replaced > 0, "{removed} {replaced}");
    live.kill().unwrap();
}

#[test]
fn verify_finds_replaced_blocks() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(6, Layout::V2)).unwrap();
    live.append(40).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(16)).unwrap();
    live.unwind(35).unwrap();
    live.append(9).unwrap();
    let error = verify(&open(place.path()), &node).unwrap_err();
    assert!(error.to_string().contains("not canonical"), "{error}");
    append(place.path(), &node, &options(16)).unwrap();
    verify(&open(place.path()), &node).unwrap();
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
    assert_eq!(*open(place.path()).blocks(), range(0, 40).into());
    let tip = node.tip().unwrap();
    assert!(tip > 40);
    append(place.path(), &growing, &options).unwrap();
    assert_eq!(*open(place.path()).blocks(), range(0, tip).into());
    drop(growing);
    live.kill().unwrap();
}

/// An open lake keeps its partitions while others are written, joined and replaced.
#[test]
fn a_lake_is_read_while_it_is_compacted() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(7, Layout::V2)).unwrap();
    live.append(40).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(32)).unwrap();
    for _ in 0..3 {
        live.append(5).unwrap();
        append(place.path(), &node, &options(32)).unwrap();
    }
    let request = everything(range(0, 55));
    let expected = ask(&node, &request).unwrap().0;
    // Nothing of it is open yet.
    let old = open(place.path());
    assert!(compact(place.path(), &work()).unwrap().replaced > 0);
    // The same blocks are removed and come back, and get other names.
    for _ in 0..2 {
        live.unwind(50).unwrap();
        live.append(5).unwrap();
        append(place.path(), &node, &options(32)).unwrap();
        compact(place.path(), &work()).unwrap();
        verify(&open(place.path()), &node).unwrap();
    }
    let (found, _) = ask(&source(&old), &request).unwrap();
    assert_same(&found, &expected, "compacted");
    check(&old, &work()).unwrap();
    drop(old);
    append(place.path(), &node, &options(32)).unwrap();
    assert_tidy(place.path());
    live.kill().unwrap();
}

/// Readers that open the lake at any moment.
#[test]
fn readers_never_fail_beside_a_writer() {
    let chain = tempfile::tempdir().unwrap();
    let mut live =
        LiveNode::start("imitated_node", chain.path(), Config::small(8, Layout::V2)).unwrap();
    live.append(40).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(16)).unwrap();
    let request = everything(range(0, 40));
    let expected = ask(&node, &request).unwrap().0;
    let (is_done, reads) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        let read = || {
            while !is_done.load(Ordering::Relaxed) {
                let (found, _) = ask(&source(&open(place.path())), &request).unwrap();
                assert_same(&found, &expected, "beside a writer");
                reads.fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers = [0, 1].map(|_| scope.spawn(read));
        let write = || {
            for round in 0.. {
                live.append(1).unwrap();
                append(place.path(), &node, &options(16)).unwrap();
                compact(place.path(), &work()).unwrap();
                if round >= 20 && reads.load(Ordering::Relaxed) >= 20 {
                    break;
                }
                assert!(readers.iter().all(|reader| !reader.is_finished()));
            }
        };
        // The readers end even if the writer fails.
        let written = catch_unwind(AssertUnwindSafe(write));
        is_done.store(true, Ordering::Relaxed);
        written.unwrap();
    });
    append(place.path(), &node, &options(16)).unwrap();
    assert_tidy(place.path());
    live.kill().unwrap();
}
