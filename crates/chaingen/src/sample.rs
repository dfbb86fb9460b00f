//! Blocks whose transfers are known.

use super::{BlockWriter, Error, ExecutedBlock, Storage};
use alloy_primitives::{Address, B256, Log, U256};
use std::path::Path;
use txgraph_transfers::{TRANSFER, Transfer};

/// Consecutive blocks, and their transfers.
#[derive(Clone, Debug)]
pub struct BlockSample {
    /// The blocks.
    pub blocks: Vec<ExecutedBlock>,
    /// Their transfers, in total order, with times and hashes.
    pub transfers: Vec<Transfer>,
}

impl BlockSample {
    /// Makes `count` blocks from block `first` on. `make` gets a number and a parent hash.
    pub(super) fn new(
        first: u64,
        count: u64,
        make: impl Fn(u64, B256) -> (ExecutedBlock, Vec<Transfer>),
    ) -> Self {
        let mut sample = Self {
            blocks: Vec::new(),
            transfers: Vec::new(),
        };
        let mut parent_hash = B256::repeat_byte(7);
        for number in first..first + count {
            let (block, transfers) = make(number, parent_hash);
            parent_hash = block.header.hash_slow();
            sample.blocks.push(block);
            sample.transfers.extend(transfers);
        }
        sample
    }

    /// Writes a data directory in `folder`.
    pub fn write(&self, folder: &Path, storage: Storage) -> Result<(), Error> {
        BlockWriter::create_from(folder, storage, 0, self.blocks.clone())?.sync()
    }
}

/// A log `Transfer(address,address,uint256)` with indexed addresses.
pub(super) fn transfer_log(emitter: Address, from: Address, to: Address, value: U256) -> Log {
    let topics = vec![TRANSFER, from.into_word(), to.into_word()];
    Log::new_unchecked(emitter, topics, B256::from(value).into())
}
