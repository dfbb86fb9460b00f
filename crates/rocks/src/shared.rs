//! Data that the states of a database share: open tables, blocks in memory, rows of column
//! families.

use crate::{
    cache::{Blocks, lock},
    edit::FileMeta,
    error::{Error, Result},
    manifest::Levels,
    memory::Run,
    table::Table,
    tombstones::Tombstones,
};
use std::{
    collections::HashMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// Open tables, and with them file descriptors: as many as reth allows its own RocksDB.
pub(crate) const OPEN_TABLES_MAX: usize = 512;

/// Opens a regular file for reading.
pub type Open = fn(&Path) -> io::Result<File>;

/// Open tables by number. The one that was used longest ago is closed.
#[derive(Debug, Default)]
pub(crate) struct Tables(Mutex<OpenTables>);

#[derive(Debug, Default)]
struct OpenTables {
    /// With the time of the last use.
    tables: HashMap<u64, (Arc<Table>, u64)>,
    /// Counts uses.
    clock: u64,
}

impl Tables {
    pub(crate) fn get(&self, number: u64) -> Option<Arc<Table>> {
        let OpenTables { tables, clock } = &mut *lock(&self.0);
        *clock += 1;
        let (table, used) = tables.get_mut(&number)?;
        *used = *clock;
        Some(Arc::clone(table))
    }

    pub(crate) fn insert(&self, number: u64, table: &Arc<Table>) {
        let OpenTables { tables, clock } = &mut *lock(&self.0);
        *clock += 1;
        tables.insert(number, (Arc::clone(table), *clock));
        if tables.len() > OPEN_TABLES_MAX {
            let oldest = tables.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(number, _)| *number) {
                tables.remove(&oldest);
            }
        }
    }
}

/// Data that all states of a database use.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) directory: PathBuf,
    pub(crate) open: Open,
    pub(crate) blocks: Blocks,
    pub(crate) tables: Tables,
    /// Whether a table of the newest state was deleted, so that catching up must not be
    /// omitted.
    pub(crate) behind: AtomicBool,
}

impl Shared {
    pub(crate) fn table(&self, file: &FileMeta) -> Result<Arc<Table>> {
        if let Some(table) = self.tables.get(file.number) {
            return Ok(table);
        }
        let path = self.directory.join(format!("{:06}.sst", file.number));
        let source = (self.open)(&path).map_err(|error| {
            let error = Error::io("open", &path, error);
            if error.is_changed() {
                self.behind.store(true, Ordering::Relaxed);
            }
            error
        })?;
        let table = Arc::new(Table::open(Box::new(source), &path, file)?);
        self.tables.insert(file.number, &table);
        Ok(table)
    }
}

/// A column family in some state.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) name: String,
    /// Rows of logs.
    pub(crate) runs: Vec<Arc<Run>>,
    /// Deleted ranges of logs.
    pub(crate) deleted: Tombstones,
    pub(crate) levels: Arc<Levels>,
}
