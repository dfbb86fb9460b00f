//! The error of this crate, shared by all stores.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::{
    io,
    path::{Path, PathBuf},
};
use txgraph_stored::StoreKind;
pub use txgraph_stored::{StoreError as Error, StoreResult as Result};

pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Error {
    Error::damaged(StoreKind::Lake, path, what)
}

/// The error for a file that is longer or shorter than the manifest lists.
pub(crate) fn wrong_length(path: &Path, found: u64, expected: u64) -> Error {
    damaged(path, format!("it has {found} bytes instead of {expected}"))
}

/// An error of the Parquet reader. Our own errors pass through it unchanged, in the errors of the
/// crates between.
pub(crate) fn reading(path: &Path, error: impl Into<BoxError>) -> Error {
    let error = match error.into().downcast::<Error>() {
        Ok(own) => return *own,
        Err(other) => other,
    };
    let error = match error.downcast::<ArrowError>() {
        Ok(arrow) => match *arrow {
            ArrowError::ExternalError(inner) => return reading(path, inner),
            arrow => return damaged(path, arrow.to_string()),
        },
        Err(other) => other,
    };
    let error = match error.downcast::<ParquetError>() {
        Ok(parquet) => match *parquet {
            ParquetError::External(inner) => return reading(path, inner),
            parquet => return damaged(path, parquet.to_string()),
        },
        Err(other) => other,
    };
    match error.downcast::<io::Error>() {
        Ok(error) => match error.downcast::<Error>() {
            Ok(own) => own,
            Err(error) => damaged(path, error.to_string()),
        },
        Err(other) => damaged(path, other.to_string()),
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_stored::folder::FolderError;

    #[test]
    fn a_failed_read_is_not_damage() {
        let path = Path::new("lake/part.parquet");
        let failed = || Error::from(FolderError::io("read", path, io::Error::other("no disk")));
        let expected = failed().to_string();
        let inside = io::Error::other(failed());
        let parquet = ParquetError::External(Box::new(inside));
        let arrow = ArrowError::ExternalError(Box::new(parquet));
        assert_eq!(reading(path, arrow).to_string(), expected);
        let parquet = ParquetError::External(Box::new(failed()));
        assert_eq!(reading(path, parquet).to_string(), expected);
        let bad = reading(path, ParquetError::EOF("short".to_owned()));
        assert!(matches!(bad, Error::Damaged { .. }));
    }
}
