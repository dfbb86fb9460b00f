//! History indices: in which blocks an account or slot changed. In MDBX (v1) or in
//! RocksDB (v2), with the same keys and values: after the account or slot the highest
//! block number of a shard (all ones in the last), and a Roaring bitmap of at most
//! 2000 block numbers.

use crate::{
    Error, Layout, Result, Snapshot, roaring,
    tables::{self, Table},
};
use alloy_primitives::{Address, B256};

/// In the key of the last shard, which is appended to.
const LAST_SHARD: u64 = u64::MAX;
/// Block number at the end of a key.
const BLOCK_BYTES: usize = 8;

impl Snapshot<'_> {
    /// The first block above `block`, and not above the tip, that changed an account.
    /// Only right where [`crate::StateCoverage::index_obstacle`] is none.
    pub fn next_account_change(&self, address: Address, block: u64) -> Result<Option<u64>> {
        self.next_change(Table::AccountsHistory, address.as_slice(), block)
    }

    /// The same of a slot.
    pub fn next_storage_change(
        &self,
        address: Address,
        slot: B256,
        block: u64,
    ) -> Result<Option<u64>> {
        let key = address_and_slot(address, slot);
        self.next_change(Table::StoragesHistory, &key, block)
    }

    /// The first slot of an account, not below `from`, of which the index knows a
    /// change.
    pub fn next_indexed_slot(&self, address: Address, from: B256) -> Result<Option<B256>> {
        let key = address_and_slot(address, from);
        let Some((key, _)) = self.seek_history(Table::StoragesHistory, &key)? else {
            return Ok(None);
        };
        let slot = key
            .strip_prefix(address.as_slice())
            .and_then(|rest| rest.get(..32));
        Ok(slot.map(B256::from_slice))
    }

    fn next_change(&self, table: Table, key: &[u8], block: u64) -> Result<Option<u64>> {
        let Some(from) = block.checked_add(1).filter(|from| *from <= self.tip()) else {
            return Ok(None);
        };
        let seek = [key, &tables::number_key(from)].concat();
        let Some((found, value)) = self.seek_history(table, &seek)? else {
            return Ok(None);
        };
        let Some(shard) = found
            .strip_prefix(key)
            .filter(|rest| rest.len() == BLOCK_BYTES)
        else {
            return Ok(None);
        };
        let bad = |what| self.bad_row(table, &alloy_primitives::hex::encode(found), what);
        let shard = tables::key_number(shard).map_err(bad)?;
        let change = roaring::first_from(value, from).map_err(bad)?;
        match change {
            None if shard != LAST_SHARD => Err(bad("the shard lacks the block number in its key")),
            // Rows above the tip may be there already, and may vanish again.
            change => Ok(change.filter(|change| *change <= self.tip())),
        }
    }

    /// The first row of an index with a key not below `key`.
    fn seek_history(&self, table: Table, key: &[u8]) -> Result<Option<(&[u8], &[u8])>> {
        match self.layout()? {
            Layout::V1 => self.txn.seek(table, key),
            Layout::V2 => Err(Error::Unsupported {
                path: self.db.dir().rocksdb_path(),
                what: "the history indices are in RocksDB".into(),
            }),
        }
    }
}

fn address_and_slot(address: Address, slot: B256) -> [u8; 52] {
    let mut key = [0; 52];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(slot.as_slice());
    key
}
