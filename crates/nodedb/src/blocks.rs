//! Streaming over blocks: one visitor call per block, receipts and transactions
//! on demand, nothing allocated per receipt or log.

use crate::{
    Error, Header, Receipt, Result, SignedTransaction, Snapshot, Transaction,
    jar::{Jar, Place, Segment},
    receipt,
    tables::{self, Table},
    transaction,
    zstd_rows::Unzstd,
};
use alloy_consensus::constants::{EMPTY_ROOT_HASH, EMPTY_WITHDRAWALS};
use alloy_primitives::{Address, B256};
use std::{fmt, ops::ControlFlow};

/// Inclusive range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Blocks {
    /// First block.
    pub first: u64,
    /// Last block; not below `first`.
    pub last: u64,
}

impl Blocks {
    /// Whether a block lies in the range.
    pub const fn contains(&self, block: u64) -> bool {
        self.first <= block && block <= self.last
    }

    /// Number of blocks; `None` for all of `u64`, or a range that ends before it
    /// begins.
    pub const fn len(&self) -> Option<u64> {
        match self.last.checked_sub(self.first) {
            Some(rest) => rest.checked_add(1),
            None => None,
        }
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}..={}", self.first, self.last)
        }
    }
}

/// Which parts of a block a scan reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Receipts and their logs.
    pub receipts: bool,
    /// Transactions.
    pub transactions: bool,
    /// From the sender source, else recovered from the signature.
    pub senders: bool,
    /// Withdrawals (EIP-4895).
    pub withdrawals: bool,
}

/// A part of a block that can be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Part {
    /// The header.
    Header,
    /// The numbers of its transactions.
    Body,
    /// Receipts and logs.
    Receipts,
    /// Transactions.
    Transactions,
}

impl Part {
    pub(crate) const fn is_or_are_missing(self) -> &'static str {
        match self {
            Self::Header => "is missing",
            Self::Body | Self::Receipts | Self::Transactions => "are missing",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the header",
            Self::Body => "the body indices",
            Self::Receipts => "receipts",
            Self::Transactions => "transactions",
        })
    }
}

/// Numbers of a block's transactions. They are dense over the whole chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyIndices {
    /// Number of its first transaction (of the next one, if it has none).
    pub first_tx: u64,
    /// How many there are.
    pub tx_count: u64,
}

/// A validator withdrawal (EIP-4895).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// Running number over the chain.
    pub index: u64,
    /// The validator.
    pub validator_index: u64,
    /// Who receives it.
    pub address: Address,
    /// Gwei.
    pub amount_gwei: u64,
}

/// Read and decompression buffers of one worker. Holds at most two open files per
/// segment.
pub struct Scratch {
    pub(crate) headers: Place,
    receipts: Place,
    pub(crate) transactions: Place,
    senders: Place,
    receipt: Unzstd,
    pub(crate) transaction: Unzstd,
    withdrawals: Vec<Withdrawal>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            headers: Place::default(),
            receipts: Place::default(),
            transactions: Place::default(),
            senders: Place::default(),
            receipt: Unzstd::receipts(),
            transaction: Unzstd::transactions(),
            withdrawals: Vec::new(),
        }
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

/// One block under the cursor.
#[derive(Debug)]
pub struct Block<'a> {
    /// Its header, hash checked.
    pub header: Header,
    /// Numbers of its transactions.
    pub body: BodyIndices,
    snapshot: &'a Snapshot<'a>,
    scratch: &'a mut Scratch,
    /// The last transaction of the whole scan: where reading ahead ends.
    last_tx: u64,
    next_receipt: u32,
    cumulative_gas_used: u64,
}

