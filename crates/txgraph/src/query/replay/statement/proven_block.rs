//! The rows of a block that follow from its header.

use super::{
    ledger,
    proofs::{BlockProof, TransactionProof, WithdrawalProof},
    to_file,
    verify::difference_of_values,
};
use crate::query::analyze::rows_as_json;
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, U256};
use alloy_rlp::Decodable;
use serde_json::{Value, json};
use std::{collections::BTreeMap, iter::once, vec};
use txgraph_block::check_item;
use txgraph_nodedb::{Header, StoredTransaction, Withdrawal};
use txgraph_replay::transaction_transfers;
use txgraph_transfers::{
    AddressFilter, BlockRange, BlockTime, Decoder, Direction, TransactionView, Transfer,
    TransferFilter, WithdrawalView, WrappedNative,
};

/// The kinds of rows that no receipt and no withdrawal proves, unless they have a log.
const BY_REPLAY: [&str; 8] = [
    "internal",
    "burn",
    "fee",
    "priority",
    "l1-fee",
    "operator-fee",
    "reward",
    "unexplained",
];

/// A block whose proofs are right.
pub(super) struct ProvenBlock {
    pub(super) hash: B256,
    timestamp: u64,
    /// The transactions by index: the hash, and whether the receipt is proven.
    transactions: BTreeMap<u32, (B256, bool)>,
    /// The rows that are proven, in order, as JSON.
    rows: vec::IntoIter<Value>,
}

impl ProvenBlock {
    /// Verifies the proofs of a block.
    pub(super) fn verify(
        proof: &BlockProof,
        account: Address,
        chain_id: u64,
    ) -> Result<Self, String> {
        let header = Header::from_rlp(&proof.header).ok_or("`header` is not the RLP of one")?;
        if (proof.block_hash, proof.block_number) != (header.hash, header.number) {
            return Err(format!(
                "`header` is of block {} and has the hash {}, not {}",
                header.number, header.hash, proof.block_hash
            ));
        }
        let filter = TransferFilter {
            touching: Some(AddressFilter::new([account], Direction::Both)),
            ..TransferFilter::default()
        };
        let mut block = Self {
            hash: header.hash,
            timestamp: header.timestamp,
            transactions: BTreeMap::new(),
            rows: Vec::new().into_iter(),
        };
        let mut decoder = Decoder::new(chain_id, &WrappedNative::Auto, &filter);
        let mut transfers = Vec::new();
        let indices = proof.transactions.iter().map(|it| it.transaction_index);
        let places = proof.withdrawals.iter().map(|it| it.withdrawal_place);
        // A proof that is stated twice would prove a row twice.
        if !indices.is_sorted_by(|a, b| a < b) || !places.is_sorted_by(|a, b| a < b) {
            return Err("transactions or withdrawals are not in order".to_owned());
        }
        for proof in &proof.transactions {
            // Logs are numbered from the first one of the transaction.
            decoder.begin_block(header.number, BlockTime::new(header.timestamp));
            let (hash, decoded) = transaction(proof, &header, chain_id, &mut decoder)?;
            let index = proof.transaction_index;
            block.transactions.insert(index, (hash, decoded.is_some()));
            transfers.extend(decoded.into_iter().flatten());
        }
        for proof in &proof.withdrawals {
            let view = withdrawal(proof, &header)?;
            decoder.begin_block(header.number, BlockTime::new(header.timestamp));
            decoder.withdrawals(once(view), &mut transfers);
        }
        let mut rows = Vec::new();
        for transfer in &transfers {
            ledger::add(&mut rows, transfer, account);
        }
        let blocks = BlockRange::one(header.number);
        if let Value::Array(rows) = rows_as_json(&to_file::movements(account, blocks, &rows)) {
            block.rows = rows.into_iter();
        }
        Ok(block)
    }

