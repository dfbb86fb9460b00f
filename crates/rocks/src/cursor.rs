//! Rows of a column family, merged from logs and tables. The newest row of each key counts, and
//! only if it is not a deletion.

use crate::{
    edit::FileMeta,
    error::{Error, Fault, Result},
    manifest::internal_order,
    memory::{DELETION, Run, SINGLE_DELETION, VALUE},
    shared::{Family, Shared},
    table::TableCursor,
};
use std::{cmp::Reverse, sync::Arc};

/// A position among the rows of a column family.
#[derive(Debug)]
pub struct Cursor<'s> {
    shared: &'s Shared,
    family: &'s Family,
    sources: Vec<Source<'s>>,
    /// The key that was left last.
    passed: Vec<u8>,
    /// The source with the current row.
    current: Option<usize>,
}

/// Rows in order, from memory or from the tables of a level.
#[derive(Debug)]
enum Source<'s> {
    Memory {
        run: &'s Run,
        at: usize,
    },
    Level {
        files: &'s [Arc<FileMeta>],
        at: usize,
        rows: Option<TableCursor>,
    },
}

impl Source<'_> {
    fn seek(&mut self, from: &[u8], shared: &Shared) -> Result<()> {
        match self {
            Self::Memory { run, at } => {
                *at = run.position(from);
                Ok(())
            }
            Self::Level { files, at, rows } => {
                *at = files.partition_point(|file| file.largest_user() < from);
                *rows = None;
                if let Some(file) = files.get(*at) {
                    *rows = Some(TableCursor::seek(
                        shared.table(file)?,
                        from,
                        &shared.blocks,
                    )?);
                }
                self.skip_finished(shared)
            }
        }
    }

    #[inline]
    fn row(&self) -> Option<(&[u8], &[u8], u64)> {
        match self {
            Self::Memory { run, at } => run.get(*at),
            Self::Level { rows, .. } => rows.as_ref()?.row(),
        }
    }

    fn next(&mut self, shared: &Shared) -> Result<()> {
        match self {
            Self::Memory { at, .. } => {
                *at += 1;
                Ok(())
            }
            Self::Level { rows, .. } => {
                if let Some(rows) = rows {
                    rows.next(&shared.blocks)?;
                }
                self.skip_finished(shared)
            }
        }
    }

    /// Moves to the first row of the next table, if the current one has no more.
    fn skip_finished(&mut self, shared: &Shared) -> Result<()> {
        let Self::Level { files, at, rows } = self else {
            return Ok(());
        };
        while let Some(current) = rows
            && current.row().is_none()
        {
            *at += 1;
            *rows = match files.get(*at) {
                Some(file) => Some(TableCursor::seek(shared.table(file)?, &[], &shared.blocks)?),
                None => None,
            };
        }
        Ok(())
    }
}

impl<'s> Cursor<'s> {
    pub(crate) fn new(shared: &'s Shared, family: &'s Family) -> Self {
        let memory = family.runs.iter().map(|run| Source::Memory { run, at: 0 });
        let levels = family.levels.iter().filter(|files| !files.is_empty());
        let levels = levels.map(|files| Source::Level {
            files,
            at: 0,
            rows: None,
        });
        Self {
            shared,
            family,
            sources: memory.chain(levels).collect(),
            passed: Vec::new(),
            current: None,
        }
    }

    /// Moves to the first row with a key >= `from`.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] if the writer deleted a table that this state needs: catch up and
    /// read again.
    pub fn seek(&mut self, from: &[u8]) -> Result<()> {
        self.current = None;
        for source in &mut self.sources {
            source.seek(from, self.shared)?;
        }
        self.find()
    }

    /// Moves to the next row.
    ///
    /// # Errors
    ///
    /// As for [`seek`](Self::seek).
    pub fn advance(&mut self) -> Result<()> {
        match self.current.take() {
            Some(current) => {
                self.pass(current)?;
                self.find()
            }
            None => Ok(()),
        }
    }

    /// Returns key and value of the current row; `None` after the last one.
    pub fn row(&self) -> Option<(&[u8], &[u8])> {
        let (key, value, _) = self.sources[self.current?].row()?;
        Some((key, value))
    }

    /// Moves to the first row that is not deleted, from the current rows of the sources on.
    fn find(&mut self) -> Result<()> {
        loop {
            // The first key, and its newest row.
            let mut first: Option<(&[u8], Reverse<u64>, usize)> = None;
            for (at, source) in self.sources.iter().enumerate() {
                if let Some((key, _, packed)) = source.row() {
                    let row = (key, Reverse(packed), at);
                    if first.is_none_or(|first| row < first) {
                        first = Some(row);
                    }
                }
            }
            let Some((key, Reverse(packed), at)) = first else {
                return Ok(());
            };
            match packed.to_le_bytes()[0] {
                VALUE if !self.is_in_deleted_range(key, packed)? => {
                    self.current = Some(at);
                    return Ok(());
                }
                VALUE | DELETION | SINGLE_DELETION => {}
                kind => return Err(self.unsupported(kind)),
            }
            self.pass(at)?;
        }
    }

    /// Moves all sources behind the key of one of them.
    fn pass(&mut self, at: usize) -> Result<()> {
        let Self {
            sources,
            passed,
            shared,
            ..
        } = self;
        passed.clear();
        if let Some((key, ..)) = sources[at].row() {
            passed.extend_from_slice(key);
        }
        for source in sources {
            while source.row().is_some_and(|(key, ..)| key == passed) {
                source.next(shared)?;
            }
        }
        Ok(())
    }

    fn is_in_deleted_range(&self, key: &[u8], packed: u64) -> Result<bool> {
        let sequence = packed >> 8;
        if self.family.deleted.sequence(key) > sequence {
            return Ok(true);
        }
        for files in &*self.family.levels {
            let from = files.partition_point(|file| file.largest_user() < key);
            let here = files[from..]
                .iter()
                .take_while(|file| file.smallest_user() <= key);
            for file in here {
                let table = self.shared.table(file)?;
                // A range may be longer than the table, because compactions cut it. Beyond the
                // keys of the table, it says nothing.
                if table.tombstones.sequence(key) > sequence && covers(file, key, packed) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    #[cold]
    fn unsupported(&self, kind: u8) -> Error {
        let name = match kind {
            2 => "kTypeMerge",
            0x11 => "kTypeBlobIndex",
            0x14 => "kTypeDeletionWithTimestamp",
            0x16 => "kTypeWideColumnEntity",
            0x18 => "kTypeValuePreferredSeqno",
            _ => "an unknown type",
        };
        let family = &self.family.name;
        let what = format!("rows of type {kind} ({name}) in column family {family}");
        Fault::Unsupported(what).at(&self.shared.directory)
    }
}

/// Returns whether a row is between the first and the last internal key of a table.
fn covers(file: &FileMeta, key: &[u8], packed: u64) -> bool {
    /// The end of a deleted range, as the last key of a table: exclusive.
    const SENTINEL: u64 = (1 << 56) - 1;
    let row = (key, Reverse(packed));
    let (largest, Reverse(last)) = internal_order(&file.largest);
    let before_end = match last >> 8 {
        SENTINEL => key < largest,
        // Older rows of this key are not in the next table.
        0 => key <= largest,
        _ => row <= (largest, Reverse(last)),
    };
    internal_order(&file.smallest) <= row && before_end
}
