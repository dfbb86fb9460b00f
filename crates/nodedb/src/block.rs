//! One block under the cursor: receipts in order, transactions, hashes and senders
//! by index, nothing allocated per receipt or log.

use crate::{
    BodyIndices, Error, Header, Receipt, Result, Scratch, SignedTransaction, Snapshot, Transaction,
    Withdrawal,
    conf::Segment,
    receipt,
    rows::tx_number,
    tables::{self, Table},
    transaction,
};
use alloy_primitives::{Address, B256};

/// One block under the cursor.
#[derive(Debug)]
pub struct Block<'a> {
    /// Its header; see [`Block::check_header`].
    pub header: Header,
    /// Numbers of its transactions.
    pub body: BodyIndices,
    pub(crate) snapshot: &'a Snapshot<'a>,
    pub(crate) scratch: &'a mut Scratch,
    /// The last transaction of the whole scan: where reading ahead ends.
    pub(crate) last_tx: u64,
    pub(crate) next_receipt: u32,
    pub(crate) cumulative_gas_used: u64,
}

impl Block<'_> {
    /// That the header has the hash stored beside it. Costs a keccak of about 600
    /// bytes, so only blocks of which something is kept need it.
    pub fn check_header(&mut self) -> Result<()> {
        self.snapshot.check_hash(&self.header, self.scratch)
    }

    /// The next receipt of the block, in order; `None` after the last. At the last
    /// one its cumulative gas is checked against the header.
    pub fn next_receipt(&mut self) -> Result<Option<Receipt<'_>>> {
        let index = self.next_receipt;
        if u64::from(index) >= self.body.tx_count {
            return Ok(None);
        }
        let tx = tx_number(self.header.number, self.body, index)?;
        let Scratch {
            receipts,
            receipt: unzstd,
            ..
        } = &mut *self.scratch;
        let row = self
            .snapshot
            .receipt_row(self.header.number, tx, self.last_tx, receipts)?;
        let receipt =
            receipt::decode(row.bytes, index, unzstd).map_err(|what| row.place.bad(what))?;
        let gas = receipt.cumulative_gas_used;
        let is_last = u64::from(index) + 1 == self.body.tx_count;
        if gas < self.cumulative_gas_used {
            return Err(row
                .place
                .wrong_gas(&self.header, index, gas, self.cumulative_gas_used));
        }
        if is_last && self.header.gas_is_cumulative() && gas != self.header.gas_used {
            return Err(row
                .place
                .wrong_gas(&self.header, index, gas, self.header.gas_used));
        }
        self.cumulative_gas_used = gas;
        self.next_receipt += 1;
        Ok(Some(receipt))
    }

    /// A receipt as stored, for other decoders; nothing in it is checked.
    pub fn receipt_bytes(&mut self, index: u32) -> Result<&[u8]> {
        let tx = tx_number(self.header.number, self.body, index)?;
        let receipts = &mut self.scratch.receipts;
        Ok(self
            .snapshot
            .receipt_row(self.header.number, tx, self.last_tx, receipts)?
            .bytes)
    }

    /// A transaction of the block.
    pub fn transaction(&mut self, index: u32) -> Result<Transaction> {
        Ok(Transaction::from(&self.signed_transaction(index)?))
    }

    /// A transaction with signature, input, access list and authorizations.
    pub fn signed_transaction(&mut self, index: u32) -> Result<SignedTransaction> {
        let tx = tx_number(self.header.number, self.body, index)?;
        self.snapshot
            .read_transaction(self.header.number, tx, self.last_tx, self.scratch)
    }

    /// A transaction as stored, for other decoders; nothing in it is checked.
    pub fn transaction_bytes(&mut self, index: u32) -> Result<&[u8]> {
        let tx = tx_number(self.header.number, self.body, index)?;
        let transactions = &mut self.scratch.transactions;
        let (_, _, bytes) =
            self.snapshot
                .transaction_row(self.header.number, tx, self.last_tx, transactions)?;
        Ok(bytes)
    }

    /// Hash of a transaction of the block.
    pub fn transaction_hash(&mut self, index: u32) -> Result<B256> {
        Ok(*self.signed_transaction(index)?.tx_hash())
    }

    /// Sender of a transaction: from static files or MDBX, or, where the node keeps
    /// none, recovered from the signature (about 50 µs).
    pub fn sender(&mut self, index: u32) -> Result<Address> {
        let tx = tx_number(self.header.number, self.body, index)?;
        if let Some((jar, row)) = self.snapshot.files.find(Segment::TransactionSenders, tx) {
            let cell = self
                .scratch
                .senders
                .reader(jar)?
                .cell(row, 0, row + (self.last_tx - tx))?;
            return Address::try_from(cell)
                .map_err(|_| jar.bad_row(row, "an address is not 20 bytes long"));
        }
        let key = tables::number_key(tx);
        if let Some(value) = self.snapshot.txn.get(Table::TransactionSenders, &key)? {
            return Address::try_from(value).map_err(|_| {
                self.snapshot
                    .bad_value(Table::TransactionSenders, tx, "it is not 20 bytes long")
            });
        }
        let signed = self.signed_transaction(index)?;
        transaction::recover_sender(&signed).map_err(|what| Error::Inconsistent {
            block: self.header.number,
            what: format!("transaction {index}: {what}"),
        })
    }

    /// The withdrawals of the block, if [`Parts::withdrawals`](crate::Parts) was asked for.
    pub fn withdrawals(&self) -> &[Withdrawal] {
        &self.scratch.withdrawals
    }
}
