//! History indices as a node stores them: the blocks in which an account or slot changed.
//!
//! A row has at most 2,000 block numbers. The key of the last row ends with the highest
//! block number that exists, the keys of other rows with their highest block (reth
//! `crates/storage/db-api/src/models/sharded_key.rs`).

use super::{Error, encode, tables::Changes};
use std::collections::{BTreeMap, HashMap};

/// Block numbers per row.
const SHARD_BLOCKS: usize = 2_000;

/// One index with all its contents.
#[derive(Debug)]
pub(super) struct Histories {
    table: &'static str,
    /// Blocks by key, ascending.
    blocks: HashMap<Vec<u8>, Vec<u64>>,
    /// Keys whose blocks are not in the table yet, with the first row to write.
    noted: BTreeMap<Vec<u8>, usize>,
}

impl Histories {
    pub(super) fn new(table: &'static str) -> Self {
        Self {
            table,
            blocks: HashMap::new(),
            noted: BTreeMap::new(),
        }
    }

    /// Records that a key changed in a block, which is the newest so far.
    pub(super) fn note(&mut self, key: Vec<u8>, block: u64) {
        let blocks = self.blocks.entry(key.clone()).or_default();
        // A full last row is not the last any more.
        self.noted.entry(key).or_insert(last_row(blocks));
        blocks.push(block);
    }

    /// Removes the newest block of a key. [`Histories::write`] must follow.
    pub(super) fn take_back(&mut self, changes: &Changes, key: Vec<u8>) -> Result<(), Error> {
        let Some(blocks) = self.blocks.get_mut(&key) else {
            return Ok(());
        };
        blocks.pop();
        match blocks.last() {
            None => {
                self.blocks.remove(&key);
                changes.delete(self.table, &row_key(&key, u64::MAX))?;
                self.noted.remove(&key);
            }
            Some(last) => {
                if blocks.len() % SHARD_BLOCKS == 0 {
                    // The row before the last one becomes the last.
                    changes.delete(self.table, &row_key(&key, *last))?;
                }
                self.noted.insert(key, last_row(blocks));
            }
        }
        Ok(())
    }

    /// Writes the changed rows.
    pub(super) fn write(&mut self, changes: &Changes) -> Result<(), Error> {
        for (key, first) in std::mem::take(&mut self.noted) {
            let mut rows = self.blocks[&key]
                .chunks(SHARD_BLOCKS)
                .skip(first)
                .peekable();
            while let Some(row) = rows.next() {
                let highest = match (row.last(), rows.peek()) {
                    (Some(highest), Some(_)) => *highest,
                    _ => u64::MAX,
                };
                let value = encode::block_numbers(row);
                changes.put(self.table, &row_key(&key, highest), &value)?;
            }
        }
        Ok(())
    }
}

/// The number of the last row.
fn last_row(blocks: &[u64]) -> usize {
    blocks.len().saturating_sub(1) / SHARD_BLOCKS
}

fn row_key(key: &[u8], highest: u64) -> Vec<u8> {
    [key, &highest.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Layout, tables::Tables};
    use std::collections::BTreeMap;

    const KEY: &[u8] = b"12345678901234567890";

    /// Rows of a key that changed in blocks `1..=last`: first and last number of each.
    fn expected(last: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let all: Vec<u64> = (1..=last).collect();
        let mut rows = BTreeMap::new();
        let count = all.chunks(2_000).count();
        for (number, shard) in (1..).zip(all.chunks(2_000)) {
            let highest = if number == count {
                u64::MAX
            } else {
                number as u64 * 2_000
            };
            rows.insert(row_key(KEY, highest), encode::block_numbers(shard));
        }
        rows
    }

    fn rows(tables: &Tables, last: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let changes = tables.begin().unwrap();
        let possible = (1..=last).chain([u64::MAX]).map(|n| row_key(KEY, n));
        let found = possible.filter_map(|key| {
            let row = changes.get("AccountsHistory", &key).unwrap();
            row.map(|row| (key, row))
        });
        found.collect()
    }

    /// Goes forward and backward over the ends of rows, in steps of all sizes.
    #[test]
    fn rows_are_split_and_joined_like_in_a_node() {
        let dir = tempfile::tempdir().unwrap();
        let tables = Tables::create(&dir.path().join("db"), Layout::V1, false).unwrap();
        let mut histories = Histories::new("AccountsHistory");
        let mut last = 0;
        for (forth, back) in [
            (1_999, 0),
            (1, 0),
            (1, 1),
            (1, 3),
            (1_900, 30),
            (150, 60),
            (1_990, 64),
            (0, 1),
            (5_000, 4_100),
        ] {
            let changes = tables.begin().unwrap();
            for block in last + 1..=last + forth {
                histories.note(KEY.to_vec(), block);
            }
            histories.write(&changes).unwrap();
            changes.commit().unwrap();
            last += forth;
            assert_eq!(rows(&tables, last), expected(last), "{last}");

            let changes = tables.begin().unwrap();
            for _ in 0..back {
                histories.take_back(&changes, KEY.to_vec()).unwrap();
            }
            histories.write(&changes).unwrap();
            changes.commit().unwrap();
            last -= back;
            assert_eq!(rows(&tables, last + back), expected(last), "{last}");
        }
    }

    #[test]
    fn unchanged_keys_have_no_row() {
        let dir = tempfile::tempdir().unwrap();
        let tables = Tables::create(&dir.path().join("db"), Layout::V1, false).unwrap();
        let mut histories = Histories::new("AccountsHistory");
        let changes = tables.begin().unwrap();
        histories.note(KEY.to_vec(), 7);
        histories.write(&changes).unwrap();
        histories.take_back(&changes, KEY.to_vec()).unwrap();
        histories.write(&changes).unwrap();
        changes.commit().unwrap();
        assert!(rows(&tables, 10).is_empty());
    }
}
