//! Why a transaction is not executed.

use txgraph_evm::InvalidTransaction;

/// The reason why an engine refuses a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The transaction is not valid in its block.
    #[error(transparent)]
    Invalid(#[from] InvalidTransaction),
    /// The message of another engine.
    #[error("{0}")]
    Peer(String),
}
