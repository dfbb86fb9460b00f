//! Comparing an index with the database it was built from.

use crate::{
    directory::Index,
    error::{Error, Result},
    segment::Segment,
    write::check_internal,
};
use std::ops::ControlFlow;
use txgraph_stored::{Origin, PreparedOrigin, everything};
use txgraph_transfers::{
    BlockRange, BlockRanges, BlockRun, DecodeCounts, ScanRequest, SourceError,
};
use txgraph_work::{Ordered, ProgressGuard, ordered};

/// Segments that are started and not yet summed up, for each thread.
const SEGMENTS_AHEAD: usize = 2;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// The number of segments with right checksums and a valid structure.
    pub segments: u64,
    /// The number of blocks that were compared with the database, row by row.
    pub blocks: u64,
    /// The number of their transfers.
    pub transfers: u64,
    /// Blocks that were not compared, because they are no longer in the database.
    pub unread: BlockRanges,
}

/// Checks every checksum and every reference inside of the segments. Unless `quick`, also
/// reads all blocks again and compares each transfer and each count. The first difference is
/// returned as an error.
///
/// If the index has movements inside of transactions, `origin` must find them, unless `quick`.
pub fn verify<'a>(
    index: &Index,
    origin: impl Into<Origin<'a>>,
    quick: bool,
) -> Result<VerifyReport> {
    let origin = origin.into();
    let request = everything(&index.blocks(), &index.manifest.wrapped_native);
    let expected = match quick {
        true => None,
        false => Some(Expected::new(index, &origin, &request)?),
    };
    let work = &origin.work;
    let progress = work.progress.as_deref();
    let progress_guard = ProgressGuard::start(progress, index.blocks().blocks(), "transfers");
    let mut sum = VerifyReport::default();
    let end = ordered(
        &work.threads,
        SEGMENTS_AHEAD * work.threads.count(),
        &work.cancel,
        &index.segments,
        || (),
        |(), segment| match check(segment, &origin, expected.as_ref()) {
            Ok(one) => ControlFlow::Continue(Ok((segment.blocks(), one))),
            Err(error) => ControlFlow::Break(Err(error)),
        },
        |checked| {
            let (blocks, one) = match checked {
                Ok(checked) => checked,
                Err(error) => return ControlFlow::Break(error),
            };
            sum.segments += one.segments;
            sum.blocks += one.blocks;
            sum.transfers += one.transfers;
            sum.unread = sum.unread.iter().chain(one.unread.iter()).collect();
            progress_guard.advance(blocks.blocks(), one.transfers);
            ControlFlow::Continue(())
        },
    )?;
    match end {
        Ordered::Done => Ok(sum),
        Ordered::Broken(error) => Err(error),
        Ordered::Cancelled => Err(SourceError::Interrupted.into()),
    }
}

/// The blocks that segments are compared with.
struct Expected<'a> {
    prepared: PreparedOrigin<'a>,
    request: &'a ScanRequest,
    /// Blocks that are no longer available.
    unavailable: BlockRanges,
}

impl<'a> Expected<'a> {
    fn new(index: &Index, origin: &Origin<'a>, request: &'a ScanRequest) -> Result<Self> {
        let internal = index.manifest.internal;
        check_internal(origin, internal)?;
        let (prepared, gone) = origin.prepare_available(request, internal)?;
        Ok(Self {
            prepared,
            request,
            unavailable: gone,
        })
    }
}

fn check(
    segment: &Segment,
    origin: &Origin<'_>,
    expected: Option<&Expected<'_>>,
) -> Result<VerifyReport> {
    if origin.work.cancel.is_cancelled() {
        return Err(SourceError::Interrupted.into());
    }
    segment.check()?;
    segment.check_structure()?;
    let blocks = segment.blocks();
    if origin.source.canonical_hash(blocks.last)? != Some(segment.head().last_hash) {
        return Err(contradicts(
            segment,
            blocks.last,
            "the block is not canonical; updating the index removes such segments",
        ));
    }
    let mut verified = VerifyReport {
        segments: 1,
        ..VerifyReport::default()
    };
    let Some(expected) = expected else {
        return Ok(verified);
    };
    verified.unread = expected.unavailable.intersect(&blocks.into());
    let mut reader = expected.prepared.reader(expected.request);
    let there = BlockRanges::from(blocks).subtract(&verified.unread);
    for range in there.iter() {
        let mut next = range.first;
        while next <= range.last {
            let run = reader.read(BlockRange {
                first: next,
                last: range.last,
            })?;
            let run = run.ok_or(SourceError::Reorged { block: next })?;
            verified.blocks += run.blocks.blocks();
            verified.transfers += compare(segment, &run)?;
            next = run.blocks.last.saturating_add(1);
        }
    }
    Ok(verified)
}

/// Compares a segment with blocks of the database. Returns the number of transfers.
fn compare(segment: &Segment, run: &BlockRun) -> Result<u64> {
    let rows = segment.rows()?;
    if segment.anomalies(run.blocks)? != run.anomalies {
        return Err(contradicts(
            segment,
            run.blocks.first,
            "anomalous logs differ, there or in later blocks",
        ));
    }
    let mut transfers = run.transfers.iter();
    for summary in &run.summaries {
        let block = summary.number;
        let (timestamp, counts) = segment.block(block)?;
        if timestamp != summary.timestamp {
            return Err(contradicts(segment, block, "the time differs"));
        }
        let expected = DecodeCounts {
            blocks: 1,
            ..summary.counts
        };
        if counts != expected {
            return Err(contradicts(
                segment,
                block,
                &format!("the counts are {counts:?}, and {expected:?} in the database"),
            ));
        }
        let own = segment.rows_of(BlockRange {
            first: block,
            last: block,
        })?;
        for row in own {
            let mut ours = rows.transfer(row)?;
            let expected = transfers.next();
            // A replay knows the hashes, which an index does not store.
            ours.transaction_hash = expected.and_then(|it| it.transaction_hash);
            if rows.block(row)? != block || Some(&ours) != expected {
                return Err(contradicts(
                    segment,
                    block,
                    &format!("the transfer at {:?} differs", ours.position()),
                ));
            }
        }
    }
    Ok(run.transfers.len() as u64)
}

fn contradicts(segment: &Segment, block: u64, what: &str) -> Error {
    Error::Contradicts {
        path: segment.path().to_owned(),
        block,
        what: what.to_owned(),
    }
}
