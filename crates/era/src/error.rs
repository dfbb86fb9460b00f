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
    /// A path contains no archive.
    #[error("{}: no .ere or .era1 files in this directory", .path.display())]
    NoFiles {
        /// The directory.
        path: PathBuf,
    },
    /// The container is not an archive, or is truncated or damaged.
    #[error("{}: not a complete .ere or .era1 file: {what}", .path.display())]
    Container {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: String,
    },
    /// A block is damaged, or contradicts its header.
    #[error("{}: block {block}: {what}", .path.display())]
    Block {
        /// The file.
        path: PathBuf,
        /// The number of the block.
        block: u64,
        /// The defect.
        what: String,
    },
    /// The file was replaced after it was opened.
    #[error("{}: the file changed while it was read; ask again", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Files without receipts.
    #[error(
        "{}: the file contains no receipts (profile noreceipts), and transfers are decoded from \
         receipts; use files of the default profile or of `noproofs`",
        .path.display()
    )]
    NoReceipts {
        /// The first such file.
        path: PathBuf,
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
    /// A receipt from before Byzantium does not contain the outcome of its transaction.
    #[error(
        "{}: block {block}: the receipt of transaction {index} does not contain whether it \
         succeeded (before Byzantium), and its gas does not show it; ask without the values of \
         transactions, or for later blocks",
        .path.display()
    )]
    UnknownStatus {
        /// The file.
        path: PathBuf,
        /// The number of the block.
        block: u64,
        /// The index of the transaction in the block.
        index: usize,
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

    /// Whether the chain ID that the caller set is part of a contradiction.
    pub fn is_configured(&self) -> bool {
        matches!(self, Self::ChainContradicts { first, .. } if *first == CONFIGURED)
    }

    /// The recommended action for the caller.
    pub const fn failure_kind(&self) -> FailureKind {
        match self {
            Self::NoReceipts { .. } | Self::NoFiles { .. } | Self::UnknownStatus { .. } => {
                FailureKind::Missing
            }
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