    /// Verifies the next row. Returns whether it is proven; otherwise only its time and its
    /// transaction are.
    pub(super) fn verify_row(&mut self, row: &Value) -> Result<bool, String> {
        let kind = row["kind"].as_str().unwrap_or_default();
        let index = row["transaction_index"].as_u64();
        let index = index.and_then(|index| u32::try_from(index).ok());
        let transaction = index.map(|index| self.transactions.get(&index).copied());
        let (hash, has_receipt) = match transaction {
            Some(Some((hash, has_receipt))) => (Some(hash), has_receipt),
            Some(None) => return Err("there is no proof of its transaction".to_owned()),
            None => (None, true),
        };
        let by_replay = row["log_index"].is_null() && BY_REPLAY.contains(&kind);
        if !by_replay && has_receipt {
            let proven = self.rows.next();
            let (Some(row), Some(proven)) = (row.as_object(), proven.as_ref()) else {
                return Err("no proof has such a row".to_owned());
            };
            let proven = proven.as_object().cloned().unwrap_or_default();
            let differs = difference_of_values(row, &proven, &["balance"], "its proof");
            return differs.map_or(Ok(true), Err);
        }
        if by_replay && kind != "unexplained" && !row["token_address"].is_null() {
            return Err(format!("a row of kind {kind} is of a token"));
        }
        for (name, proven) in [
            ("timestamp", json!(self.timestamp)),
            ("transaction_hash", json!(hash)),
        ] {
            let stated = &row[name];
            if *stated != proven {
                return Err(format!(
                    "`{name}` is {stated} in the file, and {proven} in its proof"
                ));
            }
        }
        Ok(false)
    }

    /// The first proven row that was not compared.
    pub(super) fn missing(&self) -> Option<&Value> {
        self.rows.as_slice().first()
    }
}

/// Verifies the proofs of a transaction. Returns its hash, and its transfers if its receipt is proven.
fn transaction(
    proof: &TransactionProof,
    header: &Header,
    chain_id: u64,
    decoder: &mut Decoder<'_>,
) -> Result<(B256, Option<Vec<Transfer>>), String> {
    let index = proof.transaction_index;
    let wrong = |what: &str| format!("transaction {index}: {what}");
    let check = |root, item: &Bytes, path: &[Bytes]| check_item(root, index, item, path);
    let (bytes, path) = (&proof.transaction, &proof.transaction_proof);
    check(header.transactions_root, bytes, path).map_err(|what| wrong(&what))?;
    let transaction = StoredTransaction::from_envelope(bytes)
        .ok_or_else(|| wrong("its bytes are no transaction"))?;
    if transaction
        .chain_id()
        .is_some_and(|stated| stated != chain_id)
    {
        return Err(wrong("it is of another chain than the statement"));
    }
    let hash = transaction.hash();
    let Some(receipt) = &proof.receipt else {
        return match header.base_fee_per_gas {
            None => Ok((hash, None)),
            Some(_) => Err(wrong("there is no receipt, although it has no state root")),
        };
    };
    check(header.receipts_root, receipt, &proof.receipt_proof)
        .map_err(|what| format!("the receipt of transaction {index}: {what}"))?;
    let Receipt {
        success,
        logs,
        deposit_nonce,
    } = Receipt::decode(receipt).ok_or_else(|| wrong("its receipt is not one with a status"))?;
    let from = transaction.recover_sender().map_err(wrong)?;
    let (mint, nonce) = match &transaction {
        StoredTransaction::Deposit(deposit) => (U256::from(deposit.mint), deposit_nonce),
        _ => (U256::ZERO, Some(transaction.nonce())),
    };
    let to = match transaction.to() {
        Some(to) => to,
        None => from.create(nonce.ok_or_else(|| {
            wrong("it creates a contract, and its receipt does not prove the nonce of the sender")
        })?),
    };
    let view = TransactionView {
        from,
        to,
        value: transaction.value(),
        mint,
        success,
    };
    let first_log = proof.first_log_index;
    let mut transfers = transaction_transfers(decoder, index, Some(&view), &logs, first_log);
    for transfer in &mut transfers {
        transfer.transaction_hash = Some(hash);
    }
    Ok((hash, Some(transfers)))
}

/// Verifies the proof of a withdrawal.
fn withdrawal(proof: &WithdrawalProof, header: &Header) -> Result<WithdrawalView, String> {
    let place = proof.withdrawal_place;
    let wrong = |what: String| format!("withdrawal {place}: {what}");
    let root = header.withdrawals_root.unwrap_or_default();
    check_item(root, place, &proof.withdrawal, &proof.withdrawal_proof).map_err(wrong)?;
    let withdrawal: Withdrawal =
        alloy_rlp::decode_exact(&proof.withdrawal).map_err(|error| wrong(error.to_string()))?;
    Ok(WithdrawalView {
        address: withdrawal.address,
        amount_gwei: withdrawal.amount,
    })
}

