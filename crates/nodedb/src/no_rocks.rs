//! Replaces `rocks.rs` in a build without RocksDB. The type of an open RocksDB has no values.

use crate::{Error, Result, mdbx::Row, tables::Table};
use std::path::Path;

/// An open RocksDB.
#[derive(Debug)]
pub(crate) enum Rocks {}

impl Rocks {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Err(Error::Unsupported {
            path: path.to_path_buf(),
            what:
                "this program was built without RocksDB (cargo feature `rocksdb`), which has the \
                   indices of layout v2"
                    .into(),
        })
    }

    pub(crate) const fn catch_up(&self, _commit: u64) -> Result<()> {
        match *self {}
    }

    pub(crate) const fn has(&self, _table: Table) -> bool {
        match *self {}
    }

    pub(crate) const fn view(&self) -> View<'_> {
        match *self {}
    }
}

/// A fixed state of RocksDB between two catch-ups.
#[derive(Debug)]
pub(crate) struct View<'r>(&'r Rocks);

impl View<'_> {
    pub(crate) const fn commit(&self) -> u64 {
        match *self.0 {}
    }

    pub(crate) fn seek<T>(
        &self,
        _table: Table,
        _from: &[u8],
        _read: impl FnOnce(Option<Row<'_>>) -> Result<T>,
    ) -> Result<T> {
        match *self.0 {}
    }
}
