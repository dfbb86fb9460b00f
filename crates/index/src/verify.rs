//! Comparing an index with the database it was built from.

use crate::{
    directory::Index,
    error::{Error, Result},
    segment::{Participants, Segment},
};
use txgraph_stored::{
    BuildSource, Expected, Stop, StoreKind, VerifyReport, everything, verify_units,
};
use txgraph_transfers::{BlockRange, BlockRun, DecodeCounts};

/// Checks every checksum and every reference inside of the segments. Unless `quick`, also
/// reads all blocks again and compares each transfer and each count. The first difference is
/// returned as an error.
///
/// If the index has movements inside of transactions, `origin` must find them, unless `quick`.
pub fn verify<'a>(
    index: &Index,
    origin: impl Into<BuildSource<'a>>,
    quick: bool,
) -> Result<VerifyReport> {
    let origin = origin.into();
    let manifest = &index.manifest;
    let contents = manifest.contents();
    contents.check_chain(index.path(), origin.source.chain())?;
    let expected = match quick {
        true => None,
        false => {
            contents.check_internal(&origin)?;
            let request = everything(&index.blocks(), &manifest.wrapped_native);
            Some(Expected::new(&origin, &request, contents.additions())?)
        }
    };
    verify_units(
        &index.segments,
        |segment| segment.blocks(),
        &origin.work,
        |segment, stop| check(segment, &origin, expected.as_ref(), stop),
    )
}

fn check(
    segment: &Segment,
    origin: &BuildSource<'_>,
    expected: Option<&Expected<'_>>,
    stop: &Stop<'_>,
) -> Result<VerifyReport> {
    segment.check()?;
    segment.check_structure()?;
    let blocks = segment.blocks();
    if origin.source.canonical_hash(blocks.last)? != Some(segment.head().last_hash) {
        return Err(Error::Replaced {
            kind: StoreKind::Index,
            path: segment.path().to_owned(),
            block: blocks.last,
        });
    }
    match expected {
        Some(expected) => {
            let mut participants = segment.participations()?;
            expected.each_run(blocks, stop, |run| compare(segment, &mut participants, run))
        }
        None => Ok(VerifyReport::default()),
    }
}

/// Compares a segment with blocks of the database.
fn compare(segment: &Segment, participants: &mut Participants<'_>, run: &BlockRun) -> Result<()> {
    let rows = segment.rows(segment.row_count())?;
    if participants.read(run.blocks)? != run.participations {
        return Err(contradicts(
            segment,
            run.blocks.first,
            "transactions of addresses differ, there or in later blocks",
        ));
    }
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
        for row in segment.rows_of(BlockRange::one(block))? {
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
    Ok(())
}

fn contradicts(segment: &Segment, block: u64, what: &str) -> Error {
    Error::contradicts(StoreKind::Index, segment.path(), block, what)
}
