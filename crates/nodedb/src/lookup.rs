//! Where a transaction is, by its hash.

use crate::{
    Error, Layout, Result, Scratch, Snapshot,
    tables::{self, Table},
};
use alloy_primitives::B256;

impl Snapshot<'_> {
    /// Block and index of a transaction; `None` when the node's index does not hold it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] in the v2 layout, whose index is not in MDBX.
    pub fn find_transaction(&self, hash: B256) -> Result<Option<(u64, u32)>> {
        if self.layout()? == Layout::V2 {
            return Err(Error::Unsupported {
                path: self.db.dir().root.clone(),
                what: format!(
                    "transaction {hash} cannot be looked up: this node keeps its index of \
                     transaction hashes in RocksDB; name the transaction by block and index"
                ),
            });
        }
        let Some(value) = (self.txn).get(Table::TransactionHashNumbers, hash.as_slice())? else {
            return Ok(None);
        };
        let tx = tables::plain_u64(value)
            .map_err(|what| self.bad_row(Table::TransactionHashNumbers, &hash.to_string(), what))?;
        let block = self.block_of_tx(tx)?;
        let body = self.body(block)?;
        let index = tx
            .checked_sub(body.first_tx)
            .filter(|at| *at < body.tx_count);
        let Some(index) = index.and_then(|index| u32::try_from(index).ok()) else {
            return Err(inconsistent(block, hash, tx));
        };
        let stored = self.signed_transaction(block, index, &mut Scratch::default())?;
        if *stored.tx_hash() != hash {
            return Err(inconsistent(block, hash, tx));
        }
        Ok(Some((block, index)))
    }
}

#[cold]
fn inconsistent(block: u64, hash: B256, tx: u64) -> Error {
    Error::Inconsistent {
        block,
        what: format!("the index says that transaction {hash} has number {tx}, which is another"),
    }
}
