//! Sorts the changes of many blocks: in memory if they fit, otherwise in sorted runs that
//! are merged at the end.

use super::{
    rows::{Row, compact, is_hidden},
    spill::{FileRows, SpillDir, SpillFile},
    table::{SortedFile, Table},
};
use crate::{Error, Result};
use alloy_primitives::map::HashSet;
use std::{cmp::Reverse, collections::BinaryHeap};
use txgraph_nodedb::BlockRange;

/// The smallest number of rows by which memory grows.
const ROWS_MORE: usize = 1024;

/// Collects rows for a [`Table`].
#[derive(Debug)]
pub(crate) struct Sorter<const KEY: usize, const ROW: usize> {
    /// Above this block only the first row of each key is kept.
    last_block: u64,
    rows: Vec<Row<ROW>>,
    /// The keys in `rows` with a block above the last.
    seen: HashSet<[u8; KEY]>,
    rows_max: usize,
    runs: Vec<SpillFile>,
    spill: Option<SpillDir>,
    /// The blocks of the changes, for messages.
    blocks: BlockRange,
}

impl<const KEY: usize, const ROW: usize> Sorter<KEY, ROW> {
    pub(crate) fn new(
        last_block: u64,
        bytes_max: usize,
        spill: Option<SpillDir>,
        blocks: BlockRange,
    ) -> Self {
        Self {
            last_block,
            rows: Vec::new(),
            seen: HashSet::default(),
            rows_max: (bytes_max / ROW).max(1),
            runs: Vec::new(),
            spill,
            blocks,
        }
    }

    /// Whether the row of a key and block is used, and has to be [added](Self::push). Its block must not be
    /// below the block of an earlier row.
    #[inline]
    pub(crate) fn takes(&mut self, key: [u8; KEY], block: u64) -> bool {
        block <= self.last_block || self.seen.insert(key)
    }

    /// Adds a row that it [takes](Self::takes).
    #[inline]
    pub(crate) fn push(&mut self, row: Row<ROW>) {
        let rows = self.rows.len();
        if rows == self.rows.capacity() {
            // Doubles the capacity, but not beyond the limit.
            let more = rows.min(self.rows_max.saturating_sub(rows)).max(ROWS_MORE);
            self.rows.reserve_exact(more);
        }
        self.rows.push(row);
    }

