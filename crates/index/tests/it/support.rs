//! Opening nodes and indexes.

#[path = "../../../stored/tests/it/support.rs"]
mod shared;

pub(crate) use shared::{Sample, chain, node, options, sample, until};
use std::path::Path;
use txgraph_index::Index;
use txgraph_reader::NodeSource;
pub(crate) use txgraph_testkit::queries::{Reference, ask, assert_same, everything, range, seen};
use txgraph_transfers::TransferSource;

pub(crate) fn open(folder: &Path, node: &NodeSource) -> Index {
    Index::open(folder, node.chain()).unwrap_or_else(|e| panic!("{e}"))
}
