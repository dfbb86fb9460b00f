//! Finds a transaction by its hash: in the node's index of hashes, or by hashing the
//! transactions of its blocks, newest first, where no index can be read.

use crate::{
    availability,
    error::Error,
    options::ScanOptions,
    workers::{canonical, reread},
};
use alloy_primitives::B256;
use std::{
    cell::Cell,
    iter,
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};
use txgraph_nodedb::{self as nodedb, NodeDb, Parts, Scratch, Snapshot};
use txgraph_transfers::{BlockRange, BlockRanges, SourceError, Unavailable};
use txgraph_work::{Ordered, ProgressGuard, ordered};

/// Transactions that are hashed in one call: bounds the memory of a thread to 200 KB.
const BATCH: usize = 4096;

/// Transactions of a chunk, on average. Each chunk opens a snapshot (0.3 ms), which costs
/// little compared with 8,192 hashes (6 ms).
const CHUNK_TRANSACTIONS: u64 = 8192;

/// Blocks of a chunk at most, so that long runs of empty blocks can be canceled.
const CHUNK_BLOCKS_MAX: u64 = 16_384;

/// Blocks of the first chunks, before the density of transactions is known.
const CHUNK_BLOCKS_FIRST: u64 = 64;

/// Chunks that are started and not yet evaluated, for each thread.
const CHUNKS_AHEAD: usize = 4;

/// Returns block and index of the transaction with `hash`.
///
/// With an index of hashes (layout v1, or RocksDB) this is one lookup. Without one, or if
/// the index is pruned, all transactions of `blocks` are hashed on
/// [`threads`](ScanOptions::threads) threads, from the newest block downwards; `None` stands
/// for all blocks up to the tip. The search uses [`progress`](ScanOptions::progress) and
/// [`cancel`](ScanOptions::cancel) and a fixed amount of memory for each thread.
///
/// # Errors
///
/// [`Error::UnknownTransaction`] if the transaction is in none of these blocks, and
/// [`SourceError::Reorged`] if blocks were replaced during a search without a result.
pub fn find_transaction(
    db: &NodeDb,
    hash: B256,
    blocks: Option<&BlockRanges>,
    options: &ScanOptions,
) -> Result<(u64, u32), SourceError> {
    let tip = reread("tip", || Ok(db.snapshot()?.tip())).map_err(Error::NodeDb)?;
    let wanted = match blocks {
        Some(blocks) => blocks.clone(),
        None => BlockRange::up_to(tip).into(),
    };
    let (found, missing) = find(db, hash, &wanted, options)?;
    let unknown = Error::UnknownTransaction {
        hash,
        blocks: wanted,
        missing,
    };
    found.ok_or_else(|| unknown.into())
}

/// Like [`find_transaction`] in all blocks up to the tip, but `None` if none of them contains the
/// transaction.
///
/// # Errors
///
/// [`Error::UnknownTransaction`] if the transaction was not found and some blocks could not be
/// searched.
pub fn look_for_transaction(
    db: &NodeDb,
    hash: B256,
    options: &ScanOptions,
) -> Result<Option<(u64, u32)>, SourceError> {
    let tip = reread("tip", || Ok(db.snapshot()?.tip())).map_err(Error::NodeDb)?;
    let wanted = BlockRange::up_to(tip).into();
    let (found, missing) = find(db, hash, &wanted, options)?;
    if found.is_none() && !missing.is_empty() {
        let unknown = Error::UnknownTransaction {
            hash,
            blocks: wanted,
            missing,
        };
        return Err(unknown.into());
    }
    Ok(found)
}

/// Blocks without transactions below the tip that are passed over to find the newest one.
const EMPTY_BLOCKS_MAX: u64 = 1000;

/// A location, if there is one, and the blocks that could not be searched.
type Found = (Option<(u64, u32)>, Vec<Unavailable>);

/// Returns the location, if it is in `wanted`, and the blocks that could not be searched.
fn find(
    db: &NodeDb,
    hash: B256,
    wanted: &BlockRanges,
    options: &ScanOptions,
) -> Result<Found, SourceError> {
    match look_up(db, hash).map_err(Error::NodeDb)? {
        Lookup::Found(location) => {
            let found = wanted.contains(location.0).then_some(location);
            return Ok((found, Vec::new()));
        }
        Lookup::Absent => return Ok((None, Vec::new())),
        Lookup::NoIndex => {}
    }
    let parts = Parts {
        transactions: true,
        ..Parts::default()
    };
    let survey = availability::survey(db, wanted, parts, &options.cancel)?;
    let found = search(db, hash, &survey.present, options)?;
    Ok((found, survey.missing))
}

