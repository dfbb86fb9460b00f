//! A fixed state of the database.

use crate::{
    Cursor,
    cache::{Blocks, Tables},
    edit::FileMeta,
    error::{Error, Result},
    manifest::Levels,
    memory::Run,
    table::Table,
    tombstones::Tombstones,
};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Opens a regular file for reading.
pub type Open = fn(&Path) -> io::Result<File>;

/// What all states of a database use.
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

/// The rows at some moment, which do not change. Tables are opened when they are read; the
/// writer may have deleted them by then ([`Error::Changed`]).
#[derive(Debug)]
pub struct State {
    pub(crate) shared: Arc<Shared>,
    pub(crate) families: Vec<Family>,
}

impl State {
    fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|family| family.name == name)
    }

    /// Returns whether a column family exists. Those that were not named when the database was
    /// opened do not.
    pub fn has(&self, family: &str) -> bool {
        self.family(family).is_some()
    }

    /// Returns a cursor before the first row of a column family, if it exists.
    pub fn cursor(&self, family: &str) -> Option<Cursor<'_>> {
        Some(Cursor::new(&self.shared, self.family(family)?))
    }
}
