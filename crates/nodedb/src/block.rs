//! The current block of a scan: receipts in order; transactions, hashes and senders by
//! index. Nothing is allocated per receipt or log.

use crate::{
    BlockRange, BodyIndices, Error, Header, LogsBloom, Part, Receipt, Result, Scratch,
    SignedTransaction, Snapshot, StoredTransaction, Transaction, TransactionValue, Withdrawal,
    conf::Segment,
    jar::Jar,
    receipt,
    rows::{ReceiptLocation, tx_number},
    tables::{self, Table},
    transaction,
};
use alloy_consensus::{Typed2718 as _, constants::EMPTY_ROOT_HASH};
use alloy_primitives::{Address, B256};
use std::sync::Arc;

/// Names of the values that cumulative gas is compared with.
const PREVIOUS_RECEIPT: &str = "that of the previous receipt";
const HEADER: &str = "the gas used of the header";

/// The current block of a scan.
#[derive(Debug)]
pub struct Block<'a> {
    /// The block number.
    pub number: u64,
    /// The numbers of its transactions.
    pub body: BodyIndices,
    pub(crate) snapshot: &'a Snapshot<'a>,
    pub(crate) scratch: &'a mut Scratch,
    /// The last block and transaction of the whole scan, where read-ahead ends.
    last_block: u64,
    pub(crate) last_tx: u64,
    header: Option<Header>,
    hash: Option<B256>,
    /// The current receipts jar and its transaction numbers.
    jar: Option<(&'a Arc<Jar>, BlockRange)>,
    /// Where the current receipt is stored.
    location: ReceiptLocation<'a>,
    pub(crate) next_receipt: u32,
    pub(crate) cumulative_gas_used: u64,
}

impl<'a> Block<'a> {
    pub(crate) fn new(
        number: u64,
        body: BodyIndices,
        snapshot: &'a Snapshot<'a>,
        scratch: &'a mut Scratch,
        (last_block, last_tx): (u64, u64),
    ) -> Self {
        Self {
            number,
            body,
            snapshot,
            scratch,
            last_block,
            last_tx,
            header: None,
            hash: None,
            jar: None,
            location: ReceiptLocation::Given,
            next_receipt: 0,
            cumulative_gas_used: 0,
        }
    }

    /// Returns the header. It is compared with what was read of the block: its number,
    /// whether it has transactions, and the gas of its receipts if those were read before.
    /// See also [`Block::check_header`].
    pub fn header(&mut self) -> Result<&Header> {
        if self.header.is_none() {
            let header =
                self.snapshot
                    .unchecked_header_of(self.number, self.scratch, self.last_block)?;
            check_body(&header, self.body)?;
            self.hash = Some(header.hash);
            self.header = Some(header);
            self.check_gas()?;
        }
        match &self.header {
            Some(header) => Ok(header),
            // Cannot happen: filled above.
            None => Err(self.snapshot.missing(Part::Header, self.number)),
        }
    }

    /// Returns the stored hash, at a fifth of the header's cost.
    pub fn hash(&mut self) -> Result<B256> {
        if let Some(hash) = self.hash {
            return Ok(hash);
        }
        let hash = self
            .snapshot
            .hash_of(self.number, self.scratch, self.last_block)?;
        self.hash = Some(hash);
        Ok(hash)
    }