/// The parts of a receipt that rows follow from.
struct Receipt {
    success: bool,
    logs: Vec<Log>,
    /// The nonce of the sender of a deposit of the OP stack, since Canyon.
    deposit_nonce: Option<u64>,
}

impl Receipt {
    /// Decodes the EIP-2718 encoding; `None` if it is none, or has a state root.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rlp = match bytes.split_first()? {
            // The type.
            (0..=0x7f, rlp) => rlp,
            _ => bytes,
        };
        let fields = &mut alloy_rlp::Header::decode_bytes(&mut rlp, true).ok()?;
        let success = bool::decode(fields).ok()?;
        let _gas = u64::decode(fields).ok()?;
        let _bloom = Bloom::decode(fields).ok()?;
        Some(Self {
            success,
            logs: Vec::decode(fields).ok()?,
            deposit_nonce: u64::decode(fields).ok(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{TxKind, address};
    use alloy_rlp::Encodable;
    use txgraph_block::prove_items;
    use txgraph_nodedb::Deposit;

    /// A header with these roots. A committed block has the other fields.
    fn header(transactions_root: B256, receipts_root: B256) -> Header {
        let path = txgraph_testkit::fixtures::testdata().join("statements/proven.json");
        let statement: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let rlp: Bytes = serde_json::from_value(statement["proofs"][0]["header"].clone()).unwrap();
        let mut header = Header::from_rlp(&rlp).unwrap();
        header.fields.transactions_root = transactions_root;
        header.fields.receipts_root = receipts_root;
        header.hash = header.recompute_hash();
        header
    }

    /// The receipt of a deposit, with the nonce of the sender since Canyon.
    fn receipt(nonce: Option<u64>) -> Vec<u8> {
        let mut fields = Vec::new();
        true.encode(&mut fields);
        21_000_u64.encode(&mut fields);
        Bloom::ZERO.encode(&mut fields);
        Vec::<Log>::new().encode(&mut fields);
        if let Some(nonce) = nonce {
            nonce.encode(&mut fields);
            1_u64.encode(&mut fields);
        }
        let mut receipt = vec![0x7e];
        let head = alloy_rlp::Header {
            list: true,
            payload_length: fields.len(),
        };
        head.encode(&mut receipt);
        receipt.extend(fields);
        receipt
    }

    /// A deposit of the OP stack that mints 7 and creates a contract with 5 of them.
    fn rows(nonce: Option<u64>) -> Result<Vec<Value>, String> {
        let from = address!("00000000000000000000000000000000000000aa");
        let deposit = StoredTransaction::Deposit(Deposit {
            source_hash: B256::repeat_byte(3),
            from,
            to: TxKind::Create,
            mint: 7,
            value: U256::from(5),
            gas_limit: 100_000,
            is_system: false,
            input: Bytes::from_static(&[1, 2, 3]),
        });
        let (transaction, receipt) = (deposit.envelope(), receipt(nonce));
        let [
            (transactions_root, transaction_proof),
            (receipts_root, receipt_proof),
        ] = [&transaction, &receipt].map(|item| {
            let (root, mut proofs) = prove_items(std::slice::from_ref(item), &[0]);
            (root, proofs.remove(0))
        });
        let header = header(transactions_root, receipts_root);
        let proof = BlockProof {
            block_number: header.number,
            block_hash: header.hash,
            header: alloy_rlp::encode(&header.fields).into(),
            transactions: vec![TransactionProof {
                transaction_index: 0,
                transaction: transaction.into(),
                transaction_proof,
                first_log_index: 0,
                receipt: Some(receipt.into()),
                receipt_proof,
            }],
            withdrawals: Vec::new(),
        };
        Ok(ProvenBlock::verify(&proof, from, 10)?.rows.collect())
    }

    #[test]
    fn deposits_are_proven() {
        let found = rows(Some(9)).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&found[0]["kind"], &found[0]["received"]),
            (&json!("mint"), &json!("7"))
        );
        assert_eq!(
            (&found[1]["kind"], &found[1]["sent"]),
            (&json!("value"), &json!("5"))
        );
        let from = address!("00000000000000000000000000000000000000aa");
        assert_eq!(found[1]["counterparty"], json!(from.create(9)));
        // Before Canyon, the receipt does not have the nonce.
        let error = rows(None).unwrap_err();
        assert!(
            error.contains("does not prove the nonce of the sender"),
            "{error}"
        );
    }
}
