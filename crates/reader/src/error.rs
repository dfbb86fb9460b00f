//! What can go wrong beside what [`SourceError`] says.

use alloy_primitives::B256;
use txgraph_transfers::{BlockRanges, SourceError, Unavailable};

/// Why a node database cannot be used as a source, or a scan of it failed.
///
/// Inside of [`SourceError::Failed`] there is either one of these or a
/// [`txgraph_nodedb::Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither the genesis hash nor a transaction tells which chain it is.
    #[error(
        "the chain id is not known (genesis {genesis_hash} is not of a known chain, and no \
         transaction carries one)"
    )]
    ChainIdUnknown {
        /// Hash of block 0.
        genesis_hash: B256,
    },
    /// The caller's chain id is not that of the data directory.
    #[error("the data directory contains chain {found}, not {given}")]
    ChainIdContradicts {
        /// What the caller said.
        given: u64,
        /// What the data directory says.
        found: u64,
    },
    /// An option without meaning.
    #[error("{0}")]
    Options(&'static str),
    /// The threads could not be started.
    #[error(transparent)]
    Threads(#[from] txgraph_work::ThreadsError),
    /// Two neighbouring blocks of the database do not belong together, and
    /// reading them again did not help.
    #[error(
        "block {block} does not name the hash of block {} as its parent: the header files are \
         damaged, or the node replaces its newest blocks faster than they can be read",
        block.saturating_sub(1)
    )]
    Unlinked {
        /// The later of the two.
        block: u64,
    },
    /// The transactions of a block are not numbered on from those of the block
    /// before.
    #[error(
        "the transactions of block {block} do not follow those of block {}: the table \
         BlockBodyIndices is damaged",
        block.saturating_sub(1)
    )]
    Unnumbered {
        /// The later of the two.
        block: u64,
    },
    /// The database gave fewer blocks or receipts than it says it has.
    #[error("block {block}: the database holds it, but gave only {given} of {expected} {what}")]
    Incomplete {
        /// The block.
        block: u64,
        /// "receipts", …
        what: &'static str,
        /// How many came.
        given: u64,
        /// How many there are.
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
        /// Those whose transactions are not available, with the reason.
        missing: Vec<Unavailable>,
    },
    /// The database could not be read.
    #[error(transparent)]
    NodeDb(#[from] txgraph_nodedb::Error),
}

/// Gaps that a message lists.
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
        more => format!(" and {more} more ranges"),
    };
    format!("; not searched: {}{more}", listed.join(", "))
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        match error {
            // Unwrapped, so that whoever looks for the cause finds it at once.
            Error::NodeDb(error) => Self::Failed(Box::new(error)),
            error => Self::Failed(Box::new(error)),
        }
    }
}
