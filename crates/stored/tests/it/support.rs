//! Chains, nodes and options of small stores. The tests of `index` and `lake` have this file, too.

use std::{path::Path, sync::Arc};
use tempfile::TempDir;
use txgraph_chaingen::{Appender, Config, Layout, Profile};
use txgraph_nodedb::{DataDir, NodeDb};
use txgraph_reader::{NodeSource, ScanOptions, Threads};
use txgraph_stored::BuildOptions;
use txgraph_work::WorkContext;

/// Writes a chain of a profile to a new folder, and opens its node.
pub(crate) fn chain(profile: Profile, blocks: u64) -> (TempDir, NodeSource) {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        profile,
        ..Config::small(7, Layout::V2)
    };
    let mut appender = Appender::create(folder.path(), config).unwrap();
    appender.append(blocks).unwrap();
    // A process may open a database only once.
    drop(appender);
    let node = node(folder.path());
    (folder, node)
}

/// Opens the node of a data directory.
pub(crate) fn node(path: &Path) -> NodeSource {
    let db =
        NodeDb::open(&DataDir::new(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let db = Arc::new(db);
    // Some small test chains have no transaction with a chain id.
    let given = db.chain().unwrap().chain_id.is_none().then_some(1337);
    let options = ScanOptions {
        threads: work().threads,
        ..ScanOptions::default()
    };
    NodeSource::new(db, options, given).unwrap()
}

/// Two threads.
pub(crate) fn work() -> WorkContext {
    WorkContext {
        threads: Threads::new(2).unwrap(),
        ..WorkContext::default()
    }
}

/// A store and its node.
pub(crate) struct Sample {
    _chain: TempDir,
    pub(crate) node: NodeSource,
    pub(crate) place: TempDir,
}

/// Builds a store of 60 blocks.
pub(crate) fn sample<R>(build: impl FnOnce(&Path, &NodeSource, &BuildOptions) -> R) -> Sample {
    let (_chain, node) = chain(Profile::Mainnet, 60);
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(32));
    Sample {
        _chain,
        node,
        place,
    }
}

/// Returns [`options`] up to a block.
pub(crate) fn until(last_block: u64, unit_blocks: u64) -> BuildOptions {
    BuildOptions {
        last_block: Some(last_block),
        ..options(unit_blocks)
    }
}

/// Returns options for small units, up to the tip, with everything that a store can have.
pub(crate) fn options(unit_blocks: u64) -> BuildOptions {
    BuildOptions {
        unit_blocks: Some(unit_blocks),
        reorg_buffer: 0,
        transactions: true,
        ..BuildOptions::default()
    }
}
