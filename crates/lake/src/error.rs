//! The error of this crate: that of all stores.

use parquet::errors::ParquetError;
use std::path::{Path, PathBuf};
use txgraph_stored::StoreKind;
pub use txgraph_stored::{StoreError as Error, StoreResult as Result};

/// The error for a damaged file.
pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Error {
    Error::damaged(StoreKind::Lake, path, what)
}

/// The error for a file that is longer or shorter than the manifest lists.
pub(crate) fn wrong_length(path: &Path, found: u64, expected: u64) -> Error {
    damaged(path, format!("it has {found} bytes instead of {expected}"))
}

/// An error of the Parquet reader. Our own errors pass through it unchanged.
pub(crate) fn reading(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(own) => *own,
            Err(other) => damaged(path, other.to_string()),
        },
        error => damaged(path, error.to_string()),
    }
}
