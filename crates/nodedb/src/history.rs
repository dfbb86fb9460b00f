//! History indices: the blocks in which an account or slot changed. Layout v1 has them in
//! MDBX, v2 in RocksDB. A key is the account or slot, and the highest block number of the
//! shard (all ones in the last shard). A value is a Roaring bitmap of at most 2000 block
//! numbers.
//!
//! In RocksDB an index can be pruned further than its checkpoint in MDBX: RocksDB is
//! committed first, and the node may stop in between (seen in a directory of reth 2.5.1). A
//! lookup would then miss changes. So the first indexed block is found by comparing the index
//! with change sets. The newest changes must be indexed too, which fails if a part of
//! RocksDB's log was lost.

use crate::{
    Error, Layout, Part, Result, Snapshot,
    mdbx::Row,
    roaring,
    rocks::View,
    tables::{self, Table},
};
use alloy_primitives::{Address, B256, hex};

/// The block number in the key of the last shard, which is appended to.
const LAST_SHARD: u64 = u64::MAX;
/// The length of the block number at the end of a key.
const BLOCK_BYTES: usize = 8;

impl Snapshot<'_> {
    /// Returns the first block above `block`, up to the tip, that changed an account. Only
    /// valid if [`crate::StateCoverage::index_obstacle`] is `None`.
    pub fn next_account_change(&self, address: Address, block: u64) -> Result<Option<u64>> {
        self.next_change(Table::AccountsHistory, address.as_slice(), block)
    }

    /// Like [`Self::next_account_change`], for a slot.
    pub fn next_storage_change(
        &self,
        address: Address,
        slot: B256,
        block: u64,
    ) -> Result<Option<u64>> {
        let key = address_and_slot(address, slot);
        self.next_change(Table::StoragesHistory, &key, block)
    }

    /// Returns the first slot of an account from `from` on that is in the index.
    pub fn next_indexed_slot(&self, address: Address, from: B256) -> Result<Option<B256>> {
        let key = address_and_slot(address, from);
        self.seek_index(Table::StoragesHistory, &key, |row| {
            let slot = row
                .and_then(|(key, _)| key.strip_prefix(address.as_slice()))
                .and_then(|rest| rest.get(..32));
            Ok(slot.map(B256::from_slice))
        })
    }

    fn next_change(&self, table: Table, key: &[u8], block: u64) -> Result<Option<u64>> {
        let Some(from) = block.checked_add(1).filter(|from| *from <= self.tip()) else {
            return Ok(None);
        };
        let seek = [key, &tables::number_key(from)].concat();
        let read = |row: Option<Row<'_>>| self.change_in_shard(table, key, from, row);
        match self.layout()? {
            Layout::V1 => read(self.txn.seek(table, &seek)?),
            Layout::V2 => {
                // A single view, because the index may be pruned between two.
                let view = self.rocks()?.view();
                let first = self.first_indexed(&view, table)?;
                if from < first {
                    return Err(self.pruned_index(table, from, first));
                }
                view.seek(table, &seek, read)
            }
        }
    }

    /// Returns the first number of a row from `from` on, if the row has this key.
    fn change_in_shard(
        &self,
        table: Table,
        key: &[u8],
        from: u64,
        row: Option<Row<'_>>,
    ) -> Result<Option<u64>> {
        let Some((found, value)) = row else {
            return Ok(None);
        };
        let shard = found.strip_prefix(key);
        let Some(shard) = shard.filter(|shard| shard.len() == BLOCK_BYTES) else {
            return Ok(None);
        };
        let bad = |what| self.bad_row(table, &hex::encode(found), what);
        let shard = tables::key_number(shard).map_err(bad)?;
        let change = roaring::first_from(value, from).map_err(bad)?;
        match change {
            None if shard != LAST_SHARD => Err(bad(
                "the shard does not contain the block number of its key",
            )),
            // Numbers above the tip are not committed in MDBX.
            change => Ok(change.filter(|change| *change <= self.tip())),
        }
    }

    /// Returns the first block from which on the indices in RocksDB are complete; 0 for
    /// indices in MDBX, which are pruned together with their checkpoint.
    pub(crate) fn first_indexed_block(&self) -> Result<u64> {
        if self.layout()? == Layout::V1 {
            return Ok(0);
        }
        let view = self.rocks()?.view();
        let accounts = self.first_indexed(&view, Table::AccountsHistory)?;
        Ok(accounts.max(self.first_indexed(&view, Table::StoragesHistory)?))
    }

    /// Returns the first block from which on an index is complete. Searched once for every
    /// view, by bisection: pruning begins at the first block.
    fn first_indexed(&self, view: &View, table: Table) -> Result<u64> {
        let (part, known) = match table {
            Table::AccountsHistory => (Part::AccountChanges, &self.first_indexed[0]),
            _ => (Part::StorageChanges, &self.first_indexed[1]),
        };
        if let Some((number, first)) = known.get()
            && number == view.number()
        {
            return Ok(first);
        }
        let (covered, _) = self.state_range(part)?;
        let mut first = covered.first + 1;
        let tip = self.tip();
        let mut end = tip + 1;
        if !self.is_indexed(view, table, part, (first..=tip).rev())? {
            // The node repairs this at its next start.
            first = end;
        } else if !self.is_indexed(view, table, part, first..=tip)? {
            while first < end {
                let middle = first + (end - first) / 2;
                if self.is_indexed(view, table, part, middle..=tip)? {
                    end = middle;
                } else {
                    first = middle + 1;
                }
            }
        }
        known.set(Some((view.number(), first)));
        Ok(first)
    }

    /// Returns whether the index contains a change of the first of these blocks that has any.
    fn is_indexed(
        &self,
        view: &View,
        table: Table,
        part: Part,
        blocks: impl Iterator<Item = u64>,
    ) -> Result<bool> {
        let mut scratch = self.own_scratch.borrow_mut();
        for block in blocks {
            if let Some(key) = self.first_changed_key(part, block, &mut scratch)? {
                let seek = [&key[..], &tables::number_key(block)].concat();
                let read = |row: Option<Row<'_>>| self.change_in_shard(table, &key, block, row);
                return Ok(view.seek(table, &seek, read)? == Some(block));
            }
        }
        Ok(true)
    }

    #[cold]
    fn pruned_index(&self, table: Table, from: u64, first: u64) -> Error {
        Error::Missing {
            part: match table {
                Table::AccountsHistory => Part::AccountChanges,
                _ => Part::StorageChanges,
            },
            block: from,
            reason: pruned_ahead(first),
        }
    }
}

/// The reason for an index that has fewer blocks than the change sets.
pub(crate) fn pruned_ahead(first: u64) -> String {
    format!(
        "the index in RocksDB begins with block {first}: it is pruned further than its checkpoint, \
         or damaged"
    )
}

fn address_and_slot(address: Address, slot: B256) -> [u8; 52] {
    let mut key = [0; 52];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(slot.as_slice());
    key
}
