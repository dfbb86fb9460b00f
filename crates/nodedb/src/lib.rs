//! Opens a reth data directory, strictly read-only; the only crate that knows
//! its tables and files. In: a path. Out: blocks, receipts, transactions as
//! borrowed bytes, and the truth about which of them exist.
//!
//! ```text
//! DataDir ─ open ─► NodeDb ─ snapshot ─► Snapshot ─ for_each_block ─► Block ─► Receipt ─► Log
//!                     │  one MDBX environment   │  one read transaction,  └─► Transaction, sender
//!                     │  per directory          │  static files listed after it
//!                     │                         └─ state at the tip, what each block changed, when
//! ```
//!
//! It knows nothing of transfers or graphs, starts no threads, and never writes
//! to the data directory (opening MDBX registers a reader in its lock table).
//! Every byte is checked before it is believed (what a scan cannot afford is in
//! [`Block::check_roots`]): damaged files give an [`Error`]
//! that says where, files that changed under the reader give one that says
//! [`is_stale`](Error::is_stale), and memory stays bounded whatever they hold.
//!
//! # RocksDB
//!
//! Layout v2 keeps two kinds of indices in RocksDB: in which blocks an account or slot
//! changed, and transaction numbers by hash. They are read with the cargo feature
//! `rocksdb`, which is off by default, because it compiles 330 files of C++: about 18
//! minutes of one core without optimisation. It needs a C++ compiler and libclang
//! (Debian: `apt install g++ libclang-dev`). A shared `librocksdb` of version 10.4 that is
//! already built is taken from the folder `ROCKSDB_LIB_DIR`; it must know LZ4 and
//! Zstandard. Older ones cannot read what a node writes.

#[cfg(not(unix))]
compile_error!("reads files by position and knows them by inode: Unix only");

mod datadir;
mod open;

mod layout;
mod snapshot;

mod chain;
mod checkpoint;
mod coverage;
mod info;

mod block;
mod blocks;
mod bodies;
mod lookup;
mod parts;
mod rows;
mod scratch;
mod verify;

mod account;
mod changes;
mod current;
mod history;
mod indices;
mod state_coverage;

mod header;
mod receipt;
mod transaction;
mod transaction_hash;
mod tx_type;

mod mdbx;
mod tables;

#[cfg_attr(not(feature = "rocksdb"), path = "no_rocks.rs")]
mod rocks;

mod change_file;
mod conf;
mod files;
mod jar;
mod jar_reader;
mod lz4;
mod static_files;

mod compact;
mod roaring;
mod zstd_rows;

mod error;
mod escape;

#[doc(hidden)]
pub mod fuzzing;

pub use account::Account;
pub use block::Block;
pub use chain::Chain;
pub use checkpoint::{PruneCheckpoint, StageCheckpoint};
pub use coverage::Gap;
pub use datadir::DataDir;
pub use error::{Error, Result};
pub use header::{Header, LogsBloom};
pub use info::{Info, StaticFile, Tip, Writer};
pub use layout::Layout;
pub use open::NodeDb;
pub use parts::{BodyIndices, Part, Parts, Withdrawal};
pub use receipt::{Log, Logs, Receipt};
pub use scratch::Scratch;
pub use snapshot::Snapshot;
pub use state_coverage::StateCoverage;
pub use transaction::{OwnValue, SignedTransaction, Transaction};
pub use txgraph_base::{BlockRange, TxRange};

/// A directory is shared between threads; a snapshot may be sent to one.
const fn _threads() {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<NodeDb>();
    sent::<Snapshot<'_>>();
    sent::<Scratch>();
}
