//! Opening nodes and indexes.

use std::{path::Path, sync::Arc};
use txgraph_index::{BuildOptions, Index};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions, Threads};
pub(crate) use txgraph_testkit::questions::{Reference, ask, assert_same, everything, range, seen};
use txgraph_transfers::TransferSource;

/// Opens the node of a data directory.
pub(crate) fn node(path: &Path) -> NodeSource {
    let db =
        NodeDb::open(&DataDir::new(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let db = Arc::new(db);
    // Some small test chains have no transaction with a chain id.
    let given = db.chain().unwrap().chain_id.is_none().then_some(1337);
    let options = ScanOptions {
        threads: Threads::new(2).unwrap(),
        ..ScanOptions::default()
    };
    NodeSource::new(db, options, given).unwrap()
}

/// Returns options for small segments, up to the tip.
pub(crate) fn options(segment_blocks: u64) -> BuildOptions {
    BuildOptions {
        segment_blocks,
        reorg_buffer: 0,
        ..BuildOptions::default()
    }
}

pub(crate) fn open(folder: &Path, node: &NodeSource) -> Index {
    Index::open(folder, node.chain()).unwrap_or_else(|e| panic!("{e}"))
}
