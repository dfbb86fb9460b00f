//! `BlockBodyIndices` of consecutive blocks, read many rows at a time: a tenth of the cost
//! of single lookups.

use crate::{
    BlockRange, BodyIndices, Error, Part, Result, Snapshot,
    mdbx::{Batches, Row},
    tables::{self, Table},
};

/// Reads the body indices of a range block by block. A missing block is an error.
#[derive(Debug)]
pub(crate) struct Bodies<'s> {
    snapshot: &'s Snapshot<'s>,
    batches: Batches<'s>,
    rows: Vec<Row<'s>>,
    /// The next of `rows` to return.
    next_row: usize,
    next_block: u64,
    /// The number of the first transaction after the last returned block.
    end_tx: Option<u64>,
}

impl Snapshot<'_> {
    pub(crate) fn bodies(&self, blocks: BlockRange) -> Result<Bodies<'_>> {
        self.check_tip(blocks.last)?;
        Ok(Bodies {
            snapshot: self,
            batches: self
                .txn
                .batches(Table::BlockBodyIndices, &tables::number_key(blocks.first))?,
            rows: Vec::new(),
            next_row: 0,
            next_block: blocks.first,
            end_tx: None,
        })
    }
}

impl Bodies<'_> {
    /// Returns the indices of the next block. Must not be called after the end of the range.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<BodyIndices> {
        let block = self.next_block;
        if self.next_row == self.rows.len() {
            self.rows.clear();
            self.next_row = 0;
            self.batches.next(&mut self.rows)?;
        }
        let value = match self.rows.get(self.next_row) {
            Some((key, value)) if **key == tables::number_key(block) => *value,
            _ => return Err(self.snapshot.missing_body(block)),
        };
        let body = tables::body_indices(value).map_err(|what| {
            self.snapshot
                .bad_value(Table::BlockBodyIndices, block, what)
        })?;
        if let Some(end_tx) = self.end_tx.filter(|end_tx| *end_tx != body.first_tx) {
            return Err(Error::Inconsistent {
                block,
                what: format!(
                    "its first transaction has number {}, expected {end_tx} after the previous block",
                    body.first_tx
                ),
            });
        }
        self.next_row += 1;
        self.next_block += 1;
        // Cannot overflow: checked when it was decoded.
        self.end_tx = Some(body.first_tx + body.tx_count);
        Ok(body)
    }
}

impl Snapshot<'_> {
    /// The error for a block without body indices.
    #[cold]
    pub(crate) fn missing_body(&self, block: u64) -> Error {
        Error::Missing {
            part: Part::Body,
            block,
            reason: "table BlockBodyIndices has no row for it".into(),
        }
    }
}