    /// Returns the header's bloom filter over the addresses and topics of all logs, without
    /// decoding the rest of the header.
    pub fn logs_bloom(&mut self) -> Result<LogsBloom<'_>> {
        self.snapshot
            .bloom_of(self.number, self.scratch, self.last_block)
    }

    pub(crate) const fn known_hash(&self) -> Option<B256> {
        self.hash
    }

    /// Checks that the header has the stored block hash. This hashes about 600 bytes, so it
    /// is meant for blocks of which something is used.
    pub fn check_header(&mut self) -> Result<&Header> {
        self.header()?;
        if let Some(header) = &self.header {
            self.snapshot.check_hash(header, self.scratch)?;
        }
        self.header()
    }

    /// Like [`Self::check_header`], but the hash is checked later, together with other
    /// blocks: at the latest before [`Snapshot::for_each_block`] returns. Much cheaper.
    pub fn check_header_later(&mut self) -> Result<&Header> {
        self.header()?;
        if let Some(header) = &self.header {
            self.snapshot.queue_check(header, self.scratch)?;
        }
        self.header()
    }

    /// Returns the next receipt of the block; `None` after the last. The cumulative gas of
    /// the last receipt is compared with the header, if that was read.
    ///
    /// Logs are checked during the iteration: call [`Logs::finish`] afterwards.
    ///
    /// [`Logs::finish`]: crate::Logs::finish
    #[inline]
    pub fn next_receipt(&mut self) -> Result<Option<Receipt<'_>>> {
        let index = self.next_receipt;
        if u64::from(index) >= self.body.tx_count {
            return Ok(None);
        }
        let tx = self.body.first_tx + u64::from(index);
        let Scratch {
            receipts,
            receipt: unzstd,
            ..
        } = &mut *self.scratch;
        if !self.jar.is_some_and(|(_, held)| held.contains(tx)) {
            self.jar = self.snapshot.receipts_jar(tx);
        }
        let bytes = match self.jar {
            Some((jar, held)) => {
                let row = tx - held.first;
                self.location = ReceiptLocation::Jar {
                    jar,
                    row,
                    block: self.number,
                };
                receipts
                    .reader(jar)?
                    .cell(row, 0, row + (self.last_tx - tx))?
            }
            None => {
                let row = self.snapshot.receipt_in_mdbx(self.number, tx)?;
                self.location = row.location;
                row.bytes
            }
        };
        let family = self.snapshot.family();
        let receipt = receipt::decode(bytes, &self.location, index, family, unzstd)
            .map_err(|what| self.location.bad(&receipt::explain(what, bytes, family)))?;
        let gas = receipt.cumulative_gas_used;
        if gas < self.cumulative_gas_used {
            let before = (PREVIOUS_RECEIPT, self.cumulative_gas_used);
            return Err(self.location.wrong_gas(self.number, index, gas, before));
        }
        if let Some(header) = &self.header
            && u64::from(index) + 1 == self.body.tx_count
            && header.gas_is_cumulative()
            && gas != header.gas_used
        {
            let expected = (HEADER, header.gas_used);
            return Err(self.location.wrong_gas(self.number, index, gas, expected));
        }
        self.cumulative_gas_used = gas;
        self.next_receipt += 1;
        Ok(Some(receipt))
    }

    /// Continues with the receipt of a transaction of the block, and does not read those before it. The
    /// next call of [`Self::next_receipt`] does not compare their gas.
    pub fn skip_receipts_before(&mut self, index: u32) {
        self.next_receipt = self.next_receipt.max(index);
    }

    /// Compares the gas of the last receipt with a header that was read after it.
    fn check_gas(&self) -> Result<()> {
        let (Some(header), gas) = (&self.header, self.cumulative_gas_used) else {
            return Ok(());
        };
        let all_read = self.next_receipt > 0 && u64::from(self.next_receipt) == self.body.tx_count;
        if all_read && header.gas_is_cumulative() && gas != header.gas_used {
            let expected = (HEADER, header.gas_used);
            return Err(self
                .location
                .wrong_gas(self.number, self.next_receipt - 1, gas, expected));
        }
        Ok(())
    }

    /// Returns a receipt as stored, for other decoders. Its content is not checked.
    pub fn receipt_bytes(&mut self, index: u32) -> Result<&[u8]> {
        let tx = tx_number(self.number, self.body, index)?;
        let receipts = &mut self.scratch.receipts;
        Ok(self
            .snapshot
            .receipt_row(self.number, tx, self.last_tx, receipts)?
            .bytes)
    }

    /// Returns a transaction of the block.
    pub fn transaction(&mut self, index: u32) -> Result<Transaction> {
        Ok(Transaction::from(&self.stored_transaction(index)?))
    }

    /// Returns the value of a transaction of the block, which moves if it succeeds; `None`
    /// for zero. Cheaper than [`Self::transaction`].
    pub fn transaction_value(&mut self, index: u32) -> Result<Option<TransactionValue>> {
        let tx = tx_number(self.number, self.body, index)?;
        let Scratch {
            transactions,
            transaction: unzstd,
            ..
        } = &mut *self.scratch;
        let row = self
            .snapshot
            .transaction_row(self.number, tx, self.last_tx, transactions)?;
        let (jar, row, bytes) = row;
        transaction::transaction_value(bytes, self.snapshot.family(), unzstd)
            .map_err(|what| jar.bad_row(row, &format!("{what} (block {})", self.number)))
    }

    /// Returns a transaction with signature, input, access list and authorizations.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for transactions of the OP stack without signature.
    pub fn signed_transaction(&mut self, index: u32) -> Result<SignedTransaction> {
        match self.stored_transaction(index)? {
            StoredTransaction::Signed(signed) => Ok(signed),
            other => Err(Error::Unsupported {
                path: self.snapshot.db.dir().root.clone(),
                what: format!(
                    "transaction {index} of block {} has type {:#x} of the OP stack, which has no \
                     signature",
                    self.number,
                    other.ty()
                ),
            }),
        }
    }

    /// Returns a transaction of any type, with everything that is stored of it.
    pub fn stored_transaction(&mut self, index: u32) -> Result<StoredTransaction> {
        let tx = tx_number(self.number, self.body, index)?;
        self.snapshot
            .read_transaction(self.number, tx, self.last_tx, self.scratch)
    }

    /// Returns a transaction as stored, for other decoders. Its content is not checked.
    pub fn transaction_bytes(&mut self, index: u32) -> Result<&[u8]> {
        let tx = tx_number(self.number, self.body, index)?;
        let transactions = &mut self.scratch.transactions;
        let (_, _, bytes) =
            self.snapshot
                .transaction_row(self.number, tx, self.last_tx, transactions)?;
        Ok(bytes)
    }

    /// Returns the hashes of transactions of the block. Several are computed at once.
    pub fn transaction_hashes(&mut self, indices: &[u32]) -> Result<Vec<B256>> {
        let numbered = |index: &u32| Ok((self.number, tx_number(self.number, self.body, *index)?));
        let wanted: Vec<_> = indices.iter().map(numbered).collect::<Result<_>>()?;
        self.snapshot
            .numbered_transaction_hashes(&wanted, |_| self.last_tx, self.scratch)
    }

    /// Returns the sender of a transaction: the stored one, or, where the node stores none,
    /// the one recovered from the signature (about 50 µs) or contained in a deposit.
    pub fn sender(&mut self, index: u32) -> Result<Address> {
        if let Some(sender) = self.stored_sender(index)? {
            return Ok(sender);
        }
        let stored = self.stored_transaction(index)?;
        self.recovered_sender(index, &stored)
    }

    /// Returns the sender that the node stores for a transaction, if any.
    pub(crate) fn stored_sender(&mut self, index: u32) -> Result<Option<Address>> {
        let tx = tx_number(self.number, self.body, index)?;
        if let Some((jar, row)) = self.snapshot.files.find(Segment::TransactionSenders, tx) {
            let cell = self
                .scratch
                .senders
                .reader(jar)?
                .cell(row, 0, row + (self.last_tx - tx))?;
            return match Address::try_from(cell) {
                Ok(sender) => Ok(Some(sender)),
                Err(_) => Err(jar.bad_row(row, "the sender is not 20 bytes long")),
            };
        }
        let key = tables::number_key(tx);
        let Some(value) = self.snapshot.txn.get(Table::TransactionSenders, &key)? else {
            return Ok(None);
        };
        match Address::try_from(value) {
            Ok(sender) => Ok(Some(sender)),
            Err(_) => Err(self.snapshot.bad_value(
                Table::TransactionSenders,
                tx,
                "the sender is not 20 bytes long",
            )),
        }
    }

    /// Returns the signer of a transaction of the block, or the sender of a deposit.
    pub(crate) fn recovered_sender(
        &self,
        index: u32,
        transaction: &StoredTransaction,
    ) -> Result<Address> {
        transaction
            .recover_sender()
            .map_err(|what| Error::Inconsistent {
                block: self.number,
                what: format!("transaction {index}: {what}"),
            })
    }

    /// Returns the withdrawals of the block, if [`Parts::withdrawals`](crate::Parts) is set.
    pub fn withdrawals(&self) -> &[Withdrawal] {
        &self.scratch.withdrawals
    }
}

/// Compares `BlockBodyIndices` with the header, which is free.
fn check_body(header: &Header, body: BodyIndices) -> Result<()> {
    if (header.transactions_root == EMPTY_ROOT_HASH) == (body.tx_count == 0) {
        return Ok(());
    }
    Err(Error::Inconsistent {
        block: header.number,
        what: format!(
            "the {} transactions of BlockBodyIndices contradict the header's transactions root",
            body.tx_count
        ),
    })
}
