//! Looks up transactions by hash.

use crate::{
    Error, Result, Scratch, Snapshot,
    tables::{self, Table},
};
use alloy_primitives::B256;

impl Snapshot<'_> {
    /// Returns block and index of a transaction; `None` if the node's index does not have it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the v2 layout lacks RocksDB, or it cannot be read.
    pub fn find_transaction(&self, hash: B256) -> Result<Option<(u64, u32)>> {
        let table = Table::TransactionHashNumbers;
        if let Some(obstacle) = self.unreachable_index(&[table])? {
            return Err(Error::Unsupported {
                path: self.db.dir().root.clone(),
                what: format!(
                    "transaction {hash} cannot be looked up: {obstacle}; use its block and index \
                     instead"
                ),
            });
        }
        let tx = self.seek_index(table, hash.as_slice(), |row| match row {
            Some((key, value)) if key == hash => tables::plain_u64(value)
                .map(Some)
                .map_err(|what| self.bad_row(table, &hash.to_string(), what)),
            _ => Ok(None),
        })?;
        // RocksDB may have transactions of blocks above the tip.
        let end = self.body(self.tip())?;
        let Some(tx) = tx.filter(|tx| *tx < end.first_tx + end.tx_count) else {
            return Ok(None);
        };
        let block = self.block_of_tx(tx)?;
        let body = self.body(block)?;
        let index = tx
            .checked_sub(body.first_tx)
            .filter(|at| *at < body.tx_count);
        let Some(index) = index.and_then(|index| u32::try_from(index).ok()) else {
            return Err(inconsistent(block, hash, tx));
        };
        let stored = self.stored_transaction(block, index, &mut Scratch::default())?;
        if stored.hash() != hash {
            return Err(inconsistent(block, hash, tx));
        }
        Ok(Some((block, index)))
    }
}

#[cold]
fn inconsistent(block: u64, hash: B256, tx: u64) -> Error {
    Error::Inconsistent {
        block,
        what: format!(
            "the index maps hash {hash} to transaction number {tx}, which has another hash"
        ),
    }
}
