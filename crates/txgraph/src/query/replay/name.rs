//! Transactions by name, and where they are.

use super::Replay;
use alloy_primitives::B256;
use {
    crate::{Error, Result, source::RethNode},
    txgraph_reader::{ScanOptions, find_transaction},
    txgraph_replay::TransactionLocation,
    txgraph_transfers::BlockRange,
};

/// A transaction as a caller names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionName {
    /// By its hash.
    Hash(B256),
    /// By its position.
    Position {
        /// The block.
        block: u64,
        /// The index in the block.
        index: u32,
    },
}

impl From<B256> for TransactionName {
    fn from(hash: B256) -> Self {
        Self::Hash(hash)
    }
}

/// The location of the one transaction to replay.
#[derive(Clone, Copy)]
pub(super) struct Location(pub(super) TransactionLocation);

impl Location {
    pub(super) fn find(query: &Replay<'_>, node: &RethNode, name: TransactionName) -> Result<Self> {
        let location = match name {
            TransactionName::Position { .. } if !query.blocks.is_empty() => {
                return Err(Error::usage(
                    "blocks to search need the hash of the transaction, not its block and index",
                ));
            }
            TransactionName::Position { block, index } => {
                // Check that the block exists before checking that its parent state does.
                node.db().snapshot()?.header(block)?;
                TransactionLocation::new(block, index, None)
            }
            TransactionName::Hash(hash) => {
                let blocks = if query.blocks.is_empty() {
                    None
                } else {
                    Some(query.find_blocks()?)
                };
                let options = ScanOptions {
                    threads: node.control.threads.clone(),
                    progress: node.control.progress.clone(),
                    cancel: node.control.cancel.clone(),
                    ..ScanOptions::default()
                };
                let (block, index) = find_transaction(node.db(), hash, blocks.as_ref(), &options)?;
                TransactionLocation::new(block, index, Some(hash))
            }
        };
        Ok(Self(location))
    }

    /// The block whose state the transaction's block starts from.
    pub(super) fn before(self) -> Result<BlockRange> {
        let before = (self.0.block.checked_sub(1))
            .ok_or_else(|| Error::usage("block 0 has no transactions"))?;
        Ok(BlockRange::one(before))
    }
}
