//! The one error of this crate: what failed, where, and what to do about it.

use crate::Part;
use alloy_primitives::Address;
use std::{io, path::PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a data directory, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path holds no data directory of reth.
    #[error("{} is not a reth data directory: {what}", path.display())]
    NotADataDir {
        /// What was asked for.
        path: PathBuf,
        /// What is missing there, and where to look instead.
        what: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "open", "read", "list" …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// libmdbx refused or failed.
    #[error("{} (MDBX): cannot {action}: {message}", path.display())]
    Mdbx {
        /// The `db` directory.
        path: PathBuf,
        /// What was tried.
        action: String,
        /// The cause and, where there is one, the way out.
        message: String,
        /// The code libmdbx returned.
        code: i32,
    },
    /// RocksDB refused or failed.
    #[error("{} (RocksDB): cannot {action}: {message}", path.display())]
    Rocks {
        /// The RocksDB directory.
        path: PathBuf,
        /// What was tried.
        action: String,
        /// The cause, in the words of RocksDB.
        message: String,
    },
    /// A layout, version or chain that this program does not know.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The data directory or file.
        path: PathBuf,
        /// What was found, and what to do.
        what: String,
    },
    /// A file or table holds bytes that cannot be right.
    #[error("{} is damaged: {what}", path.display())]
    Corrupt {
        /// The file, or `db` directory and table.
        path: PathBuf,
        /// Row or key, and what is wrong there.
        what: String,
    },
    /// Two parts of the database contradict each other.
    #[error("block {block} is inconsistent: {what}")]
    Inconsistent {
        /// The block.
        block: u64,
        /// The two values that should agree.
        what: String,
    },
    /// A stored sender is not the signer of its transaction.
    #[error(
        "transaction {index} of block {block}: the node stores sender {stored}, but the signature gives \
         {recovered}; the stored senders are damaged"
    )]
    WrongSender {
        /// The block.
        block: u64,
        /// Index of the transaction in the block.
        index: u32,
        /// The stored sender.
        stored: Address,
        /// The signer.
        recovered: Address,
    },
    /// A part of a block is not in this data directory.
    #[error("{part} of block {block} {}: {reason}", part.is_or_are_missing())]
    Missing {
        /// What is missing.
        part: Part,
        /// The first block that lacks it.
        block: u64,
        /// Why, as far as the directory tells.
        reason: String,
    },
    /// A block that the node has not persisted.
    #[error(
        "block {block} is above the tip {tip} on disk (a running node keeps its newest blocks in memory)"
    )]
    AboveTip {
        /// The block asked for.
        block: u64,
        /// The highest block that may be read.
        tip: u64,
    },
    /// Files changed under the reader.
    #[error("{} changed while it was read, or is damaged: {what}", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// What no longer fits.
        what: String,
    },
}

impl Error {
    /// The files changed under the reader (truncated, pruned, reorged): take a
    /// new snapshot and ask again, a bounded number of times. A file that stays
    /// like this is damaged; the message says both. [`NodeDb`](crate::NodeDb)
    /// itself retries where it can.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// Blocks that are pruned, filtered, not there yet or above the tip.
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::AboveTip { .. })
    }

    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source,
        }
    }

    pub(crate) fn corrupt(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.into(),
            what: what.into(),
        }
    }

    pub(crate) fn stale(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Stale {
            path: path.into(),
            what: what.into(),
        }
    }
}
