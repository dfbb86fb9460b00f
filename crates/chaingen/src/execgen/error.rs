//! The error type of executed chains.

use alloy_primitives::B256;
use revm::context::result::EVMError;
use txgraph_evm_tools::asm::AsmError;

/// An error of generating a chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chain could not be written.
    #[error(transparent)]
    Write(#[from] crate::Error),
    /// The source of a contract is wrong.
    #[error("contract {name}: {source}")]
    Contract {
        /// Name of the source.
        name: &'static str,
        /// Position and fault.
        source: AsmError,
    },
    /// revm rejected a transaction or a system call.
    #[error("block {block}: {what}")]
    Refused {
        /// Number of the block.
        block: u64,
        /// The message of revm.
        what: String,
    },
    /// The process of the miner failed.
    #[error("miner: {0}")]
    Miner(String),
}

/// A request that the state cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Missing {
    /// Code that no account has.
    #[error("no code has hash {0}")]
    Code(B256),
    /// A block above the tip.
    #[error("block {0} has no hash yet")]
    Block(u64),
}

impl revm::database_interface::DBErrorMarker for Missing {}

impl Error {
    pub(crate) fn refused(block: u64) -> impl Fn(EVMError<Missing>) -> Self {
        move |error| Self::Refused {
            block,
            what: error.to_string(),
        }
    }
}
