//! The imitated node in a process of its own, with a concurrent reader.

use crate::{
    chain::{LAYOUTS, small},
    raw::{self, Chain, Tables},
    verify::verify,
};
use std::{thread::sleep, time::Duration};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};

/// Not a test: [`LiveNode::start`] runs it as a node.
#[test]
fn imitated_node() {
    serve_if_asked();
}

const NAME: &str = "live::imitated_node";

/// A reader that follows the protocol (tables first, then files, nothing above the tip)
/// always sees a complete chain.
#[test]
fn concurrent_readers_see_complete_chains() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            blocks_per_file: 16,
            ..small(layout)
        };
        let mut node = LiveNode::start(NAME, folder.path(), config).unwrap();
        let env = raw::open(folder.path());
        node.set_pause(Duration::from_millis(2)).unwrap();
        let mut between = 0;
        for round in 0..40u64 {
            let tip = node.tip().number;
            node.begin_append(1 + round % 5).unwrap();
            for _ in 0..3 {
                let tables = Tables::of(&env);
                let finish = tables.stage("Finish");
                let read = Chain::with_tables(folder.path(), layout == Layout::V2, tables);
                let last = read.blocks.last().unwrap();
                assert_eq!(
                    (last.header.number, last.header.hash_slow()),
                    (finish, last.hash)
                );
                assert_eq!(last.receipts.len(), last.transactions.len());
                let ahead = raw::jars(folder.path(), "headers").last().unwrap().blocks;
                between += u64::from(finish == tip && ahead.is_some_and(|it| it.1 > tip));
            }
            let tip = node.finish().unwrap();
            if round % 7 == 6 {
                node.unwind(tip.number - 4).unwrap();
            }
        }
        assert!(between > 0, "no reader saw files ahead of the tables");
        let tip = node.tip().number;
        let transfers = node.transfers(tip).unwrap();
        assert!(
            transfers
                .iter()
                .all(|transfer| transfer.block_number == tip)
        );
        drop((env, node));
        let chain = verify(folder.path(), layout);
        assert_eq!(chain.blocks.len() as u64, tip + 1);
    }
}

#[test]
fn unwind_waits_for_readers_before_it_truncates() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = LiveNode::start(NAME, folder.path(), small(Layout::V2)).unwrap();
    node.append(20).unwrap();
    let env = raw::open(folder.path());
    let headers = || raw::jars(folder.path(), "headers")[0].blocks;

    let snapshot = env.begin_ro_sync().unwrap();
    node.begin_unwind(12).unwrap();
    while Tables::of(&env).stage("Finish") != 12 {
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
    assert_eq!(
        headers(),
        Some((0, 20)),
        "files were truncated under a reader"
    );
    drop(snapshot);
    assert_eq!(node.finish().unwrap().number, 12);
    assert_eq!(headers(), Some((0, 12)));

    // As reth did before 2.0.
    let other = tempfile::tempdir().unwrap();
    let config = Config {
        wait_for_readers: false,
        ..small(Layout::V1)
    };
    let mut hasty = LiveNode::start(NAME, other.path(), config).unwrap();
    hasty.append(20).unwrap();
    let env = raw::open(other.path());
    let _snapshot = env.begin_ro_sync().unwrap();
    assert_eq!(hasty.unwind(12).unwrap().number, 12);
    assert_eq!(raw::jars(other.path(), "headers")[0].blocks, Some((0, 12)));
}

#[test]
fn commits_survive_a_kill() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            durable: true,
            ..small(layout)
        };
        let mut node = LiveNode::start(NAME, folder.path(), config).unwrap();
        let tip = node.append(10).unwrap();
        node.set_pause(Duration::from_secs(3600)).unwrap();
        node.begin_append(5).unwrap();
        // The files are ahead of the tables now.
        while raw::jars(folder.path(), "receipts")[0].blocks != Some((0, 15)) {
            sleep(Duration::from_millis(5));
        }
        node.kill().unwrap();
        let chain = Chain::read(folder.path(), layout == Layout::V2);
        let last = chain.blocks.last().unwrap();
        assert_eq!((last.header.number, last.hash), (10, tip.hash));
    }
}

#[test]
fn errors_are_returned_to_the_parent() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = LiveNode::start(NAME, folder.path(), small(Layout::V2)).unwrap();
    let error = node.unwind(5).unwrap_err().to_string();
    assert!(error.contains("a node does not do this"), "{error}");
    assert_eq!(node.append(1).unwrap().number, 1, "the node still works");
    assert_eq!(node.prune_receipts(1).unwrap(), None);
}
