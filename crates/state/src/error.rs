//! The one error of this crate: what cannot be told, why, and what to do about it.

use alloy_primitives::B256;
use std::{io, path::PathBuf};
use txgraph_nodedb::BlockRange;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why state cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data directory cannot be read, or is damaged.
    #[error(transparent)]
    Node(#[from] txgraph_nodedb::Error),
    /// The directory cannot tell the state after any block.
    #[error("{}: {reason}", path.display())]
    NoState {
        /// The data directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The state after this block is not there, unlike that after others.
    #[error(
        "the state after block {block} cannot be told: {reason}; it can after blocks {available}"
    )]
    NotAvailable {
        /// The block asked for.
        block: u64,
        /// After which blocks state can be told.
        available: BlockRange,
        /// Why not after this one.
        reason: String,
    },
    /// There is no index to find single blocks with.
    #[error(
        "{}: the state after a single block {block} cannot be looked up: {reason}; prepare a range of blocks instead",
        path.display()
    )]
    NoIndex {
        /// The data directory.
        path: PathBuf,
        /// The block asked for.
        block: u64,
        /// Why not.
        reason: String,
    },
    /// A range was asked for a block that is none of its own.
    #[error("block {block} is not in the range {prepared} that was prepared")]
    OutsideRange {
        /// The block asked for.
        block: u64,
        /// The range.
        prepared: BlockRange,
    },
    /// What changed between a range and the tip takes more room than allowed.
    #[error(
        "the changes of blocks {blocks} take more than {bytes_max} bytes {place}: take a shorter range, one \
         closer to the tip, or raise the limit"
    )]
    TooLarge {
        /// Blocks whose changes were to be kept.
        blocks: BlockRange,
        /// The limit.
        bytes_max: u64,
        /// In memory or in temporary files.
        place: &'static str,
    },
    /// A temporary file cannot be written or read.
    #[error("cannot {action} a temporary file in {}: {source}", directory.display())]
    Spill {
        /// "create", "write", "read".
        action: &'static str,
        /// Where it lies.
        directory: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// An index and the change sets contradict each other.
    #[error(
        "block {block} is inconsistent: the index says that it changed {what}, its change set does not"
    )]
    MissingChange {
        /// The block.
        block: u64,
        /// An account or a slot.
        what: String,
    },
    /// An account has code that the database does not.
    #[error("the database is damaged: an account has code {hash}, which table Bytecodes lacks")]
    MissingCode {
        /// Keccak-256 of the code.
        hash: B256,
    },
    /// The chain was reorganised: below what a range was prepared from, or under a block
    /// that was asked for by its hash.
    #[error("block {block} is no longer part of the chain: ask again, with a fresh range")]
    Reorganised {
        /// The tip when the range was prepared, or the block asked for.
        block: u64,
    },
}

impl Error {
    /// The chain or its files changed meanwhile: ask again, or prepare the range again,
    /// a bounded number of times.
    pub const fn is_stale(&self) -> bool {
        match self {
            Self::Node(error) => error.is_stale(),
            Self::Reorganised { .. } => true,
            _ => false,
        }
    }

    /// State that is pruned, above the tip, or cannot be told at all.
    pub const fn is_missing(&self) -> bool {
        match self {
            Self::Node(error) => error.is_missing(),
            Self::NoState { .. } | Self::NotAvailable { .. } | Self::NoIndex { .. } => true,
            _ => false,
        }
    }
}
