//! A lake: transfers in sorted Parquet files that any engine reads.
//!
//! [`build`] reads blocks from a source and writes a directory of partitions, each with the
//! transfers by position, by sender and by receiver, and the addresses, transactions and blocks
//! that they refer to. [`append`] follows the source, and [`compact`] joins what it appended.
//! [`LakeSource`] is a [`TransferSource`](txgraph_transfers::TransferSource) with the answers
//! of the source that the lake was built from.
//!
//! ```text
//! source ─► builder ─► Parquet files ─► manifest    (build, append: in parallel, then one rename)
//!                          │ checked block by block
//!                          ▼
//!              lake: partitions ─► LakeSource ─► StoredSource ─► the caller's sink
//! ```
//!
//! `docs/lake.md` describes the files. The format is plain Parquet; only our own reader
//! compares each block of a file with its checksum before it uses it.
//!
//! Modules, each using only those before it: error, names, schema, bucket, dictionary, store,
//! checksummed_file, manifest, table, writer, builder, fuzzing, lake, build, rows, source, compact, verify.

mod error;

// The format.
#[cfg(feature = "s3")]
mod bucket;
mod checksummed_file;
mod manifest;
mod names;
mod schema;
mod store;

// One partition: written and read.
mod builder;
mod dictionary;
mod rows;
mod table;
mod writer;

// All partitions of a lake.
mod build;
mod compact;
mod lake;
mod source;
mod verify;

#[doc(hidden)]
pub mod fuzzing;

pub use build::{append, build};
pub use compact::{CompactReport, compact};
pub use error::{Error, Result};
pub use lake::{FileStatus, Lake, Status};
pub use manifest::{FileInfo, PartitionInfo};
pub use source::LakeSource;
pub use txgraph_stored::{BuildOptions, BuildReport, VerifyReport};
pub use verify::{check, verify};
