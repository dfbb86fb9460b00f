//! Fills in transaction hashes and block times of transfers that were scanned without them.
//!
//! A hash is not stored: it is the Keccak of the transaction, which has to be read, decompressed
//! and encoded again. A time is in a header, which costs more to read than the receipts of a
//! small block. So a search resolves both only for the edges of its result.

use crate::{
    availability,
    error::Error,
    workers::{canonical, reread},
};
use alloy_primitives::B256;
use rayon::prelude::*;
use txgraph_nodedb::{self as nodedb, BodyIndices, NodeDb, Parts, Scratch, Snapshot};
use txgraph_transfers::{
    BlockAnchor, BlockRange, BlockRanges, BlockTime, Kind, SourceError, Transfer,
};
use txgraph_work::CancelFlag;

/// The number of transactions that are resolved under one snapshot.
const GROUP: usize = 512;

/// The number of transfers that are resolved at once, which bounds the memory.
const STRETCH: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    block: u64,
    /// The time, if the scan provided it.
    timestamp: Option<BlockTime>,
    /// The transaction; `None` if its hash is known, and for withdrawals, which belong to no
    /// transaction.
    index: Option<u32>,
}

impl Key {
    fn of(transfer: &Transfer) -> Self {
        let is_missing = transfer.transaction_hash.is_none() && transfer.kind != Kind::Withdrawal;
        Self {
            block: transfer.block_number,
            timestamp: transfer.block_timestamp,
            index: is_missing.then_some(transfer.transaction_index),
        }
    }
}

/// The result of a lookup.
#[derive(Clone, Copy)]
struct Found {
    timestamp: Option<BlockTime>,
    hash: Option<B256>,
}

/// If the average distance of wanted rows is at most this, the offsets of the rows in between are
/// read, too. The rows in between are read only where that is cheaper than another system call.
const AHEAD_ROWS_MAX: u64 = 256;

/// Fills in the hashes of `transfers`, in any order, on the caller's pool. The caller must
/// [check the anchors](check_anchors) afterwards: pinned blocks are not checked individually.
pub(crate) fn fill(
    db: &NodeDb,
    transfers: &mut [Transfer],
    anchors: &[BlockAnchor],
    cancel: &CancelFlag,
) -> Result<(), SourceError> {
    let pinned = &anchors.iter().map(|anchor| anchor.blocks).collect();
    for transfers in transfers.chunks_mut(STRETCH) {
        let mut keys: Vec<Key> = transfers.iter().map(Key::of).collect();
        keys.sort_unstable();
        keys.dedup();
        let groups: Vec<Vec<Found>> = keys
            .par_chunks(GROUP)
            .map_init(Scratch::default, |scratch, group| {
                resolve(db, group, pinned, scratch, cancel)
            })
            .collect::<Result<_, _>>()?;
        let found = groups.concat();
        transfers.par_iter_mut().for_each(|transfer| {
            let key = Key::of(transfer);
            if let Ok(at) = keys.binary_search(&key) {
                transfer.block_timestamp = found[at].timestamp;
                transfer.transaction_hash = transfer.transaction_hash.or(found[at].hash);
            }
        });
    }
    Ok(())
}

/// Resolves a group of transactions, again if files changed in the meantime.
fn resolve(
    db: &NodeDb,
    group: &[Key],
    pinned: &BlockRanges,
    scratch: &mut Scratch,
    cancel: &CancelFlag,
) -> Result<Vec<Found>, SourceError> {
    if cancel.is_canceled() {
        return Err(SourceError::Interrupted);
    }
    let hashes = reread("transactions", || {
        match attempt_group(db, group, pinned, scratch) {
            Err(Trouble::Replaced { block }) => Ok(Err(SourceError::Reorged { block })),
            Err(Trouble::NodeDb(error)) => Err(error),
            Ok(hashes) => Ok(Ok(hashes)),
        }
    });
    hashes.unwrap_or_else(|error| Err(explain(db, group, error, cancel)))
}

enum Trouble {
    Replaced { block: u64 },
    NodeDb(nodedb::Error),
}

impl From<nodedb::Error> for Trouble {
    fn from(error: nodedb::Error) -> Self {
        Self::NodeDb(error)
    }
}

fn attempt_group(
    db: &NodeDb,
    group: &[Key],
    pinned: &BlockRanges,
    scratch: &mut Scratch,
) -> Result<Vec<Found>, Trouble> {
    let snapshot = db.snapshot()?;
    // Headers and bodies first, then transactions: each file is read forward.
    let mut wanted = Vec::with_capacity(group.len());
    let blocks = group.iter().map(|key| key.block);
    let ahead = Ahead::new(blocks.clone().min(), blocks.max(), group.len());
    for keys in group.chunk_by(|a, b| a.block == b.block) {
        let block = keys[0].block;
        let (body, timestamp) = look_up(&snapshot, keys, pinned, ahead, scratch)?;
        for key in keys {
            let tx = match key.index {
                Some(index) if u64::from(index) >= body.tx_count => {
                    return Err(Trouble::Replaced { block });
                }
                Some(index) => Some(body.first_tx + u64::from(index)),
                None => None,
            };
            wanted.push((block, timestamp, tx));
        }
    }
    let numbers: Vec<_> = wanted
        .iter()
        .filter_map(|(block, _, tx)| Some((*block, (*tx)?)))
        .collect();
    let of_tx = || numbers.iter().map(|(_, tx)| *tx);
    let ahead = Ahead::new(of_tx().min(), of_tx().max(), wanted.len());
    let hashes = snapshot.numbered_transaction_hashes(&numbers, |tx| ahead.last(tx), scratch)?;
    let mut hashes = hashes.into_iter();
    let found = wanted.iter().map(|(_, timestamp, tx)| Found {
        timestamp: *timestamp,
        hash: tx.and_then(|_| hashes.next()),
    });
    Ok(found.collect())
}

