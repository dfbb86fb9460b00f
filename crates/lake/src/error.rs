//! The error of this crate, shared by all stores.

use std::path::{Path, PathBuf};
use txgraph_stored::StoreKind;
pub use txgraph_stored::{StoreError as Error, StoreResult as Result};

pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Error {
    Error::damaged(StoreKind::Lake, path, what)
}

/// The error for a file that is longer or shorter than the manifest lists.
pub(crate) fn wrong_length(path: &Path, found: u64, expected: u64) -> Error {
    damaged(path, format!("it has {found} bytes instead of {expected}"))
}
