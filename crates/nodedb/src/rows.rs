//! Rows of receipts and transactions by transaction number, in static files or MDBX.

use crate::{
    BlockRange, BodyIndices, Error, Part, Result, Scratch, Snapshot, StoredTransaction,
    conf::Segment,
    jar::Jar,
    jar_reader::OpenJar,
    tables::{self, Table},
    transaction, transaction_hash,
};
use alloy_primitives::B256;
use std::sync::Arc;
use txgraph_keccak::keccak256_parts;

/// The number of transactions that are hashed together. [`keccak256_parts`] orders them by length.
const HASHED: usize = 64;

/// The bytes of encoded transactions at which fewer are hashed together.
const HASHED_BYTES: usize = 1 << 18;

impl Snapshot<'_> {
    /// Returns the hashes of transactions, each given by its block and its number. Several are
    /// computed at once. `last_tx` returns the number at which read-ahead ends for each.
    pub fn numbered_transaction_hashes(
        &self,
        wanted: &[(u64, u64)],
        last_tx: impl Fn(u64) -> u64,
        scratch: &mut Scratch,
    ) -> Result<Vec<B256>> {
        let Scratch {
            transactions,
            transaction: unzstd,
            rlp,
            ..
        } = scratch;
        let mut hashes = vec![B256::ZERO; wanted.len()];
        let mut forms = Vec::with_capacity(HASHED.min(wanted.len()));
        let mut done = 0;
        rlp.clear();
        for (at, &(block, tx)) in wanted.iter().enumerate() {
            let last_tx = last_tx(tx).max(tx);
            let (jar, row, bytes) = self.transaction_row(block, tx, last_tx, transactions)?;
            let form = transaction_hash::encode(bytes, self.family(), unzstd, rlp)
                .map_err(|what| jar.bad_row(row, &format!("{what} (block {block})")))?;
            forms.push(form);
            if forms.len() == HASHED || rlp.len() >= HASHED_BYTES || at + 1 == wanted.len() {
                keccak256_parts(rlp, &forms, &mut hashes[done..=at]);
                done = at + 1;
                rlp.clear();
                forms.clear();
            }
        }
        Ok(hashes)
    }

    /// Returns a whole transaction by block and index.
    pub(crate) fn stored_transaction(
        &self,
        block: u64,
        index: u32,
        scratch: &mut Scratch,
    ) -> Result<StoredTransaction> {
        let body = self.body(block)?;
        let tx = tx_number(block, body, index)?;
        self.read_transaction(block, tx, tx, scratch)
    }

    /// Returns the static file with a receipt, if any, and the numbers of all its rows.
    pub(crate) fn receipts_jar(&self, tx: u64) -> Option<(&Arc<Jar>, BlockRange)> {
        let (jar, _) = self.files.find(Segment::Receipts, tx)?;
        Some((jar, jar.row_range()?))
    }

    /// Reads a receipt that no static file has.
    pub(crate) fn receipt_in_mdbx(&self, block: u64, tx: u64) -> Result<ReceiptRow<'_>> {
        match self.txn.get(Table::Receipts, &tables::number_key(tx))? {
            Some(bytes) => Ok(ReceiptRow {
                bytes,
                location: ReceiptLocation::Mdbx { snapshot: self, tx },
            }),
            None => Err(self.missing(Part::Receipts, block)),
        }
    }

    /// Returns a stored receipt. Read-ahead ends at `last_tx`.
    pub(crate) fn receipt_row<'r>(
        &'r self,
        block: u64,
        tx: u64,
        last_tx: u64,
        receipts: &'r mut OpenJar,
    ) -> Result<ReceiptRow<'r>> {
        let Some((jar, held)) = self.receipts_jar(tx) else {
            return self.receipt_in_mdbx(block, tx);
        };
        let row = tx - held.first;
        let bytes = receipts.reader(jar)?.cell(row, 0, row + (last_tx - tx))?;
        Ok(ReceiptRow {
            bytes,
            location: ReceiptLocation::Jar { jar, row, block },
        })
    }

    /// Reads and decodes a transaction. Read-ahead ends at `last_tx`.
    pub(crate) fn read_transaction(
        &self,
        block: u64,
        tx: u64,
        last_tx: u64,
        scratch: &mut Scratch,
    ) -> Result<StoredTransaction> {
        let Scratch {
            transactions,
            transaction: unzstd,
            ..
        } = scratch;
        let (jar, row, bytes) = self.transaction_row(block, tx, last_tx, transactions)?;
        transaction::decode(bytes, self.family(), unzstd)
            .map_err(|what| jar.bad_row(row, &format!("{what} (block {block})")))
    }

    pub(crate) fn transaction_row<'r>(
        &'r self,
        block: u64,
        tx: u64,
        last_tx: u64,
        transactions: &'r mut OpenJar,
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
pub(crate) struct ReceiptRow<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) location: ReceiptLocation<'a>,
}

/// Where a receipt is stored, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReceiptLocation<'a> {
    Jar {
        jar: &'a Jar,
        row: u64,
        block: u64,
    },
    Mdbx {
        snapshot: &'a Snapshot<'a>,
        tx: u64,
    },
    /// A row passed by a test or fuzzer.
    Given,
}

impl ReceiptLocation<'_> {
    #[cold]
    pub(crate) fn bad(&self, what: &str) -> Error {
        match self {
            Self::Jar { jar, row, block } => jar.bad_row(*row, &format!("{what} (block {block})")),
            Self::Mdbx { snapshot, tx } => snapshot.bad_value(Table::Receipts, *tx, what),
            Self::Given => Error::corrupt("a row that was passed in", what),
        }
    }

    /// The error for a receipt whose cumulative gas contradicts `other`.
    #[cold]
    pub(crate) fn wrong_gas(
        &self,
        block: u64,
        index: u32,
        gas: u64,
        (other, expected): (&str, u64),
    ) -> Error {
        let what =
            format!("cumulative gas {gas} of receipt {index} contradicts {expected}, {other}");
        match self {
            Self::Jar { jar, .. } if !jar.is_current() => {
                Error::stale(&jar.path, format!("block {block}: {what}"))
            }
            _ => Error::Inconsistent { block, what },
        }
    }
}

/// Returns the number of a transaction of a block.
pub(crate) fn tx_number(block: u64, body: BodyIndices, index: u32) -> Result<u64> {
    let index = u64::from(index);
    if index < body.tx_count {
        return Ok(body.first_tx + index);
    }
    Err(Error::Inconsistent {
        block,
        what: format!(
            "transaction {index} was requested, the block has {}",
            body.tx_count
        ),
    })
}
