//! Proving an index against the database it was made from.

use crate::{
    directory::Index,
    error::{Error, Result},
    origin::{Origin, Over},
    segment::Segment,
    write::everything,
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use txgraph_reader::{NodeSource, Watched};
use txgraph_transfers::{BlockRange, BlockRanges, DecodeCounts, ScanRequest, SourceError};

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
///
/// `origin` must tell internal movements if the index holds them, unless `quick`.
pub fn verify<'a>(index: &Index, origin: impl Into<Origin<'a>>, quick: bool) -> Result<Verified> {
    let origin = origin.into();
    let node = origin.node;
    let request = everything(&index.blocks(), &index.manifest.wrapped_native);
    let against = match quick {
        true => None,
        false => Some(Against::new(index, origin, &request)?),
    };
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(Verified::default()));
    let progress = node.options().progress.as_deref();
    let watched = Watched::start(progress, index.blocks().blocks(), "transfers");
    let work = || {
        while let Some(segment) = index.segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = check(segment, node, against.as_ref());
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

/// What segments are held against.
struct Against<'a> {
    over: Over<'a>,
    request: &'a ScanRequest,
    /// Blocks that cannot be read any more.
    gone: BlockRanges,
}

impl<'a> Against<'a> {
    fn new(index: &Index, origin: Origin<'a>, request: &'a ScanRequest) -> Result<Self> {
        let internal = index.manifest.internal;
        origin.check_tells(internal)?;
        let (over, gone) = origin.over_what_is_there(request, internal)?;
        Ok(Self {
            over,
            request,
            gone,
        })
    }
}

fn check(segment: &Segment, node: &NodeSource, against: Option<&Against<'_>>) -> Result<Verified> {
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
    let Some(against) = against else {
        return Ok(verified);
    };
    verified.unread = against.gone.intersect(&blocks.into());
    let mut reader = against.over.reader(against.request);
    let there = BlockRanges::from(blocks).subtract(&verified.unread);
    for range in there.iter() {
        let mut next = range.first;
        while next <= range.last {
            let stretch = reader.read(BlockRange {
                first: next,
                last: range.last,
            })?;
            let stretch = stretch.ok_or(SourceError::Reorged { block: next })?;
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
    if segment.anomalies(stretch.blocks)? != stretch.odd {
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

fn contradicts(segment: &Segment, block: u64, what: &str) -> Error {
    Error::Contradicts {
        path: segment.path().to_owned(),
        block,
        what: what.to_owned(),
    }
}
