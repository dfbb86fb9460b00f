//! Scans block ranges of a node database in parallel and emits ordered transfers.
//!
//! In: a [`NodeDb`](txgraph_nodedb::NodeDb), and questions put to a
//! [`TransferSource`](txgraph_transfers::TransferSource). Out: the wanted
//! transfers in total order, the same for any number of threads and any chunk
//! size, together with an exact account of what was read. It knows nothing of
//! tables and files (that is `nodedb`), nothing of what a log means (that is
//! `transfers`), and nothing of graphs.
//!
//! How a scan goes:
//!
//! ```text
//! availability ─► chunk ─► read (workers) ─► merge ─► the caller's sink
//!  what exists     cut      one snapshot      order, links, memory
//! ```
//!
//! The node may write, prune and reorganise all the while. Three checks make the
//! answer that of one chain: every block must name its predecessor's hash, inside
//! a chunk and between chunks; the end of every run of blocks must still be
//! canonical when the scan ends; and a block that was there when the scan began
//! and is not when its turn comes is an error, never a smaller answer.

mod availability;
mod by_block;
mod chunk;
mod error;
mod find;
mod hashes;
mod merge;
mod options;
mod plan;
mod read;
mod scan;
mod source;
mod workers;

pub use error::{Error, Result};
pub use find::find_transaction;
pub use options::{Explain, ScanOptions};
pub use plan::ScanPlan;
pub use source::NodeSource;
pub use txgraph_work::{CancelFlag, Progress, ProgressGuard, Threads};