    /// Must be called after every few blocks.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        // A set of keys needs about twice their size.
        let keys = self.seen.len() * 2 * KEY / ROW;
        if self.rows.len() + keys < self.rows_max {
            return Ok(());
        }
        self.write_run()
    }

    /// Moves all rows into a file, sorted.
    fn write_run(&mut self) -> Result<()> {
        let Some(spill) = &self.spill else {
            return Err(Error::TooLarge {
                blocks: self.blocks,
                bytes_max: self.rows_max as u64 * ROW as u64,
                place: "in memory",
            });
        };
        self.rows.sort_unstable();
        let mut run = spill.create()?;
        for row in &self.rows {
            run.write(row)?;
        }
        run.flush()?;
        tracing::debug!(rows = self.rows.len(), "moved changes to a temporary file");
        self.runs.push(run);
        self.rows.clear();
        self.seen.clear();
        Ok(())
    }

    /// Adds the rows of a sorter for later blocks, and its share of memory. Nothing else is added then.
    pub(crate) fn append(&mut self, later: Self) -> Result<()> {
        // Sorting finds their keys in both.
        self.seen = HashSet::default();
        self.rows_max += later.rows_max;
        self.rows.reserve_exact(later.rows.len());
        self.rows.extend(later.rows);
        self.runs.extend(later.runs);
        self.make_room()
    }

    pub(crate) fn finish(mut self) -> Result<Table<KEY, ROW>> {
        if self.runs.is_empty() {
            compact::<KEY, ROW>(&mut self.rows, self.last_block);
            self.rows.shrink_to_fit();
            return Ok(Table::Memory(self.rows));
        }
        self.write_run()?;
        self.rows = Vec::new();
        let Some(spill) = &self.spill else {
            return Ok(Table::Memory(Vec::new()));
        };
        let mut merged = SortedFile::new(spill.create()?);
        let mut runs: Vec<FileRows<ROW>> = self.runs.drain(..).map(FileRows::new).collect();
        let mut heads = BinaryHeap::new();
        for (run, rows) in runs.iter_mut().enumerate() {
            heads.extend(rows.next()?.map(|row| Reverse((row, run))));
        }
        let mut before = None;
        while let Some(Reverse((row, run))) = heads.pop() {
            heads.extend(runs[run].next()?.map(|row| Reverse((row, run))));
            if before.is_none_or(|before| !is_hidden::<KEY, ROW>(&before, &row, self.last_block)) {
                merged.push(&row)?;
                before = Some(row);
            }
        }
        merged.finish()?;
        Ok(Table::File(merged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spill, overlay::rows};
    use alloy_primitives::{Address, B256, U256};
    use proptest::prelude::*;
    use rows::{STORAGE_KEY, STORAGE_ROW};
    use std::{collections::BTreeMap, ops::ControlFlow};

    type Slot = (u8, u8);

    fn key((account, slot): Slot) -> [u8; STORAGE_KEY] {
        rows::storage_key(Address::with_last_byte(account), B256::with_last_byte(slot))
    }

    fn row(slot: Slot, block: u64, value: u64) -> Row<STORAGE_ROW> {
        let mut row = rows::probe(key(slot), block);
        let value = U256::from(value).to_be_bytes::<32>();
        row[STORAGE_ROW - 32..].copy_from_slice(&value);
        row
    }

    /// A table from two sorters: blocks below `second_from` and the others.
    fn table_of_parts(
        changes: &BTreeMap<(Slot, u64), u64>,
        last_block: u64,
        rows_max: usize,
        second_from: u64,
    ) -> Table<STORAGE_KEY, STORAGE_ROW> {
        let blocks = BlockRange::up_to(u64::MAX);
        let spill = SpillDir::new(&Spill::default(), blocks);
        let new =
            |rows: usize| Sorter::new(last_block, rows * STORAGE_ROW, Some(spill.clone()), blocks);
        let (mut first, mut second) = (new(rows_max / 2), new(rows_max - rows_max / 2));
        // By block, the order of reading.
        let mut ascending: Vec<_> = changes.iter().collect();
        ascending.sort_by_key(|((_, block), _)| *block);
        for ((slot, block), value) in ascending {
            let sorter = if *block < second_from {
                &mut first
            } else {
                &mut second
            };
            if sorter.takes(key(*slot), *block) {
                sorter.push(row(*slot, *block, *value));
            }
            sorter.make_room().unwrap();
        }
        first.append(second).unwrap();
        first.finish().unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// Tables in memory and in files give the same first change from a block on as a map,
        /// for all blocks up to the last requested one and the one above it.
        #[test]
        fn equals_a_map(
            changes in prop::collection::btree_map(((0..4_u8, 0..6_u8), 0..60_u64), any::<u64>(), 0..400),
            last_block in 0..60_u64,
            rows_max in 1..300_usize,
            second_from in 0..70_u64,
        ) {
            let table = table_of_parts(&changes, last_block, rows_max, second_from);
            for account in 0..5 {
                for slot in 0..7 {
                    let slot = (account, slot);
                    for block in 0..=last_block + 1 {
                        let expected = changes
                            .range((slot, block)..=(slot, u64::MAX))
                            .next()
                            .map(|((slot, block), value)| row(*slot, *block, *value));
                        prop_assert_eq!(table.first_from(key(slot), block).unwrap(), expected);
                    }
                }
            }
            // From any start, rows ascend, and none is missing or repeated.
            for slot in [(0, 0), (2, 3), (4, 6)] {
                let from = rows::probe(key(slot), 0);
                let mut walked = Vec::new();
                table.walk_from(&from, &mut |row| {
                    walked.push(*row);
                    ControlFlow::Continue(())
                }).unwrap();
                let mut expected: Vec<_> = changes
                    .range((slot, 0)..)
                    .map(|((slot, block), value)| row(*slot, *block, *value))
                    .collect();
                rows::compact::<STORAGE_KEY, STORAGE_ROW>(&mut expected, last_block);
                prop_assert_eq!(walked, expected);
            }
        }
    }

    #[test]
    fn small_tables_stay_in_memory() {
        let changes = (0..50).map(|block| (((1, 1), block), block)).collect();
        let of = |last_block, rows_max| table_of_parts(&changes, last_block, rows_max, 20);
        assert!(matches!(of(60, 102), Table::Memory(_)));
        assert!(matches!(of(60, 10), Table::File(_)));
        // Above the last block only the first change is kept.
        let Table::Memory(rows) = of(4, 20) else {
            panic!("six rows of each part fit into ten");
        };
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn layers_are_merged() {
        let old = table_of_parts(&[(((1, 1), 7), 70), (((1, 2), 8), 80)].into(), 0, 100, 8);
        let new = table_of_parts(&[(((1, 1), 9), 90), (((1, 3), 9), 91)].into(), 0, 100, 0);
        let merged = old.merge(&new).unwrap();
        let found = |slot| merged.first_from(key((1, slot)), 1).unwrap();
        assert_eq!(found(1), Some(row((1, 1), 7, 70)));
        assert_eq!(found(2), Some(row((1, 2), 8, 80)));
        assert_eq!(found(3), Some(row((1, 3), 9, 91)));
    }
}
