//! The newest block of a chain.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use std::{path::Path, time::Instant};

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

impl Tip {
    /// A line about a chain that was written to `folder` since `start`.
    pub fn summary(&self, folder: &Path, chain_id: u64, start: Instant) -> String {
        format!(
            "wrote blocks 0:{} with {} transactions to {} (chain id {chain_id}, tip {}) in {:.1} s",
            self.number + 1,
            self.transactions,
            folder.display(),
            self.hash,
            start.elapsed().as_secs_f64(),
        )
    }
}
