//! The newest block of a chain.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

/// The newest block of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// Block number.
    pub number: u64,
    /// Block hash.
    pub hash: B256,
    /// Unix timestamp in seconds.
    pub timestamp: u64,
    /// The number of transactions of the chain up to and including this block.
    pub transactions: u64,
}
