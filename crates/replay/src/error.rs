//! The error type of this crate. A difference between a replay and the node's data is not an
//! error but a [`Mismatch`](crate::Mismatch).

use alloy_primitives::B256;
use std::{io, path::PathBuf};
use txgraph_base::number;
use txgraph_evm::Fork;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a state source.
pub type StateError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why something could not be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Blocks or transactions could not be read.
    #[error(transparent)]
    NodeDb(#[from] txgraph_nodedb::Error),
    /// The state before a block could not be read.
    #[error("the state before block {block} could not be read{}: {source}", during(*transaction))]
    State {
        /// The block to replay.
        block: u64,
        /// The transaction that read it; `None` for the block around its transactions.
        transaction: Option<u32>,
        /// The cause.
        source: StateError,
    },
    /// The changes of a block could not be compared, because something could not be read.
    #[error("the changes of block {block} could not be checked: {source}")]
    Changes {
        /// The block.
        block: u64,
        /// The cause.
        source: StateError,
    },
    /// A block whose state is needed has another result than the node stored.
    #[error("the execution differs from what the node stored: {0}")]
    Differs(Box<crate::Mismatch>),
    /// A genesis file could not be read.
    #[error("cannot read chain file {}: {source}", path.display())]
    ReadChainFile {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file that is not a valid genesis file.
    #[error("{} is not a genesis file: {what}", path.display())]
    ChainFile {
        /// The file.
        path: PathBuf,
        /// The key, and what is wrong with it.
        what: String,
    },
    /// A file of what is different cannot be read, or has something else.
    #[error("{}: {problem}", path.display())]
    StateOverrides {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A trace to compare with could not be read.
    #[error("cannot read trace {}: {source}", path.display())]
    ReadTrace {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file that is not a trace.
    #[error("{} is not a trace of opcodes: {what}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The problem, and the line.
        what: String,
    },
    /// The rules of the chain are unknown.
    #[error(
        "{}: the rules of the chain with genesis {genesis_hash} are not known; its genesis file \
         is needed",
        path.display()
    )]
    UnknownChain {
        /// The data directory.
        path: PathBuf,
        /// The hash of its block 0.
        genesis_hash: B256,
    },
    /// The chain has other rules than Ethereum.
    #[error(
        "{}: blocks of the OP stack cannot be replayed, and their state is not read; so balances, \
         internal transfers and traces of this chain are not available. Fees need no replay if no \
         internal transfers are requested: name the kinds fee, priority, l1-fee and operator-fee",
        path.display()
    )]
    OpStack {
        /// The data directory.
        path: PathBuf,
    },
    /// The rules belong to another chain.
    #[error(
        "{} contains the chain with genesis {found}, the given rules are for genesis {expected}",
        path.display()
    )]
    WrongChain {
        /// The data directory.
        path: PathBuf,
        /// The hash of its block 0.
        found: B256,
        /// The genesis hash of the rules.
        expected: B256,
    },
    /// The rules have another chain id.
    #[error(
        "block {block} has a transaction signed for chain {found}, the given rules are for \
         chain {expected}: check `chainId` in the genesis file"
    )]
    WrongChainId {
        /// The block.
        block: u64,
        /// The chain id of its transaction.
        found: u64,
        /// The chain id of the rules.
        expected: u64,
    },
    /// The header of a block has not the fields of its fork.
    #[error(
        "block {block} has the rules of {fork}, but its header has {} {field}: check the times of \
         the forks in the genesis file",
        if *is_there { "a" } else { "no" }
    )]
    WrongFork {
        /// The block.
        block: u64,
        /// The fork by its number or time.
        fork: Fork,
        /// The field.
        field: &'static str,
        /// Whether the header has it.
        is_there: bool,
    },
    /// revm executes a draft of the fork of a block.
    #[cfg(feature = "oracle")]
    #[error(
        "block {block} has the rules of {fork}, of which revm has a draft: it cannot be compared"
    )]
    NoPeer {
        /// The block.
        block: u64,
        /// The fork of the block.
        fork: Fork,
    },
    /// The rules for a bundle are not known.
    #[error(
        "{}: the rules of chain {chain_id} are not known; its genesis file is needed",
        path.display()
    )]
    UnknownBundleChain {
        /// The file.
        path: PathBuf,
        /// The chain id.
        chain_id: u64,
    },
    /// A bundle belongs to another chain.
    #[error(
        "{} contains a block of chain {found}, the given rules are for chain {expected}",
        path.display()
    )]
    WrongBundleChain {
        /// The file.
        path: PathBuf,
        /// The chain id in the file.
        found: u64,
        /// The chain id of the rules.
        expected: u64,
    },
    /// A bundle has one block, and it is another one.
    #[error("{} contains block {contained}, not block {block}", path.display())]
    NotInBundle {
        /// The file.
        path: PathBuf,
        /// The requested block.
        block: u64,
        /// The block of the bundle.
        contained: u64,
    },
    /// A transaction of a bundle has no signer.
    #[error("block {block}, transaction {index}: no sender can be recovered from its signature")]
    Unsigned {
        /// The block.
        block: u64,
        /// The index of the transaction.
        index: usize,
    },
    /// Block 0 has no parent state and no transactions.
    #[error("block 0 (genesis) cannot be replayed")]
    Genesis,
    /// The block has fewer transactions.
    #[error("block {block} has no transaction {index}; it has {}", number(*count, "transaction", "transactions"))]
    NoSuchTransaction {
        /// The block.
        block: u64,
        /// The requested index.
        index: u32,
        /// The number of transactions.
        count: u64,
    },
    /// The requested transaction, or one before it in its block, is not valid.
    #[error("transaction {index} of block {block} may not be executed: {source}")]
    Unreachable {
        /// The block.
        block: u64,
        /// The transaction that was refused.
        index: u32,
        /// The cause.
        source: crate::Refusal,
    },
    /// The call frames do not fit in memory.
    #[error(
        "block {block}: the inputs and outputs of its calls hold more than 512 MiB; only the addresses, values and \
         gas of its calls can be recorded"
    )]
    FramesTooLarge {
        /// The block.
        block: u64,
    },
    /// State and block belong to different branches.
    #[error("block {block} was replaced by a reorganization while it was replayed; try again")]
    Replaced {
        /// The block.
        block: u64,
    },
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] txgraph_work::ThreadsError),
    /// The work was canceled.
    #[error("interrupted")]
    Interrupted,
}

/// Names the transaction of an error.
fn during(transaction: Option<u32>) -> String {
    transaction.map_or_else(String::new, |index| format!(" in transaction {index}"))
}

impl Error {
    /// The state before a block could not be read, by none of its transactions.
    pub(crate) fn state(block: u64, source: impl Into<StateError>) -> Self {
        Self::State {
            block,
            transaction: None,
            source: source.into(),
        }
    }

    /// Whether the chain or its files changed during the replay. The caller may try again, a
    /// bounded number of times.
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
