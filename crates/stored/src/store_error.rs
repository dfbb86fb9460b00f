//! The error of stores: what failed, where, and what to do next.

use crate::folder::FolderError;
use alloy_primitives::B256;
use std::{
    io,
    path::{Path, PathBuf},
};
use txgraph_transfers::{FailureKind, SourceError, SourceFailure};
use txgraph_work::ThreadsError;

/// The result of an operation on a store.
pub type StoreResult<T, E = StoreError> = std::result::Result<T, E>;

/// The kinds of stores, which have the same life and different formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// An index, which consists of segments.
    Index,
    /// A lake, which consists of partitions.
    Lake,
}

impl StoreKind {
    /// "index" or "lake".
    pub const fn name(self) -> &'static str {
        self.words("index", "lake")
    }

    /// The first for an index, the second for a lake.
    pub(crate) const fn words(self, index: &'static str, lake: &'static str) -> &'static str {
        match self {
            Self::Index => index,
            Self::Lake => lake,
        }
    }
}

/// Why a store cannot be written, opened or read.
///
/// When a query fails because of a store, [`SourceError::Failed`] contains the message of
/// this error, and its [`FailureKind`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system returned an error, or another process writes the store.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is no store at the path.
    #[error("{} is not {}: {what}", path.display(), kind.words("an index", "a lake"))]
    NotAStore {
        /// The expected kind of store.
        kind: StoreKind,
        /// The path.
        path: PathBuf,
        /// Why it is none.
        what: String,
    },
    /// The store has another version of the format.
    #[error(
        "{} has version {found} of the {} format, and this program reads version {known}; {}",
        path.display(),
        kind.name(),
        kind.words(
            "drop the index and build it again",
            "build the lake again in another directory"
        )
    )]
    Version {
        /// The kind of the store.
        kind: StoreKind,
        /// The directory or the manifest.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// The store belongs to another chain.
    #[error(
        "{} is {} of chain {own_id} (genesis {own_genesis}), not of chain {source_id} \
         (genesis {source_genesis})",
        path.display(),
        kind.words("an index", "a lake")
    )]
    WrongChain {
        /// The kind of the store.
        kind: StoreKind,
        /// The directory.
        path: PathBuf,
        /// Chain id of the store.
        own_id: u64,
        /// Genesis of the store.
        own_genesis: B256,
        /// Chain id of the source.
        source_id: u64,
        /// Genesis of the source.
        source_genesis: B256,
    },
    /// The source ends far below the store. A node that syncs again, or was restored, has the blocks later.
    #[error(
        "{} is {} up to block {stored}, but the source ends at block {tip}; nothing was changed",
        path.display(),
        kind.words("an index", "a lake")
    )]
    AheadOfSource {
        /// The kind of the store.
        kind: StoreKind,
        /// The directory.
        path: PathBuf,
        /// The last block of the store.
        stored: u64,
        /// The last block of the source.
        tip: u64,
    },
    /// A file of the store is damaged.
    #[error(
        "{} is damaged: {what}; {}",
        path.display(),
        kind.words(
            "drop the index and build it again",
            "build the lake again, or restore the file"
        )
    )]
    Damaged {
        /// The kind of the store.
        kind: StoreKind,
        /// The file.
        path: PathBuf,
        /// Which bytes or which content of it.
        what: String,
    },
    /// A unit ends with a block that a reorganization replaced.
    #[error(
        "{}: block {block} is not canonical; {}",
        path.display(),
        kind.words(
            "updating the index removes such segments",
            "appending to the lake removes such partitions"
        )
    )]
    Replaced {
        /// The kind of the store.
        kind: StoreKind,
        /// The unit.
        path: PathBuf,
        /// The last block of the unit.
        block: u64,
    },
    /// The store differs from its source.
    #[error(
        "{} differs from the {} at block {block}: {what}",
        path.display(),
        kind.words("database", "source")
    )]
    Contradicts {
        /// The kind of the store.
        kind: StoreKind,
        /// The unit.
        path: PathBuf,
        /// The first block that differs.
        block: u64,
        /// The difference.
        what: String,
    },
    /// A lake that was changed, or may be, by another process.
    #[error("{0}")]
    InUse(String),
    /// An invalid option or combination of options.
    #[error("{0}")]
    Options(String),
    /// The format has no numbers for more.
    #[error("too many {what} at block {block}")]
    TooMany {
        /// The block.
        block: u64,
        /// The name of the items, such as "transfers".
        what: &'static str,
    },
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The source could not be read.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl StoreError {
    /// An error of the operating system.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        FolderError::io(action, path, source).into()
    }

    /// The error for a directory without the manifest that every store has.
    pub fn not_a_store(kind: StoreKind, path: &Path, manifest: &str, exists: bool) -> Self {
        Self::NotAStore {
            kind,
            path: path.to_owned(),
            what: match exists {
                true => format!("it has no {manifest}"),
                false => "the directory does not exist".to_owned(),
            },
        }
    }

    /// The error for a damaged file.
    pub fn damaged(kind: StoreKind, path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Damaged {
            kind,
            path: path.into(),
            what: what.into(),
        }
    }

    /// The error for a unit that differs from the source.
    pub fn contradicts(kind: StoreKind, path: &Path, block: u64, what: impl Into<String>) -> Self {
        Self::Contradicts {
            kind,
            path: path.to_owned(),
            block,
            what: what.into(),
        }
    }

    /// The file, if the error is that it does not exist.
    pub fn missing_file(&self) -> Option<&Path> {
        match self {
            Self::Folder(FolderError::Io { path, source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether another process writes the store.
    pub const fn is_locked(&self) -> bool {
        matches!(self, Self::Folder(FolderError::Locked { .. }))
    }

    /// Whether a job stopped on request, without a failure of its own.
    pub(crate) const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Source(SourceError::Interrupted))
    }

    /// How a query fails for this reason.
    pub const fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Options(_)
            | Self::WrongChain { .. }
            | Self::AheadOfSource { .. }
            | Self::NotAStore {
                kind: StoreKind::Lake,
                ..
            } => FailureKind::Options,
            Self::Damaged {
                kind: StoreKind::Index,
                ..
            }
            | Self::Contradicts {
                kind: StoreKind::Index,
                ..
            }
            | Self::Version {
                kind: StoreKind::Index,
                ..
            } => FailureKind::UnusableIndex,
            _ => FailureKind::Unreadable,
        }
    }
}

impl From<StoreError> for SourceFailure {
    fn from(error: StoreError) -> Self {
        Self::new(error.failure_kind(), error)
    }
}

impl From<StoreError> for SourceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Source(error) => error,
            error => SourceFailure::from(error).into(),
        }
    }
}
