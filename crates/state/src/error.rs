//! The error type of this crate. Messages contain the block or file, the reason, and what
//! to do next.

use alloy_primitives::{Address, B256};
use std::path::PathBuf;
use txgraph_nodedb::BlockRange;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why state is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data directory cannot be read, or is damaged.
    #[error(transparent)]
    Node(#[from] txgraph_nodedb::Error),
    /// State is available after no block.
    #[error("{}: {reason}", path.display())]
    NoState {
        /// The data directory.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// State is available after other blocks, but not after this one.
    #[error("no state available after block {block}: {reason} (available: {available})")]
    NotAvailable {
        /// The requested block.
        block: u64,
        /// The blocks after which state is available.
        available: BlockRange,
        /// The reason.
        reason: String,
    },
    /// There is no index for single blocks.
    #[error(
        "{}: the state after a single block {block} cannot be looked up: {reason}; prepare a range of blocks instead",
        path.display()
    )]
    NoIndex {
        /// The data directory.
        path: PathBuf,
        /// The requested block.
        block: u64,
        /// The reason.
        reason: String,
    },
    /// The changes between a range and the tip need more space than allowed.
    #[error(
        "the changes of blocks {blocks} need more than {bytes_max} bytes {place}: use a range closer to the \
         tip, or raise the limit"
    )]
    TooLarge {
        /// The blocks whose changes are kept.
        blocks: BlockRange,
        /// The limit.
        bytes_max: u64,
        /// "in memory" or "in temporary files".
        place: &'static str,
    },
    /// A block outside of a prepared range, or a temporary file that cannot be used.
    #[error("{0}")]
    Failed(String),
    /// Blocks that the node has stored without their state could not be executed.
    #[error(
        "the node has not stored the state after blocks {blocks}, and their execution failed: \
         {source}"
    )]
    Newest {
        /// The blocks.
        blocks: BlockRange,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// Whether the chain changed in the meantime.
        stale: bool,
    },
    /// The stored value of a slot may be wrong, and execution could not decide it. See the
    /// [crate](crate#a-known-error-of-v2-nodes).
    #[error(
        "slot {slot} of {address} after block {block}: the account may have been destroyed later, so the zero \
         that the node stored may be wrong, and {why}"
    )]
    UnsureSlot {
        /// The account.
        address: Address,
        /// The slot.
        slot: B256,
        /// The block of the state.
        block: u64,
        /// The reason why the block that wrote the slot cannot be executed.
        why: String,
    },
    /// An index and the change sets contradict each other.
    #[error(
        "block {block} is inconsistent: the history index lists a change of {what}, the change set does not"
    )]
    MissingChange {
        /// The block.
        block: u64,
        /// An account or a slot.
        what: String,
    },
    /// The code of an account is not in the database.
    #[error(
        "the database is damaged: table Bytecodes has no code {hash}, which an account refers to"
    )]
    MissingCode {
        /// Keccak-256 of the code.
        hash: B256,
    },
    /// A walk of change sets was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The chain was reorganized: below the tip that a range was prepared from, or at a
    /// block that was requested by its hash.
    #[error("block {block} is no longer part of the chain: prepare the range again, and retry")]
    Reorganized {
        /// The tip when the range was prepared, or the requested block.
        block: u64,
    },
}

impl Error {
    /// Returns whether the chain or its files changed while they were read. Retry, or
    /// prepare the range again, a bounded number of times.
    pub const fn is_stale(&self) -> bool {
        match self {
            Self::Node(error) => error.is_stale(),
            Self::Reorganized { .. } => true,
            Self::Newest { stale, .. } => *stale,
            _ => false,
        }
    }

    /// Returns whether the state is pruned, above the tip, or not available at all.
    pub const fn is_missing(&self) -> bool {
        match self {
            Self::Node(error) => error.is_missing(),
            Self::NoState { .. } | Self::NotAvailable { .. } | Self::NoIndex { .. } => true,
            _ => false,
        }
    }
}
