//! Opens a data directory, and begins snapshots of it.

use crate::{DataDir, NodeDb, Result, Snapshot, mdbx::Env, retry::retry_stale};

impl NodeDb {
    /// Opens a data directory read-only. The only write is the registration in MDBX's reader
    /// table.
    pub fn open(dir: &DataDir) -> Result<Self> {
        dir.check()?;
        let mut db = Self::new(dir.clone(), Env::open(&dir.db_path())?);
        db.family = db.read(|snapshot| {
            snapshot.layout()?;
            snapshot.find_family()
        })?;
        for bad in db.env().bad_meta_pages()? {
            tracing::warn!("{}: {bad}", db.dir().root.display());
        }
        Ok(db)
    }

    /// Runs `query` on a fresh snapshot, and again on another one if files changed.
    pub(crate) fn read<T>(&self, query: impl Fn(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        retry_stale(|| query(&Snapshot::begin(self)?))
    }

    /// Begins a read transaction, then lists the static files: the protocol of
    /// `docs/node-reader.md`. The listing is kept until the directory changes, so this is cheap.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        retry_stale(|| Snapshot::begin(self))
    }
}
