//! The error type of this crate: what failed, where, and what to do next.

use alloy_primitives::B256;
use parquet::errors::ParquetError;
use std::{
    io,
    path::{Path, PathBuf},
};
use txgraph_stored::{JobError, folder::FolderError};
use txgraph_transfers::{FailureKind, SourceError, SourceFailure};
use txgraph_work::ThreadsError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a lake cannot be written, opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system returned an error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation: "open", "write", "sync" …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no lake at the path.
    #[error("{} is not a lake: {what}", path.display())]
    NotALake {
        /// The path.
        path: PathBuf,
        /// Why it is not a lake.
        what: String,
    },
    /// The lake has another version of the format.
    #[error(
        "{} has version {found} of the lake format, and this program reads version {known}; \
         build the lake again in another directory",
        path.display()
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// The lake belongs to another chain.
    #[error(
        "{} is a lake of chain {lake_id} (genesis {lake_genesis}), not of chain {source_id} \
         (genesis {source_genesis})",
        path.display()
    )]
    WrongChain {
        /// The directory.
        path: PathBuf,
        /// Chain id of the lake.
        lake_id: u64,
        /// Genesis of the lake.
        lake_genesis: B256,
        /// Chain id of the source.
        source_id: u64,
        /// Genesis of the source.
        source_genesis: B256,
    },
    /// A file of the lake is damaged.
    #[error("{} is damaged: {what}; build the lake again, or restore the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which bytes or which content of it.
        what: String,
    },
    /// A writer replaced a partition of an open lake, in a place without locks for readers.
    #[error(
        "{} was replaced while the lake was read; open the lake again",
        path.display()
    )]
    Replaced {
        /// The partition.
        path: PathBuf,
    },
    /// The lake differs from its source.
    #[error("{} differs from the source at block {block}: {what}", path.display())]
    Contradicts {
        /// The partition.
        path: PathBuf,
        /// The first block that differs.
        block: u64,
        /// What differs.
        what: String,
    },
    /// Another process writes this lake.
    #[error("{} is being written by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The object that marks a lake in a bucket as being written exists.
    #[error(
        "{} exists: another process writes the lake, or was killed while it did; delete this \
         object when no process writes the lake",
        path.display()
    )]
    LockedObject {
        /// The object.
        path: PathBuf,
    },
    /// An invalid option or combination of options.
    #[error("{0}")]
    Options(String),
    /// The format has no numbers for more.
    #[error("too many {what} at block {block}")]
    TooMany {
        /// The block.
        block: u64,
        /// What there is too much of: "transfers", "addresses" …
        what: &'static str,
    },
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The source could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source,
        }
    }

    pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.into(),
            what: what.into(),
        }
    }

    /// An error of the Parquet reader. Our own errors pass through it unchanged.
    pub(crate) fn reading(path: &Path, error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::damaged(path, other.to_string()),
            },
            error => Self::damaged(path, error.to_string()),
        }
    }
}

impl JobError for Error {
    fn is_interrupted(&self) -> bool {
        matches!(self, Self::Source(SourceError::Interrupted))
    }
}

impl From<FolderError> for Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Locked { path } => Self::Locked { path },
            FolderError::Io {
                action,
                path,
                source,
            } => Self::io(action, path, source),
        }
    }
}

impl From<Error> for SourceFailure {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Options(_) | Error::WrongChain { .. } | Error::NotALake { .. } => {
                FailureKind::Options
            }
            _ => FailureKind::Unreadable,
        };
        Self::new(kind, error)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        match error {
            Error::Source(error) => error,
            error => SourceFailure::from(error).into(),
        }
    }
}
