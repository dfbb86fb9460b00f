//! The only module that uses libmdbx: one shared read-only environment per directory and
//! process, and its read transactions. Flags and limits are as in reth
//! (`crates/storage/db/src/implementation/mdbx/mod.rs`), plus validation.

mod meta;
mod raw;

pub(crate) use meta::BadMetaPage;
pub(crate) use raw::Row;

use crate::{
    Error, Result,
    files::{check_mdbx_file, open_regular},
    retry::SNAPSHOT,
    tables::Table,
};
use meta::{META_BYTES, META_PAGES};
use raw::{Code, Environment, Handle, ReadTxn, ffi};
use std::{
    cell::OnceCell,
    collections::HashMap,
    ffi::CString,
    io, mem,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process,
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

/// The value of reth. The process that opens an environment first determines the size of
/// the reader table. With the default of libmdbx, a node started later would have 112 slots.
const READERS_MAX: u64 = 32_000;
const TABLES_MAX: u64 = 256;
/// The two files of an environment.
const DATA_FILE: &str = "mdbx.dat";
const LOCK_FILE: &str = "mdbx.lck";

/// An open environment. All users of a directory share one: opening it twice in a process
/// fails (`MDBX_BUSY`) and would release POSIX locks.
#[derive(Debug)]
pub(crate) struct Env {
    /// `None` only while it is dropped: it is closed while the registry is locked.
    environment: Option<Arc<Environment>>,
    path: Arc<Path>,
    /// The process that opened it. One that was forked from it does not have the mapped files.
    process: u32,
}

/// The environments of this process by canonical path.
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
        // The map is consistent between any two statements that can panic.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Env {
    /// Opens the environment in directory `path`, or returns the one that is open.
    pub(crate) fn open(path: &Path) -> Result<Arc<Self>> {
        let canonical = path
            .canonicalize()
            .map_err(|error| Error::io("open", path, error))?;
        let mut open = REGISTRY.lock();
        while let Some(env) = open.get(&canonical) {
            if let Some(env) = env.upgrade() {
                env.check_process()?;
                return Ok(env);
            }
            // Its last user is closing it.
            open = REGISTRY
                .closed
                .wait(open)
                .unwrap_or_else(PoisonError::into_inner);
        }
        for name in [DATA_FILE, LOCK_FILE] {
            check_mdbx_file(&canonical.join(name))?;
        }
        let environment = CString::new(canonical.as_os_str().as_bytes())
            .map_err(|_| Code(ffi::MDBX_INVALID))
            .and_then(|path| Environment::open(&path, TABLES_MAX, READERS_MAX))
            .map_err(|code| match unreadable(&canonical.join(DATA_FILE), code) {
                Some(error) => error,
                None => failure(path, "open the database".into(), code),
            })?;
        let env = Arc::new(Self {
            environment: Some(Arc::new(environment)),
            path: canonical.as_path().into(),
            process: process::id(),
        });
        open.insert(canonical, Arc::downgrade(&env));
        Ok(env)
    }

    /// Returns the meta pages that libmdbx ignores because they are damaged. A page that a node
    /// is writing is read again.
    pub(crate) fn bad_meta_pages(&self) -> Result<Vec<BadMetaPage>> {
        let Some(environment) = &self.environment else {
            return Ok(Vec::new());
        };
        let page_size = environment
            .page_size()
            .map_err(|code| failure(&self.path, "read the page size".into(), code))?;
        let mut bad = Vec::new();
        for number in 0..META_PAGES {
            let mut defect = None;
            for _ in 0..SNAPSHOT.attempts {
                let mut page = [0; META_BYTES];
                let position = u64::from(number) * u64::from(page_size);
                environment
                    .read_file(&mut page, position)
                    .map_err(|error| Error::io("read", self.path.join(DATA_FILE), error))?;
                defect = meta::defect(&page, number, page_size);
                if defect.is_none() {
                    break;
                }
                // A node completes a meta page within microseconds.
                thread::sleep(Duration::from_millis(1));
            }
            bad.extend(defect.map(|defect| BadMetaPage { number, defect }));
        }
        Ok(bad)
    }

    fn is_of_this_process(&self) -> bool {
        self.process == process::id()
    }

    fn check_process(&self) -> Result<()> {
        match self.is_of_this_process() {
            true => Ok(()),
            false => Err(Error::Mdbx {
                path: self.path.to_path_buf(),
                action: "read in a forked process".into(),
                message: "the process that it was forked from has the database open; open it in a \
                          process that is started, and not forked"
                    .into(),
                code: ffi::MDBX_PANIC,
            }),
        }
    }

    /// Begins a read transaction, which sees one commit until it is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Txn> {
        self.check_process()?;
        let begun = match &self.environment {
            Some(environment) => ReadTxn::begin(Arc::clone(environment)),
            None => Err(Code(ffi::MDBX_BAD_TXN)),
        };
        let tx =
            begun.map_err(|code| failure(&self.path, "begin a read transaction".into(), code))?;
        Ok(Txn {
            tx,
            env: Arc::clone(self),
            tables: Default::default(),
        })
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        let environment = self.environment.take();
        if !self.is_of_this_process() {
            // It belongs to the other process.
            mem::forget(environment);
            return;
        }
        let mut open = REGISTRY.lock();
        drop(environment);
        open.remove(&*self.path);
        REGISTRY.closed.notify_all();
    }
}

