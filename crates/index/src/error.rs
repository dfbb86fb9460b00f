//! The error type of this crate: what failed, where, and what to do next.

use crate::checked::Fault;
use alloy_primitives::B256;
use std::{io, path::PathBuf};
use txgraph_stored::{JobError, folder::FolderError};
use txgraph_transfers::{FailureKind, SourceError, SourceFailure};
use txgraph_work::ThreadsError;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an index cannot be built, opened or read.
///
/// When a question fails because of an index, [`SourceError::Failed`] contains the message of
/// this error, and its [`FailureKind`].
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
    /// There is no index at the path.
    #[error("{} is not an index: {what}", path.display())]
    NotAnIndex {
        /// The path.
        path: PathBuf,
        /// Why it is not an index.
        what: String,
    },
    /// The index was made in another version of the format.
    #[error(
        "{} has version {found} of the index format, and this program reads version {known}; \
         drop the index and build it again",
        path.display()
    )]
    Version {
        /// The directory of the index.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// The index belongs to another chain.
    #[error(
        "{} is an index of chain {index_id} (genesis {index_genesis}), not of chain {node_id} \
         (genesis {node_genesis})",
        path.display()
    )]
    WrongChain {
        /// The directory.
        path: PathBuf,
        /// Chain id of the index.
        index_id: u64,
        /// Genesis of the index.
        index_genesis: B256,
        /// Chain id of the node.
        node_id: u64,
        /// Genesis of the node.
        node_genesis: B256,
    },
    /// A file of the index is damaged.
    #[error(
        "{} is damaged: {what}; verify the index, then drop it and build it again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which bytes or which content of it.
        what: String,
    },
    /// The index differs from the database.
    #[error("{} differs from the database at block {block}: {what}", path.display())]
    Contradicts {
        /// The segment.
        path: PathBuf,
        /// The first block that differs.
        block: u64,
        /// What differs.
        what: String,
    },
    /// Another process writes this index.
    #[error("{} is being written by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// An invalid option or combination of options.
    #[error("{0}")]
    Options(String),
    /// A segment would need more numbers than the format has.
    #[error("too many {what} for one segment at block {block}")]
    TooLarge {
        /// The block.
        block: u64,
        /// What there are too many of: "transfers", "addresses" …
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
    /// Whether the index itself is unusable, so that it has to be built again.
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Contradicts { .. } | Self::Version { .. }
        )
    }

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

impl From<Fault<'_>> for SourceError {
    fn from(fault: Fault<'_>) -> Self {
        Error::from(fault).into()
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        match error {
            Error::Source(error) => error,
            error => {
                let kind = match &error {
                    Error::Options(_) | Error::WrongChain { .. } => FailureKind::Options,
                    _ if error.is_damage() => FailureKind::UnusableIndex,
                    _ => FailureKind::Unreadable,
                };
                SourceFailure::new(kind, error).into()
            }
        }
    }
}
