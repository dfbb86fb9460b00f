//! Comparing an index with the database it was built from.

use crate::{
    directory::Index,
    error::{Error, Result},
    segment::Segment,
    write::check_internal,
};
use txgraph_stored::{Expected, Origin, Stop, everything, run_jobs};
use txgraph_transfers::{BlockRange, BlockRanges, BlockRun, DecodeCounts};
use txgraph_work::ProgressGuard;

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
    let manifest = &index.manifest;
    let expected = match quick {
        true => None,
        false => {
            check_internal(&origin, manifest.internal)?;
            let request = everything(&index.blocks(), &manifest.wrapped_native);
            Some(Expected::new(&origin, &request, manifest.internal)?)
        }
    };
    let work = &origin.work;
    let progress = work.progress.as_deref();
    let progress_guard = ProgressGuard::start(progress, index.blocks().blocks(), "transfers");
    let mut sum = VerifyReport::default();
    let stop = Stop::new(&work.cancel);
    run_jobs(
        (work, SEGMENTS_AHEAD * work.threads.count()),
        &stop,
        &index.segments,
        || (),
        |(), segment| {
            let one = check(segment, &origin, expected.as_ref(), &stop)?;
            Ok::<_, Error>((segment.blocks(), one))
        },
        |(blocks, one)| {
            sum.segments += one.segments;
            sum.blocks += one.blocks;
            sum.transfers += one.transfers;
            sum.unread = sum.unread.iter().chain(one.unread.iter()).collect();
            progress_guard.advance(blocks.blocks(), one.transfers);
            Ok::<_, Error>(())
        },
    )?;
    Ok(sum)
}

fn check(
    segment: &Segment,
    origin: &Origin<'_>,
    expected: Option<&Expected<'_>>,
    stop: &Stop<'_>,
) -> Result<VerifyReport> {
    stop.check()?;
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
    verified.unread = expected.each_run(blocks, stop, |run| {
        verified.blocks += run.blocks.blocks();
        verified.transfers += compare(segment, run)?;
        Ok::<_, Error>(())
    })?;
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
