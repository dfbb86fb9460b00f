//! Receipts of executed transactions, and the header fields computed from them.

use alloy_consensus::{EthereumReceipt, ReceiptWithBloom, TxReceipt, TxType, proofs};
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_primitives::{B256, Bloom};
use txgraph_evm::{BlockGas, Outcome, Transaction};

/// The receipts of a block, and their sums.
#[derive(Debug, Default)]
pub struct Receipts {
    /// Gas charged to all transactions.
    pub gas_used: u64,
    /// Gas that counts towards the block's limit.
    pub block_gas: BlockGas,
    /// Gas of all blobs (EIP-4844).
    pub blob_gas_used: u64,
    receipts: Vec<ReceiptWithBloom<EthereumReceipt>>,
}

impl Receipts {
    /// Adds the receipt of a transaction.
    pub fn push(&mut self, transaction: &Transaction, outcome: &Outcome) {
        self.gas_used = self.gas_used.saturating_add(outcome.gas_used);
        self.block_gas = self.block_gas.plus(outcome.block_gas);
        self.blob_gas_used += transaction.blob_hashes.len() as u64 * DATA_GAS_PER_BLOB;
        let receipt = EthereumReceipt {
            // Both enumerations use the type bytes of EIP-2718.
            tx_type: TxType::try_from(transaction.transaction_type as u8).unwrap_or(TxType::Legacy),
            success: outcome.is_success(),
            cumulative_gas_used: self.gas_used,
            logs: outcome.logs.clone(),
        };
        self.receipts.push(receipt.into_with_bloom());
    }

    /// The bloom filter of all logs.
    pub fn bloom(&self) -> Bloom {
        (self.receipts.iter()).fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.logs_bloom)
    }

    /// The receipts root of the header, from Byzantium on. Before EIP-658 a receipt
    /// contained a state root instead of a status.
    pub fn root(&self) -> B256 {
        proofs::calculate_receipt_root(&self.receipts)
    }
}
