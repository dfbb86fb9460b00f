//! RocksDB, which has the indices of layout v2. `txgraph-rocks` reads its files without a lock,
//! and without writing into the node's directory.
//!
//! A [`View`] is the fixed state of some catch-up. A node commits RocksDB before MDBX. When it
//! removes blocks, it commits MDBX first and then waits for older readers. So a catch-up after
//! the begin of an MDBX transaction includes all blocks of the transaction, and perhaps rows of
//! later ones.

use crate::{
    Error, Result, escape::escaped, files::open_regular, mdbx::Row, retry::retry, tables::Table,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use txgraph_rocks::{Db, State};

/// The tables that are read.
const TABLES: [Table; 3] = [
    Table::TransactionHashNumbers,
    Table::AccountsHistory,
    Table::StoragesHistory,
];

/// An open RocksDB. Shared between threads.
#[derive(Debug)]
pub(crate) struct Rocks {
    db: Db,
    path: PathBuf,
    newest: Mutex<Newest>,
}

#[derive(Debug)]
struct Newest {
    /// The number of an MDBX commit whose rows the view has.
    commit: u64,
    view: View,
}

impl Rocks {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let current = path.join("CURRENT");
        let is_there = current.try_exists();
        if !is_there.map_err(|error| Error::io("open", &current, error))? {
            return Err(Error::NoRocksDb {
                path: path.to_path_buf(),
            });
        }
        let names = TABLES.map(name);
        let open = || {
            Db::open(path, &names, |path| Ok(open_regular(path)?.0))
                .and_then(|db| Ok((db.catch_up()?, db)))
                .map_err(|error| failure(path, "open the database", error))
        };
        let (state, db) = retry(again, open)?;
        let newest = Newest {
            commit: 0,
            view: View {
                state,
                number: 0,
                path: path.to_path_buf(),
            },
        };
        Ok(Self {
            db,
            path: path.to_path_buf(),
            newest: Mutex::new(newest),
        })
    }

    /// Catches up with the node, for an MDBX commit that a running transaction sees.
    pub(crate) fn catch_up(&self, commit: u64) -> Result<()> {
        let mut newest = self.newest();
        if newest.commit >= commit && !self.db.is_behind() {
            return Ok(());
        }
        // Files may disappear while the node compacts.
        let state = retry(again, || {
            let state = self.db.catch_up();
            state.map_err(|error| failure(&self.path, "catch up with the node", error))
        })?;
        if !Arc::ptr_eq(&state, &newest.view.state) {
            newest.view.state = state;
            newest.view.number += 1;
        }
        newest.commit = newest.commit.max(commit);
        Ok(())
    }

    fn newest(&self) -> MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest state.
    pub(crate) fn view(&self) -> View {
        self.newest().view.clone()
    }

    /// Returns whether the table exists.
    pub(crate) fn has(&self, table: Table) -> bool {
        self.newest().view.state.has(name(table))
    }
}

/// A fixed state of RocksDB.
#[derive(Clone, Debug)]
pub(crate) struct View {
    state: Arc<State>,
    number: u64,
    path: PathBuf,
}

impl View {
    /// Views of one RocksDB with the same number are equal.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Reads the first row with a key >= `from`. The error is [stale](Error::is_stale) if the
    /// node deleted a file that the view needs.
    pub(crate) fn seek<T>(
        &self,
        table: Table,
        from: &[u8],
        read: impl FnOnce(Option<Row<'_>>) -> Result<T>,
    ) -> Result<T> {
        let name = name(table);
        let Some(mut rows) = self.state.cursor(name) else {
            return read(None);
        };
        match rows.seek(from) {
            Ok(()) => read(rows.row()),
            Err(error) => Err(failure(&self.path, &format!("read table {name}"), error)),
        }
    }
}

fn name(table: Table) -> &'static str {
    table.name().to_str().unwrap_or_default()
}

/// Returns whether another attempt can succeed: the node may be writing what looks damaged.
const fn again(error: &Error) -> bool {
    matches!(error, Error::Stale { .. } | Error::Rocks { .. })
}

#[cold]
fn failure(directory: &Path, action: &str, error: txgraph_rocks::Error) -> Error {
    use txgraph_rocks::Error as Rocks;
    match error {
        Rocks::Changed { path, what } => Error::stale(path, what),
        Rocks::Unsupported { path, what } => Error::Unsupported {
            path,
            what: escaped(&what),
        },
        Rocks::Io {
            action,
            path,
            source,
        } => Error::io(action, path, source),
        error => Error::Rocks {
            path: directory.to_path_buf(),
            action: action.to_owned(),
            message: escaped(&error.to_string()),
        },
    }
}
