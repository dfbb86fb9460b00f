//! Proofs of the rows of a statement: the header of each block, and the paths from its roots to the
//! transactions, receipts and withdrawals of the account.

use super::{Statement, StatementRow};
use crate::{Capability, Result, words::number};
use alloy_primitives::{Address, B256, Bytes};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_block::prove_items;
use txgraph_nodedb::{Block, ChainFamily, Error as NodeError, Parts};

/// The proof of the rows of one block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockProof {
    /// The number of the block.
    pub block_number: u64,
    /// The Keccak-256 of the header.
    pub block_hash: B256,
    /// The header in RLP.
    pub header: Bytes,
    /// The transactions with rows, ascending.
    pub transactions: Vec<TransactionProof>,
    /// The withdrawals of the account, ascending.
    pub withdrawals: Vec<WithdrawalProof>,
}

/// The proof of the rows of one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionProof {
    /// Its index in the block.
    pub transaction_index: u32,
    /// The EIP-2718 encoding.
    pub transaction: Bytes,
    /// The nodes from the transactions root of the header to it.
    pub transaction_proof: Vec<Bytes>,
    /// The logs of the block before it.
    pub first_log_index: u32,
    /// The EIP-2718 encoding of its receipt. `None` if that has a state root (before Byzantium),
    /// which the node does not store.
    pub receipt: Option<Bytes>,
    /// The nodes from the receipts root of the header to the receipt.
    pub receipt_proof: Vec<Bytes>,
}

/// The proof of one withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithdrawalProof {
    /// Its place in the list of the block.
    pub withdrawal_place: u32,
    /// The withdrawal in RLP.
    pub withdrawal: Bytes,
    /// The nodes from the withdrawals root of the header to it.
    pub withdrawal_proof: Vec<Bytes>,
}

impl Statement<'_> {
    /// Adds proofs of the rows by the headers of their blocks:
    /// [`AccountStatement::proofs`](super::AccountStatement::proofs).
    pub const fn proofs(mut self) -> Self {
        self.with_proofs = true;
        self
    }

    /// Proves the rows.
    pub(super) fn prove(&self, rows: &[StatementRow]) -> Result<Vec<BlockProof>> {
        let mut blocks: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for row in rows {
            let transactions = blocks.entry(row.block).or_default();
            transactions.extend(row.transaction.map(|(index, _)| index));
        }
        let family = self.source.node(Capability::Blocks)?.db().family();
        self.source
            .read_each(blocks, PROVEN, |block, transactions| {
                prove_block(block, transactions, self.address, family)
            })
    }
}

/// A note on receipts that are not proven.
pub(super) fn note(proofs: &[BlockProof]) -> Option<String> {
    let without = |block: &&BlockProof| block.transactions.iter().any(|it| it.receipt.is_none());
    let blocks = proofs.iter().filter(without).count() as u64;
    (blocks > 0).then(|| {
        format!(
            "receipts of {} are not proven: before Byzantium they have a state root, which the node \
             does not store",
            number(blocks, "block", "blocks")
        )
    })
}

/// Everything but senders, which transactions prove.
const PROVEN: Parts = Parts {
    headers: false,
    senders: false,
    ..Parts::ALL
};

fn prove_block(
    block: &mut Block<'_>,
    transactions: &BTreeSet<u32>,
    account: Address,
    family: ChainFamily,
) -> txgraph_nodedb::Result<BlockProof> {
    let header = block.check_header()?.clone();
    let inconsistent = |what| NodeError::Inconsistent {
        block: header.number,
        what,
    };
    let prove = |what, items: &[Vec<u8>], wanted: &[u32], expected| {
        let (root, proofs) = prove_items(items, wanted);
        match root == expected {
            true => Ok(proofs),
            false => Err(inconsistent(format!(
                "the stored {what} have the root {root}, and the header has {expected}"
            ))),
        }
    };

    let envelopes = (0..block.body.tx_count)
        .map_while(|index| u32::try_from(index).ok())
        .map(|index| Ok(block.stored_transaction(index)?.envelope()))
        .collect::<txgraph_nodedb::Result<Vec<_>>>()?;
    let wanted: Vec<u32> = transactions.iter().copied().collect();
    if let Some(index) = wanted.last().filter(|it| **it as usize >= envelopes.len()) {
        return Err(inconsistent(format!("it has no transaction {index}")));
    }
    let root = header.transactions_root;
    let paths = prove("transactions", &envelopes, &wanted, root)?;
    let (receipts, log_counts): (Vec<_>, Vec<_>) = (block.encoded_receipts()?.into_iter())
        .map(|receipt| (receipt.bytes, receipt.log_count))
        .unzip();
    let receipt_paths = match prove("receipts", &receipts, &wanted, header.receipts_root) {
        Err(_) if block.may_have_state_roots()? => None,
        paths => Some(paths?),
    };
    let mut receipt_paths = receipt_paths.map(Vec::into_iter);
    let transactions = wanted.into_iter().zip(paths);
    let transactions = transactions.map(|(index, transaction_proof)| {
        let place = index as usize;
        let receipt_proof = receipt_paths.as_mut().and_then(Iterator::next);
        let receipt = receipt_proof.as_ref().map(|_| receipts[place].clone());
        TransactionProof {
            transaction_index: index,
            transaction: envelopes[place].clone().into(),
            transaction_proof,
            first_log_index: log_counts[..place].iter().sum(),
            receipt: receipt.map(Bytes::from),
            receipt_proof: receipt_proof.unwrap_or_default(),
        }
    });
    let transactions = transactions.collect();

    let mut withdrawals = Vec::new();
    // On the OP stack, this root can be one of a storage.
    if let (Some(root), ChainFamily::Ethereum) = (header.withdrawals_root, family) {
        let all = block.withdrawals();
        let encoded: Vec<_> = all.iter().map(alloy_rlp::encode).collect();
        let own = (0..)
            .zip(all)
            .filter(|(_, it)| it.address == account && it.amount > 0);
        let own: Vec<u32> = own.map(|(place, _)| place).collect();
        let paths = prove("withdrawals", &encoded, &own, root)?;
        let proven = own.into_iter().zip(paths);
        withdrawals.extend(proven.map(|(place, withdrawal_proof)| WithdrawalProof {
            withdrawal_place: place,
            withdrawal: encoded[place as usize].clone().into(),
            withdrawal_proof,
        }));
    }
    Ok(BlockProof {
        block_number: header.number,
        block_hash: header.hash,
        header: alloy_rlp::encode(&header.fields).into(),
        transactions,
        withdrawals,
    })
}
