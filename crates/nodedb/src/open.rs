//! An open data directory.

use crate::{
    DataDir, Error, Result, Snapshot,
    mdbx::Env,
    rocks::Rocks,
    static_files::{Sealed, StaticFiles},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

/// How often a stale view is taken again before the error stands: the node
/// finishes what it was doing within milliseconds.
const ATTEMPTS_MAX: u32 = 8;

/// An open data directory. Shared between threads; one per directory and process.
#[derive(Debug)]
pub struct NodeDb {
    dir: DataDir,
    env: Arc<Env>,
    sealed: Sealed,
    /// Opened when first asked.
    rocks: Mutex<Option<Arc<Rocks>>>,
}

impl NodeDb {
    /// Opens a data directory read-only. Registers in MDBX' reader table and
    /// writes nothing else.
    pub fn open(dir: &DataDir) -> Result<Self> {
        dir.check()?;
        let env = Env::open(&dir.db_path())?;
        let db = Self {
            dir: dir.clone(),
            env,
            sealed: Sealed::default(),
            rocks: Mutex::default(),
        };
        db.read(|snapshot| {
            snapshot.layout()?;
            snapshot.refuse_op_stack()
        })?;
        for bad in db.env.bad_meta_pages()? {
            tracing::warn!("{}: {bad}", db.dir.root.display());
        }
        Ok(db)
    }

    /// Asks a fresh snapshot, and another one if files changed meanwhile.
    pub(crate) fn read<T>(&self, question: impl Fn(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        retry_stale(|| question(&Snapshot::begin(self)?))
    }

    /// Begins a read transaction, then lists the static files (section 8.2 of the
    /// reader protocol). Cheap: full jars are not looked into again.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        retry_stale(|| Snapshot::begin(self))
    }

    /// Where the parts of this directory lie.
    pub const fn dir(&self) -> &DataDir {
        &self.dir
    }

    pub(crate) const fn env(&self) -> &Arc<Env> {
        &self.env
    }

    pub(crate) fn rocks(&self) -> Result<Arc<Rocks>> {
        let mut rocks = self.rocks.lock().unwrap_or_else(PoisonError::into_inner);
        match &*rocks {
            Some(open) => Ok(Arc::clone(open)),
            None => {
                let open = Arc::new(Rocks::open(&self.dir.rocksdb_path())?);
                Ok(Arc::clone(rocks.insert(open)))
            }
        }
    }

    pub(crate) fn list_static_files(&self) -> Result<StaticFiles> {
        self.sealed.list(&self.dir.static_files_path())
    }
}

/// Repeats what failed because files changed, with growing pauses, at most
/// [`ATTEMPTS_MAX`] times (about 250 ms in all).
pub(crate) fn retry_stale<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for tried in 0..ATTEMPTS_MAX - 1 {
        match attempt() {
            Err(Error::Stale { .. }) => thread::sleep(Duration::from_millis(2 << tried)),
            done => return done,
        }
    }
    attempt()
}