/// A read transaction. Values borrow from the mapped file while it is alive.
#[derive(Debug)]
pub(crate) struct Txn {
    tx: ReadTxn,
    /// Handles of tables; `None` for a table that the node never created.
    tables: [OnceCell<Option<Handle>>; Table::COUNT],
    /// Dropped last: the environment must stay open until its transactions end.
    env: Arc<Env>,
}

impl Txn {
    /// Returns the `db` directory, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.env.path
    }

    /// Returns the number of the commit that this transaction sees.
    pub(crate) fn id(&self) -> u64 {
        self.tx.id()
    }

    #[inline]
    fn handle(&self, table: Table) -> Result<Option<Handle>> {
        let cell = &self.tables[table as usize];
        if let Some(handle) = cell.get() {
            return Ok(*handle);
        }
        // A table that an older reth never created is treated as empty.
        let handle = self
            .tx
            .table(table.name())
            .map_err(|code| self.failure("open", table, code))?;
        Ok(*cell.get_or_init(|| handle))
    }

    /// Returns the value of a key.
    #[inline]
    pub(crate) fn get(&self, table: Table, key: &[u8]) -> Result<Option<&[u8]>> {
        let Some(handle) = self.handle(table)? else {
            return Ok(None);
        };
        self.tx
            .get(handle, key)
            .map_err(|code| self.failure("read", table, code))
    }

    /// Returns the first row with key >= `from`.
    pub(crate) fn seek(&self, table: Table, from: &[u8]) -> Result<Option<Row<'_>>> {
        let Some(handle) = self.handle(table)? else {
            return Ok(None);
        };
        self.tx
            .seek(handle, from)
            .map_err(|code| self.failure("read", table, code))
    }

    /// Returns the value of `key` that begins with `subkey`, from a table with duplicates.
    pub(crate) fn get_duplicate(
        &self,
        table: Table,
        key: &[u8],
        subkey: &[u8],
    ) -> Result<Option<&[u8]>> {
        let Some(handle) = self.handle(table)? else {
            return Ok(None);
        };
        let value = self
            .tx
            .seek_duplicate(handle, key, subkey)
            .map_err(|code| self.failure("read", table, code))?;
        Ok(value.filter(|value| value.starts_with(subkey)))
    }

    /// Returns the rows with key >= `from`, many at a time.
    pub(crate) fn batches(&self, table: Table, from: &[u8]) -> Result<Batches<'_>> {
        let mut walk = self.walk_from(table, from)?;
        let first = walk.next()?;
        Ok(Batches {
            cursor: walk.cursor.filter(|_| first.is_some()),
            txn: self,
            table,
        })
    }

    /// Returns the number of rows of a table.
    pub(crate) fn rows(&self, table: Table) -> Result<u64> {
        let Some(handle) = self.handle(table)? else {
            return Ok(0);
        };
        self.tx
            .rows(handle)
            .map_err(|code| self.failure("count", table, code))
    }

    /// Returns an iterator over the rows with key >= `from`, ascending.
    pub(crate) fn walk_from(&self, table: Table, from: &[u8]) -> Result<Walk<'_>> {
        let cursor = match self.handle(table)? {
            Some(handle) => Some(
                self.tx
                    .cursor(handle)
                    .map_err(|code| self.failure("walk", table, code))?,
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

    /// Returns the last row of a table.
    pub(crate) fn last(&self, table: Table) -> Result<Option<(&[u8], &[u8])>> {
        let mut walk = self.walk_from(table, &[])?;
        let Some(cursor) = &mut walk.cursor else {
            return Ok(None);
        };
        cursor
            .last()
            .map_err(|code| self.failure("read", table, code))
    }

    #[cold]
    fn failure(&self, verb: &str, table: Table, code: Code) -> Error {
        failure(
            self.path(),
            format!("{verb} table {}", table.name().to_string_lossy()),
            code,
        )
    }
}

/// Rows of a table in key order.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    txn: &'a Txn,
    table: Table,
    cursor: Option<raw::Cursor<'a>>,
    from: Option<Vec<u8>>,
}

