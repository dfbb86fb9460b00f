//! The errors that all kinds of files share.

use alloy_primitives::B256;
use txgraph_transfers::{FailureKind, SourceError, SourceFailure};
use txgraph_work::ThreadsError;

/// An error of a scan of stored blocks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two adjacent blocks belong to different chains.
    #[error(
        "block {block} has the parent hash {parent_hash}, but block {} has the hash {hash}; \
         the files belong to different chains",
        .block.saturating_sub(1)
    )]
    Unlinked {
        /// The later block.
        block: u64,
        /// Its parent hash.
        parent_hash: B256,
        /// Hash of the block before.
        hash: B256,
    },
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        SourceFailure::new(FailureKind::Unreadable, error).into()
    }
}
