//! Answers requests from blocks in files that do not change while they are read.
//!
//! A kind of file implements [`StoredBlocks`]: which blocks it has, how they are divided into
//! chunks, and how one chunk is read. [`StoredSource`] does the rest, once for all kinds of files:
//! it checks coverage, reads chunks in parallel, delivers them in order, checks that they link,
//! and reports.

mod blocks;
mod error;
mod source;

pub use blocks::{StoredBlocks, StoredChunk};
pub use error::Error;
pub use source::StoredSource;
