//! Finds the parts of a chain that exist. Neither a file's block range nor a missing prune
//! checkpoint proves that a receipt exists. It exists if and only if its transaction number is in
//! the `tx_range` of a jar, or is a key of the MDBX table. Missing numbers are found by subtraction
//! and then mapped to blocks, so a complete chain costs only a few lookups.

use crate::{
    BlockRange, Error, Part, Parts, Result, Snapshot, TxRange,
    checkpoint::PruneSegment,
    conf::Segment,
    jar::Jar,
    tables::{self, Table},
};
use serde::Serialize;
use std::sync::Arc;
use txgraph_base::BlockRanges;

/// The largest number of gaps; the last one includes all later gaps. A node that filters
/// receipts may have a gap in every other block.
const GAPS_MAX: usize = 4096;

/// A part of a range that cannot be read completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The first and the last block lack something. Blocks without transactions between them
    /// are included.
    pub blocks: BlockRange,
    /// The reason: "above the tip …", "receipts pruned …", "receipts filtered by log address …".
    pub reason: String,
}

impl Snapshot<'_> {
    /// Returns the blocks of `wanted` that cannot be read completely, ascending and disjoint,
    /// with the reason. An empty result means that every part of every block exists. Each
    /// part has at most 4096 gaps; the last one includes all later gaps.
    pub fn gaps(&self, wanted: BlockRange, parts: Parts) -> Result<Vec<Gap>> {
        if wanted.first > wanted.last {
            return Ok(Vec::new());
        }
        let mut by_part: Vec<Vec<Gap>> = Vec::new();
        if let Some(inside) = self.inside(wanted) {
            let headers = self.covered_by(Segment::Headers, inside);
            let all = BlockRanges::from(inside);
            let absent = all.subtract(&headers).iter().collect();
            by_part.push(self.explained(absent, Part::Header)?);
            let bodies = self.body_gaps(inside)?;
            let absent = bodies.iter().map(|gap| gap.blocks).collect();
            by_part.push(bodies);
            for inside in all.subtract(&absent).iter() {
                if parts.receipts {
                    by_part.push(self.explained(self.receipt_gaps(inside)?, Part::Receipts)?);
                }
                if parts.transactions {
                    let gaps = self.transaction_gaps(inside)?;
                    by_part.push(self.explained(gaps, Part::Transactions)?);
                } else if parts.senders {
                    by_part.push(self.explained(self.sender_gaps(inside)?, Part::Transactions)?);
                }
            }
        }
        let genesis = self.genesis_block();
        if wanted.first < genesis {
            by_part.push(vec![Gap {
                blocks: BlockRange::from_to(wanted.first, wanted.last.min(genesis - 1)),
                reason: format!("before the first block of the chain, {genesis}"),
            }]);
        }
        if wanted.last > self.tip() {
            by_part.push(vec![Gap {
                blocks: BlockRange::from_to(wanted.first.max(self.tip() + 1), wanted.last),
                reason: format!("above the tip {} on disk", self.tip()),
            }]);
        }
        Ok(union(&by_part))
    }

    /// Returns the part of a range between genesis and tip.
    fn inside(&self, wanted: BlockRange) -> Option<BlockRange> {
        wanted.intersect(&BlockRange::from_to(self.genesis_block(), self.tip()))
    }

    /// Returns the first block of the chain: 0, except for chains with another genesis number.
    pub(crate) fn genesis_block(&self) -> u64 {
        let mut jars = self.files.jars(Segment::Headers).iter();
        jars.find_map(|jar| Some(jar.conf.blocks?.first))
            .unwrap_or(0)
    }

    /// Returns the blocks in the jars of a block-based segment.
    pub(crate) fn covered_by(&self, segment: Segment, whole: BlockRange) -> BlockRanges {
        let jars = self.files.jars(segment).iter();
        let covered: BlockRanges = jars.filter_map(|jar| jar.conf.blocks).collect();
        covered.intersect(&whole.into())
    }

    /// Returns the blocks that lack receipts, or whose receipts cannot be read.
    pub(crate) fn receipt_gaps(&self, inside: BlockRange) -> Result<Vec<BlockRange>> {
        self.with_older_blocks(inside, |inside| self.missing_receipts(inside))
    }

    /// Adds the blocks of an older system before the first block of the family.
    fn with_older_blocks(
        &self,
        inside: BlockRange,
        gaps: impl Fn(BlockRange) -> Result<Vec<BlockRange>>,
    ) -> Result<Vec<BlockRange>> {
        let Some(older) = self.before_first_block()? else {
            return gaps(inside);
        };
        let mut all: Vec<_> = older.intersect(&inside).into_iter().collect();
        if let Some(rest) = BlockRange::new(inside.first.max(older.last + 1), inside.last) {
            all.extend(gaps(rest)?);
        }
        Ok(all)
    }

    fn missing_receipts(&self, inside: BlockRange) -> Result<Vec<BlockRange>> {
        let mut gaps = BlockGaps::new(self);
        let missing = self.without_jars(self.txs_of(inside)?, Segment::Receipts);
        self.without_rows(missing, Table::Receipts, &mut |txs| gaps.add(txs))?;
        Ok(gaps.blocks)
    }

    /// Returns the blocks that lack transactions, or whose transactions cannot be read.
    pub(crate) fn transaction_gaps(&self, inside: BlockRange) -> Result<Vec<BlockRange>> {
        self.with_older_blocks(inside, |inside| self.missing_transactions(inside))
    }

    fn missing_transactions(&self, inside: BlockRange) -> Result<Vec<BlockRange>> {
        let mut gaps = BlockGaps::new(self);
        for txs in self.without_jars(self.txs_of(inside)?, Segment::Transactions) {
            gaps.add(txs)?;
        }
        Ok(gaps.blocks)
    }

    /// Returns the blocks that lack stored senders.
    pub(crate) fn stored_sender_gaps(&self, inside: BlockRange) -> Result<Vec<BlockRange>> {
        let mut gaps = BlockGaps::new(self);
        let missing = self.without_jars(self.txs_of(inside)?, Segment::TransactionSenders);
        self.without_rows(missing, Table::TransactionSenders, &mut |txs| gaps.add(txs))?;
        Ok(gaps.blocks)
    }

    /// Returns the blocks with transactions whose rows are in these jars, ascending.
    pub(crate) fn blocks_in_jars<'j>(
        &self,
        within: BlockRange,
        jars: impl Iterator<Item = &'j Arc<Jar>>,
    ) -> Result<Vec<BlockRange>> {
        let mut gaps = BlockGaps::new(self);
        let txs = self.txs_of(within)?;
        for held in jars.filter_map(|jar| jar.row_range()) {
            for txs in txs.iter().filter_map(|txs| txs.intersect(&held)) {
                gaps.add(txs)?;
            }
        }
        Ok(gaps.blocks)
    }

    /// Returns the blocks whose senders are neither stored nor recoverable.
    fn sender_gaps(&self, inside: BlockRange) -> Result<Vec<BlockRange>> {
        let mut gaps = BlockGaps::new(self);
        let missing = self.without_jars(self.txs_of(inside)?, Segment::Transactions);
        let missing = self.without_jars(missing, Segment::TransactionSenders);
        self.without_rows(missing, Table::TransactionSenders, &mut |txs| gaps.add(txs))?;
        Ok(gaps.blocks)
    }

    /// Returns the numbers of all transactions of a block range, as at most one range.
    fn txs_of(&self, blocks: BlockRange) -> Result<Vec<TxRange>> {
        let first = self.body(blocks.first)?.first_tx;
        let last = self.body(blocks.last)?;
        let end = last.first_tx + last.tx_count;
        if first > end {
            return Err(Error::Inconsistent {
                block: blocks.last,
                what: format!(
                    "its transactions end at number {end}, before the transactions of block {}, which begin at {first}",
                    blocks.first
                ),
            });
        }
        Ok(if first < end {
            vec![TxRange {
                first,
                last: end - 1,
            }]
        } else {
            Vec::new()
        })
    }

    fn without_jars(&self, ranges: Vec<TxRange>, segment: Segment) -> Vec<TxRange> {
        let jars = self.files.jars(segment).iter();
        let present = jars.filter_map(|jar| jar.row_range()).collect();
        BlockRanges::new(ranges).subtract(&present).iter().collect()
    }

    /// Passes every run of numbers that are not keys of a table to `missing`, ascending.
    pub(crate) fn without_rows(
        &self,
        ranges: Vec<TxRange>,
        table: Table,
        missing: &mut dyn FnMut(TxRange) -> Result<()>,
    ) -> Result<()> {
        let Some(keys) = (if ranges.is_empty() {
            None
        } else {
            self.key_range(table)?
        }) else {
            return ranges.into_iter().try_for_each(missing);
        };
        // Keys are unique: if there are as many rows as numbers between the first and the
        // last key, none is missing between them.
        if keys.blocks() == self.txn.rows(table)? {
            let ranges = BlockRanges::new(ranges).subtract(&keys.into());
            return ranges.iter().try_for_each(missing);
        }
        for range in ranges {
            let mut next = range.first;
            let mut rows = self
                .txn
                .walk_from(table, &tables::number_key(range.first))?;
            while let Some((key, _)) = rows.next()? {
                let number = self.tx_key(table, key)?;
                if number > range.last {
                    break;
                }
                if next < number {
                    missing(TxRange {
                        first: next,
                        last: number - 1,
                    })?;
                }
                next = number + 1;
            }
            if next <= range.last {
                missing(TxRange {
                    first: next,
                    last: range.last,
                })?;
            }
        }
        Ok(())
    }

    /// Returns the first and the last key of a table that is keyed by a number.
    pub(crate) fn key_range(&self, table: Table) -> Result<Option<TxRange>> {
        let first = self.txn.walk_from(table, &[])?.next()?;
        let (Some((first, _)), Some((last, _))) = (first, self.txn.last(table)?) else {
            return Ok(None);
        };
        Ok(Some(TxRange {
            first: self.tx_key(table, first)?,
            last: self.tx_key(table, last)?,
        }))
    }

    fn tx_key(&self, table: Table, key: &[u8]) -> Result<u64> {
        tables::key_number(key).map_err(|what| self.bad_row(table, "(unknown)", what))
    }

    /// Returns the block of a transaction.
    pub(crate) fn block_of_tx(&self, tx: u64) -> Result<u64> {
        let row = self
            .txn
            .walk_from(Table::TransactionBlocks, &tables::number_key(tx))?
            .next()?;
        let Some((_, block)) = row else {
            let what = "no block has this transaction";
            return Err(self.bad_value(Table::TransactionBlocks, tx, what));
        };
        tables::plain_u64(block).map_err(|what| self.bad_value(Table::TransactionBlocks, tx, what))
    }

    fn explained(&self, blocks: Vec<BlockRange>, part: Part) -> Result<Vec<Gap>> {
        let pruned_to = self.part_pruned_to(part)?;
        let mut gaps = Vec::new();
        for blocks in blocks {
            // Pruned blocks and others get separate gaps.
            let pieces = match pruned_to {
                Some(last) if blocks.first <= last && last < blocks.last => vec![
                    BlockRange::from_to(blocks.first, last),
                    BlockRange::from_to(last + 1, blocks.last),
                ],
                _ => vec![blocks],
            };
            for blocks in pieces {
                gaps.push(Gap {
                    blocks,
                    reason: self.reason(part, blocks.last)?,
                });
            }
        }
        Ok(gaps)
    }

    /// Returns the highest block of which the node pruned a part.
    pub(crate) fn part_pruned_to(&self, part: Part) -> Result<Option<u64>> {
        Ok(match part {
            Part::Receipts => self.pruned_to(PruneSegment::Receipts)?,
            Part::Transactions => self
                .pruned_to(PruneSegment::Bodies)?
                .max(self.pruned_to(PruneSegment::TransactionsBefore2)?),
            Part::AccountChanges => self.pruned_to(PruneSegment::AccountHistory)?,
            Part::StorageChanges => self.pruned_to(PruneSegment::StorageHistory)?,
            Part::Header | Part::Body => None,
        })
    }

    /// Returns why a part of a block is missing, as far as it is known.
    pub(crate) fn reason(&self, part: Part, block: u64) -> Result<String> {
        if let Some(last) = self.part_pruned_to(part)?
            && block <= last
        {
            return Ok(format!("{part} pruned up to block {last}"));
        }
        if matches!(part, Part::Receipts | Part::Transactions)
            && let Some(older) = self.before_first_block()?
            && block <= older.last
        {
            return Ok(format!(
                "blocks before Bedrock are not supported: block {} is the first of the OP stack",
                older.last + 1
            ));
        }
        match part {
            Part::Receipts => {}
            Part::Transactions => {
                return Ok(
                    "transactions are not stored (expired history, or a static file is missing)"
                        .into(),
                );
            }
            Part::AccountChanges | Part::StorageChanges => {
                return Ok(format!("no static file has the {part} of this block"));
            }
            Part::Header | Part::Body => {
                return Ok("headers are not stored (a static file is missing)".into());
            }
        }
        let filtered = self.pruned_to(PruneSegment::ContractLogs)?;
        let rows = self.txn.rows(Table::Receipts)?;
        let holes = self
            .key_range(Table::Receipts)?
            .is_some_and(|keys| keys.blocks() != rows);
        Ok(if holes || filtered.is_some_and(|last| block <= last) {
            "receipts filtered by log address: the node stored only some of them".into()
        } else {
            "receipts are not stored (excluded by the node's prune settings, or a static file is \
             missing)"
                .into()
        })
    }

    /// The error for a part that a scan did not find.
    #[cold]
    pub(crate) fn missing(&self, part: Part, block: u64) -> Error {
        match self.reason(part, block) {
            Ok(reason) => Error::Missing {
                part,
                block,
                reason,
            },
            Err(error) => error,
        }
    }
}

