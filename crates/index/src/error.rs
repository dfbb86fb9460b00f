//! The error of this crate, shared by all stores.

use std::path::PathBuf;
use txgraph_stored::StoreKind;
pub use txgraph_stored::{StoreError as Error, StoreResult as Result};

pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Error {
    Error::damaged(StoreKind::Index, path, what)
}

/// The error of opening a segment that the manifest lists: it must exist.
pub(crate) fn listed(error: Error) -> Error {
    match error.missing_file() {
        Some(path) => damaged(path, "it does not exist"),
        None => error,
    }
}
