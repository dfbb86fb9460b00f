//! History indices as a node keeps them: in which blocks an account or slot changed.
//!
//! A row holds at most 2,000 block numbers; the last row of a key has the highest block
//! number there is in its own key, all others their highest block (reth
//! `crates/storage/db-api/src/models/sharded_key.rs`).

use super::{Error, encode, tables::Changes};
use std::collections::{BTreeSet, HashMap};

/// Block numbers in a row.
const SHARD_BLOCKS: usize = 2_000;

/// One index, with all that is in it.
#[derive(Debug)]
pub(super) struct Histories {
    table: &'static str,
    /// Ascending, by key.
    blocks: HashMap<Vec<u8>, Vec<u64>>,
    /// Keys with blocks that are not in the table yet.
    noted: BTreeSet<Vec<u8>>,
}

impl Histories {
    pub(super) fn new(table: &'static str) -> Self {
        Self {
            table,
            blocks: HashMap::new(),
            noted: BTreeSet::new(),
        }
    }

    /// A key changed in a block, the newest so far.
    pub(super) fn note(&mut self, key: Vec<u8>, block: u64) {
        self.blocks.entry(key.clone()).or_default().push(block);
        self.noted.insert(key);
    }

    /// The newest block of a key is taken back. [`Histories::write`] comes after.
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
                    // The row before the last becomes the last.
                    changes.delete(self.table, &row_key(&key, *last))?;
                }
                self.noted.insert(key);
            }
        }
        Ok(())
    }

    /// Writes the rows that changed. A key has grown by fewer blocks than a row holds.
    pub(super) fn write(&mut self, changes: &Changes) -> Result<(), Error> {
        for key in std::mem::take(&mut self.noted) {
            let shards: Vec<&[u64]> = self.blocks[&key].chunks(SHARD_BLOCKS).collect();
            // The last but one may have been the last until now.
            for at in shards.len().saturating_sub(2)..shards.len() {
                let highest = match shards[at].last() {
                    Some(highest) if at + 1 < shards.len() => *highest,
                    _ => u64::MAX,
                };
                changes.put(
                    self.table,
                    &row_key(&key, highest),
                    &encode::block_numbers(shards[at]),
                )?;
            }
        }
        Ok(())
    }
}

fn row_key(key: &[u8], highest: u64) -> Vec<u8> {
    [key, &highest.to_be_bytes()].concat()
}
