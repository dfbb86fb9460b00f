//! `.csoff` files: the rows of each block in a change-set jar, one record per block
//! (`crates/static-file/types/src/changeset_offsets.rs` of reth).

use crate::{
    Error, Result,
    compact::Reader,
    jar::{Jar, satellite},
    jar_reader::{JarReader, OpenJar, open_part, read_at},
};
use std::{fs::File, ops::Range, path::PathBuf, sync::Arc};

/// A record has the first row and the number of rows, little-endian.
const RECORD_BYTES: u64 = 16;
/// Records per read. Reads are aligned, because blocks are visited up or down.
const WINDOW_RECORDS: u64 = 256;

/// The files of one change-set segment that a worker has open.
#[derive(Debug, Default)]
pub(crate) struct OpenChangeFile {
    rows: OpenJar,
    records: Option<Records>,
}

/// The `.csoff` file of a jar, and the window that was read last.
#[derive(Debug)]
struct Records {
    jar: Arc<Jar>,
    path: PathBuf,
    file: File,
    first: u64,
    window: Vec<u8>,
}

impl OpenChangeFile {
    /// Returns the reader of a jar, and the rows of a block in it.
    pub(crate) fn block(
        &mut self,
        jar: &Arc<Jar>,
        block: u64,
    ) -> Result<(&mut JarReader, Range<u64>)> {
        let same = self
            .records
            .as_ref()
            .is_some_and(|records| Arc::ptr_eq(&records.jar, jar));
        if !same {
            self.records = None;
        }
        let records = match &mut self.records {
            Some(records) => records,
            none => none.insert(Records::open(jar)?),
        };
        let rows = records.rows(block)?;
        Ok((self.rows.reader(jar)?, rows))
    }
}

impl Records {
    fn open(jar: &Arc<Jar>) -> Result<Self> {
        let path = satellite(&jar.path, "csoff");
        Ok(Self {
            jar: Arc::clone(jar),
            file: open_part(&path)?.0,
            path,
            first: 0,
            window: Vec::new(),
        })
    }

    fn rows(&mut self, block: u64) -> Result<Range<u64>> {
        let conf = &self.jar.conf;
        let record = conf
            .blocks
            .and_then(|blocks| block.checked_sub(blocks.first))
            .filter(|record| *record < conf.change_set_blocks)
            .ok_or_else(|| self.jar.stale(format!("it has no record of block {block}")))?;
        let bytes = match self.in_window(record) {
            Some(bytes) => bytes,
            None => {
                self.load(record)?;
                self.in_window(record).unwrap_or_default()
            }
        };
        let mut reader = Reader::new(bytes);
        let mut number = || reader.array().map(|bytes| u64::from_le_bytes(*bytes));
        let rows = match (number(), number()) {
            (Ok(first), Ok(count)) => first.checked_add(count).map(|end| first..end),
            _ => None,
        };
        match rows {
            Some(rows) if rows.end <= self.jar.conf.rows => Ok(rows),
            _ if self.jar.is_current() => Err(Error::corrupt(
                &self.path,
                format!(
                    "record {record} (block {block}) refers to rows that the file does not have"
                ),
            )),
            _ => Err(self
                .jar
                .stale(format!("the rows of block {block} were removed"))),
        }
    }

    fn in_window(&self, record: u64) -> Option<&[u8]> {
        let start = record.checked_sub(self.first)?.checked_mul(RECORD_BYTES)?;
        let start = usize::try_from(start).ok()?;
        self.window.get(start..)?.get(..16)
    }

    fn load(&mut self, record: u64) -> Result<()> {
        let first = record / WINDOW_RECORDS * WINDOW_RECORDS;
        let records = WINDOW_RECORDS.min(self.jar.conf.change_set_blocks - first);
        // At most 4096 bytes. After an error the window must be empty.
        self.window.clear();
        let mut window = vec![0; usize::try_from(records * RECORD_BYTES).unwrap_or_default()];
        let position = first
            .checked_mul(RECORD_BYTES)
            .ok_or_else(|| self.jar.bad_row(record, "an impossible number of blocks"))?;
        read_at(&self.file, &self.path, &mut window, position)?;
        self.first = first;
        self.window = window;
        Ok(())
    }
}
