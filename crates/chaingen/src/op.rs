//! Transactions and receipts of the OP stack, stored with the codec of op-reth.

use super::{Error, encode::StoredRow};
use alloy_consensus::{Sealed, Typed2718, transaction::SignerRecoverable};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes};
use op_alloy_consensus::{OpReceipt, OpTxEnvelope, TxDeposit};
use reth_codecs_op::Compact;

/// An executed transaction of the OP stack.
#[derive(Clone, Debug)]
pub struct OpTransaction {
    /// The signer, or the sender of a deposit.
    pub sender: Address,
    /// The transaction.
    pub transaction: OpTxEnvelope,
    /// Its receipt.
    pub receipt: OpReceipt,
}

impl OpTransaction {
    /// Replaces the input of a deposit.
    pub fn set_deposit_input(&mut self, input: Bytes) {
        if let OpTxEnvelope::Deposit(deposit) = &self.transaction {
            let deposit = TxDeposit {
                input,
                ..deposit.inner().clone()
            };
            self.transaction = OpTxEnvelope::Deposit(Sealed::new(deposit));
        }
    }

    /// The EIP-2718 type.
    pub fn tx_type(&self) -> u8 {
        self.transaction.ty()
    }

    /// The stored row of the transaction.
    pub(super) fn row(&self) -> StoredRow {
        let mut row = StoredRow {
            hash: self.transaction.trie_hash(),
            sender: self.sender,
            transaction: Vec::new(),
            receipt: Vec::new(),
        };
        self.transaction.to_compact(&mut row.transaction);
        self.receipt.to_compact(&mut row.receipt);
        row
    }
}

/// Returns the sender of a deposit, or the signer of another transaction.
pub(super) fn sender_of(transaction: &OpTxEnvelope) -> Result<Address, Error> {
    let signer = match transaction {
        OpTxEnvelope::Deposit(deposit) => Ok(deposit.from),
        OpTxEnvelope::PostExec(_) => Ok(Address::ZERO),
        OpTxEnvelope::Legacy(signed) => signed.recover_signer_unchecked(),
        OpTxEnvelope::Eip2930(signed) => signed.recover_signer_unchecked(),
        OpTxEnvelope::Eip1559(signed) => signed.recover_signer_unchecked(),
        OpTxEnvelope::Eip7702(signed) => signed.recover_signer_unchecked(),
    };
    signer.map_err(|error| Error::Recorded(format!("the signer of a transaction: {error}")))
}
