//! The one error of this crate. That a replay disagrees with what the node stored is no
//! error but a [`Mismatch`](crate::Mismatch).

use alloy_primitives::B256;
use std::{io, path::PathBuf};
use txgraph_evm::Fork;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a state's source, of whatever type.
pub type StateError = Box<dyn std::error::Error + Send + Sync>;

/// Why something could not be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Blocks or transactions could not be read.
    #[error(transparent)]
    NodeDb(#[from] txgraph_nodedb::Error),
    /// The state before a block could not be read.
    #[error("the state before block {block} could not be read: {source}")]
    State {
        /// The block that was to be replayed.
        block: u64,
        /// Why.
        source: StateError,
    },
    /// What a block changed could not be read.
    #[error("what block {block} changed could not be read: {source}")]
    Changes {
        /// The block.
        block: u64,
        /// Why.
        source: StateError,
    },
    /// A genesis file could not be read.
    #[error("cannot read chain file {}: {source}", path.display())]
    ReadChainFile {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A genesis file that makes no sense.
    #[error("{} is not a genesis file: {what}", path.display())]
    ChainFile {
        /// The file.
        path: PathBuf,
        /// Key, and what is wrong there.
        what: String,
    },
    /// A trace to compare with could not be read.
    #[error("cannot read trace {}: {source}", path.display())]
    ReadTrace {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that is no trace.
    #[error("{} is not a trace of opcodes: {what}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// Nothing says which rules hold.
    #[error(
        "{}: the rules of the chain with genesis {genesis_hash} are not known; \
         give its genesis file (`--chain FILE`)", path.display()
    )]
    UnknownChain {
        /// The data directory.
        path: PathBuf,
        /// Hash of its block 0.
        genesis_hash: B256,
    },
    /// The rules are those of another chain.
    #[error(
        "{} holds the chain with genesis {found}, the rules given are for genesis {expected}",
        path.display()
    )]
    WrongChain {
        /// The data directory.
        path: PathBuf,
        /// Hash of its block 0.
        found: B256,
        /// Of the rules.
        expected: B256,
    },
    /// The rules are those of another chain id.
    #[error(
        "block {block} has a transaction signed for chain {found}, the rules given are for \
         chain {expected}: see `chainId` in the chain file (`--chain`)"
    )]
    WrongChainId {
        /// The block.
        block: u64,
        /// In its transaction.
        found: u64,
        /// Of the rules.
        expected: u64,
    },
    /// Rules that the interpreter does not know.
    #[error(
        "block {block} is of the fork {fork}; {} is the latest that can be replayed, as \
         later rules are here in a draft only",
        Fork::LATEST
    )]
    UnsupportedFork {
        /// The block.
        block: u64,
        /// Its fork.
        fork: Fork,
    },
    /// Block 0 was not executed by anybody.
    #[error("block 0 has no block before it, and nothing to replay")]
    Genesis,
    /// The block has fewer transactions.
    #[error("block {block} has no transaction {index}, it has {count}")]
    NoSuchTransaction {
        /// The block.
        block: u64,
        /// Asked for.
        index: u32,
        /// How many there are, counted from 0.
        count: u64,
    },
    /// The transaction asked for, or one before it, may not be executed.
    #[error("transaction {index} of block {block} may not be executed: {source}")]
    Unreachable {
        /// The block.
        block: u64,
        /// The transaction that was refused.
        index: u32,
        /// Why.
        source: crate::Refusal,
    },
    /// State and block are of different branches.
    #[error("block {block} was replaced by a reorganisation while it was replayed; ask again")]
    Replaced {
        /// The block.
        block: u64,
    },
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many.
        threads: usize,
        /// Why.
        source: rayon::ThreadPoolBuildError,
    },
}

impl Error {
    /// The chain or its files changed meanwhile: ask again, a bounded number of times.
    pub fn is_stale(&self) -> bool {
        match self {
            Self::NodeDb(error) => error.is_stale(),
            Self::Replaced { .. } => true,
            Self::State { source, .. } | Self::Changes { source, .. } => source
                .downcast_ref::<txgraph_state::Error>()
                .is_some_and(txgraph_state::Error::is_stale),
            _ => false,
        }
    }
}
