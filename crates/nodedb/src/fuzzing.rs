//! Entry points to the decoders for property tests and fuzzers. Not a stable interface.

use crate::{
    Header, Receipt, SignedTransaction, TransactionValue, Withdrawal, account, checkpoint, conf,
    header, receipt, roaring, rows::ReceiptLocation, tables, transaction, transaction_hash,
    zstd_rows::Unzstd,
};
use alloy_primitives::{Address, B256, keccak256};

/// Why a row was refused.
pub type Refused = &'static str;

/// Buffers for the decoders of receipts and transactions.
#[derive(Debug)]
pub struct Buffers {
    receipt: Unzstd,
    transaction: Unzstd,
    rlp: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            receipt: Unzstd::receipts(),
            transaction: Unzstd::transactions(),
            rlp: Vec::new(),
        }
    }
}

/// Decodes a stored receipt.
pub fn receipt<'a>(row: &'a [u8], buffers: &'a mut Buffers) -> Result<Receipt<'a>, Refused> {
    let receipt = receipt::decode(row, &ReceiptLocation::Given, 0, &mut buffers.receipt)?;
    match receipt.logs().finish() {
        Ok(()) => Ok(receipt),
        Err(_) => Err("a log is damaged"),
    }
}

/// Decodes a stored transaction.
pub fn transaction(row: &[u8], buffers: &mut Buffers) -> Result<SignedTransaction, Refused> {
    transaction::decode(row, &mut buffers.transaction)
}

/// Computes the hash of a stored transaction without decoding it.
pub fn transaction_hash(row: &[u8], buffers: &mut Buffers) -> Result<B256, Refused> {
    buffers.rlp.clear();
    let form = transaction_hash::encode(row, &mut buffers.transaction, &mut buffers.rlp)?;
    Ok(keccak256(&buffers.rlp[form]))
}

/// Returns the value of a stored transaction without decoding it.
pub fn transaction_value(
    row: &[u8],
    buffers: &mut Buffers,
) -> Result<Option<TransactionValue>, Refused> {
    transaction::transaction_value(row, &mut buffers.transaction)
}

/// Recovers the sender of a transaction.
pub fn sender(tx: &SignedTransaction) -> Result<Address, Refused> {
    transaction::recover_sender(tx)
}

/// Decodes a stored, decompressed header; `hash` is its stored hash.
pub fn header(row: &[u8], hash: B256) -> Result<Header, Refused> {
    header::decode(row, hash)
}

/// Decodes bytes as all other values: tables of MDBX and `.conf` files. Only a panic is a
/// failure.
pub fn other_values(bytes: &[u8]) {
    let mut withdrawals: Vec<Withdrawal> = Vec::new();
    let _ = tables::withdrawals(bytes, &mut withdrawals);
    let _ = tables::ommers(bytes);
    let _ = tables::body_indices(bytes);
    let _ = tables::stage_checkpoint(bytes);
    let _ = tables::scale_bytes(bytes);
    let _ = tables::client_version(bytes);
    let _ = tables::plain_u64(bytes);
    let _ = tables::key_number(bytes);
    for from in [0, 5, 1 << 20, u64::MAX] {
        let _ = roaring::first_from(bytes, from);
    }
    account::fuzz(bytes);
    checkpoint::fuzz(bytes);
    conf::fuzz(bytes);
}
