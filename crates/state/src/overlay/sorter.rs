//! Sorts the changes of many blocks, in memory as long as they fit, else in runs that
//! are merged at the end.

use super::{
    rows::{Row, block_of},
    spill::{FileRows, SpillDir, SpillFile},
    table::{SortedFile, Table},
};
use crate::{Error, Result};
use std::{cmp::Reverse, collections::BinaryHeap};
use txgraph_nodedb::Blocks;

/// Fewest rows that memory grows by.
const ROWS_MORE: usize = 1024;

/// Rows on their way into a [`Table`].
#[derive(Debug)]
pub(crate) struct Sorter<const KEY: usize, const ROW: usize> {
    /// Later blocks need not be told apart: of each key the first of them counts.
    last_block: u64,
    rows: Vec<Row<ROW>>,
    rows_max: usize,
    runs: Vec<SpillFile>,
    spill: Option<SpillDir>,
    /// For messages: whose changes these are.
    blocks: Blocks,
}

impl<const KEY: usize, const ROW: usize> Sorter<KEY, ROW> {
    pub(crate) fn new(
        last_block: u64,
        bytes_max: usize,
        spill: Option<SpillDir>,
        blocks: Blocks,
    ) -> Self {
        Self {
            last_block,
            rows: Vec::new(),
            rows_max: (bytes_max / ROW).max(1),
            runs: Vec::new(),
            spill,
            blocks,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, row: Row<ROW>) {
        let rows = self.rows.len();
        if rows == self.rows.capacity() {
            // Twice as many, but never reserved beyond the bound.
            let more = rows.min(self.rows_max.saturating_sub(rows)).max(ROWS_MORE);
            self.rows.reserve_exact(more);
        }
        self.rows.push(row);
    }

    /// To be called after every block.
    pub(crate) fn make_room(&mut self) -> Result<()> {
        if self.rows.len() < self.rows_max {
            return Ok(());
        }
        compact::<KEY, ROW>(&mut self.rows, self.last_block);
        // Little gained: the next block would lead back here.
        if self.rows.len() > self.rows_max / 4 * 3 {
            self.write_run()?;
        }
        Ok(())
    }

    /// Moves all rows, which are sorted, into a file.
    fn write_run(&mut self) -> Result<()> {
        let Some(spill) = &self.spill else {
            return Err(Error::TooLarge {
                blocks: self.blocks,
                bytes_max: self.rows_max as u64 * ROW as u64,
                place: "in memory",
            });
        };
        let mut run = spill.create()?;
        for row in &self.rows {
            run.write(row)?;
        }
        run.flush()?;
        tracing::debug!(rows = self.rows.len(), "changes moved to a temporary file");
        self.runs.push(run);
        self.rows.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Table<KEY, ROW>> {
        compact::<KEY, ROW>(&mut self.rows, self.last_block);
        if self.runs.is_empty() {
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

/// Sorts rows, and leaves out those that nobody will ask for.
pub(crate) fn compact<const KEY: usize, const ROW: usize>(
    rows: &mut Vec<Row<ROW>>,
    last_block: u64,
) {
    rows.sort_unstable();
    rows.dedup_by(|row, before| is_hidden::<KEY, ROW>(before, row, last_block));
}

/// Whether a row before this one answers for it: of the same key, and already above all
/// blocks that are asked for.
fn is_hidden<const KEY: usize, const ROW: usize>(
    before: &Row<ROW>,
    row: &Row<ROW>,
    last_block: u64,
) -> bool {
    before[..KEY] == row[..KEY] && block_of::<KEY, ROW>(before) > last_block
}