/// The result of the node's index of transaction hashes.
enum Lookup {
    Found((u64, u32)),
    /// The index is complete and does not contain the hash.
    Absent,
    /// The index cannot be read, or is pruned.
    NoIndex,
}

fn look_up(db: &NodeDb, hash: B256) -> nodedb::Result<Lookup> {
    reread("transaction hash", || {
        let snapshot = db.snapshot()?;
        match snapshot.find_transaction(hash) {
            Ok(Some(location)) => Ok(Lookup::Found(location)),
            Ok(None) if is_pruned(&snapshot)? || !has_newest(&snapshot)? => Ok(Lookup::NoIndex),
            Ok(None) => Ok(Lookup::Absent),
            Err(nodedb::Error::Unsupported { .. }) => Ok(Lookup::NoIndex),
            Err(error) => Err(error),
        }
    })
}

/// Whether hashes were deleted from the index.
fn is_pruned(snapshot: &Snapshot<'_>) -> nodedb::Result<bool> {
    let checkpoints = snapshot.prune_checkpoints()?;
    let mut pruned = checkpoints.iter().filter(|one| one.block.is_some());
    Ok(pruned.any(|one| one.segment == "TransactionLookup"))
}

/// Whether the index contains the newest transaction. A log of RocksDB that lost its end, or another
/// node's, does not.
fn has_newest(snapshot: &Snapshot<'_>) -> nodedb::Result<bool> {
    let tip = snapshot.tip();
    let mut newest = None;
    for block in (tip.saturating_sub(EMPTY_BLOCKS_MAX)..=tip).rev() {
        let body = snapshot.body(block)?;
        if body.tx_count > 0 {
            newest = Some((block, body.first_tx + body.tx_count - 1));
            break;
        }
    }
    let Some((block, tx)) = newest else {
        return Ok(true);
    };
    let hashes =
        snapshot.numbered_transaction_hashes(&[(block, tx)], |_| tx, &mut Scratch::default());
    match hashes {
        Ok(hashes) => match hashes.first() {
            Some(hash) => Ok(snapshot.find_transaction(*hash)?.is_some()),
            None => Ok(true),
        },
        // Then nothing can be searched, either.
        Err(error) if error.is_missing() => Ok(true),
        Err(error) => Err(error),
    }
}

/// Hashes the transactions of `blocks`, which are available, from the last block downwards.
fn search(
    db: &NodeDb,
    hash: B256,
    blocks: &BlockRanges,
    options: &ScanOptions,
) -> Result<Option<(u64, u32)>, SourceError> {
    let Some(span) = blocks.span() else {
        return Ok(None);
    };
    let last_hash = canonical(db, span.last)?;
    let search = Search {
        db,
        hash,
        options,
        found_in: AtomicU64::new(0),
    };
    let location = search.run(blocks)?;
    // A block fixes all blocks below it: while its hash is canonical, none was replaced.
    if location.is_none() && canonical(db, span.last)? != last_hash {
        return Err(SourceError::Reorged { block: span.last });
    }
    Ok(location)
}

struct Search<'a> {
    db: &'a NodeDb,
    hash: B256,
    options: &'a ScanOptions,
    /// Last block of the chunk with the transaction. Chunks below it are not needed.
    found_in: AtomicU64,
}

/// The result for one chunk.
struct Chunk {
    transactions: u64,
    location: Option<(u64, u32)>,
}

