//! Opens a reth data directory, strictly read-only. This is the only crate that depends
//! on its tables and files. Input: a path. Output: blocks, receipts and transactions as
//! borrowed bytes, and which of them exist.
//!
//! ```text
//! DataDir ─ open ─► NodeDb ─ snapshot ─► Snapshot ─ for_each_block ─► Block ─► Receipt ─► Log
//!                     │  one MDBX environment   │  one read transaction,  └─► Transaction, sender
//!                     │  per directory          │  static files listed after it
//!                     │                         └─ state at the tip, what each block changed, when
//! ```
//!
//! The crate does not depend on transfers or graphs. It starts no threads, and writes
//! nothing to the data directory except its reader slot in MDBX's lock table.
//!
//! Every decoder checks its input. Damaged files give an [`Error`] with the place, files
//! that changed under the reader give a [stale](Error::is_stale) error, and memory is
//! bounded for any content. Checks that are too expensive for a scan are in
//! [`Block::check_roots`]. `docs/node-reader.md` describes the protocol for reading next to
//! a running node.
//!
//! # RocksDB
//!
//! Layout v2 keeps two kinds of indices in RocksDB: the blocks in which an account or slot
//! changed, and transaction numbers by hash. `txgraph-rocks` reads its files.
//!
//! Modules, each using only those before it: parts, error, escape, compact, roaring, lz4,
//! zstd_rows, layout, account, conf, tx_type, retry, files, datadir, jar, jar_reader, static_files,
//! change_file, stored_transaction, transaction, transaction_hash, header, scratch, tables, mdbx,
//! rocks, db, snapshot, settings, chain, checkpoint, current, history, indices, lookup, open, rows,
//! changes, coverage, state_coverage, receipt, block, bodies, blocks, verify, info, version,
//! fuzzing.

#[cfg(not(unix))]
compile_error!("Unix only: reads files by position and identifies them by inode");

mod datadir;
mod db;
mod open;

mod layout;
mod settings;
mod snapshot;

mod chain;
mod checkpoint;
mod coverage;
mod info;
mod version;

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
mod stored_transaction;
mod transaction;
mod transaction_hash;
mod tx_type;

mod mdbx;
mod tables;

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
mod retry;

#[doc(hidden)]
pub mod fuzzing;

pub use account::{Account, AccountBefore};
pub use alloy_eips::eip4895::Withdrawal;
pub use block::Block;
pub use chain::Chain;
pub use checkpoint::{PruneCheckpoint, StageCheckpoint};
pub use coverage::Gap;
pub use datadir::DataDir;
pub use db::NodeDb;
pub use error::{Error, Result};
pub use header::{Header, LogsBloom};
pub use info::{Info, StaticFile, Tip, Writer};
pub use layout::Layout;
pub use parts::{BodyIndices, Part, Parts};
pub use receipt::{Log, Logs, Receipt};
pub use scratch::Scratch;
pub use snapshot::Snapshot;
pub use state_coverage::StateCoverage;
pub use stored_transaction::{Deposit, SignedTransaction, StoredTransaction};
pub use transaction::{DepositValue, Transaction, TransactionValue};
pub use txgraph_base::{BlockRange, ChainFamily, TxRange};
pub use verify::EncodedReceipt;
pub use version::{NEWEST_KNOWN, NEWEST_TESTED, is_known_version};

/// Checks at compile time that a directory can be shared between threads, and that a
/// snapshot can be sent to one.
const fn _threads() {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<NodeDb>();
    sent::<Snapshot<'_>>();
    sent::<Scratch>();
}
