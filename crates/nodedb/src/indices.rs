//! Tables that layout v1 has in MDBX and v2 in RocksDB, with the same keys and values:
//! history indices, and transaction numbers by hash.

use crate::{Layout, Result, Snapshot, mdbx::Row, rocks::Rocks, tables::Table};

impl Snapshot<'_> {
    /// Reads the first row of an index with a key >= `from`.
    pub(crate) fn seek_index<T>(
        &self,
        table: Table,
        from: &[u8],
        read: impl FnOnce(Option<Row<'_>>) -> Result<T>,
    ) -> Result<T> {
        match self.layout()? {
            Layout::V1 => read(self.txn.seek(table, from)?),
            Layout::V2 => self.rocks()?.view().seek(table, from, read),
        }
    }

    /// Returns why tables cannot be read, if so.
    pub(crate) fn unreachable_index(&self, tables: &[Table]) -> Result<Option<String>> {
        if self.layout()? == Layout::V1 {
            return Ok(None);
        }
        Ok(match self.rocks() {
            Err(error) => Some(error.to_string()),
            Ok(rocks) => tables
                .iter()
                .find(|table| !rocks.has(**table))
                .map(|table| {
                    let name = table.name().to_string_lossy();
                    format!("RocksDB has no column family {name}")
                }),
        })
    }

    /// Returns RocksDB, caught up with this snapshot.
    pub(crate) fn rocks(&self) -> Result<&Rocks> {
        if let Some(rocks) = self.rocks.get() {
            return Ok(rocks);
        }
        let rocks = self.db.rocks()?;
        // After the transaction began, so all its blocks are included.
        rocks.catch_up(self.id())?;
        Ok(self.rocks.get_or_init(|| rocks))
    }
}
