//! Entry points to the decoders for property tests and fuzzers. Not a stable interface.

use crate::{
    Header, Receipt, SignedTransaction, StoredTransaction, TransactionValue, Withdrawal, account,
    checkpoint, conf, header, receipt, roaring, rows::ReceiptLocation, tables, transaction,
    transaction_hash, zstd_rows::Unzstd,
};
use alloy_primitives::{Address, B256, keccak256};
use txgraph_base::ChainFamily;

/// Why a row was refused.
pub type Refused = &'static str;

/// Buffers for the decoders of receipts and transactions, and the family of their chain.
#[derive(Debug)]
pub struct Buffers {
    family: ChainFamily,
    receipt: Unzstd,
    transaction: Unzstd,
    rlp: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            family: ChainFamily::Ethereum,
            receipt: Unzstd::receipts(),
            transaction: Unzstd::transactions(),
            rlp: Vec::new(),
        }
    }
}

impl Buffers {
    /// Buffers for rows of op-reth.
    pub fn op_stack() -> Self {
        Self {
            family: ChainFamily::OpStack,
            ..Self::default()
        }
    }
}

/// Decodes a stored receipt.
pub fn receipt<'a>(row: &'a [u8], buffers: &'a mut Buffers) -> Result<Receipt<'a>, Refused> {
    let receipt = receipt::decode(
        row,
        &ReceiptLocation::Given,
        0,
        buffers.family,
        &mut buffers.receipt,
    )?;
    match receipt.logs().finish() {
        Ok(()) => Ok(receipt),
        Err(_) => Err("a log is damaged"),
    }
}

/// Decodes a stored transaction with a signature.
pub fn transaction(row: &[u8], buffers: &mut Buffers) -> Result<SignedTransaction, Refused> {
    match stored_transaction(row, buffers)? {
        StoredTransaction::Signed(signed) => Ok(signed),
        StoredTransaction::Deposit(_) | StoredTransaction::PostExec(_) => Err("no signature"),
    }
}

/// Decodes a stored transaction of any type.
pub fn stored_transaction(row: &[u8], buffers: &mut Buffers) -> Result<StoredTransaction, Refused> {
    transaction::decode(row, buffers.family, &mut buffers.transaction)
}

/// Computes the hash of a stored transaction without decoding it.
pub fn transaction_hash(row: &[u8], buffers: &mut Buffers) -> Result<B256, Refused> {
    buffers.rlp.clear();
    let form = transaction_hash::encode(
        row,
        buffers.family,
        &mut buffers.transaction,
        &mut buffers.rlp,
    )?;
    Ok(keccak256(&buffers.rlp[form]))
}

/// Returns the value of a stored transaction without decoding it.
pub fn transaction_value(
    row: &[u8],
    buffers: &mut Buffers,
) -> Result<Option<TransactionValue>, Refused> {
    transaction::transaction_value(row, buffers.family, &mut buffers.transaction)
}

/// Recovers the sender of a transaction.
pub fn sender(tx: &SignedTransaction) -> Result<Address, Refused> {
    StoredTransaction::Signed(tx.clone()).recover_sender()
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
