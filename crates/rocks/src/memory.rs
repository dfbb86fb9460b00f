//! Rows of the logs, which are not in tables yet.

use crate::tombstones::Deleted;
use std::{cmp::Ordering, sync::Arc};

/// The types of rows that are read (`db/dbformat.h`).
pub(crate) const DELETION: u8 = 0;
pub(crate) const VALUE: u8 = 1;
pub(crate) const SINGLE_DELETION: u8 = 7;
pub(crate) const RANGE_DELETION: u8 = 15;

/// Rows in the order of their keys, the newest of each key only. Does not change.
#[derive(Debug, Default)]
pub(crate) struct Run {
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The first eight bytes of the key, in the order of keys. They decide nearly all comparisons of
    /// a search, without the bytes of the key, which are elsewhere.
    prefix: u64,
    /// Sequence number and type.
    packed: u64,
    at: usize,
    key_len: u32,
    value_len: u32,
}

impl Run {
    /// Appends a row; [`finish`](Self::finish) sorts.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8], packed: u64) {
        // Lengths are of 32 bits in the log.
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.rows.push(Row {
            prefix: prefix(key),
            packed,
            at: self.bytes.len(),
            key_len: len(key),
            value_len: len(value),
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn finish(mut self) -> Self {
        let Self { bytes, rows } = &mut self;
        // The newest of equal keys first. Stable, so that sorted runs merge in linear time.
        rows.sort_by(|a, b| (key(bytes, a), b.packed).cmp(&(key(bytes, b), a.packed)));
        rows.dedup_by(|next, first| key(bytes, next) == key(bytes, first));
        self
    }

    fn merged(&self, other: &Self) -> Self {
        let mut both = Self {
            bytes: Vec::with_capacity(self.bytes.len() + other.bytes.len()),
            rows: Vec::with_capacity(self.rows.len() + other.rows.len()),
        };
        for run in [self, other] {
            for at in 0..run.rows.len() {
                if let Some((key, value, packed)) = run.get(at) {
                    both.push(key, value, packed);
                }
            }
        }
        both.finish()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The first row with a key >= `from`.
    pub(crate) fn position(&self, from: &[u8]) -> usize {
        let first = prefix(from);
        self.rows
            .partition_point(|row| match row.prefix.cmp(&first) {
                Ordering::Equal => key(&self.bytes, row) < from,
                order => order.is_lt(),
            })
    }

    /// Key, value, and packed sequence number and type.
    pub(crate) fn get(&self, at: usize) -> Option<(&[u8], &[u8], u64)> {
        let row = self.rows.get(at)?;
        let value = row.at + row.key_len as usize;
        Some((
            key(&self.bytes, row),
            &self.bytes[value..value + row.value_len as usize],
            row.packed,
        ))
    }
}

fn key<'a>(bytes: &'a [u8], row: &Row) -> &'a [u8] {
    &bytes[row.at..row.at + row.key_len as usize]
}

/// The first bytes of a key as a number. Shorter keys are filled with zeros, so keys with one prefix
/// are in any order.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(8);
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
}

/// The rows of one log and column family: few runs, each at most half as long as the one
/// before, so that appending does not copy everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) runs: Vec<Arc<Run>>,
    pub(crate) deleted: Vec<Deleted>,
}

impl Memory {
    pub(crate) fn append(&mut self, run: Run) {
        let mut run = run.finish();
        if run.is_empty() {
            return;
        }
        while let Some(last) = self
            .runs
            .pop_if(|last| last.rows.len() < 2 * run.rows.len())
        {
            run = last.merged(&run);
        }
        self.runs.push(Arc::new(run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn equal_to_a_map(appended in prop::collection::vec(prop::collection::vec((0..30u8, any::<u8>()), 0..9), 0..20)) {
            let mut memory = Memory::default();
            let mut map = BTreeMap::new();
            let mut sequence = 0;
            for rows in &appended {
                let mut run = Run::default();
                for (key, value) in rows {
                    sequence += 256;
                    run.push(&[*key], &[*value], sequence);
                    map.insert(*key, (*value, sequence));
                }
                memory.append(run);
            }
            prop_assert!(memory.runs.len() < 10);
            for key in 0..31u8 {
                // The newest over all runs.
                let newest = memory.runs.iter().filter_map(|run| run.get(run.position(&[key])));
                let newest = newest.filter(|row| row.0 == [key]).max_by_key(|row| row.2);
                prop_assert_eq!(newest.map(|row| (row.1[0], row.2)), map.get(&key).copied());
            }
        }
    }
}
