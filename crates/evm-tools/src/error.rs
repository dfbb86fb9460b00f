//! Errors of reading and parsing files.

use std::{io, path::PathBuf};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a tool. Programs that revert or halt are results, not errors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The contents of a file are wrong.
    #[error("{path}{at}: {what}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// `:LINE`, or `, NAME` of a test; may be empty.
        at: String,
        /// The fault.
        what: String,
    },
    /// A path contains no tests.
    #[error("{path}: no tests found: give `.json` files, folders of them, or packed `.jsonl.zst` files", path = path.display())]
    NoTests {
        /// The file or folder that was searched.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            // Text that is not UTF-8: the file can be read, its contents are wrong.
            io::ErrorKind::InvalidData => Self::format(path, "", source),
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn format(
        path: impl Into<PathBuf>,
        at: impl Into<String>,
        what: impl ToString,
    ) -> Self {
        let (path, at, what) = (path.into(), at.into(), what.to_string());
        Self::Format { path, at, what }
    }
}
