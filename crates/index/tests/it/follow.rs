//! Following a node that prunes blocks before they were indexed.

use crate::support::{node, open, options, range, until};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_index::{Index, build, update, verify};
use txgraph_transfers::{BlockRanges, TransferSource};

/// The test, which runs again as the node.
const NAME: &str = "follow::update_leaves_out_pruned_blocks";

/// Blocks that were pruned before they were indexed are left out; later blocks are not.
#[test]
fn update_leaves_out_pruned_blocks() {
    if serve_if_asked() {
        return;
    }
    let chain = tempfile::tempdir().unwrap();
    let config = Config {
        blocks_per_file: 20,
        ..Config::small(7, Layout::V2)
    };
    let mut live = LiveNode::start(NAME, chain.path(), config).unwrap();
    live.append(120).unwrap();
    let node = node(chain.path());
    let place = tempfile::tempdir().unwrap();
    let until_30 = until(30, 32);
    assert!(
        build(place.path(), &node, &until_30)
            .unwrap()
            .unavailable
            .is_empty()
    );
    let before = open(place.path(), &node);
    let gone = live.prune_receipts(80).unwrap().expect("whole files below");
    let built = update(place.path(), &node, &options(32)).unwrap();
    assert_eq!(built.unavailable, range(31, gone).into());
    // Segments that did not change are not opened again.
    let index = Index::open_after(place.path(), node.chain(), Some(&before)).unwrap();
    let have: BlockRanges = [range(0, 30), range(gone + 1, 120)].into_iter().collect();
    assert_eq!(index.blocks(), have);
    assert_eq!(open(place.path(), &node).blocks(), have);
    let verified = verify(&index, &node, false).unwrap();
    // Block 0 has no receipts and is not pruned.
    assert_eq!(verified.unread, range(1, 30).into());
    // A build needs all blocks, and fails.
    build(place.path(), &node, &options(32)).unwrap_err();
    live.kill().unwrap();
}
