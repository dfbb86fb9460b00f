//! The only module that uses RocksDB, which has the indices of layout v2. It is opened as a
//! secondary instance: without a lock, and without writing into the node's directory.
//!
//! A secondary sees the state of its last catch-up. A node commits RocksDB before MDBX. When
//! it removes blocks, it commits MDBX first and then waits for older readers. So a catch-up
//! after the begin of an MDBX transaction includes all blocks of the transaction, and perhaps
//! rows of later ones. A [`View`] is the fixed state between two catch-ups.

use crate::{
    Error, Result, escape::escaped, files::regular_metadata, mdbx::Row, open::retry, tables::Table,
};
use rocksdb::{DB, Options};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};
use tempfile::TempDir;

/// An open RocksDB. Shared between threads.
pub(crate) struct Rocks {
    db: DB,
    path: PathBuf,
    /// The number of the newest MDBX commit that it has caught up with. Lookups hold the read
    /// lock, so that the state does not change.
    caught_up: RwLock<u64>,
    /// For the log of the secondary instance. Dropped last.
    _scratch: TempDir,
}

impl std::fmt::Debug for Rocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rocks")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Rocks {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !path.join("CURRENT").exists() {
            return Err(Error::NoRocksDb {
                path: path.to_path_buf(),
            });
        }
        check_files(path)?;
        // Files may disappear while the node compacts.
        retry(|_| true, || Self::try_open(path))
    }

    fn try_open(path: &Path) -> Result<Self> {
        let failed = |error| failure(path, "open the database", &error);
        let scratch = tempfile::Builder::new()
            .prefix("txgraph-rocksdb-")
            .tempdir()
            .map_err(|error| Error::io("create a folder in", std::env::temp_dir(), error))?;
        let mut options = Options::default();
        // A secondary must keep all files open: the node may delete them.
        options.set_max_open_files(-1);
        options.set_keep_log_file_num(1);
        // All families, also those of later versions.
        let families = DB::list_cf(&options, path).map_err(failed)?;
        let db =
            DB::open_cf_as_secondary(&options, path, scratch.path(), families).map_err(failed)?;
        Ok(Self {
            db,
            path: path.to_path_buf(),
            caught_up: RwLock::new(0),
            _scratch: scratch,
        })
    }

    /// Catches up with the node, for an MDBX commit that a running transaction sees.
    pub(crate) fn catch_up(&self, commit: u64) -> Result<()> {
        if self.view().commit() >= commit {
            return Ok(());
        }
        let mut caught_up = self
            .caught_up
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if *caught_up < commit {
            self.db
                .try_catch_up_with_primary()
                .map_err(|error| failure(&self.path, "catch up with the node", &error))?;
            *caught_up = commit;
        }
        Ok(())
    }

    /// Returns the current state, which does not change until the view is dropped.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            rocks: self,
            caught_up: self
                .caught_up
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Returns whether the table exists.
    pub(crate) fn has(&self, table: Table) -> bool {
        self.db.cf_handle(&table.name().to_string_lossy()).is_some()
    }
}

/// Refuses named pipes and devices: opening one could block RocksDB.
fn check_files(directory: &Path) -> Result<()> {
    let entries = fs::read_dir(directory).map_err(|error| Error::io("list", directory, error))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        match regular_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::InvalidInput && !path.is_dir() => {
                return Err(Error::io("open", path, error));
            }
            // Files may disappear: the node compacts.
            _ => {}
        }
    }
    Ok(())
}

/// A fixed state of RocksDB between two catch-ups.
#[derive(Debug)]
pub(crate) struct View<'r> {
    rocks: &'r Rocks,
    caught_up: RwLockReadGuard<'r, u64>,
}

impl View<'_> {
    /// Returns the number of the MDBX commit that it has caught up with. Views with the same
    /// number are equal.
    pub(crate) fn commit(&self) -> u64 {
        *self.caught_up
    }

    /// Reads the first row with a key >= `from`.
    pub(crate) fn seek<T>(
        &self,
        table: Table,
        from: &[u8],
        read: impl FnOnce(Option<Row<'_>>) -> Result<T>,
    ) -> Result<T> {
        let Rocks { db, path, .. } = self.rocks;
        let name = table.name().to_string_lossy();
        let Some(family) = db.cf_handle(&name) else {
            return read(None);
        };
        let mut rows = db.raw_iterator_cf(family);
        rows.seek(from);
        match rows.status() {
            Ok(()) => read(rows.item()),
            Err(error) => Err(failure(path, &format!("read table {name}"), &error)),
        }
    }
}

#[cold]
fn failure(path: &Path, action: &str, error: &rocksdb::Error) -> Error {
    Error::Rocks {
        path: path.to_path_buf(),
        action: action.to_owned(),
        message: escaped(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table::AccountsHistory;

    fn first(rocks: &Rocks, from: &[u8]) -> Option<Vec<u8>> {
        let read = |row: Option<Row<'_>>| Ok(row.map(|(key, _)| key.to_vec()));
        rocks.view().seek(TABLE, from, read).unwrap()
    }

    #[test]
    fn secondary_follows_the_node() {
        let dir = tempfile::tempdir().unwrap();
        let error = Rocks::open(dir.path()).unwrap_err();
        assert!(
            error.to_string().contains("does not contain RocksDB"),
            "{error}"
        );

        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let families = ["default", "AccountsHistory", "OfALaterVersion"];
        let node = DB::open_cf(&options, dir.path(), families).unwrap();
        let family = node.cf_handle("AccountsHistory").unwrap();
        node.put_cf(family, b"b", b"1").unwrap();

        let rocks = Rocks::open(dir.path()).unwrap();
        assert!(rocks.has(TABLE) && !rocks.has(Table::StoragesHistory));
        rocks.catch_up(1).unwrap();
        assert_eq!(first(&rocks, b"a"), Some(b"b".to_vec()));
        assert_eq!(first(&rocks, b"c"), None);
        node.put_cf(family, b"d", b"2").unwrap();
        rocks.catch_up(1).unwrap();
        assert_eq!(first(&rocks, b"c"), None, "the same commit of MDBX");
        rocks.catch_up(2).unwrap();
        assert_eq!(first(&rocks, b"c"), Some(b"d".to_vec()));
        // Deletes files that the secondary has open.
        node.flush_cf(family).unwrap();
        node.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
        assert_eq!(first(&rocks, b"c"), Some(b"d".to_vec()));
        rocks.catch_up(3).unwrap();
        assert_eq!(first(&rocks, b"a"), Some(b"b".to_vec()));
    }
}
