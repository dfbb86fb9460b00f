//! What can go wrong around the interpreter: reading files, understanding them.

use std::{io, path::PathBuf};

/// The result of reading something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of a tool, never of the program that it runs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file holds something else than it should.
    #[error("{path}{at}: {what}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Line or name of the test, after a colon; may be empty.
        at: String,
        /// What is wrong.
        what: String,
    },
    /// There is nothing to do.
    #[error("{path}: no tests found: give `.json` files, folders of them, or packed `.jsonl.zst` files", path = path.display())]
    NoTests {
        /// What was looked through.
        path: PathBuf,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
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
