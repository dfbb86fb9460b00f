//! `BlockBodyIndices` of consecutive blocks, read many rows at a time: a tenth of the cost
//! of single lookups.

use crate::{
    BlockRange, BodyIndices, Error, Gap, Part, Result, Snapshot,
    conf::Segment,
    mdbx::{Batches, Row},
    tables::{self, Table},
};
use alloy_consensus::constants::EMPTY_ROOT_HASH;

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

/// Why blocks below the first imported one have no bodies.
const NOT_IMPORTED: &str = "not stored: the node began with the state of a later block \
                            (reth init-state), or table BlockBodyIndices is damaged";

/// Why the block whose state the node began with has no body.
const HEADER_ONLY: &str =
    "only the header is stored: the node began with the state after this block (reth init-state)";

impl Snapshot<'_> {
    /// Returns the blocks without body indices, and the blocks of which only the header is stored.
    ///
    /// A node that began with the state after block N (`reth init-state --without-evm`) has
    /// dummy headers below N, and of N the header and an empty body (reth
    /// `crates/cli/commands/src/init_state/without_evm.rs`). A complete table costs only a few
    /// lookups.
    pub(crate) fn body_gaps(&self, inside: BlockRange) -> Result<Vec<Gap>> {
        let mut absent = Vec::new();
        let table = Table::BlockBodyIndices;
        // One more block, because the first one may be the first after a hole.
        let from = BlockRange {
            first: inside.first.saturating_sub(1),
            ..inside
        };
        self.without_rows(vec![from], table, &mut |blocks| {
            absent.push(blocks);
            Ok(())
        })?;
        let mut gaps = Vec::new();
        for run in absent {
            if let Some(blocks) = run.intersect(&inside) {
                let reason = NOT_IMPORTED.to_owned();
                gaps.push(Gap { blocks, reason });
            }
            let next = run.last + 1;
            if inside.contains(next) && self.has_header_only(next)? {
                let blocks = BlockRange::one(next);
                let reason = HEADER_ONLY.to_owned();
                gaps.push(Gap { blocks, reason });
            }
        }
        Ok(gaps)
    }

    /// Returns whether a block has transactions by its header, and none by its body indices.
    fn has_header_only(&self, block: u64) -> Result<bool> {
        if self.body(block)?.tx_count > 0 || self.files.find(Segment::Headers, block).is_none() {
            return Ok(false);
        }
        let scratch = &mut self.own_scratch.borrow_mut();
        let header = self.unchecked_header_of(block, scratch, block)?;
        Ok(header.transactions_root != EMPTY_ROOT_HASH)
    }
}
