//! Sorted rows: in memory, or in a file with every 64th row in memory.

use super::{
    rows::{ACCOUNT_KEY, ACCOUNT_ROW, Row, STORAGE_KEY, STORAGE_ROW, compact, probe},
    spill::SpillFile,
};
use crate::Result;
use std::ops::ControlFlow;

/// Rows that are read for one lookup in a file: 6 KiB.
const CHUNK_ROWS: usize = 64;

/// Sorted rows.
#[derive(Debug)]
pub(crate) enum Table<const KEY: usize, const ROW: usize> {
    Memory(Vec<Row<ROW>>),
    File(SortedFile<ROW>),
}

pub(crate) type AccountTable = Table<ACCOUNT_KEY, ACCOUNT_ROW>;
pub(crate) type StorageTable = Table<STORAGE_KEY, STORAGE_ROW>;

/// Sorted rows in a file.
#[derive(Debug)]
pub(crate) struct SortedFile<const ROW: usize> {
    file: SpillFile,
    rows: u64,
    /// The first row of every chunk.
    fences: Vec<Row<ROW>>,
}

impl<const KEY: usize, const ROW: usize> Table<KEY, ROW> {
    /// Returns the first row of a key with a block of at least `block`.
    pub(crate) fn first_from(&self, key: [u8; KEY], block: u64) -> Result<Option<Row<ROW>>> {
        let mut found = None;
        self.walk_from(&probe(key, block), &mut |row| {
            found = (row[..KEY] == key).then_some(*row);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// Visits the rows from `from` on, ascending.
    pub(crate) fn walk_from(
        &self,
        from: &Row<ROW>,
        visit: &mut dyn FnMut(&Row<ROW>) -> ControlFlow<()>,
    ) -> Result<()> {
        match self {
            Self::Memory(rows) => {
                let start = rows.partition_point(|row| row < from);
                let _ = rows[start..].iter().try_for_each(visit);
                Ok(())
            }
            Self::File(file) => file.walk_from(from, visit),
        }
    }

    /// Merges two tables in memory, with only the first row of each key.
    pub(crate) fn merge(&self, other: &Self) -> Option<Self> {
        let (Self::Memory(rows), Self::Memory(more)) = (self, other) else {
            return None;
        };
        let mut rows = [rows.as_slice(), more].concat();
        compact::<KEY, ROW>(&mut rows, 0);
        Some(Self::Memory(rows))
    }

    /// Returns its memory in bytes.
    pub(crate) const fn memory_bytes(&self) -> usize {
        let rows = match self {
            Self::Memory(rows) => rows.len(),
            Self::File(file) => file.fences.len(),
        };
        rows * ROW
    }
}

impl<const ROW: usize> SortedFile<ROW> {
    /// Creates an empty table in a file.
    pub(crate) const fn new(file: SpillFile) -> Self {
        Self {
            file,
            rows: 0,
            fences: Vec::new(),
        }
    }

    /// Appends a row, which must be above all others.
    pub(crate) fn push(&mut self, row: &Row<ROW>) -> Result<()> {
        if self.rows.is_multiple_of(CHUNK_ROWS as u64) {
            self.fences.push(*row);
        }
        self.rows += 1;
        self.file.write(row)
    }

    /// Must be called once, after the last row.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn walk_from(
        &self,
        from: &Row<ROW>,
        visit: &mut dyn FnMut(&Row<ROW>) -> ControlFlow<()>,
    ) -> Result<()> {
        let after = self.fences.partition_point(|fence| fence <= from);
        // Rows from `from` on begin in the previous chunk, or with the next fence.
        if let Some(chunk) = after.checked_sub(1)
            && self.walk_chunk(chunk, from, visit)?.is_break()
        {
            return Ok(());
        }
        for chunk in after..self.fences.len() {
            // Most visits end with the first row, which is in memory.
            if visit(&self.fences[chunk]).is_break() {
                break;
            }
            let mut first = true;
            let flow = self.walk_chunk(chunk, from, &mut |row| match first {
                true => {
                    first = false;
                    ControlFlow::Continue(())
                }
                false => visit(row),
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn walk_chunk(
        &self,
        chunk: usize,
        from: &Row<ROW>,
        visit: &mut dyn FnMut(&Row<ROW>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let first_row = chunk as u64 * CHUNK_ROWS as u64;
        let rows = (self.rows - first_row).min(CHUNK_ROWS as u64);
        let mut bytes = vec![0; CHUNK_ROWS * ROW];
        let len = usize::try_from(rows).unwrap_or(CHUNK_ROWS) * ROW;
        let bytes = &mut bytes[..len];
        self.file.read_at(bytes, first_row * ROW as u64)?;
        let (rows, _) = bytes.as_chunks::<ROW>();
        let start = rows.partition_point(|row| row < from);
        Ok(rows[start..].iter().try_for_each(visit))
    }
}
