//! Answers requests from blocks in files that do not change while they are read.
//!
//! A kind of file implements [`StoredBlocks`]: which blocks it has, how they are divided into
//! chunks, and how one chunk is read. [`StoredSource`] does the rest, once for all kinds of files:
//! it checks coverage, reads chunks in parallel, delivers them in order, checks that they link,
//! and reports.
//!
//! [`CachedSource`] keeps the transfers of some blocks for all hops of a search. [`BloomHashes`]
//! computes the bloom filter of logs, to compare it with the filter in a header.
//!
//! The second half is the life of stores of blocks, the index and the lake. They implement
//! [`Store`], so that [`run`] builds and updates them, and [`verify_units`] checks them.
//! [`BuildSource`] is the source that a store is built from and compared with, [`run_jobs`] and
//! [`BuildReader::each_run`] are the loops, and [`folder`] is a directory with one writer.
//!
//! Modules, each using only those before it: blocks, bloom, cached_source, error, folder,
//! build_source, source, store_error, jobs, store, units.

mod blocks;
mod bloom;
mod build_source;
mod cached_source;
mod error;
pub mod folder;
mod jobs;
mod source;
mod store;
mod store_error;
mod units;

pub use blocks::{StoredBlocks, StoredChunk};
pub use bloom::BloomHashes;
pub use build_source::{Additions, BuildReader, BuildSource, PreparedBuildSource, everything};
pub use cached_source::CachedSource;
pub use error::Error;
pub use jobs::{Expected, Stop, VerifyReport, run_jobs};
pub use source::StoredSource;
pub use store::{
    BuildOptions, BuildReport, Contents, Store, Unit, delete_unlisted, run, verify_units,
};
pub use store_error::{StoreError, StoreKind, StoreResult};
pub use units::units;