/// The range of rows to read ahead.
#[derive(Clone, Copy)]
struct Ahead(Option<u64>);

impl Ahead {
    fn new(first: Option<u64>, last: Option<u64>, count: usize) -> Self {
        let span = first.zip(last).map(|(first, last)| last - first);
        let is_dense = span.is_some_and(|span| span / count.max(1) as u64 <= AHEAD_ROWS_MAX);
        Self(last.filter(|_| is_dense))
    }

    fn last(self, row: u64) -> u64 {
        self.0.unwrap_or(row)
    }
}

/// Returns the transactions and the time of a block, after checking that it is still the same
/// block as far as possible here. Pinned blocks are checked by [`check_anchors`].
fn look_up(
    snapshot: &Snapshot<'_>,
    keys: &[Key],
    pinned: &BlockRanges,
    ahead: Ahead,
    scratch: &mut Scratch,
) -> Result<(BodyIndices, Option<BlockTime>), Trouble> {
    let block = keys[0].block;
    let replaced = Trouble::Replaced { block };
    // The transfers of one block may come from a source with times and from one without.
    let known = keys.iter().filter_map(|key| key.timestamp);
    let timestamp = known.clone().max();
    if block > snapshot.tip() || known.min() != timestamp {
        return Err(replaced);
    }
    let found = match (pinned.contains(block), timestamp) {
        (true, None) => {
            let last = ahead.last(block);
            BlockTime::new(snapshot.header_of(block, scratch, last)?.timestamp)
        }
        (true, known) => known,
        (false, _) => BlockTime::new(snapshot.header(block)?.timestamp),
    };
    if timestamp.is_some() && timestamp != found {
        return Err(replaced);
    }
    Ok((snapshot.body(block)?, found))
}

/// Explains a permanent error: the transactions may have been deleted.
fn explain(db: &NodeDb, group: &[Key], error: nodedb::Error, cancel: &CancelFlag) -> SourceError {
    let parts = Parts {
        transactions: true,
        ..Parts::default()
    };
    let blocks = group
        .chunk_by(|a, b| a.block == b.block)
        .map(|keys| BlockRange::one(keys[0].block))
        .collect();
    match availability::survey(db, &blocks, parts, cancel) {
        Ok(survey) if !survey.missing.is_empty() => {
            match availability::everything(db, parts, cancel) {
                Ok(available) => SourceError::Unavailable {
                    missing: survey.missing,
                    available,
                },
                Err(error) => error,
            }
        }
        _ => Error::from(error).into(),
    }
}

/// Checks that the anchors that contain blocks of `transfers` are still canonical.
pub(crate) fn check_anchors(
    db: &NodeDb,
    transfers: &[Transfer],
    anchors: &[BlockAnchor],
) -> Result<(), SourceError> {
    for anchor in used(anchors, transfers) {
        let block = anchor.blocks.last;
        if canonical(db, block)? != Some(anchor.hash) {
            return Err(SourceError::Reorged { block });
        }
    }
    Ok(())
}

/// Returns the anchors that contain blocks of `transfers`.
fn used<'p>(
    anchors: &'p [BlockAnchor],
    transfers: &[Transfer],
) -> impl Iterator<Item = &'p BlockAnchor> {
    let mut blocks: Vec<u64> = transfers.iter().map(|it| it.block_number).collect();
    // Mostly in order already.
    blocks.sort();
    blocks.dedup();
    anchors.iter().filter(move |anchor| {
        let next = blocks.partition_point(|block| *block < anchor.blocks.first);
        blocks
            .get(next)
            .is_some_and(|block| *block <= anchor.blocks.last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_transfers::testing::transfer;

    #[test]
    fn only_pins_with_transfers_are_used() {
        let anchor = |first, last| BlockAnchor {
            blocks: BlockRange { first, last },
            parent_hash: None,
            hash: B256::ZERO,
        };
        // They may overlap.
        let anchors = [anchor(0, 9), anchor(20, 29), anchor(5, 40), anchor(50, 50)];
        let used = |blocks: &[u64]| {
            let transfers: Vec<_> = blocks.iter().map(|block| transfer(*block)).collect();
            let used = used(&anchors, &transfers).map(|anchor| anchor.blocks.first);
            used.collect::<Vec<_>>()
        };
        assert!(used(&[]).is_empty());
        assert_eq!(used(&[0]), [0]);
        assert_eq!(used(&[9]), [0, 5]);
        assert_eq!(used(&[10]), [5]);
        assert_eq!(used(&[29, 3, 29]), [0, 20, 5]);
        assert!(used(&[41, 49, 51]).is_empty());
        assert_eq!(used(&[50]), [50]);
    }
}
