//! The open parts of a data directory.

use crate::{
    DataDir, Result,
    mdbx::Env,
    rocks::Rocks,
    static_files::{Sealed, StaticFiles},
};
use std::sync::{Arc, Mutex, PoisonError};
use txgraph_base::ChainFamily;

/// An open data directory. Can be shared between threads. All users of a directory in one
/// process share its MDBX environment.
#[derive(Debug)]
pub struct NodeDb {
    dir: DataDir,
    env: Arc<Env>,
    sealed: Sealed,
    /// Fixes the layout of receipts.
    pub(crate) family: ChainFamily,
    /// Opened at the first use.
    rocks: Mutex<Option<Arc<Rocks>>>,
}

impl NodeDb {
    /// Opens an Ethereum node, until the family is known.
    pub(crate) fn new(dir: DataDir, env: Arc<Env>) -> Self {
        Self {
            dir,
            env,
            sealed: Sealed::default(),
            family: ChainFamily::Ethereum,
            rocks: Mutex::default(),
        }
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
