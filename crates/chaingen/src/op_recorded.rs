//! Blocks of the OP stack from the answers of a node.

use super::{Error, ExecutedBlock, OpTransaction, Signer, op::sender_of, receipts_root};
use alloy_consensus::{
    Header, Receipt, Sealed, SignableTransaction, TxEip1559, TxEip2930, TxLegacy, TxReceipt,
    Typed2718, proofs,
};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, Signature, TxKind, U256};
use op_alloy_consensus::{OpDepositReceipt, OpReceipt, OpTxEnvelope, TxDeposit};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Fields of an answer. A missing or malformed one ends the conversion.
struct Fields<'a>(&'a Value);

impl Fields<'_> {
    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        serde_json::from_value(self.0[name].clone())
            .map_err(|error| Error::Recorded(format!("{name}: {error}")))
    }

    fn number(&self, name: &str) -> Result<u64, Error> {
        Ok(self.get::<U256>(name)?.saturating_to())
    }

    fn wide(&self, name: &str) -> Result<u128, Error> {
        Ok(self.get::<U256>(name)?.saturating_to())
    }

    /// `None` for a missing field.
    fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.get(name).map(Some),
        }
    }

    fn access_list(&self) -> Result<AccessList, Error> {
        let items: Vec<Value> = self.optional("accessList")?.unwrap_or_default();
        let item = |item: &Value| {
            Ok(AccessListItem {
                address: Fields(item).get("address")?,
                storage_keys: Fields(item).get("storageKeys")?,
            })
        };
        Ok(AccessList(
            items.iter().map(item).collect::<Result<_, Error>>()?,
        ))
    }

    fn to(&self) -> Result<TxKind, Error> {
        let to = self.optional("to")?;
        Ok(to.map_or(TxKind::Create, TxKind::Call))
    }
}

/// Converts a header before Canyon.
fn op_header(answer: &Value) -> Result<Header, Error> {
    let fields = Fields(answer);
    Ok(Header {
        parent_hash: fields.get("parentHash")?,
        ommers_hash: fields.get("sha3Uncles")?,
        beneficiary: fields.get("miner")?,
        state_root: fields.get("stateRoot")?,
        transactions_root: fields.get("transactionsRoot")?,
        receipts_root: fields.get("receiptsRoot")?,
        logs_bloom: fields.get("logsBloom")?,
        difficulty: fields.get("difficulty")?,
        number: fields.number("number")?,
        gas_limit: fields.number("gasLimit")?,
        gas_used: fields.number("gasUsed")?,
        timestamp: fields.number("timestamp")?,
        extra_data: fields.get("extraData")?,
        mix_hash: fields.get("mixHash")?,
        nonce: fields.get::<B64>("nonce")?,
        base_fee_per_gas: Some(fields.number("baseFeePerGas")?),
        ..Header::default()
    })
}

