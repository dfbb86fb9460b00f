//! Options of scans.

use crate::plan::ScanPlan;
use std::{fmt, sync::Arc};
use txgraph_work::{CancelFlag, Progress, Threads};

/// Options of scans. None of them changes a result.
#[derive(Clone, Default)]
pub struct ScanOptions {
    /// The threads that read.
    pub threads: Threads,
    /// The number of blocks per chunk, at least 1. `None`: chosen from the range, its number of
    /// transactions and the number of threads.
    pub chunk_blocks: Option<u64>,
    /// The maximum number of blocks read under one snapshot, at least 1. `None`: 100,000. A
    /// snapshot also ends after 5 s, because a node waits for readers of old snapshots before it
    /// replaces blocks.
    pub snapshot_blocks_max: Option<u64>,
    /// The limit in bytes for the transfers that a scan holds at a time: those being decoded and
    /// those that wait for their turn. A worker may exceed its share by one block. `None`: 64
    /// MiB, more with many threads.
    pub memory_bytes_max: Option<u64>,
    /// Whether all roots of every block are recomputed
    /// ([`Block::check_roots`](txgraph_nodedb::Block::check_roots)). This finds any damage, at
    /// many times the cost. It requires transactions and withdrawals.
    pub verify: bool,
    /// Receives the number of finished blocks.
    pub progress: Option<Arc<dyn Progress>>,
    /// Receives the plan of each scan before it begins.
    pub explain: Option<Explain>,
    /// Stops scans when it is set.
    pub cancel: CancelFlag,
}

/// A receiver of [`ScanPlan`]s.
pub type Explain = Arc<dyn Fn(&ScanPlan) + Send + Sync>;

impl fmt::Debug for ScanOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanOptions")
            .field("threads", &self.threads)
            .field("chunk_blocks", &self.chunk_blocks)
            .finish_non_exhaustive()
    }
}