impl Search<'_> {
    /// Searches chunks in parallel. The result does not depend on the number of threads:
    /// chunks are evaluated in descending order of their blocks.
    fn run(&self, blocks: &BlockRanges) -> Result<Option<(u64, u32)>, SourceError> {
        let ScanOptions {
            threads, cancel, ..
        } = self.options;
        let progress = self.options.progress.as_deref();
        let progress = ProgressGuard::start(progress, blocks.blocks(), "transactions");
        let mut rest = Descending::new(blocks);
        let chunk_blocks = Cell::new(CHUNK_BLOCKS_FIRST);
        let end = ordered(
            threads,
            threads.count() * CHUNKS_AHEAD,
            cancel,
            iter::from_fn(|| rest.next_chunk(chunk_blocks.get())),
            Scratch::default,
            |scratch, blocks| match self.chunk(blocks, scratch) {
                Ok(chunk) if chunk.location.is_none() => ControlFlow::Continue(Ok((blocks, chunk))),
                Ok(chunk) => ControlFlow::Break(Ok((blocks, chunk))),
                Err(error) => ControlFlow::Break(Err(error)),
            },
            |result| {
                let (blocks, chunk) = match result {
                    Ok(result) => result,
                    Err(error) => return ControlFlow::Break(Err(error)),
                };
                progress.advance(blocks.blocks(), chunk.transactions);
                let wanted = blocks.blocks().saturating_mul(CHUNK_TRANSACTIONS);
                let wanted = wanted / chunk.transactions.max(1);
                chunk_blocks.set(wanted.clamp(1, CHUNK_BLOCKS_MAX));
                match chunk.location {
                    Some(location) => ControlFlow::Break(Ok(location)),
                    None => ControlFlow::Continue(()),
                }
            },
        );
        match end.map_err(Error::from)? {
            Ordered::Done => Ok(None),
            Ordered::Broken(found) => found.map(Some),
            Ordered::Canceled => Err(SourceError::Interrupted),
        }
    }

    /// Searches one chunk, again if files changed while it was read.
    fn chunk(&self, blocks: BlockRange, scratch: &mut Scratch) -> Result<Chunk, SourceError> {
        let cancel = &self.options.cancel;
        let stopped =
            || cancel.is_canceled() || self.found_in.load(Ordering::Relaxed) > blocks.last;
        let chunk = reread("transactions", || {
            let snapshot = self.db.snapshot()?;
            self.read(&snapshot, blocks, scratch, &stopped)
        });
        let chunk = chunk.map_err(Error::NodeDb)?;
        if cancel.is_canceled() {
            return Err(SourceError::Interrupted);
        }
        if chunk.location.is_some() {
            self.found_in.fetch_max(blocks.last, Ordering::Relaxed);
        }
        Ok(chunk)
    }

    fn read(
        &self,
        snapshot: &Snapshot<'_>,
        blocks: BlockRange,
        scratch: &mut Scratch,
        stopped: &dyn Fn() -> bool,
    ) -> nodedb::Result<Chunk> {
        let end = snapshot.body(blocks.last)?;
        let last_tx = (end.first_tx + end.tx_count).saturating_sub(1);
        let mut chunk = Chunk {
            transactions: 0,
            location: None,
        };
        let mut batch = Vec::with_capacity(BATCH);
        for block in blocks.first..=blocks.last {
            let body = snapshot.body(block)?;
            for tx in body.first_tx..body.first_tx + body.tx_count {
                batch.push((block, tx));
                if batch.len() == BATCH {
                    self.hash_batch(snapshot, &mut batch, last_tx, scratch, &mut chunk)?;
                }
            }
            if stopped() {
                return Ok(chunk);
            }
            if chunk.location.is_some() {
                break;
            }
        }
        self.hash_batch(snapshot, &mut batch, last_tx, scratch, &mut chunk)?;
        // The rows belong to this snapshot if its last block is still in the files.
        snapshot.block_hash(blocks.last)?;
        Ok(chunk)
    }

    /// Hashes a batch of transactions, given by block and number, and empties it.
    fn hash_batch(
        &self,
        snapshot: &Snapshot<'_>,
        batch: &mut Vec<(u64, u64)>,
        last_tx: u64,
        scratch: &mut Scratch,
        chunk: &mut Chunk,
    ) -> nodedb::Result<()> {
        let hashes = snapshot.numbered_transaction_hashes(batch, |_| last_tx, scratch)?;
        chunk.transactions += batch.len() as u64;
        let position = hashes.iter().position(|hash| *hash == self.hash);
        if let Some((block, tx)) = position.map(|at| batch[at]) {
            let index = tx - snapshot.body(block)?.first_tx;
            chunk.location = u32::try_from(index).ok().map(|index| (block, index));
        }
        batch.clear();
        Ok(())
    }
}

/// Cuts ranges of blocks into chunks, the highest first.
struct Descending {
    /// Ascending.
    ranges: Vec<BlockRange>,
}

impl Descending {
    fn new(blocks: &BlockRanges) -> Self {
        Self {
            ranges: blocks.iter().collect(),
        }
    }

    /// The highest blocks that are left, at most `blocks_max`.
    fn next_chunk(&mut self, blocks_max: u64) -> Option<BlockRange> {
        let range = self.ranges.pop()?;
        let first = range.last.saturating_sub(blocks_max - 1).max(range.first);
        if let Some(below) = first.checked_sub(1) {
            self.ranges.extend(BlockRange::new(range.first, below));
        }
        Some(BlockRange::from_to(first, range.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_ranges_from_the_highest_block_down() {
        let range = |first, last| BlockRange { first, last };
        let ranges = BlockRanges::new(vec![range(0, 5), range(10, 10), range(20, 27)]);
        let mut rest = Descending::new(&ranges);
        let chunks: Vec<_> = std::iter::from_fn(|| rest.next_chunk(4)).collect();
        let expected = [
            range(24, 27),
            range(20, 23),
            range(10, 10),
            range(2, 5),
            range(0, 1),
        ];
        assert_eq!(chunks, expected);
    }
}