impl Snapshot<'_> {
    /// Visits blocks in ascending order; buffers of `scratch` are reused between
    /// calls. The visitor takes from each block what it needs: receipts in order,
    /// transactions, hashes and senders by index. `parts` says what it will need;
    /// withdrawals are read only if asked for.
    pub fn for_each_block(
        &self,
        blocks: Blocks,
        parts: Parts,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&mut Block<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if blocks.first > blocks.last {
            return Ok(());
        }
        self.check_tip(blocks.last)?;
        let last_body = self.body(blocks.last)?;
        let last_tx = (last_body.first_tx + last_body.tx_count).saturating_sub(1);
        let mut expected_first_tx = None;
        for number in blocks.first..=blocks.last {
            let header = self.header_of(number, scratch, blocks.last)?;
            let body = self.body(number)?;
            self.check_body(&header, body, expected_first_tx)?;
            expected_first_tx = Some(body.first_tx + body.tx_count);
            if parts.withdrawals {
                self.read_withdrawals(&header, scratch)?;
            } else {
                scratch.withdrawals.clear();
            }
            let mut block = Block {
                header,
                body,
                snapshot: self,
                scratch,
                last_tx,
                next_receipt: 0,
                cumulative_gas_used: 0,
            };
            if visit(&mut block)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Free checks of `BlockBodyIndices`.
    fn check_body(&self, header: &Header, body: BodyIndices, first_tx: Option<u64>) -> Result<()> {
        let inconsistent = |what: String| {
            Err(Error::Inconsistent {
                block: header.number,
                what,
            })
        };
        if (header.transactions_root == EMPTY_ROOT_HASH) != (body.tx_count == 0) {
            return inconsistent(format!(
                "BlockBodyIndices counts {} transactions, the header's transactions root says otherwise",
                body.tx_count
            ));
        }
        match first_tx {
            Some(first_tx) if first_tx != body.first_tx => inconsistent(format!(
                "its first transaction is number {}, the block before ends before {first_tx}",
                body.first_tx
            )),
            _ => Ok(()),
        }
    }

    fn read_withdrawals(&self, header: &Header, scratch: &mut Scratch) -> Result<()> {
        scratch.withdrawals.clear();
        let key = tables::number_key(header.number);
        if let Some(value) = self.txn.get(Table::BlockWithdrawals, &key)? {
            tables::withdrawals(value, &mut scratch.withdrawals)
                .map_err(|what| self.bad_value(Table::BlockWithdrawals, header.number, what))?;
        }
        let announced = header
            .withdrawals_root
            .is_some_and(|root| root != EMPTY_WITHDRAWALS);
        if announced == scratch.withdrawals.is_empty() {
            return Err(Error::Inconsistent {
                block: header.number,
                what: format!(
                    "the database holds {} withdrawals, the header's withdrawals root says otherwise",
                    scratch.withdrawals.len()
                ),
            });
        }
        Ok(())
    }

    /// Hash of one transaction, by block and index.
    pub fn transaction_hash(&self, block: u64, index: u32, scratch: &mut Scratch) -> Result<B256> {
        Ok(*self.signed_transaction(block, index, scratch)?.tx_hash())
    }

    /// One whole transaction, by block and index.
    pub fn signed_transaction(
        &self,
        block: u64,
        index: u32,
        scratch: &mut Scratch,
    ) -> Result<SignedTransaction> {
        let body = self.body(block)?;
        let tx = tx_number(block, body, index)?;
        self.read_transaction(block, tx, tx, scratch)
    }

    /// Where a receipt is stored: in a static file if one holds its number, else in
    /// MDBX. `last_tx` ends the read-ahead.
    fn receipt_row<'r>(
        &'r self,
        block: u64,
        tx: u64,
        last_tx: u64,
        receipts: &'r mut Place,
    ) -> Result<ReceiptRow<'r>> {
        if let Some((jar, row)) = self.files.find(Segment::Receipts, tx) {
            let bytes = receipts.reader(jar)?.cell(row, 0, row + (last_tx - tx))?;
            return Ok(ReceiptRow {
                bytes,
                place: ReceiptPlace::Jar { jar, row, block },
            });
        }
        match self.txn.get(Table::Receipts, &tables::number_key(tx))? {
            Some(bytes) => Ok(ReceiptRow {
                bytes,
                place: ReceiptPlace::Mdbx { snapshot: self, tx },
            }),
            None => Err(self.missing(Part::Receipts, block)),
        }
    }

    /// `last_tx` ends the read-ahead.
    fn read_transaction(
        &self,
        block: u64,
        tx: u64,
        last_tx: u64,
        scratch: &mut Scratch,
    ) -> Result<SignedTransaction> {
        let Scratch {
            transactions,
            transaction: unzstd,
            ..
        } = scratch;
        let (jar, row, bytes) = self.transaction_row(block, tx, last_tx, transactions)?;
        transaction::decode(bytes, unzstd)
            .map_err(|what| jar.bad_row(row, &format!("{what} (block {block})")))
    }

    fn transaction_row<'r>(
        &'r self,
        block: u64,
        tx: u64,
        last_tx: u64,
        transactions: &'r mut Place,
    ) -> Result<(&'r Jar, u64, &'r [u8])> {
        let Some((jar, row)) = self.files.find(Segment::Transactions, tx) else {
            return Err(self.missing(Part::Transactions, block));
        };
        Ok((
            jar,
            row,
            transactions
                .reader(jar)?
                .cell(row, 0, row + (last_tx - tx))?,
        ))
    }
}

/// A stored receipt.
struct ReceiptRow<'a> {
    bytes: &'a [u8],
    place: ReceiptPlace<'a>,
}

/// Where it is stored, for messages.
enum ReceiptPlace<'a> {
    Jar { jar: &'a Jar, row: u64, block: u64 },
    Mdbx { snapshot: &'a Snapshot<'a>, tx: u64 },
}

impl ReceiptPlace<'_> {
    #[cold]
    fn bad(&self, what: &str) -> Error {
        match self {
            Self::Jar { jar, row, block } => jar.bad_row(*row, &format!("{what} (block {block})")),
            Self::Mdbx { snapshot, tx } => snapshot.bad_value(Table::Receipts, *tx, what),
        }
    }

    /// A receipt whose cumulative gas does not fit the one before it, or the header.
    #[cold]
    fn wrong_gas(&self, header: &Header, index: u32, gas: u64, other: u64) -> Error {
        let what = format!("cumulative gas {gas} of receipt {index} contradicts {other}");
        let what = if other == header.gas_used {
            format!("{what}, the header's gas used")
        } else {
            format!("{what}, that of the receipt before")
        };
        match self {
            Self::Jar { jar, .. } if !jar.is_current() => {
                Error::stale(&jar.path, format!("block {}: {what}", header.number))
            }
            _ => Error::Inconsistent {
                block: header.number,
                what,
            },
        }
    }
}

/// Number of a block's transaction.
fn tx_number(block: u64, body: BodyIndices, index: u32) -> Result<u64> {
    let index = u64::from(index);
    if index < body.tx_count {
        return Ok(body.first_tx + index);
    }
    Err(Error::Inconsistent {
        block,
        what: format!(
            "transaction {index} was asked for, it has {}",
            body.tx_count
        ),
    })
}

impl Block<'_> {
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

    /// The withdrawals of the block, if [`Parts::withdrawals`] was asked for.
    pub fn withdrawals(&self) -> &[Withdrawal] {
        &self.scratch.withdrawals
    }
}
