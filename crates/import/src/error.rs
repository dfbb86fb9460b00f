//! The errors of imported files.

use std::{io, path::PathBuf};
use txgraph_transfers::{FailureKind, SourceError, SourceFailure};

/// An error of an imported file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file is damaged, or is not of the format that its name promises.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// Two rows contradict each other.
    #[error("block {block}: {what} differs between {one} and {other}")]
    Contradiction {
        /// The block.
        block: u64,
        /// The part that differs, e.g. "log 4".
        what: String,
        /// Path and row of the first.
        one: String,
        /// Path and row of the second.
        other: String,
    },
    /// The columns of a file fit no dialect.
    #[error("{}: {reason}", path.display())]
    UnknownColumns {
        /// The file.
        path: PathBuf,
        /// The columns, and those that are missing from the closest dialect.
        reason: String,
        /// Whether the first row can be names of columns.
        has_header: bool,
    },
    /// A row cannot be used: where it is, and the problem.
    #[error("{0}")]
    Row(String),
    /// A setting, or a path, is wrong or missing.
    #[error("{0}")]
    Options(String),
    /// The chain ID is neither in the files nor configured.
    #[error("{}: the files do not contain the chain id", path.display())]
    ChainIdUnknown {
        /// The file or directory.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) const fn options(reason: String) -> Self {
        Self::Options(reason)
    }

    /// A path is wrong, or its file.
    pub(crate) fn path(path: &std::path::Path, reason: impl std::fmt::Display) -> Self {
        Self::Options(format!("{}: {reason}", path.display()))
    }

    pub(crate) fn io(path: &std::path::Path, error: io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Io { path, error }
    }

    pub(crate) fn damaged(path: &std::path::Path, reason: impl std::fmt::Display) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        }
    }

    /// Whether a setting or a file name is wrong, not the content of a file.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownColumns { .. } | Self::Options(_) | Self::ChainIdUnknown { .. }
        )
    }
}

impl From<Error> for SourceFailure {
    fn from(error: Error) -> Self {
        let kind = match error.is_usage() {
            true => FailureKind::Options,
            false => FailureKind::Unreadable,
        };
        Self::new(kind, error)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        SourceFailure::from(error).into()
    }
}

/// A problem with a cell, before its place is known.
pub(crate) type Problem = std::borrow::Cow<'static, str>;
