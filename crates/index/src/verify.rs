//! Proving an index against the database it was made from.

use crate::{
    directory::Index,
    error::{Error, Result},
    segment::Segment,
    write::everything,
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use txgraph_reader::{NodeSource, OddLogs, Watched};
use txgraph_transfers::{BlockRange, BlockRanges, DecodeCounts, SourceError};

/// What a verification has looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Segments whose checksums and structure are right.
    pub segments: u64,
    /// Blocks that say what the database says, row by row.
    pub blocks: u64,
    /// Their transfers.
    pub transfers: u64,
    /// Blocks that the database has no more, so that only the index tells.
    pub unread: BlockRanges,
}

/// Checks every checksum and every reference inside of the segments and, unless `quick`,
/// reads all blocks from the node again and compares each transfer and each count. The
/// first difference is the error.
pub fn verify(index: &Index, node: &NodeSource, quick: bool) -> Result<Verified> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(Verified::default()));
    let progress = node.options().progress.as_deref();
    let watched = Watched::start(progress, index.blocks().blocks(), "transfers");
    let work = || {
        while let Some(segment) = index.segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = check(index, segment, node, quick);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *all, outcome) {
                (Ok(sum), Ok(one)) => {
                    sum.segments += one.segments;
                    sum.blocks += one.blocks;
                    sum.transfers += one.transfers;
                    sum.unread = sum.unread.iter().chain(one.unread.iter()).collect();
                    watched.advance(segment.blocks().blocks(), one.transfers);
                }
                (Ok(_), Err(error)) => {
                    // The others end at their next segment.
                    next.store(index.segments.len(), Ordering::Relaxed);
                    *all = Err(error);
                }
                (Err(_), _) => {}
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..node.threads() {
            scope.spawn(work);
        }
        work();
    });
    drop(watched);
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn check(index: &Index, segment: &Segment, node: &NodeSource, quick: bool) -> Result<Verified> {
    if node.options().cancel.is_cancelled() {
        return Err(SourceError::Interrupted.into());
    }
    segment.check()?;
    segment.check_structure()?;
    let blocks = segment.blocks();
    if node.canonical_hash(blocks.last)? != Some(segment.head().last_hash) {
        return Err(contradicts(
            segment,
            blocks.last,
            "it is not canonical (any more); `update` undoes such segments",
        ));
    }
    let mut verified = Verified {
        segments: 1,
        ..Verified::default()
    };
    if quick {
        return Ok(verified);
    }
    let request = everything(&blocks.into(), &index.manifest.wrapped_native);
    match node.check_available(&request) {
        Ok(()) => {}
        Err(SourceError::Unavailable { missing, .. }) => {
            verified.unread = missing.iter().map(|gap| gap.blocks).collect();
        }
        Err(error) => return Err(error.into()),
    }
    let mut reader = node.block_reader(&request);
    let there = request.blocks.subtract(&verified.unread);
    for range in there.iter() {
        let mut next = range.first;
        while next <= range.last {
            let stretch = reader.read(BlockRange {
                first: next,
                last: range.last,
            })?;
            verified.blocks += stretch.blocks.blocks();
            verified.transfers += compare(segment, &stretch)?;
            next = stretch.blocks.last.saturating_add(1);
        }
    }
    Ok(verified)
}

/// Compares what the node says of some blocks. The number of transfers.
fn compare(segment: &Segment, stretch: &txgraph_reader::Stretch) -> Result<u64> {
    let rows = segment.rows()?;
    let odd: Vec<_> = segment.odd(stretch.blocks).collect();
    if odd != stretch_odd(stretch) {
        return Err(contradicts(
            segment,
            stretch.blocks.first,
            "other odd logs, from there on",
        ));
    }
    let mut transfers = stretch.transfers.iter();
    for account in &stretch.accounts {
        let block = account.number;
        let (timestamp, counts) = segment.block(block)?;
        if timestamp != account.timestamp {
            return Err(contradicts(segment, block, "another time"));
        }
        let of_node = DecodeCounts {
            blocks: 1,
            ..account.counts
        };
        if counts != of_node {
            return Err(contradicts(
                segment,
                block,
                &format!("it counts {counts:?}, the database has {of_node:?}"),
            ));
        }
        let own = segment.rows_of(BlockRange {
            first: block,
            last: block,
        })?;
        for row in own {
            let ours = rows.transfer(row)?;
            if rows.block(row)? != block || Some(&ours) != transfers.next() {
                return Err(contradicts(
                    segment,
                    block,
                    &format!("another transfer at {:?}", ours.position()),
                ));
            }
        }
    }
    Ok(stretch.transfers.len() as u64)
}

/// The odd logs of a stretch, without what is counted beside them.
fn stretch_odd(stretch: &txgraph_reader::Stretch) -> Vec<OddLogs> {
    let only = |odd: &OddLogs| OddLogs {
        counts: DecodeCounts {
            blocks: 0,
            transactions: 0,
            logs: 0,
            transfers: 0,
            ..odd.counts
        },
        ..*odd
    };
    stretch.odd.iter().map(only).collect()
}

fn contradicts(segment: &Segment, block: u64, what: &str) -> Error {
    Error::Contradicts {
        path: segment.path().to_owned(),
        block,
        what: what.to_owned(),
    }
}
