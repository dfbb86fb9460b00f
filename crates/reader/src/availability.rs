//! Finds the blocks that can be read completely, before a scan starts.

use crate::{error::Result, scan::joined, workers::reread};
use std::time::{Duration, Instant};
use txgraph_nodedb::{NodeDb, Parts, Snapshot};
use txgraph_transfers::{BlockRange, BlockRanges, SourceError, Unavailable};
use txgraph_work::CancelFlag;

/// A survey takes a new snapshot after this time.
const SNAPSHOT_TIME_MAX: Duration = Duration::from_secs(5);

/// The number of blocks that are checked at once, aligned to multiples of it. It is fixed, so
/// that the same request gets the same result, and small enough for nodedb to list every single
/// gap.
const SLICE_BLOCKS: u64 = 4096;

/// A node that filters receipts may have gaps in half of all blocks. From this number of gaps on,
/// whole slices count as missing. So memory stays bounded, and blocks that are reported as
/// missing are not read.
const GAPS_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Survey {
    /// The missing blocks, ascending, with the reason.
    pub(crate) missing: Vec<Unavailable>,
    /// The available blocks.
    pub(crate) present: BlockRanges,
}

/// Returns the gaps of a range under one snapshot.
pub(crate) fn gaps(
    snapshot: &Snapshot<'_>,
    range: BlockRange,
    parts: Parts,
) -> Result<Vec<Unavailable>> {
    let gaps = snapshot.gaps(range, parts)?.into_iter();
    Ok(gaps
        .map(|gap| Unavailable::new(gap.blocks, gap.reason))
        .collect())
}

/// Checks which of the `wanted` blocks can be read completely at present.
pub(crate) fn survey(
    db: &NodeDb,
    wanted: &BlockRanges,
    parts: Parts,
    cancel: &CancelFlag,
) -> Result<Survey, SourceError> {
    let missing = reread("availability", || attempt_survey(db, wanted, parts, cancel))?;
    let missing = joined(missing.ok_or(SourceError::Interrupted)?);
    let present = wanted.subtract(&missing.iter().map(|gap| gap.blocks).collect());
    Ok(Survey { missing, present })
}

/// Returns the blocks of a range whose `parts` cannot be read at present, ascending, with the reasons.
pub fn missing(
    db: &NodeDb,
    blocks: BlockRange,
    parts: Parts,
    cancel: &CancelFlag,
) -> Result<Vec<Unavailable>, SourceError> {
    survey(db, &blocks.into(), parts, cancel).map(|survey| survey.missing)
}

/// Returns all blocks that the directory contains completely.
pub(crate) fn everything(
    db: &NodeDb,
    parts: Parts,
    cancel: &CancelFlag,
) -> Result<BlockRanges, SourceError> {
    let tip = db.snapshot().map_err(crate::Error::from)?.tip();
    let all = BlockRanges::from(BlockRange::up_to(tip));
    survey(db, &all, parts, cancel).map(|survey| survey.present)
}

/// Returns the missing blocks, or `None` when interrupted. The tip comes from the first snapshot:
/// blocks added later were not available when the request was made.
fn attempt_survey(
    db: &NodeDb,
    wanted: &BlockRanges,
    parts: Parts,
    cancel: &CancelFlag,
) -> Result<Option<Vec<Unavailable>>> {
    let mut snapshot = db.snapshot()?;
    let mut taken = Instant::now();
    let first_tip = snapshot.tip();
    let mut missing = Vec::new();
    for range in wanted.iter() {
        for slice in slices(range, first_tip) {
            if cancel.is_canceled() {
                return Ok(None);
            }
            if taken.elapsed() > SNAPSHOT_TIME_MAX {
                drop(snapshot);
                snapshot = db.snapshot()?;
                taken = Instant::now();
            }
            let found = gaps(&snapshot, slice, parts)?;
            if missing.len() < GAPS_MAX || found.is_empty() {
                missing.extend(found);
            } else {
                missing.push(given_up(slice, &found));
            }
        }
        // One gap of any length.
        missing.extend(above(range, first_tip));
    }
    Ok(Some(missing))
}

/// Divides the blocks of `range` up to `tip` at multiples of [`SLICE_BLOCKS`].
fn slices(range: BlockRange, tip: u64) -> impl Iterator<Item = BlockRange> {
    let mut rest = BlockRange::new(range.first, range.last.min(tip));
    std::iter::from_fn(move || {
        let BlockRange { first, last } = rest.take()?;
        let end = (first / SLICE_BLOCKS * SLICE_BLOCKS).saturating_add(SLICE_BLOCKS - 1);
        rest = BlockRange::new(end.checked_add(1)?, last);
        BlockRange::new(first, end.min(last))
    })
}

/// Returns the part of `range` above `tip`.
fn above(range: BlockRange, tip: u64) -> Option<Unavailable> {
    let blocks = range.after(tip)?;
    Some(Unavailable::new(
        blocks,
        format!("above the tip {tip} on disk"),
    ))
}

/// Makes one gap of a slice with gaps.
fn given_up(slice: BlockRange, holes: &[Unavailable]) -> Unavailable {
    let reason = holes.first().map_or("", |hole| hole.reason.as_str());
    Unavailable::new(slice, format!("{reason} (some of these blocks)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_the_range_up_to_the_tip() {
        let range = |first, last| BlockRange { first, last };
        let cut = |first, last, tip| slices(range(first, last), tip).collect::<Vec<_>>();
        assert_eq!(
            cut(5, 9000, 20_000),
            [range(5, 4095), range(4096, 8191), range(8192, 9000)]
        );
        assert_eq!(cut(4096, u64::MAX, 8191), [range(4096, 8191)]);
        assert_eq!(cut(4095, 4096, 4095), [range(4095, 4095)]);
        assert_eq!(cut(10, 20, 9), []);
        assert_eq!(above(range(10, 20), 9).unwrap().blocks, range(10, 20));
        assert_eq!(
            above(range(10, u64::MAX), 15).unwrap().blocks,
            range(16, u64::MAX)
        );
        assert_eq!(above(range(10, 20), 20), None);
        assert_eq!(above(range(10, u64::MAX), u64::MAX), None);
    }
}
