//! The errors of this crate.

use alloy_primitives::B256;
use txgraph_nodedb::Error as NodeDbError;
use txgraph_transfers::{BlockRanges, FailureKind, SourceError, SourceFailure, Unavailable};

/// The errors of a node database as a source.
///
/// [`SourceError::Failed`] contains the message of one of these, and its [`FailureKind`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chain ID is unknown: neither the genesis hash nor a transaction determines it.
    #[error(
        "the chain id is not known (genesis {genesis_hash} is not of a known chain, and no \
         transaction carries one)"
    )]
    ChainIdUnknown {
        /// Hash of block 0.
        genesis_hash: B256,
    },
    /// The chain ID of the caller differs from the data directory's.
    #[error("the data directory contains chain {found}, not {given}")]
    ChainIdContradicts {
        /// The chain ID of the caller.
        given: u64,
        /// The chain ID of the data directory.
        found: u64,
    },
    /// An option has an invalid value.
    #[error("{0}")]
    Options(&'static str),
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] txgraph_work::ThreadsError),
    /// Two neighboring blocks of the database are not linked, also after reading them again.
    #[error(
        "block {block} does not name the hash of block {} as its parent: the header files are \
         damaged, or the node replaces its newest blocks faster than they can be read",
        block.saturating_sub(1)
    )]
    Unlinked {
        /// The second of the two blocks.
        block: u64,
    },
    /// A block does not fit to others, for this reason.
    #[error("{0}")]
    Contradiction(String),
    /// The database returned fewer blocks or receipts than it should contain.
    #[error("block {block}: the database holds it, but gave only {given} of {expected} {what}")]
    Incomplete {
        /// The block.
        block: u64,
        /// "receipts", …
        what: &'static str,
        /// The number that was returned.
        given: u64,
        /// The expected number.
        expected: u64,
    },
    /// A transaction that was searched for by its hash.
    #[error(
        "transaction {hash} is not in blocks {blocks}{}",
        not_searched(missing)
    )]
    UnknownTransaction {
        /// The hash.
        hash: B256,
        /// The blocks that were asked for.
        blocks: BlockRanges,
        /// The blocks whose transactions are not available, with the reason.
        missing: Vec<Unavailable>,
    },
    /// Fees cannot be computed.
    #[error(transparent)]
    Fees(#[from] txgraph_rollup::Error),
    /// The database could not be read.
    #[error(transparent)]
    NodeDb(#[from] txgraph_nodedb::Error),
}

const GAPS_LISTED_MAX: usize = 4;

fn not_searched(missing: &[Unavailable]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let listed = missing.iter().take(GAPS_LISTED_MAX);
    let listed: Vec<_> = listed
        .map(|gap| format!("{} ({})", gap.blocks, gap.reason))
        .collect();
    let more = match missing.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; not searched: {}{more}", listed.join(", "))
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn kind(&self) -> FailureKind {
        match self {
            Self::NodeDb(error) if error.is_missing() => FailureKind::Missing,
            Self::NodeDb(NodeDbError::NoStaticFiles { .. }) => FailureKind::NoStaticFiles,
            Self::NodeDb(NodeDbError::NoRocksDb { .. }) => FailureKind::NoRocksDb,
            Self::UnknownTransaction { .. } => FailureKind::Missing,
            Self::Options(_)
            | Self::ChainIdUnknown { .. }
            | Self::ChainIdContradicts { .. }
            | Self::Fees(_) => FailureKind::Options,
            Self::NodeDb(_)
            | Self::Threads(_)
            | Self::Unlinked { .. }
            | Self::Contradiction(_)
            | Self::Incomplete { .. } => FailureKind::Unreadable,
        }
    }
}

impl From<Error> for SourceFailure {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}
