//! The errors of imported files.

use std::{io, path::PathBuf};
use txgraph_transfers::{FailureKind, SourceError, SourceFailure};

/// An error of an imported file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file is damaged, or is not of the format that its name promises.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A cell does not have a value of its column.
    #[error("{}, row {row}, column {column}: {problem}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The row, counted from 1, without the header.
        row: u64,
        /// The name of the column.
        column: String,
        /// The problem.
        problem: String,
    },
    /// Two rows contradict each other.
    #[error("block {block}: {what} differs between {one} and {other}")]
    Contradiction {
        /// The block.
        block: u64,
        /// The part that differs, e.g. "log 4".
        what: String,
        /// Path and row of the first.
        one: String,
        /// Path and row of the second.
        other: String,
    },
    /// A row needs a transaction index that no file has.
    #[error(
        "block {block}: the index of transaction {hash} is not known, and does not follow from the \
         order of traces; add the table of transactions, or leave out the tables without \
         `transaction_index`"
    )]
    UnknownTransaction {
        /// The block.
        block: u64,
        /// The hash.
        hash: String,
    },
    /// The columns of a file fit no dialect.
    #[error("{}: {reason}", path.display())]
    UnknownColumns {
        /// The file.
        path: PathBuf,
        /// The columns, and those that are missing from the closest dialect.
        reason: String,
        /// Whether the first row can be names of columns.
        has_header: bool,
    },
    /// A file has the name of a table, and the extension of no format.
    #[error(
        "{}: its name belongs to a table, but files with this extension are not read; convert it to \
         .parquet, .csv or .jsonl (also .gz or .zst), or move it away",
        path.display()
    )]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// Folders are in each other too deeply.
    #[error("{}: too many folders in each other; name a folder further inside", path.display())]
    TooDeep {
        /// The folder that is not read.
        path: PathBuf,
    },
    /// There is nothing to read.
    #[error(
        "{}: no file with transfers; files with the extensions .parquet, .csv, .tsv, .json and .jsonl are \
         read (also .gz or .zst, except Parquet)",
        path.display()
    )]
    Empty {
        /// The file or directory.
        path: PathBuf,
    },
    /// A setting is wrong or missing.
    #[error("{0}")]
    Options(String),
    /// The chain ID is neither in the files nor configured.
    #[error("{}: the files do not contain the chain id", path.display())]
    ChainIdUnknown {
        /// The file or directory.
        path: PathBuf,
    },
    /// Files belong to different chains, or to another one than configured.
    #[error("{}: chain id {found}, but {expected} {from}", path.display())]
    WrongChain {
        /// The file.
        path: PathBuf,
        /// Its chain ID.
        found: u64,
        /// The other chain ID.
        expected: u64,
        /// Where that comes from: "is configured", "in other.csv".
        from: String,
    },
}

impl Error {
    pub(crate) const fn options(reason: String) -> Self {
        Self::Options(reason)
    }

    pub(crate) fn io(path: &std::path::Path, error: io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Io { path, error }
    }

    pub(crate) fn damaged(path: &std::path::Path, reason: impl std::fmt::Display) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        }
    }

    /// Whether a setting or a file name is wrong, not the content of a file.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownColumns { .. }
                | Self::Extension { .. }
                | Self::TooDeep { .. }
                | Self::Empty { .. }
                | Self::Options(_)
                | Self::ChainIdUnknown { .. }
                | Self::WrongChain { .. }
        )
    }
}

impl From<Error> for SourceFailure {
    fn from(error: Error) -> Self {
        let kind = match error.is_usage() {
            true => FailureKind::Options,
            false => FailureKind::Unreadable,
        };
        Self::new(kind, error)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        SourceFailure::from(error).into()
    }
}

/// A problem with a cell, before its place is known.
pub(crate) type Problem = std::borrow::Cow<'static, str>;