/// Turns runs of missing transactions, in ascending order, into runs of blocks.
struct BlockGaps<'a> {
    snapshot: &'a Snapshot<'a>,
    blocks: Vec<BlockRange>,
    /// The last transaction of the last of `blocks`.
    last_tx: Option<u64>,
}

impl<'a> BlockGaps<'a> {
    const fn new(snapshot: &'a Snapshot<'a>) -> Self {
        Self {
            snapshot,
            blocks: Vec::new(),
            last_tx: None,
        }
    }

    fn add(&mut self, txs: TxRange) -> Result<()> {
        if self.last_tx.is_some_and(|last_tx| txs.last <= last_tx) {
            return Ok(());
        }
        // Then there are only blocks without transactions between the two.
        let follows = self.last_tx.is_some_and(|last_tx| txs.first <= last_tx + 1);
        let full = self.blocks.len() >= GAPS_MAX;
        let last = self.snapshot.block_of_tx(txs.last)?;
        match self.blocks.last_mut() {
            Some(before) if follows || full => before.last = last,
            _ => {
                let first = self.snapshot.block_of_tx(txs.first)?;
                self.blocks.push(BlockRange { first, last });
            }
        }
        let body = self.snapshot.body(last)?;
        self.last_tx = (body.first_tx + body.tx_count).checked_sub(1);
        Ok(())
    }
}