impl<'a> Walk<'a> {
    /// Returns the next row; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<raw::Row<'a>>> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        let row = match self.from.take() {
            Some(from) if from.is_empty() => cursor.first(),
            Some(from) => cursor.seek(&from),
            None => cursor.next(),
        };
        row.map_err(|code| self.txn.failure("read", self.table, code))
    }
}

/// Rows of a table in key order, fetched many at a time.
#[derive(Debug)]
pub(crate) struct Batches<'a> {
    txn: &'a Txn,
    table: Table,
    /// At the next row; `None` for an empty table.
    cursor: Option<raw::Cursor<'a>>,
}

impl<'a> Batches<'a> {
    /// Appends the next rows. Appends nothing after the last row.
    pub(crate) fn next(&mut self, into: &mut Vec<raw::Row<'a>>) -> Result<()> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(());
        };
        cursor
            .rows(into)
            .map_err(|code| self.txn.failure("read", self.table, code))
    }
}

/// libmdbx reports "permission denied" for either of its files. This finds out whether the
/// data file is the one. Only called while the environment is not open in this process:
/// closing a second descriptor could release its locks.
fn unreadable(data_file: &Path, Code(code): Code) -> Option<Error> {
    if !matches!(code, ffi::MDBX_EACCESS | ffi::MDBX_EPERM) {
        return None;
    }
    let error = open_regular(data_file).err()?;
    let kind = error.kind();
    let advice = "run as the node's user, or give your user permission to read the file";
    let error = io::Error::new(kind, format!("{error}; {advice}"));
    Some(Error::io("open", data_file, error))
}

/// Makes an error from a code of libmdbx, with a remedy where there is one.
fn failure(path: &Path, action: String, Code(code): Code) -> Error {
    let advice = match code {
        ffi::MDBX_EACCESS | ffi::MDBX_EPERM => {
            "permission denied; a reader must be able to write db/mdbx.lck, where it registers itself: \
             run as the node's user, or give your user write permission for that file, \
             for example with `setfacl -m u:$USER:rw db/mdbx.lck`"
        }
        ffi::MDBX_VERSION_MISMATCH => {
            "the lock file belongs to another libmdbx (a running reth older than 1.4 or newer than 2.5): \
             stop the node, or use a txgraph built for that version"
        }
        ffi::MDBX_WANNA_RECOVERY => {
            "the database was not closed cleanly, or mdbx.dat was cut short; start the node once to recover \
             it, then try again"
        }
        ffi::MDBX_INVALID | ffi::MDBX_ENODATA => {
            "mdbx.dat is not an MDBX file, or its meta pages are damaged or missing"
        }
        ffi::MDBX_CORRUPTED | ffi::MDBX_PAGE_NOTFOUND => {
            "the database is damaged; run `reth db stats` or restore it from a copy"
        }
        ffi::MDBX_BUSY => "the environment is in use in an exclusive mode",
        ffi::MDBX_READERS_FULL => {
            "no free reader slot: other readers hold them all; stop some of them"
        }
        ffi::MDBX_UNABLE_EXTEND_MAPSIZE => "the database grew beyond its mapping: open it again",
        11 => {
            "a node is running, and db/ is on a read-only mount, where no reader slot can be taken: \
             mount it writable"
        }
        12 => {
            "not enough address space: libmdbx maps up to 8 TiB of it, which is not memory; raise `ulimit -v`"
        }
        23 | 24 => "too many open files; raise `ulimit -n`",
        30 => "the file system is read-only",
        _ => "",
    };
    let message = match advice {
        "" => format!("{} (code {code})", Code(code).text()),
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
    fn rejects_a_file_that_is_not_a_database() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mdbx.dat"), [7; 16384]).unwrap();
        let error = Env::open(dir.path()).unwrap_err();
        assert!(matches!(error, Error::Mdbx { .. }), "{error}");
    }
}
