//! How to scan, as opposed to what to scan.

use crate::plan::ScanPlan;
use std::{fmt, sync::Arc};
use txgraph_work::{CancelFlag, Progress, Threads};

/// How to scan. Nothing in here changes an answer.
#[derive(Clone, Default)]
pub struct ScanOptions {
    /// The threads that read.
    pub threads: Threads,
    /// Blocks per chunk, at least 1; `None`: chosen from the range, its density
    /// and the number of threads.
    pub chunk_blocks: Option<u64>,
    /// Blocks read under one snapshot at most, at least 1; `None`: 100,000. A
    /// snapshot also ends after 5 s: the node waits for readers of old ones before
    /// it replaces blocks.
    pub snapshot_blocks_max: Option<u64>,
    /// Bound for the transfers that a scan holds at once (those that wait for
    /// their turn, those being decoded), in bytes; a worker may overshoot its share
    /// by one block. `None`: 64 MiB, more with many threads.
    pub memory_bytes_max: Option<u64>,
    /// Recompute all roots of every block that is read
    /// ([`Block::check_roots`](txgraph_nodedb::Block::check_roots)): finds any damage,
    /// at many times the cost. Asks for transactions and withdrawals to be there.
    pub verify: bool,
    /// Told how far a scan has come.
    pub progress: Option<Arc<dyn Progress>>,
    /// Told how a scan is going to read the blocks, and why.
    pub explain: Option<Explain>,
    /// Stops scans when set.
    pub cancel: CancelFlag,
}

/// Hears of the plan of each scan before it begins.
pub type Explain = Arc<dyn Fn(&ScanPlan) + Send + Sync>;

impl fmt::Debug for ScanOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            threads,
            chunk_blocks,
            snapshot_blocks_max,
            memory_bytes_max,
            verify,
            progress,
            explain,
            cancel,
        } = self;
        f.debug_struct("ScanOptions")
            .field("threads", threads)
            .field("chunk_blocks", chunk_blocks)
            .field("snapshot_blocks_max", snapshot_blocks_max)
            .field("memory_bytes_max", memory_bytes_max)
            .field("verify", verify)
            .field("progress", &progress.is_some())
            .field("explain", &explain.is_some())
            .field("cancel", cancel)
            .finish()
    }
}
