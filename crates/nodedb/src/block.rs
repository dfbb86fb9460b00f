//! One block under the cursor: receipts in order, transactions, hashes and senders
//! by index, nothing allocated per receipt or log.

use crate::{
    BlockRange, BodyIndices, Error, Header, LogsBloom, OwnValue, Part, Receipt, Result, Scratch,
    SignedTransaction, Snapshot, Transaction, Withdrawal,
    blocks::check_body,
    conf::Segment,
    jar::Jar,
    receipt,
    rows::{ReceiptPlace, tx_number},
    tables::{self, Table},
    transaction,
};
use alloy_primitives::{Address, B256};
use std::sync::Arc;

/// What cumulative gas is held against.
const RECEIPT_BEFORE: &str = "that of the receipt before";
const HEADER: &str = "the header's gas used";

/// One block under the cursor.
#[derive(Debug)]
pub struct Block<'a> {
    /// Its number.
    pub number: u64,
    /// Numbers of its transactions.
    pub body: BodyIndices,
    pub(crate) snapshot: &'a Snapshot<'a>,
    pub(crate) scratch: &'a mut Scratch,
    /// The last block and transaction of the whole scan: where reading ahead ends.
    last_block: u64,
    pub(crate) last_tx: u64,
    header: Option<Header>,
    hash: Option<B256>,
    /// The receipts file, if it holds any of the block's, and its numbers.
    jar: Option<(&'a Arc<Jar>, BlockRange)>,
    /// Where the receipt under the cursor is stored.
    place: ReceiptPlace<'a>,
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
            place: ReceiptPlace::Given,
            next_receipt: 0,
            cumulative_gas_used: 0,
        }
    }

    /// The header, held against what else was read of the block: its number, whether
    /// it has transactions, and, when its receipts were read before, their gas.
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
            // Filled above.
            None => Err(self.snapshot.missing(Part::Header, self.number)),
        }
    }

    /// The hash as stored; a fifth of the cost of the header.
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

    /// The header's bloom filter over the addresses and topics of all logs, without
    /// decoding the rest.
    pub fn logs_bloom(&mut self) -> Result<LogsBloom<'_>> {
        self.snapshot
            .bloom_of(self.number, self.scratch, self.last_block)
    }

    pub(crate) const fn known_hash(&self) -> Option<B256> {
        self.hash
    }

    /// That the header has the hash stored beside it. Costs a keccak of about 600
    /// bytes, so only blocks of which something is kept need it.
    pub fn check_header(&mut self) -> Result<&Header> {
        self.header()?;
        if let Some(header) = &self.header {
            self.snapshot.check_hash(header, self.scratch)?;
        }
        self.header()
    }

    /// The same, except that the hash is checked together with those of other blocks, at
    /// the latest before [`Snapshot::for_each_block`] ends: much cheaper, and an error comes
    /// later.
    pub fn check_header_later(&mut self) -> Result<&Header> {
        self.header()?;
        if let Some(header) = &self.header {
            self.snapshot.queue_check(header, self.scratch)?;
        }
        self.header()
    }

    /// The next receipt of the block, in order; `None` after the last. At the last
    /// one its cumulative gas is checked against the header, if that was read.
    ///
    /// Its logs are checked while they are walked: ask [`Logs::finish`] afterwards.
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
                self.place = ReceiptPlace::Jar {
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
                self.place = row.place;
                row.bytes
            }
        };
        let receipt = receipt::decode(bytes, &self.place, index, unzstd)
            .map_err(|what| self.place.bad(what))?;
        let gas = receipt.cumulative_gas_used;
        if gas < self.cumulative_gas_used {
            let before = (RECEIPT_BEFORE, self.cumulative_gas_used);
            return Err(self.place.wrong_gas(self.number, index, gas, before));
        }
        if let Some(header) = &self.header
            && u64::from(index) + 1 == self.body.tx_count
            && header.gas_is_cumulative()
            && gas != header.gas_used
        {
            let expected = (HEADER, header.gas_used);
            return Err(self.place.wrong_gas(self.number, index, gas, expected));
        }
        self.cumulative_gas_used = gas;
        self.next_receipt += 1;
        Ok(Some(receipt))
    }

    /// When the header was read after the last receipt.
    fn check_gas(&self) -> Result<()> {
        let (Some(header), gas) = (&self.header, self.cumulative_gas_used) else {
            return Ok(());
        };
        let all_read = self.next_receipt > 0 && u64::from(self.next_receipt) == self.body.tx_count;
        if all_read && header.gas_is_cumulative() && gas != header.gas_used {
            let expected = (HEADER, header.gas_used);
            return Err(self
                .place
                .wrong_gas(self.number, self.next_receipt - 1, gas, expected));
        }
        Ok(())
    }

    /// A receipt as stored, for other decoders; nothing in it is checked.
    pub fn receipt_bytes(&mut self, index: u32) -> Result<&[u8]> {
        let tx = tx_number(self.number, self.body, index)?;
        let receipts = &mut self.scratch.receipts;
        Ok(self
            .snapshot
            .receipt_row(self.number, tx, self.last_tx, receipts)?
            .bytes)
    }

    /// A transaction of the block.
    pub fn transaction(&mut self, index: u32) -> Result<Transaction> {
        Ok(Transaction::from(&self.signed_transaction(index)?))
    }

    /// What a transaction of the block moves by itself, if it succeeds; nothing when that
    /// is zero. Cheaper than the transaction.
    pub fn own_value(&mut self, index: u32) -> Result<Option<OwnValue>> {
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
        transaction::own_value(bytes, unzstd)
            .map_err(|what| jar.bad_row(row, &format!("{what} (block {})", self.number)))
    }

    /// A transaction with signature, input, access list and authorizations.
    pub fn signed_transaction(&mut self, index: u32) -> Result<SignedTransaction> {
        let tx = tx_number(self.number, self.body, index)?;
        self.snapshot
            .read_transaction(self.number, tx, self.last_tx, self.scratch)
    }

    /// A transaction as stored, for other decoders; nothing in it is checked.
    pub fn transaction_bytes(&mut self, index: u32) -> Result<&[u8]> {
        let tx = tx_number(self.number, self.body, index)?;
        let transactions = &mut self.scratch.transactions;
        let (_, _, bytes) =
            self.snapshot
                .transaction_row(self.number, tx, self.last_tx, transactions)?;
        Ok(bytes)
    }

    /// Hashes of transactions of the block, several at once.
    pub fn transaction_hashes(&mut self, indices: &[u32]) -> Result<Vec<B256>> {
        let numbered = |index: &u32| Ok((self.number, tx_number(self.number, self.body, *index)?));
        let wanted: Vec<_> = indices.iter().map(numbered).collect::<Result<_>>()?;
        self.snapshot
            .numbered_transaction_hashes(&wanted, |_| self.last_tx, self.scratch)
    }

    /// Sender of a transaction: from static files or MDBX, or, where the node keeps
    /// none, recovered from the signature (about 50 µs).
    pub fn sender(&mut self, index: u32) -> Result<Address> {
        if let Some(sender) = self.stored_sender(index)? {
            return Ok(sender);
        }
        let signed = self.signed_transaction(index)?;
        self.recovered_sender(index, &signed)
    }

    /// The sender that the node stores for a transaction, if any.
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
                Err(_) => Err(jar.bad_row(row, "an address is not 20 bytes long")),
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
                "it is not 20 bytes long",
            )),
        }
    }

    /// The signer of a transaction of the block.
    pub(crate) fn recovered_sender(
        &self,
        index: u32,
        transaction: &SignedTransaction,
    ) -> Result<Address> {
        transaction::recover_sender(transaction).map_err(|what| Error::Inconsistent {
            block: self.number,
            what: format!("transaction {index}: {what}"),
        })
    }

    /// The withdrawals of the block, if [`Parts::withdrawals`](crate::Parts) was asked for.
    pub fn withdrawals(&self) -> &[Withdrawal] {
        &self.scratch.withdrawals
    }
}
