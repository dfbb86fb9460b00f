//! An index that answers *"all transfers of these addresses"* for the whole chain without
//! reading receipts.
//!
//! [`build`] reads blocks once from a source and writes a directory of immutable segments.
//! [`Indexed`] is a [`TransferSource`](txgraph_transfers::TransferSource) that answers from the
//! segments, and from the source for blocks that have none. Its answers equal the answers of the
//! source. The crate does not depend on tables and receipts (`nodedb`), on the meaning of logs
//! (`transfers`) or on graphs.
//!
//! ```text
//! source ─► builder ─► segment files ─► manifest      (build, update: workers, then one rename)
//!                          │ mmap, checked block by block
//!                          ▼
//!              directory: segments of blocks ─► Indexed ─► the caller's sink
//!                                                 │ other blocks
//!                                                 └─► source
//! ```
//!
//! `docs/index-format.md` describes every byte. Each block of a file is compared with its
//! checksum before it is used, and every access checks its bounds. So damage gives an error,
//! never a wrong result or a panic.
//!
//! Modules, each using only those before it: error, layout, checksummed_file, column, manifest,
//! part_writer, place_builder, builder, segment, worker, directory, fuzzing, query, write, source,
//! verify.

mod error;

// The format.
mod checksummed_file;
mod column;
mod layout;

// One segment: written and read.
mod builder;
mod segment;

// All segments of an index.
mod directory;
mod manifest;
mod part_writer;
mod place_builder;

// Uses of an index.
mod query;
mod source;
mod verify;
mod worker;
mod write;

#[doc(hidden)]
pub mod fuzzing;

pub use directory::{Index, Run, Status};
pub use error::{Error, Result};
pub use manifest::SegmentInfo;
pub use source::Indexed;
pub use txgraph_stored::{BuildOptions, BuildReport, BuildSource, VerifyReport};
pub use verify::verify;
pub use write::{build, drop_index, update};
