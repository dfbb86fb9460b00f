//! The threads behind [`Workers`].

use crate::{
    error::Error,
    merge::{Chunk, Outcome},
    scan::Workers,
};
use alloy_primitives::B256;
use txgraph_nodedb::NodeDb;
use txgraph_transfers::SourceError;
use txgraph_work::{Retry, RunningTask, TaskRunner, Wait};

/// Reads chunks of a database on threads.
pub(crate) struct ChunkWorkers<'a, 'r> {
    pub(crate) runner: &'a mut TaskRunner<'r, Chunk, Outcome>,
    pub(crate) db: &'a NodeDb,
}

impl Workers for ChunkWorkers<'_, '_> {
    fn start(&mut self, task: RunningTask<Chunk>) {
        self.runner.start(task);
    }

    fn outcome(&mut self, wait: Wait) -> Option<(u64, Outcome)> {
        self.runner.finished(wait)
    }

    fn canonical(&mut self, block: u64) -> Result<Option<B256>, SourceError> {
        canonical(self.db, block)
    }
}

/// Hash of `block` in the current canonical chain; `None` above its tip.
pub(crate) fn canonical(db: &NodeDb, block: u64) -> Result<Option<B256>, SourceError> {
    let hash = reread("block hash", || {
        let snapshot = db.snapshot()?;
        if block > snapshot.tip() {
            Ok(None)
        } else {
            snapshot.block_hash(block).map(Some)
        }
    });
    Ok(hash.map_err(Error::NodeDb)?)
}

/// Repeats what was read under a snapshot of its own. After any error: a file that a node
/// is about to replace can look damaged.
pub(crate) fn reread<T, E: std::fmt::Display>(
    what: &str,
    attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    Retry::REREAD.run(what, |_| true, attempt)
}
