//! The only module that knows libmdbx (through `signet-libmdbx`, pinned): one
//! shared read-only environment per directory and process, and read
//! transactions on it. Flags and limits: reth's own
//! (`crates/storage/db/src/implementation/mdbx/mod.rs`).

use crate::{Error, Result, tables::Table};
use signet_libmdbx::{
    Cursor, Database, Environment, EnvironmentFlags, MdbxError, Mode, ReadError, Ro,
    tx::aliases::RoTxUnsync,
};
use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
};

/// reth's value. Whoever opens an environment first fixes the size of its reader
/// table: with the library's default a node started later would inherit 112 slots.
const READERS_MAX: u64 = 32_000;
const TABLES_MAX: usize = 256;

/// An open environment. Opening one twice in a process fails (`MDBX_BUSY`) and
/// would lose POSIX locks, so all users of a directory share one.
pub(crate) struct Env {
    /// Taken out when dropped, so that closing happens under the registry's lock.
    environment: Option<Environment>,
    path: Arc<Path>,
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Environments of this process by canonical path.
struct Registry {
    open: Mutex<HashMap<PathBuf, Weak<Env>>>,
    closed: Condvar,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry {
    open: Mutex::new(HashMap::new()),
    closed: Condvar::new(),
});

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Weak<Env>>> {
        // The map is consistent between any two statements that could panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Env {
    /// Opens the environment in directory `path`, or joins the one already open.
    pub(crate) fn open(path: &Path) -> Result<Arc<Self>> {
        let canonical = path
            .canonicalize()
            .map_err(|error| Error::io("open", path, error))?;
        let mut open = REGISTRY.lock();
        while let Some(env) = open.get(&canonical) {
            if let Some(env) = env.upgrade() {
                return Ok(env);
            }
            // The last user is about to close it.
            open = REGISTRY
                .closed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let environment = Environment::builder()
            .set_max_readers(READERS_MAX)
            .set_max_dbs(TABLES_MAX)
            .set_flags(EnvironmentFlags {
                mode: Mode::ReadOnly,
                no_rdahead: true,
                ..EnvironmentFlags::default()
            })
            .open(&canonical)
            .map_err(|error| failure(path, "open the database".into(), error))?;
        let env = Arc::new(Self {
            environment: Some(environment),
            path: canonical.as_path().into(),
        });
        open.insert(canonical, Arc::downgrade(&env));
        Ok(env)
    }

    /// Begins a read transaction: a consistent view until it is dropped.
    pub(crate) fn begin(&self) -> Result<Txn> {
        let begun = match &self.environment {
            Some(environment) => environment.begin_ro_unsync(),
            None => Err(MdbxError::BadTxn),
        };
        let tx =
            begun.map_err(|error| failure(&self.path, "begin a read transaction".into(), error))?;
        Ok(Txn {
            tx,
            path: Arc::clone(&self.path),
            tables: Default::default(),
        })
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        let mut open = REGISTRY.lock();
        self.environment = None;
        open.remove(&*self.path);
        REGISTRY.closed.notify_all();
    }
}

/// A read transaction. Values borrow from the mapped file as long as it lives.
pub(crate) struct Txn {
    tx: RoTxUnsync,
    path: Arc<Path>,
    /// Handles by table; `None` for a table that the node never created.
    tables: [OnceCell<Option<Database>>; Table::COUNT],
}

impl std::fmt::Debug for Txn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Txn")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Txn {
    /// The `db` directory, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the commit this transaction sees.
    pub(crate) fn id(&self) -> Result<u64> {
        self.tx
            .id()
            .map_err(|error| failure(&self.path, "ask for its commit number".into(), error))
    }

    fn handle(&self, table: Table) -> Result<Option<Database>> {
        let cell = &self.tables[table as usize];
        if let Some(handle) = cell.get() {
            return Ok(*handle);
        }
        let handle = match self.tx.open_db(Some(table.name())) {
            Ok(handle) => Some(handle),
            // An older reth never created it: the same as empty.
            Err(MdbxError::NotFound) => None,
            Err(error) => {
                return Err(failure(
                    &self.path,
                    format!("open table {}", table.name()),
                    error,
                ));
            }
        };
        Ok(*cell.get_or_init(|| handle))
    }

    /// The value of a key.
    #[inline]
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Result<Option<&[u8]>> {
        let Some(handle) = self.handle(table)? else {
            return Ok(None);
        };
        match self.tx.get::<Cow<'_, [u8]>>(handle.dbi(), key) {
            Ok(Some(value)) => self.borrowed(table, value).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(self.read_failure(table, error)),
        }
    }

    /// Number of rows of a table.
    pub(crate) fn rows(&self, table: Table) -> Result<u64> {
        let Some(handle) = self.handle(table)? else {
            return Ok(0);
        };
        let stat = self
            .tx
            .db_stat(&handle)
            .map_err(|error| failure(&self.path, format!("count table {}", table.name()), error))?;
        Ok(stat.entries() as u64)
    }

