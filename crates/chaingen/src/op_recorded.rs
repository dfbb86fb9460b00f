//! Blocks of the OP stack from the answers of a node.

use super::{Error, ExecutedBlock, OpTransaction, Signer, op::sender_of, receipts_root};
use alloy_consensus::{
    Header, Sealed, TxEip1559, TxEip2930, TxLegacy, TxReceipt, Typed2718, proofs,
};
use alloy_primitives::{Address, B256, Bloom, TxKind, U64};
use op_alloy_consensus::{OpReceipt, OpTxEnvelope, TxDeposit};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<T: DeserializeOwned>(answer: &Value, what: &str) -> Result<T, Error> {
    T::deserialize(answer).map_err(|error| Error::Recorded(format!("{what}: {error}")))
}

/// Converts a block with its transactions. The receipts are not known: they are made up as
/// successful and without logs, and the last one has the gas of the header.
pub fn op_block(answer: &Value) -> Result<ExecutedBlock, Error> {
    let header: Header = read(answer, "a header")?;
    let transactions = answer["transactions"].as_array();
    let transactions = transactions.ok_or_else(|| Error::Recorded("no transactions".to_owned()))?;
    let count = transactions.len() as u64;
    let converted = (1..).zip(transactions).map(|(place, answer)| {
        let rest = if place == count {
            header.gas_used % count
        } else {
            0
        };
        let receipt = op_receipt(&json!({
            "type": answer["type"],
            "status": "0x1",
            "cumulativeGasUsed": U64::from(header.gas_used / count * place + rest),
            "logs": [],
            "depositNonce": answer["nonce"],
        }))?;
        // Nodes write a boolean, and `op-alloy` reads a number.
        let mut answer = answer.clone();
        answer["isSystemTx"] = json!(U64::from(u8::from(answer["isSystemTx"] == true)));
        let transaction = read(&answer, "a transaction")?;
        Ok(OpTransaction {
            sender: sender_of(&transaction)?,
            transaction,
            receipt,
        })
    });
    Ok(ExecutedBlock {
        op_transactions: converted.collect::<Result<_, _>>()?,
        header,
        ..ExecutedBlock::default()
    })
}

/// Converts a receipt.
pub fn op_receipt(answer: &Value) -> Result<OpReceipt, Error> {
    read(answer, "a receipt")
}

/// Makes a block around real receipts after Canyon: transactions of their types without value,
/// and a header with the given receipts root.
pub fn op_block_of_receipts(number: u64, receipts: Vec<OpReceipt>, root: B256) -> ExecutedBlock {
    let signer = Signer::new(2, "op-receipts", &[]);
    let make = |(place, receipt): (u64, OpReceipt)| {
        let to = TxKind::Call(Address::repeat_byte(0x33));
        let transaction = match receipt.ty() {
            0 => OpTxEnvelope::Legacy(signer.sign_transaction(TxLegacy {
                chain_id: Some(8453),
                nonce: place,
                to,
                ..TxLegacy::default()
            })),
            1 => OpTxEnvelope::Eip2930(signer.sign_transaction(TxEip2930 {
                chain_id: 8453,
                nonce: place,
                to,
                ..TxEip2930::default()
            })),
            2 => OpTxEnvelope::Eip1559(signer.sign_transaction(TxEip1559 {
                chain_id: 8453,
                nonce: place,
                to,
                ..TxEip1559::default()
            })),
            _ => OpTxEnvelope::Deposit(Sealed::new(TxDeposit {
                from: signer.address,
                to,
                ..TxDeposit::default()
            })),
        };
        OpTransaction {
            sender: signer.address,
            transaction,
            receipt,
        }
    };
    let op_transactions: Vec<_> = (0..).zip(receipts).map(make).collect();
    let envelopes: Vec<_> = (op_transactions.iter())
        .map(|it| it.transaction.clone())
        .collect();
    let bloom = |bloom: Bloom, it: &OpTransaction| bloom | it.receipt.bloom();
    let last = op_transactions.last();
    debug_assert_eq!(root, receipts_root(&op_transactions));
    let header = Header {
        number,
        timestamp: 0x69a9_b3df,
        gas_limit: 1 << 40,
        gas_used: last.map_or(0, |it| it.receipt.cumulative_gas_used()),
        base_fee_per_gas: Some(7),
        transactions_root: proofs::calculate_transaction_root(&envelopes),
        receipts_root: root,
        logs_bloom: op_transactions.iter().fold(Bloom::ZERO, bloom),
        ..Header::default()
    };
    ExecutedBlock {
        header,
        op_transactions,
        ..ExecutedBlock::default()
    }
}
