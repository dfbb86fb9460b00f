//! The last transfers of a block range, and the hashes of some transfers.

use super::{
    blocks::{Order, chunks, growing},
    neighbors::check_last,
    retry::retry_on_reorg,
    transfers::{FirstTransfers, PreparedTransfers},
};
use crate::Result;
use std::{collections::VecDeque, ops::ControlFlow};
use txgraph_transfers::{ScanReport, Transfer};

/// Blocks that are read first. Most queries for the last transfers end in them.
const FIRST_BLOCKS: u64 = 256;

/// The same if blocks are replayed.
const FIRST_REPLAYED_BLOCKS: u64 = 16;

/// How many times as many blocks are read next.
const FACTOR: u64 = 4;

impl PreparedTransfers<'_> {
    /// Returns the last transfers that are `wanted`, the newest first, at most `transfers_max` of them.
    /// Reads blocks from the last one back until it has them; the report covers those blocks. Starts
    /// again when the chain is reorganized in the meantime.
    ///
    /// # Errors
    ///
    /// If reading fails, or a block of the query is missing, also one that is not read.
    pub fn newest(
        &self,
        transfers_max: usize,
        wanted: impl Fn(&Transfer) -> bool,
    ) -> Result<FirstTransfers> {
        let first = match self.request().filter.internal {
            true => FIRST_REPLAYED_BLOCKS,
            false => FIRST_BLOCKS,
        };
        retry_on_reorg(self.source(), || {
            self.newest_by(growing(first, FACTOR, u64::MAX), transfers_max, &wanted)
        })
    }

    /// The same, with windows of these sizes.
    fn newest_by(
        &self,
        mut sizes: impl Iterator<Item = u64>,
        transfers_max: usize,
        wanted: &impl Fn(&Transfer) -> bool,
    ) -> Result<FirstTransfers> {
        let from = self.source().transfer_source(&self.request().filter)?;
        if !self.request().allow_partial {
            from.check_available(self.request())?;
        }
        let ranges: Vec<_> = self.blocks().iter().collect();
        let mut windows = Vec::new();
        for range in ranges.into_iter().rev() {
            windows.extend(chunks(range, Order::NewestFirst, &mut sizes));
        }
        let (mut transfers, mut reports) = (Vec::new(), Vec::new());
        for window in windows {
            // One more shows whether there are more.
            let most = (transfers_max - transfers.len()).saturating_add(1);
            let mut last = VecDeque::new();
            reports.push(self.at(window).for_each(|batch| {
                for transfer in batch.transfers.into_iter().filter(wanted) {
                    if last.len() == most {
                        last.pop_front();
                    }
                    last.push_back(transfer);
                }
                Ok(ControlFlow::Continue(()))
            })?);
            transfers.extend(last.into_iter().rev());
            if transfers.len() > transfers_max {
                break;
            }
        }
        let mut scan = ScanReport::joined(reports.into_iter().rev());
        // The windows were read one after the other.
        check_last(&*from, &scan)?;
        scan.caveats.extend(self.cut().map(str::to_owned));
        let has_more = transfers.len() > transfers_max;
        transfers.truncate(transfers_max);
        Ok(FirstTransfers {
            transfers,
            has_more,
            scan,
        })
    }

    /// Adds the hashes and times that a scan of [`Self::numbers_only`] left out to some of its transfers.
    ///
    /// # Errors
    ///
    /// If reading fails, or blocks of the scan were replaced.
    pub fn fill_hashes(&self, transfers: &mut [Transfer], scan: &ScanReport) -> Result<()> {
        let from = self.source().transfer_source(&self.request().filter)?;
        Ok(from.fill_hashes(transfers, &scan.anchors)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::Source;
    use std::{iter, ops::ControlFlow};
    use txgraph_testkit::{fixtures, or_skip};

    /// All lengths of lists, with windows whose borders are at every block.
    #[test]
    fn the_newest_are_the_last_of_all_in_reverse() {
        for fixture in fixtures::committed() {
            let source = Source::builder(fixture.path()).threads(2).open().unwrap();
            for query in [
                source.transfers(),
                source
                    .transfers()
                    .blocks(3..9)
                    .blocks(11..12)
                    .blocks(20..37),
            ] {
                let query = query.prepare().unwrap();
                let mut all = Vec::new();
                let report = query.for_each(|mut batch| {
                    all.append(&mut batch.transfers);
                    Ok(ControlFlow::Continue(()))
                });
                let report = report.unwrap();
                all.reverse();
                let is_even =
                    |it: &txgraph_transfers::Transfer| it.transaction_index.is_multiple_of(2);
                let even: Vec<_> = all.iter().filter(|it| is_even(it)).cloned().collect();
                for size in [1, 2, 7, 40, 1000] {
                    let sizes = || iter::repeat(size);
                    let whole = query.newest_by(sizes(), usize::MAX, &|_| true).unwrap();
                    assert_eq!(whole.transfers, all);
                    assert!(!whole.has_more);
                    // One scan has the same report, except for what depends on the chunks.
                    assert_eq!(whole.scan.covered, report.covered);
                    assert_eq!(whole.scan.last_block_hash, report.last_block_hash);
                    assert_eq!(whole.scan.counts.transfers, report.counts.transfers);
                    assert_eq!(whole.scan.counts.blocks, report.counts.blocks);
                    for count in (0..all.len() + 2).step_by(13).chain([all.len()]) {
                        let found = query.newest_by(sizes(), count, &|_| true).unwrap();
                        assert!(found.transfers.iter().eq(all.iter().take(count)), "{size}");
                        assert_eq!(found.has_more, count < all.len(), "{size} {count}");
                    }
                    let found = query.newest_by(sizes(), 20, &is_even).unwrap();
                    assert!(found.transfers.iter().eq(even.iter().take(20)));
                }
                // Only the newest blocks were read.
                let few = query.newest_by(iter::repeat(2), 1, &|_| true).unwrap();
                assert!(few.scan.counts.blocks < 10, "{:?}", few.scan.counts);
            }
        }
    }

    /// Windows in which all blocks are missing, and gaps that they divide.
    #[test]
    fn windows_state_the_same_gaps_as_one_scan() {
        let fixture = or_skip!(fixtures::fixture("pruned/dev-v2-distance"));
        let source = Source::builder(fixture.path()).threads(2).open().unwrap();
        let query = source.transfers();
        let strict = query.clone().prepare().unwrap();
        let error = strict.newest(1, |_| true).unwrap_err();
        assert_eq!(error.kind, crate::ErrorKind::Unavailable);
        let query = query.allow_partial().prepare().unwrap();
        let first = query.first(usize::MAX).unwrap();
        let newest = query.newest_by(iter::repeat(100), usize::MAX, &|_| true);
        let newest = newest.unwrap();
        assert!(newest.transfers.iter().eq(first.transfers.iter().rev()));
        assert!(!newest.scan.missing.is_empty());
        assert_eq!(newest.scan.missing, first.scan.missing);
        assert_eq!(newest.scan.covered, first.scan.covered);
    }

    #[test]
    fn hashes_that_were_left_out_are_filled() {
        let [fixture, _] = fixtures::committed();
        let source = Source::builder(fixture.path()).threads(2).open().unwrap();
        let query = source.transfers().prepare().unwrap();
        let whole = query.first(usize::MAX).unwrap().transfers;
        let scanned = query.clone().numbers_only();
        let mut found = scanned.newest(usize::MAX, |_| true).unwrap();
        assert!(
            found
                .transfers
                .iter()
                .all(|it| it.transaction_hash.is_none())
        );
        query
            .fill_hashes(&mut found.transfers, &found.scan)
            .unwrap();
        assert!(found.transfers.iter().eq(whole.iter().rev()));
        // Conditions on transactions need no hashes, and those on signers have them.
        let one = whole
            .iter()
            .find(|it| it.transaction_hash.is_some())
            .unwrap();
        let (block, index) = one.transaction();
        let of_one = source
            .transfers()
            .transaction(block, index)
            .prepare()
            .unwrap();
        let expected = of_one.first(usize::MAX).unwrap().transfers;
        assert!(!expected.is_empty());
        assert_eq!(of_one.first(1).unwrap().transfers, expected[..1]);
        let signed = source.transfers().not_by_owner().prepare().unwrap();
        let expected = signed.first(usize::MAX).unwrap().transfers;
        assert!(expected.len() > 5);
        assert_eq!(signed.first(5).unwrap().transfers, expected[..5]);
    }
}
