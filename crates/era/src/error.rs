//! Errors of archives.

use std::{
    io,
    path::{Path, PathBuf},
};
use txgraph_transfers::{FailureKind, SourceFailure};

/// Result of reading or writing an archive.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The defect of a record, without its place.
pub(crate) type Malformed = &'static str;

/// The fact of [`Error::ChainContradicts`] that comes first in messages.
pub(crate) const CONFIGURED: &str = "the chain id that is set";

/// An error of an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is not an archive, is damaged, or changed while it was read.
    #[error("{}: {what}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The defect, with the number of the block.
        what: String,
    },
    /// The files do not contain the data.
    #[error("{}: {what}", .path.display())]
    Missing {
        /// The file or directory.
        path: PathBuf,
        /// The data, and the recommended action.
        what: String,
    },
    /// Two files have some blocks in common.
    #[error("{} and {} both contain block {block}; remove one of them", .first.display(), .second.display())]
    Overlap {
        /// A file.
        first: PathBuf,
        /// Another file.
        second: PathBuf,
        /// The first common block.
        block: u64,
    },
    /// Nothing identifies the chain.
    #[error(
        "{}: the chain is not known: block 0 is not in the files, and the network in their names \
         (`{network}`) is not known",
        .path.display()
    )]
    UnknownChain {
        /// A file.
        path: PathBuf,
        /// The network in the file name, or an empty string.
        network: String,
    },
    /// Two facts name different chains.
    #[error("{}: {first} is of chain {first_id}, but {second} is of chain {second_id}", .path.display())]
    ChainContradicts {
        /// A file.
        path: PathBuf,
        /// A fact.
        first: &'static str,
        /// The chain ID that follows from it.
        first_id: u64,
        /// Another fact.
        second: &'static str,
        /// The chain ID that follows from it.
        second_id: u64,
    },
    /// The first block belongs to another chain.
    #[error("{}: block 0 is not the first block of chain {chain_id}, which the {fact} names", .path.display())]
    WrongGenesis {
        /// The file.
        path: PathBuf,
        /// The chain ID.
        chain_id: u64,
        /// Where the chain ID is from.
        fact: &'static str,
    },
    /// The file to write exists.
    #[error("{} exists", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("{0}")]
    Write(String),
}

impl Error {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        Self::Io { path, source }
    }

    /// The container is not an archive, or is truncated or damaged.
    pub(crate) fn container(path: &Path, what: &str) -> Self {
        Self::Unreadable {
            path: path.to_path_buf(),
            what: format!("not a complete .ere or .era1 file: {what}"),
        }
    }

    /// Whether the chain ID that the caller set is part of a contradiction.
    pub fn is_configured(&self) -> bool {
        matches!(self, Self::ChainContradicts { first, .. } if *first == CONFIGURED)
    }

    /// The recommended action for the caller.
    pub const fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Missing { .. } => FailureKind::Missing,
            Self::UnknownChain { .. }
            | Self::ChainContradicts { .. }
            | Self::WrongGenesis { .. }
            | Self::Exists { .. } => FailureKind::Options,
            _ => FailureKind::Unreadable,
        }
    }
}

impl From<Error> for SourceFailure {
    fn from(error: Error) -> Self {
        Self::new(error.failure_kind(), error)
    }
}
