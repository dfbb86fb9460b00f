//! The error of this crate, shared by all stores.

use std::path::PathBuf;
use txgraph_stored::StoreKind;
pub use txgraph_stored::{StoreError as Error, StoreResult as Result};

pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Error {
    Error::damaged(StoreKind::Index, path, what)
}
