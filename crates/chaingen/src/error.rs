//! The error type.

use std::path::{Path, PathBuf};

/// An error of writing a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is impossible.
    #[error("impossible chain: {0}")]
    Config(String),
    /// The target exists and is not empty.
    #[error("{} exists and is not an empty folder; choose another or delete it", .0.display())]
    Exists(PathBuf),
    /// A block of an archive cannot be decoded.
    #[error("cannot decode a recorded block: {0}")]
    Recorded(String),
    /// A node would never do this.
    #[error("a node does not do this: {0}")]
    Impossible(String),
    /// A file or the database cannot be used: the operation, and the cause.
    #[error("cannot {0}")]
    Failed(String),
    /// The imitated node returned an error or ended.
    #[error("imitated node: {0}")]
    Live(String),
}

/// Adds the file to an I/O error.
pub(super) trait Io<T> {
    fn io(self, path: &Path, action: &'static str) -> Result<T, Error>;
}

impl<T> Io<T> for std::io::Result<T> {
    fn io(self, path: &Path, action: &'static str) -> Result<T, Error> {
        self.map_err(|e| Error::Failed(format!("{action} {}: {e}", path.display())))
    }
}

/// Adds the operation to a database error.
pub(super) trait Db<T> {
    fn db(self, action: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: std::fmt::Display> Db<T> for std::result::Result<T, E> {
    fn db(self, action: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|e| Error::Failed(format!("{} in the database: {e}", action())))
    }
}
