//! A block with everything that its execution needs.

use crate::{BlockRules, Result};
use alloy_primitives::{B256, Log};
use std::ops::ControlFlow;
use txgraph_block::evm_transaction;
use txgraph_evm::Transaction;
use txgraph_nodedb::{
    Block, BlockRange, Error as NodeError, Header, Part, Parts, Scratch, Snapshot, Withdrawal,
};

/// A block as read from the database.
#[derive(Clone, Debug)]
pub struct StoredBlock {
    /// The header.
    pub header: Header,
    /// The transactions, in order.
    pub transactions: Vec<StoredTransaction>,
    /// Headers of the ommers; none since the merge.
    pub ommers: Vec<Header>,
    /// The withdrawals; none before Shanghai.
    pub withdrawals: Vec<Withdrawal>,
    /// The receipts, in order; `None` where the node pruned them.
    pub receipts: Option<Vec<StoredReceipt>>,
}

/// A transaction in the form that the interpreter executes.
#[derive(Clone, Debug)]
pub struct StoredTransaction {
    /// The Keccak-256 hash of the EIP-2718 encoding.
    pub hash: B256,
    /// The transaction, with its sender and the authorities of its authorizations.
    pub transaction: Transaction,
}

/// A receipt as stored by the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReceipt {
    /// Whether the transaction succeeded.
    pub success: bool,
    /// Gas used by this and all earlier transactions of the block.
    pub cumulative_gas_used: u64,
    /// The logs, in order.
    pub logs: Vec<Log>,
}

impl StoredBlock {
    /// Reads consecutive blocks under one snapshot and appends them to `read`. After an error,
    /// `read` contains the blocks before the one that failed. `verify` proves the transactions and
    /// senders of each block ([`Block::check_transactions`]).
    pub fn read(
        snapshot: &Snapshot<'_>,
        blocks: BlockRange,
        scratch: &mut Scratch,
        verify: bool,
        read: &mut Vec<Self>,
    ) -> Result<()> {
        let parts = Parts::ALL;
        snapshot.for_each_block(blocks, parts, scratch, &mut |block| {
            if verify {
                block.check_transactions()?;
            }
            read.push(stored(block)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    /// The block environment that execution sees.
    pub fn environment(&self, rules: &BlockRules) -> txgraph_evm::Block {
        rules.environment(&self.header)
    }
}

fn stored(block: &mut Block<'_>) -> Result<StoredBlock, NodeError> {
    let header = block.check_header()?.clone();
    let count = u32::try_from(block.body.tx_count).map_err(|_| NodeError::Inconsistent {
        block: block.number,
        what: format!("it has {} transactions", block.body.tx_count),
    })?;
    let receipts = match receipts(block) {
        Ok(receipts) => Some(receipts),
        Err(NodeError::Missing {
            part: Part::Receipts,
            ..
        }) => None,
        Err(error) => return Err(error),
    };
    let transactions = (0..count)
        .map(|index| {
            let signed = block.signed_transaction(index)?;
            let sender = block.sender(index)?;
            Ok(StoredTransaction {
                hash: *signed.tx_hash(),
                transaction: evm_transaction(&signed, sender),
            })
        })
        .collect::<Result<_, NodeError>>()?;
    Ok(StoredBlock {
        header,
        transactions,
        ommers: block.ommers()?,
        withdrawals: block.withdrawals().to_vec(),
        receipts,
    })
}

fn receipts(block: &mut Block<'_>) -> Result<Vec<StoredReceipt>, NodeError> {
    let mut receipts = Vec::new();
    while let Some(receipt) = block.next_receipt()? {
        receipts.push(StoredReceipt {
            success: receipt.success,
            cumulative_gas_used: receipt.cumulative_gas_used,
            logs: receipt.to_logs()?,
        });
    }
    Ok(receipts)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use alloy_primitives::Address;

    /// The header of an empty block, with zeros for the results of its execution.
    pub(crate) fn header(number: u64, beneficiary: u8) -> Header {
        let fields = alloy_consensus::Header {
            number,
            beneficiary: Address::repeat_byte(beneficiary),
            ommers_hash: B256::ZERO,
            state_root: B256::ZERO,
            transactions_root: B256::ZERO,
            receipts_root: B256::ZERO,
            ..alloy_consensus::Header::default()
        };
        Header {
            fields,
            hash: B256::ZERO,
        }
    }
}
