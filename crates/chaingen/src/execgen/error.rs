//! Why a chain could not be made.

use alloy_primitives::B256;
use revm::context::result::EVMError;
use txgraph_evm_tools::asm::AsmError;

/// Why a chain could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] crate::Error),
    /// A contract's source is wrong.
    #[error("contract {name}: {source}")]
    Contract {
        /// Of the source.
        name: &'static str,
        /// Where.
        source: AsmError,
    },
    /// The executor refused a transaction or a call of the protocol.
    #[error("block {block}: {what}")]
    Refused {
        /// Number of the block.
        block: u64,
        /// In its words.
        what: String,
    },
    /// The miner in the other process.
    #[error("miner: {0}")]
    Miner(String),
}

/// What is asked of a state that does not have it.
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
