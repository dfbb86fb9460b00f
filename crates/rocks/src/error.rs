//! The error type of this crate. Messages say what failed, where, and what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a RocksDB, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// A file contains invalid bytes.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        what: String,
    },
    /// A file uses a feature of RocksDB that this crate does not read.
    #[error("{}: not supported: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The feature, by RocksDB's name.
        what: String,
    },
    /// The writer deleted or replaced files while they were read. Catch up and read again.
    #[error("{} changed while it was read: {what}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The part that changed.
        what: String,
    },
}

impl Error {
    /// Returns whether the writer changed files in the meantime, so that another attempt can
    /// succeed.
    pub const fn is_changed(&self) -> bool {
        matches!(self, Self::Changed { .. })
    }

    /// An error of the operating system. A file that is gone was deleted by the writer.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if source.kind() == io::ErrorKind::NotFound {
            let what = "the file is gone".into();
            return Self::Changed { path, what };
        }
        Self::Io {
            action,
            path,
            source,
        }
    }
}

/// A problem with bytes whose file the decoder does not know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bytes are invalid.
    Damaged(String),
    /// They use a feature that is not read.
    Unsupported(String),
}

pub(crate) type Decoded<T> = std::result::Result<T, Fault>;

impl Fault {
    #[cold]
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    #[cold]
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }

    #[cold]
    pub(crate) fn at(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Damaged(what) => Error::Damaged { path, what },
            Self::Unsupported(what) => Error::Unsupported { path, what },
        }
    }
}