/// Merges lists of gaps into one. Each list is ascending and disjoint, and so is the result.
/// Reasons of overlapping gaps are joined.
fn union(lists: &[Vec<Gap>]) -> Vec<Gap> {
    let mut starts: Vec<u64> = Vec::new();
    for gap in lists.iter().flatten() {
        starts.push(gap.blocks.first);
        starts.extend(gap.blocks.last.checked_add(1));
    }
    starts.sort_unstable();
    starts.dedup();
    let mut next = vec![0; lists.len()];
    let mut gaps: Vec<Gap> = Vec::new();
    for (index, first) in starts.iter().copied().enumerate() {
        let last = starts.get(index + 1).map_or(u64::MAX, |next| next - 1);
        let mut reasons: Vec<&str> = Vec::new();
        for (list, next) in lists.iter().zip(&mut next) {
            while list.get(*next).is_some_and(|gap| gap.blocks.last < first) {
                *next += 1;
            }
            if let Some(gap) = list.get(*next).filter(|gap| gap.blocks.contains(first))
                && !reasons.contains(&gap.reason.as_str())
            {
                reasons.push(&gap.reason);
            }
        }
        if reasons.is_empty() {
            continue;
        }
        let reason = reasons.join("; ");
        match gaps.last_mut() {
            Some(before) if before.reason == reason && before.blocks.last + 1 == first => {
                before.blocks.last = last;
            }
            _ => gaps.push(Gap {
                blocks: BlockRange { first, last },
                reason,
            }),
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(first: u64, last: u64) -> BlockRange {
        BlockRange { first, last }
    }

    fn gap(first: u64, last: u64, reason: &str) -> Gap {
        Gap {
            blocks: blocks(first, last),
            reason: reason.into(),
        }
    }

    #[test]
    fn merges_gaps() {
        assert_eq!(union(&[]), []);
        let receipts = vec![gap(1, 5, "r"), gap(8, 9, "r")];
        let bodies = vec![gap(3, 8, "b")];
        let above = vec![gap(10, u64::MAX, "a")];
        assert_eq!(
            union(&[receipts, bodies, above]),
            [
                gap(1, 2, "r"),
                gap(3, 5, "r; b"),
                gap(6, 7, "b"),
                gap(8, 8, "r; b"),
                gap(9, 9, "r"),
                gap(10, u64::MAX, "a"),
            ]
        );
    }
}
