//! Prices of blobs and rewards, which follow from the rules of a chain.

use crate::{Capability, NodeBlock, Result, Source};
use alloy_primitives::U256;
use txgraph_nodedb::Header;

impl Source {
    /// The price in wei of a unit of blob gas in a block; `None` before Cancun.
    ///
    /// # Errors
    ///
    /// If the rules of the chain are not known.
    pub fn blob_base_fee(&self, header: &Header) -> Result<Option<U256>> {
        let Some(excess) = header.excess_blob_gas else {
            return Ok(None);
        };
        let rules = self.node(Capability::Replay)?.rules()?;
        Ok(Some(rules.at(header).blobs.base_fee(excess)))
    }

    /// The wei that a block creates for its beneficiary, and for the beneficiary of each ommer. Zero since the
    /// merge.
    ///
    /// # Errors
    ///
    /// If the rules of the chain are not known.
    pub fn block_rewards(&self, block: &NodeBlock) -> Result<(U256, Vec<U256>)> {
        self.rewards_of(&block.header, &block.ommers)
    }

    /// The same, by the headers of a block and of its ommers.
    pub(super) fn rewards_of(
        &self,
        header: &Header,
        ommers: &[Header],
    ) -> Result<(U256, Vec<U256>)> {
        if header.difficulty.is_zero() {
            return Ok(Default::default());
        }
        let rules = self.node(Capability::Replay)?.rules()?.at(header);
        let ommers = ommers.iter().map(|ommer| ommer.number);
        let rewards = rules.rewards(header.number, ommers);
        Ok(rewards.unwrap_or_default())
    }
}
