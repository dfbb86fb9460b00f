//! Scans block ranges of a node database in parallel and emits ordered transfers.
//!
//! [`NodeSource`] answers the requests of a [`TransferSource`](txgraph_transfers::TransferSource)
//! from a [`NodeDb`](txgraph_nodedb::NodeDb). The transfers are in total order, the same for any
//! number of threads and any chunk size, with exact counts of what was read. Tables and files are
//! the part of `nodedb`, and the meaning of logs is the part of `transfers`.
//!
//! The steps of a scan:
//!
//! ```text
//! availability ─► chunk ─► read (workers) ─► merge ─► the caller's sink
//!  what exists     cut      one snapshot      order, links, memory
//! ```
//!
//! The node may write, prune and reorganize at any time. Three checks ensure that a result
//! belongs to one chain. Every block must have its predecessor's hash as parent hash, inside a
//! chunk and between chunks. The end of every run of blocks must still be canonical when the scan
//! ends. A block that was available when the scan began and is missing later is an error, never a
//! smaller answer.
//!
//! Modules, each using only those before it: chunk, ends, error, fees, merge, plan, options, scan,
//! workers, availability, find, hashes, read, source, by_block.

mod availability;
mod by_block;
mod chunk;
mod ends;
mod error;
mod fees;
mod find;
mod hashes;
mod merge;
mod options;
mod plan;
mod read;
mod scan;
mod source;
mod workers;

pub use availability::missing;
pub use ends::transaction_ends;
pub use error::{Error, Result};
pub use find::{find_transaction, look_for_transaction};
pub use options::{Explain, ScanOptions};
pub use plan::ScanPlan;
pub use source::NodeSource;
pub use txgraph_work::{CancelFlag, Progress, ProgressGuard, Threads};
