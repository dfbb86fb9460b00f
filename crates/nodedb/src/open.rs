//! An open data directory.

use crate::{
    DataDir, Error, Result, Snapshot,
    mdbx::Env,
    rocks::Rocks,
    static_files::{Sealed, StaticFiles},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use txgraph_base::ChainFamily;
use txgraph_work::Retry;

/// The attempts at everything in this crate that a node can disturb, within about 250 ms.
/// It finishes its file operations within milliseconds.
pub(crate) const SNAPSHOT: Retry = Retry {
    attempts: 8,
    backoff: Duration::from_millis(2),
};

/// An open data directory. Can be shared between threads. All users of a directory in one
/// process share its MDBX environment.
#[derive(Debug)]
pub struct NodeDb {
    dir: DataDir,
    env: Arc<Env>,
    sealed: Sealed,
    /// Fixes the layout of receipts.
    family: ChainFamily,
    /// Opened at the first use.
    rocks: Mutex<Option<Arc<Rocks>>>,
}

impl NodeDb {
    /// Opens a data directory read-only. The only write is the registration in MDBX's reader
    /// table.
    pub fn open(dir: &DataDir) -> Result<Self> {
        dir.check()?;
        let env = Env::open(&dir.db_path())?;
        let mut db = Self {
            dir: dir.clone(),
            env,
            sealed: Sealed::default(),
            family: ChainFamily::Ethereum,
            rocks: Mutex::default(),
        };
        db.family = db.read(|snapshot| {
            snapshot.layout()?;
            snapshot.find_family()
        })?;
        for bad in db.env.bad_meta_pages()? {
            tracing::warn!("{}: {bad}", db.dir.root.display());
        }
        Ok(db)
    }

    /// Runs `question` on a fresh snapshot, and again on another one if files changed.
    pub(crate) fn read<T>(&self, question: impl Fn(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        retry_stale(|| question(&Snapshot::begin(self)?))
    }

    /// Begins a read transaction, then lists the static files: the protocol of
    /// `docs/node-reader.md`. The listing is kept until the directory changes, so this is cheap.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        retry_stale(|| Snapshot::begin(self))
    }

    /// Returns the paths of this directory.
    pub const fn dir(&self) -> &DataDir {
        &self.dir
    }

    /// Returns which kind of node wrote the directory.
    pub const fn family(&self) -> ChainFamily {
        self.family
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

    pub(crate) fn list_static_files(&self) -> Result<Arc<StaticFiles>> {
        self.sealed.list(&self.dir.static_files_path())
    }

    /// Makes the next snapshot list the static files, although their directory looks unchanged.
    pub(crate) fn forget_listing(&self) {
        self.sealed.forget_listing();
    }
}

/// Repeats an attempt while it gives a stale error, see [`retry`].
fn retry_stale<T>(attempt: impl FnMut() -> Result<T>) -> Result<T> {
    retry(Error::is_stale, attempt)
}

/// Repeats an attempt while its error satisfies `again`, see [`SNAPSHOT`].
pub(crate) fn retry<T>(
    again: impl Fn(&Error) -> bool,
    attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    SNAPSHOT.run("reading the files of the node", again, attempt)
}
