//! The error type of this crate. Messages say what failed, where, and what to do.

use crate::Part;
use alloy_primitives::Address;
use std::{io, path::PathBuf};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a data directory, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path is not a data directory of reth.
    #[error("{} is not a reth data directory: {what}", path.display())]
    NotADataDir {
        /// The path that was given.
        path: PathBuf,
        /// The missing part, and the path to use instead.
        what: String,
    },
    /// The data directory has no static files where they are expected.
    #[error("{} does not exist; if the node keeps its static files elsewhere, name that directory", path.display())]
    NoStaticFiles {
        /// The expected directory.
        path: PathBuf,
    },
    /// There is no RocksDB where it is expected.
    #[error("{} does not contain RocksDB; if the node keeps it elsewhere, name that directory", path.display())]
    NoRocksDb {
        /// The expected directory.
        path: PathBuf,
    },
    /// The operating system returned an error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "open", "read", "list".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// libmdbx returned an error.
    #[error("{} (MDBX): cannot {action}: {message}", path.display())]
    Mdbx {
        /// The `db` directory.
        path: PathBuf,
        /// The action that failed.
        action: String,
        /// The cause and, where there is one, a remedy.
        message: String,
        /// The error code of libmdbx.
        code: i32,
    },
    /// The files of RocksDB cannot be read.
    #[error("{} (RocksDB): cannot {action}: {message}", path.display())]
    Rocks {
        /// The RocksDB directory.
        path: PathBuf,
        /// The action that failed.
        action: String,
        /// The file, and what is wrong with it.
        message: String,
    },
    /// The layout, version or chain is not supported.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The data directory or file.
        path: PathBuf,
        /// The finding, and the recommended action.
        what: String,
    },
    /// A file or table contains invalid bytes.
    #[error("{} is damaged: {what}", path.display())]
    Corrupt {
        /// The file, or `db` directory and table.
        path: PathBuf,
        /// Row or key, and what is wrong.
        what: String,
    },
    /// Two parts of the database contradict each other.
    #[error("block {block} is inconsistent: {what}")]
    Inconsistent {
        /// The block.
        block: u64,
        /// The two values that should be equal.
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
        /// The missing part.
        part: Part,
        /// The first block that lacks it.
        block: u64,
        /// The reason, as far as it is known.
        reason: String,
    },
    /// The node has not persisted the block.
    #[error(
        "block {block} is above the tip {tip} on disk (a running node keeps its newest blocks in memory)"
    )]
    AboveTip {
        /// The requested block.
        block: u64,
        /// The highest block that can be read.
        tip: u64,
    },
    /// Files changed under the reader.
    #[error("{} changed while it was read, or is damaged: {what}", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// The part that changed.
        what: String,
    },
}

impl Error {
    /// Returns whether the files changed under the reader (truncated, pruned, reorganized).
    /// Take a new snapshot and retry, a bounded number of times. If the error remains, the
    /// file is damaged; the message mentions both. [`NodeDb`](crate::NodeDb) retries where it
    /// can.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// Returns whether blocks are missing: pruned, filtered, not stored yet, or above the tip.
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
