//! The static files of a data directory, and the rows of blocks in files and tables.

use super::{
    Error,
    config::Layout,
    encode::{self, StoredRow},
    jar::{Kind, Segment},
    tables::Changes,
};
use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256};
use std::path::Path;

/// The last deleted block, and its last transaction; `None` if no file was deleted.
pub(super) type Pruned = Option<(u64, Option<u64>)>;

/// The static files of a data directory.
#[derive(Debug)]
pub(super) struct Segments {
    headers: Segment,
    transactions: Segment,
    pub(super) receipts: Segment,
    /// In layout v2 only.
    senders: Option<Segment>,
    /// In layout v2 only, and only with state.
    account_changes: Option<Segment>,
    storage_changes: Option<Segment>,
}

impl Segments {
    /// Creates segments without files.
    pub(super) fn new(
        folder: &Path,
        layout: Layout,
        blocks_per_file: u64,
        durable: bool,
        with_state: bool,
    ) -> Self {
        let segment = |kind| Segment::new(folder, kind, blocks_per_file, durable);
        let is_v2 = layout == Layout::V2;
        let changes = |kind| (is_v2 && with_state).then(|| segment(kind));
        Self {
            headers: segment(Kind::Headers),
            transactions: segment(Kind::Transactions),
            receipts: segment(Kind::Receipts),
            senders: is_v2.then(|| segment(Kind::Senders)),
            account_changes: changes(Kind::AccountChanges),
            storage_changes: changes(Kind::StorageChanges),
        }
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Segment> {
        [
            &mut self.headers,
            &mut self.transactions,
            &mut self.receipts,
        ]
        .into_iter()
        .chain(
            [
                &mut self.senders,
                &mut self.account_changes,
                &mut self.storage_changes,
            ]
            .into_iter()
            .flatten(),
        )
    }

    /// Starts a block with its header.
    pub(super) fn begin_block(
        &mut self,
        changes: &Changes,
        header: &Header,
        hash: B256,
    ) -> Result<(), Error> {
        self.all()
            .try_for_each(|segment| segment.begin_block(header.number))?;
        let compact = encode::compact(header);
        self.headers.row(&[&compact, &[0], hash.as_slice()])?;
        changes.put(
            "HeaderNumbers",
            hash.as_slice(),
            &header.number.to_le_bytes(),
        )
    }

    /// Writes the body of a block. Returns the number of the next transaction.
    pub(super) fn write_body<'a>(
        &mut self,
        changes: &Changes,
        number: u64,
        first_tx: u64,
        rows: impl Iterator<Item = &'a StoredRow>,
        withdrawals: &[Withdrawal],
    ) -> Result<u64, Error> {
        let key = number.to_be_bytes();
        let mut tx = first_tx;
        for row in rows {
            self.transactions.transaction(tx, &row.transaction)?;
            self.receipts.transaction(tx, &row.receipt)?;
            match &mut self.senders {
                Some(senders) => senders.transaction(tx, row.sender.as_slice())?,
                None => {
                    let key = tx.to_be_bytes();
                    changes.append("TransactionSenders", &key, row.sender.as_slice())?;
                }
            }
            tx += 1;
        }
        changes.append(
            "BlockBodyIndices",
            &key,
            &encode::body_indices(first_tx, tx - first_tx),
        )?;
        if tx > first_tx {
            let last = (tx - 1).to_be_bytes();
            changes.append("TransactionBlocks", &last, &number.to_le_bytes())?;
        }
        if !withdrawals.is_empty() {
            changes.append("BlockWithdrawals", &key, &encode::withdrawals(withdrawals))?;
        }
        Ok(tx)
    }

    /// Writes the previous values of everything a block changed. All rows are sorted, rows of
    /// storage by account.
    pub(super) fn write_before(
        &mut self,
        changes: &Changes,
        block: u64,
        accounts: &[Vec<u8>],
        storage: &[(Address, Vec<u8>)],
    ) -> Result<(), Error> {
        let segments = (&mut self.account_changes, &mut self.storage_changes);
        if let (Some(account_changes), Some(storage_changes)) = segments {
            account_changes.changes(accounts)?;
            let rows = storage
                .iter()
                .map(|(address, row)| [address.as_slice(), row].concat());
            return storage_changes.changes(&rows.collect::<Vec<_>>());
        }
        for row in accounts {
            changes.append_duplicate("AccountChangeSets", &block.to_be_bytes(), row)?;
        }
        for (address, row) in storage {
            let key = [&block.to_be_bytes()[..], address.as_slice()].concat();
            changes.append_duplicate("StorageChangeSets", &key, row)?;
        }
        Ok(())
    }

    /// Removes a block from the tables, except change sets of storage.
    pub(super) fn take_back(
        changes: &Changes,
        layout: Layout,
        (number, hash): (u64, B256),
        first_tx: u64,
        tx_hashes: &[B256],
    ) -> Result<(), Error> {
        let key = number.to_be_bytes();
        changes.delete("HeaderNumbers", hash.as_slice())?;
        changes.delete("BlockBodyIndices", &key)?;
        changes.delete("BlockWithdrawals", &key)?;
        let txs = first_tx..first_tx + tx_hashes.len() as u64;
        if let Some(last) = txs.clone().last() {
            changes.delete("TransactionBlocks", &last.to_be_bytes())?;
        }
        if layout == Layout::V1 {
            changes.delete("AccountChangeSets", &key)?;
            for (tx, hash) in txs.zip(tx_hashes) {
                changes.delete("TransactionSenders", &tx.to_be_bytes())?;
                changes.delete("TransactionHashNumbers", hash.as_slice())?;
            }
        }
        Ok(())
    }

    /// Deletes the transactions, receipts and senders files that contain only blocks below
    /// `block`, but never the newest file. Returns the last deleted block and transaction.
    pub(super) fn prune_bodies(&mut self, block: u64) -> Result<Pruned, Error> {
        let bodies = [
            Some(&mut self.transactions),
            Some(&mut self.receipts),
            self.senders.as_mut(),
        ];
        let mut pruned = None;
        for segment in bodies.into_iter().flatten() {
            pruned = segment.prune(block)?;
        }
        Ok(pruned)
    }

    /// Removes all blocks above `to` from the files. `next_tx` is the number of the first
    /// removed transaction.
    pub(super) fn truncate(&mut self, to: u64, next_tx: u64) -> Result<(), Error> {
        let last_tx = next_tx.checked_sub(1);
        self.all()
            .try_for_each(|segment| segment.truncate(to, last_tx))
    }
}

/// Records hashes of new transactions with their numbers, if that is a table.
pub(super) fn write_lookup(
    changes: &Changes,
    layout: Layout,
    mut lookup: Vec<(B256, u64)>,
) -> Result<(), Error> {
    if layout == Layout::V2 {
        return Ok(());
    }
    lookup.sort_unstable();
    for (hash, tx) in lookup {
        changes.put("TransactionHashNumbers", hash.as_slice(), &tx.to_le_bytes())?;
    }
    Ok(())
}
