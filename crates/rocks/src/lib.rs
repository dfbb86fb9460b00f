//! Reads the files of a RocksDB, strictly read-only, while another process may be writing them.
//! Takes no lock, writes no file, and needs no C++.
//!
//! ```text
//! CURRENT ─► MANIFEST ─► column families, their tables by level ─┐
//!            (edits)     and the first log that each needs       ├─► State ─► Cursor
//! logs    ─► batches ─► rows in memory, in runs ─────────────────┘
//! ```
//!
//! [`Db::catch_up`] gives a [`State`], which does not change. A [`Cursor`] merges the rows of
//! the state: the newest row of a key counts. Puts, deletions, single deletions and deleted
//! ranges are read. Everything else, which reth does not write, is refused by RocksDB's name for it:
//! merges, blobs, wide columns, two-phase commit, other comparators, compression dictionaries,
//! compressions except LZ4 and Zstandard, tables before format version 6, checksums except XXH3,
//! partitioned indices, ingested files, reused logs. The checksum of every block and record is checked.
//!
//! A state does not keep all tables open. The writer deletes tables after a compaction, and
//! reading one of them then gives [`Error::Changed`]: catch up and read again. Memory is bounded
//! by 32 MiB of cached blocks, the rows in the logs, and the descriptions of 512 open tables.
//!
//! Format: RocksDB 10.4, `db/log_format.h`, `db/version_edit.cc`, `db/write_batch.cc`,
//! `table/format.cc`, `table/block_based/`.
//!
//! Modules, each using only those before it: bytes, error, source, checksum, compression,
//! tombstones, block, batch, memory, edit, record, footer, manifest, cache, table, shared, cursor,
//! state, db, fuzzing.

#[cfg(not(unix))]
compile_error!("Unix only: reads files by position");

mod cursor;
mod db;
mod error;
mod shared;
mod state;

mod batch;
mod edit;
mod manifest;
mod memory;
mod record;
mod tombstones;

mod block;
mod cache;
mod checksum;
mod compression;
mod footer;
mod table;
#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "numbers are small")]
mod table_tests;

mod bytes;
mod source;

#[doc(hidden)]
pub mod fuzzing;

pub use cursor::Cursor;
pub use db::Db;
pub use error::{Error, Result};
pub use shared::Open;
pub use state::State;