/// Converts a block before Canyon with its transactions. The receipts are not known: they are
/// made up as successful and without logs, and the last one has the gas of the header.
pub fn op_block(answer: &Value) -> Result<ExecutedBlock, Error> {
    let header = op_header(answer)?;
    let transactions = answer["transactions"].as_array();
    let transactions = transactions.ok_or_else(|| Error::Recorded("no transactions".to_owned()))?;
    let count = transactions.len() as u64;
    let converted = (1..).zip(transactions).map(|(place, answer)| {
        let inner = Receipt {
            status: true.into(),
            cumulative_gas_used: header.gas_used / count * place
                + if place == count {
                    header.gas_used % count
                } else {
                    0
                },
            logs: Vec::new(),
        };
        let fields = Fields(answer);
        let tx_type = fields.number("type")?;
        let transaction = match tx_type {
            0 => legacy(&fields)?,
            1 => eip2930(&fields)?,
            2 => eip1559(&fields)?,
            0x7e => deposit(&fields)?,
            other => return Err(Error::Recorded(format!("a transaction of type {other}"))),
        };
        let receipt = receipt_of(tx_type, inner, [Some(fields.number("nonce")?), None])?;
        let sender = sender_of(&transaction)?;
        Ok(OpTransaction {
            sender,
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
    let fields = Fields(answer);
    let inner = Receipt {
        status: (fields.number("status")? == 1).into(),
        cumulative_gas_used: fields.number("cumulativeGasUsed")?,
        logs: fields.get("logs")?,
    };
    let of_deposit = |name| -> Result<Option<u64>, Error> {
        let number = fields.optional::<U256>(name)?;
        Ok(number.map(|number| number.saturating_to()))
    };
    let deposit = [
        of_deposit("depositNonce")?,
        of_deposit("depositReceiptVersion")?,
    ];
    receipt_of(fields.number("type")?, inner, deposit)
}

/// A receipt of a type. A deposit has a nonce and a version.
fn receipt_of(
    tx_type: u64,
    inner: Receipt,
    [deposit_nonce, deposit_receipt_version]: [Option<u64>; 2],
) -> Result<OpReceipt, Error> {
    Ok(match tx_type {
        0 => OpReceipt::Legacy(inner),
        1 => OpReceipt::Eip2930(inner),
        2 => OpReceipt::Eip1559(inner),
        4 => OpReceipt::Eip7702(inner),
        0x7d => OpReceipt::PostExec(inner),
        0x7e => OpReceipt::Deposit(OpDepositReceipt {
            inner,
            deposit_nonce,
            deposit_receipt_version,
        }),
        other => return Err(Error::Recorded(format!("a receipt of type {other}"))),
    })
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

fn signature(fields: &Fields<'_>) -> Result<(Signature, u64), Error> {
    let v = fields.number("v")?;
    let parity = match v {
        0 | 1 => v == 1,
        27 | 28 => v == 28,
        _ => (v - 35) % 2 == 1,
    };
    let signature = Signature::new(fields.get("r")?, fields.get("s")?, parity);
    Ok((signature, v))
}

fn legacy(fields: &Fields<'_>) -> Result<OpTxEnvelope, Error> {
    let (signature, v) = signature(fields)?;
    let tx = TxLegacy {
        chain_id: v.checked_sub(35).map(|v| v / 2),
        nonce: fields.number("nonce")?,
        gas_price: fields.wide("gasPrice")?,
        gas_limit: fields.number("gas")?,
        to: fields.to()?,
        value: fields.get("value")?,
        input: fields.get::<Bytes>("input")?,
    };
    Ok(OpTxEnvelope::Legacy(tx.into_signed(signature)))
}

fn eip2930(fields: &Fields<'_>) -> Result<OpTxEnvelope, Error> {
    let (signature, _) = signature(fields)?;
    let tx = TxEip2930 {
        chain_id: fields.number("chainId")?,
        nonce: fields.number("nonce")?,
        gas_price: fields.wide("gasPrice")?,
        gas_limit: fields.number("gas")?,
        to: fields.to()?,
        value: fields.get("value")?,
        access_list: fields.access_list()?,
        input: fields.get("input")?,
    };
    Ok(OpTxEnvelope::Eip2930(tx.into_signed(signature)))
}

fn eip1559(fields: &Fields<'_>) -> Result<OpTxEnvelope, Error> {
    let (signature, _) = signature(fields)?;
    let tx = TxEip1559 {
        chain_id: fields.number("chainId")?,
        nonce: fields.number("nonce")?,
        gas_limit: fields.number("gas")?,
        max_fee_per_gas: fields.wide("maxFeePerGas")?,
        max_priority_fee_per_gas: fields.wide("maxPriorityFeePerGas")?,
        to: fields.to()?,
        value: fields.get("value")?,
        access_list: fields.access_list()?,
        input: fields.get("input")?,
    };
    Ok(OpTxEnvelope::Eip1559(tx.into_signed(signature)))
}

fn deposit(fields: &Fields<'_>) -> Result<OpTxEnvelope, Error> {
    let tx = TxDeposit {
        source_hash: fields.get("sourceHash")?,
        from: fields.get("from")?,
        to: fields.to()?,
        mint: fields
            .optional::<U256>("mint")?
            .unwrap_or_default()
            .saturating_to(),
        value: fields.get("value")?,
        gas_limit: fields.number("gas")?,
        is_system_transaction: fields.optional("isSystemTx")?.unwrap_or_default(),
        input: fields.get("input")?,
    };
    Ok(OpTxEnvelope::Deposit(Sealed::new(tx)))
}
