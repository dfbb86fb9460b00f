//! Entry points to the decoders for property tests and fuzzers. Not part of the
//! interface: nothing here is kept stable.

use crate::{
    Header, OwnValue, Receipt, SignedTransaction, Withdrawal, account, checkpoint, conf, header,
    receipt, roaring, rows::ReceiptPlace, tables, transaction, transaction_hash, zstd_rows::Unzstd,
};
use alloy_primitives::{Address, B256, keccak256};

/// Why a row was refused.
pub type Refused = &'static str;

/// Buffers of the decoders of receipts and transactions.
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

/// A stored receipt.
pub fn receipt<'a>(row: &'a [u8], buffers: &'a mut Buffers) -> Result<Receipt<'a>, Refused> {
    let receipt = receipt::decode(row, &ReceiptPlace::Given, 0, &mut buffers.receipt)?;
    match receipt.logs().finish() {
        Ok(()) => Ok(receipt),
        Err(_) => Err("a log is damaged"),
    }
}

/// A stored transaction.
pub fn transaction(row: &[u8], buffers: &mut Buffers) -> Result<SignedTransaction, Refused> {
    transaction::decode(row, &mut buffers.transaction)
}

/// The hash of a stored transaction, without decoding it.
pub fn transaction_hash(row: &[u8], buffers: &mut Buffers) -> Result<B256, Refused> {
    buffers.rlp.clear();
    let form = transaction_hash::encode(row, &mut buffers.transaction, &mut buffers.rlp)?;
    Ok(keccak256(&buffers.rlp[form]))
}

/// The value of a stored transaction, without decoding it.
pub fn own_value(row: &[u8], buffers: &mut Buffers) -> Result<Option<OwnValue>, Refused> {
    transaction::own_value(row, &mut buffers.transaction)
}

/// The sender of a transaction by its signature.
pub fn sender(tx: &SignedTransaction) -> Result<Address, Refused> {
    transaction::recover_sender(tx)
}

/// A stored header (decompressed) with the hash beside it.
pub fn header(row: &[u8], hash: B256) -> Result<Header, Refused> {
    header::decode(row, hash)
}

/// All other values: tables of MDBX and `.conf` files. Only whether they panic
/// is of interest.
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
