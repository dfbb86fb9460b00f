//! Reading a lake while it follows a node and is compacted.

use crate::support::{
    ask, assert_same, assert_tidy, everything, node, open, options, range, source, work,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_lake::{append, build, check, compact, verify};

/// An open lake keeps its partitions while others are written, joined and replaced.
#[test]
fn a_lake_is_read_while_it_is_compacted() {
    if serve_if_asked() {
        return;
    }
    let chain = tempfile::tempdir().unwrap();
    let mut live = LiveNode::start(
        "follow::a_lake_is_read_while_it_is_compacted",
        chain.path(),
        Config::small(7, Layout::V2),
    )
    .unwrap();
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
    if serve_if_asked() {
        return;
    }
    let chain = tempfile::tempdir().unwrap();
    let mut live = LiveNode::start(
        "follow::readers_never_fail_beside_a_writer",
        chain.path(),
        Config::small(8, Layout::V2),
    )
    .unwrap();
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
