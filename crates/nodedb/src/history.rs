//! History indices: in which blocks an account or slot changed. In MDBX (v1) or in
//! RocksDB (v2), with the same keys and values: after the account or slot the highest
//! block number of a shard (all ones in the last), and a Roaring bitmap of at most
//! 2000 block numbers.

use crate::{
    Result, Snapshot, roaring,
    tables::{self, Table},
};
use alloy_primitives::{Address, B256, hex};

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
        self.seek_index(table, &seek, |row| {
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
                None if shard != LAST_SHARD => {
                    Err(bad("the shard lacks the block number in its key"))
                }
                // Rows above the tip may be there already, and may vanish again.
                change => Ok(change.filter(|change| *change <= self.tip())),
            }
        })
    }
}

fn address_and_slot(address: Address, slot: B256) -> [u8; 52] {
    let mut key = [0; 52];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(slot.as_slice());
    key
}