    /// Walks rows with key >= `from`, ascending.
    pub(crate) fn walk_from(&self, table: Table, from: &[u8]) -> Result<Walk<'_>> {
        let cursor = match self.handle(table)? {
            Some(handle) => Some(
                self.tx
                    .cursor(handle)
                    .map_err(|error| failure(&self.path, "open a cursor".into(), error))?,
            ),
            None => None,
        };
        Ok(Walk {
            txn: self,
            table,
            cursor,
            from: Some(from.to_vec()),
        })
    }

    /// The last row of a table.
    pub(crate) fn last(&self, table: Table) -> Result<Option<(&[u8], &[u8])>> {
        let mut walk = self.walk_from(table, &[])?;
        let Some(cursor) = &mut walk.cursor else {
            return Ok(None);
        };
        let row = cursor.last::<Cow<'_, [u8]>, Cow<'_, [u8]>>();
        self.row(table, row)
    }

    fn row<'a>(
        &'a self,
        table: Table,
        row: Result<Option<(Cow<'a, [u8]>, Cow<'a, [u8]>)>, ReadError>,
    ) -> Result<Option<(&'a [u8], &'a [u8])>> {
        match row {
            Ok(Some((key, value))) => Ok(Some((
                self.borrowed(table, key)?,
                self.borrowed(table, value)?,
            ))),
            Ok(None) => Ok(None),
            Err(error) => Err(self.read_failure(table, error)),
        }
    }

    /// Values of a read-only transaction are always borrowed from the mapping.
    fn borrowed<'a>(&self, table: Table, value: Cow<'a, [u8]>) -> Result<&'a [u8]> {
        match value {
            Cow::Borrowed(value) => Ok(value),
            Cow::Owned(_) => Err(self.read_failure(table, MdbxError::Problem.into())),
        }
    }

    fn read_failure(&self, table: Table, error: ReadError) -> Error {
        let action = format!("read table {}", table.name());
        match error {
            ReadError::Mdbx(error) => failure(&self.path, action, error),
            ReadError::Decoding(error) => Error::Mdbx {
                path: self.path.to_path_buf(),
                action,
                message: error.to_string(),
                code: 0,
            },
        }
    }
}

/// Rows of a table in key order.
pub(crate) struct Walk<'a> {
    txn: &'a Txn,
    table: Table,
    cursor: Option<Cursor<'a, Ro>>,
    from: Option<Vec<u8>>,
}

impl<'a> Walk<'a> {
    /// The next row; `None` after the last.
    #[expect(
        clippy::should_implement_trait,
        reason = "fallible, and only used in loops here"
    )]
    pub(crate) fn next(&mut self) -> Result<Option<(&'a [u8], &'a [u8])>> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        let row = match self.from.take() {
            Some(from) if from.is_empty() => cursor.first(),
            Some(from) => cursor.set_range(&from),
            None => cursor.next(),
        };
        self.txn.row(self.table, row)
    }
}

/// Adds the way out to libmdbx' terse words.
fn failure(path: &Path, action: String, error: MdbxError) -> Error {
    let code = error.to_err_code();
    let advice = match error {
        MdbxError::Access | MdbxError::Permission => {
            "permission denied; a reader must be able to write db/mdbx.lck, where it registers itself: \
             run as the node's user, or give your user write permission to that file"
        }
        MdbxError::VersionMismatch => {
            "the lock file belongs to another libmdbx (a running reth older than 1.4 or newer than 2.5): \
             stop the node, or use a txgraph built for that version"
        }
        MdbxError::WannaRecovery => {
            "the database was not closed cleanly and must be recovered: start the node once, then try again"
        }
        MdbxError::Invalid => "mdbx.dat is not an MDBX file, or its head is damaged",
        MdbxError::Corrupted | MdbxError::PageNotFound => {
            "the database is damaged; run `reth db stats` or restore it from a copy"
        }
        MdbxError::Busy => "the environment is in use in an exclusive mode",
        MdbxError::ReadersFull => {
            "no free reader slot: other readers hold them all; stop some of them"
        }
        MdbxError::UnableExtendMapSize => "the database grew beyond its mapping: open it again",
        MdbxError::Other(11) => {
            "a node is running, and db/ is on a read-only mount, where no reader slot can be taken: \
             mount it writable"
        }
        MdbxError::Other(12) => {
            "not enough address space: libmdbx maps up to 8 TiB (not memory); raise `ulimit -v`"
        }
        MdbxError::Other(30) => "the file system is read-only",
        _ => "",
    };
    let message = match advice {
        "" => format!("{error} (code {code})"),
        advice => format!("{advice} (code {code})"),
    };
    Error::Mdbx {
        path: path.to_path_buf(),
        action,
        message,
        code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_database() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mdbx.dat"), [7; 16384]).unwrap();
        let error = Env::open(dir.path()).unwrap_err();
        assert!(matches!(error, Error::Mdbx { .. }), "{error}");
    }
}
