//! A block whose fields differ from its header.

use crate::{BlockRules, ChainRules};
use alloy_primitives::{Address, B256, U256};
use txgraph_evm::Block;
use txgraph_nodedb::Header;

/// Changes of the block that simulated transactions see. Number and time also choose the fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockOverrides {
    /// The height. Blocks above the one whose state is used have no hash.
    pub number: Option<u64>,
    /// Seconds since 1970.
    pub timestamp: Option<u64>,
    /// The maximum gas of all transactions.
    pub gas_limit: Option<u64>,
    /// The recipient of fees.
    pub beneficiary: Option<Address>,
    /// The random value of the beacon chain, since Paris.
    pub prevrandao: Option<B256>,
    /// The difficulty, before Paris.
    pub difficulty: Option<U256>,
    /// Wei per gas.
    pub base_fee: Option<U256>,
    /// Wei per blob gas.
    pub blob_base_fee: Option<U256>,
}

impl BlockOverrides {
    /// The rules of the changed block, and its environment.
    pub(crate) fn apply(&self, chain: &ChainRules, header: &Header) -> (BlockRules, Block) {
        let mut header = header.clone();
        let fields = &mut header.fields;
        fields.number = self.number.unwrap_or(fields.number);
        fields.timestamp = self.timestamp.unwrap_or(fields.timestamp);
        let rules = chain.at(&header);
        let block = rules.environment(&header);
        let changed = Block {
            gas_limit: self.gas_limit.unwrap_or(block.gas_limit),
            beneficiary: self.beneficiary.unwrap_or(block.beneficiary),
            prevrandao: self.prevrandao.unwrap_or(block.prevrandao),
            difficulty: self.difficulty.unwrap_or(block.difficulty),
            base_fee: self.base_fee.unwrap_or(block.base_fee),
            blob_base_fee: self.blob_base_fee.unwrap_or(block.blob_base_fee),
            ..block
        };
        (rules, changed)
    }
}
