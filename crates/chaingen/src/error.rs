//! Why a chain could not be written.

use std::path::{Path, PathBuf};

/// Why a chain could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration asks for something impossible.
    #[error("impossible chain: {0}")]
    Config(String),
    /// The target exists and is not empty.
    #[error("{} exists and is not an empty folder; choose another or delete it", .0.display())]
    Exists(PathBuf),
    /// A node would not do this.
    #[error("a node does not do this: {0}")]
    Impossible(String),
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What it said.
        source: std::io::Error,
    },
    /// The database refused.
    #[error("cannot {action} in the database: {message}")]
    Database {
        /// What was tried, with the table.
        action: String,
        /// What it said.
        message: String,
    },
    /// The imitated node answered nonsense, or nothing.
    #[error("imitated node: {0}")]
    Live(String),
}

/// Names the file in an I/O error.
pub(super) trait Io<T> {
    fn io(self, path: &Path, action: &'static str) -> Result<T, Error>;
}

impl<T> Io<T> for std::io::Result<T> {
    fn io(self, path: &Path, action: &'static str) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            path: path.to_path_buf(),
            action,
            source,
        })
    }
}

/// Names the action in a database error.
pub(super) trait Db<T> {
    fn db(self, action: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: std::fmt::Display> Db<T> for std::result::Result<T, E> {
    fn db(self, action: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|e| Error::Database {
            action: action(),
            message: e.to_string(),
        })
    }
}
