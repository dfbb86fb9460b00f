//! The transfers of new blocks, while the chain of a node grows.

use super::{FirstTransfers, PreparedTransfers, blocks::reread};
use crate::{Capability, Error, ErrorKind, Result};
use alloy_primitives::B256;
use std::{thread, time::Duration};
use txgraph_nodedb::Snapshot;
use txgraph_transfers::BlockRange;

/// Blocks whose hashes are kept. A node does not remove finalized blocks; on Ethereum, these are all
/// but the newest 64 to 96.
const KNOWN_BLOCKS: u64 = 256;

/// The blocks of one step at most. A step is in memory.
const STEP_BLOCKS: u64 = 10_000;

/// The time between two looks at the chain, which cost a few microseconds.
const POLL: Duration = Duration::from_millis(200);

/// The transfers of new blocks, one step after the other. Made by [`PreparedTransfers::watch`].
#[derive(Debug)]
pub struct Watch<'s> {
    query: PreparedTransfers<'s>,
    /// The next block to read.
    next: u64,
    /// The hashes of the blocks before it, ascending, without gaps.
    known: Vec<(u64, B256)>,
}

/// New blocks, and their transfers.
#[derive(Clone, Debug)]
pub struct AddedBlocks<'s> {
    /// The query for these blocks.
    pub query: PreparedTransfers<'s>,
    /// Their transfers.
    pub found: FirstTransfers,
}

/// The change of the chain since the last step.
#[derive(Clone, Debug)]
pub enum WatchStep<'s> {
    /// The chain has new blocks.
    Added(Box<AddedBlocks<'s>>),
    /// The node has removed blocks. What was found in them no longer holds.
    Removed {
        /// The first of them.
        first_block: u64,
    },
}

impl<'s> PreparedTransfers<'s> {
    /// Follows the chain with this query: from a block on, also through reorganizations. The blocks of
    /// the query are not used.
    ///
    /// # Errors
    ///
    /// If the source is not the data directory of a node, or the node does not have the block before
    /// `first`.
    pub fn watch(self, first: u64) -> Result<Watch<'s>> {
        let node = self.source().node(Capability::Blocks)?;
        let known = reread("hashes of blocks", || {
            let snapshot = node.db().snapshot()?;
            hashes(&snapshot, first.saturating_sub(KNOWN_BLOCKS), first)
        })?;
        Ok(Watch {
            query: self,
            next: first,
            known,
        })
    }
}

impl<'s> Watch<'s> {
    /// Looks at the chain once: the next blocks, or the removal of blocks that were read. `None` if
    /// there is nothing new.
    ///
    /// # Errors
    ///
    /// If the node removes more blocks than are known (256), or cannot be read.
    pub fn step(&mut self) -> Result<Option<WatchStep<'s>>> {
        loop {
            let (kept, added) = self.look()?;
            if kept == 0 && !self.known.is_empty() {
                return Err(Error::new(
                    ErrorKind::Failed,
                    format!(
                        "the node has removed all blocks before block {} that were known: {}",
                        self.next,
                        self.known.len()
                    ),
                ));
            }
            if let Some((first_block, _)) = self.known.get(kept).copied() {
                self.known.truncate(kept);
                self.next = first_block;
                return Ok(Some(WatchStep::Removed { first_block }));
            }
            let Some(last) = added.last().copied() else {
                return Ok(None);
            };
            let blocks = BlockRange::from_to(self.next, last.0);
            let query = self.query.at(blocks);
            let found = query.first(usize::MAX);
            // The chain may have changed while it was read. The hash of the last block stands for all.
            if self.query.source().block_hash(last.0)? != Some(last.1) {
                continue;
            }
            let found = found?;
            self.next = last.0 + 1;
            self.known.extend(added);
            let oldest = self.next.saturating_sub(KNOWN_BLOCKS);
            self.known.retain(|(block, _)| *block >= oldest);
            let added = AddedBlocks { query, found };
            return Ok(Some(WatchStep::Added(Box::new(added))));
        }
    }

    /// Waits until there is something new. `check` is called before each look at the chain, five times a
    /// second: it can end the wait.
    ///
    /// # Errors
    ///
    /// As [`Self::step`], if the work of the source is interrupted, and if `check` fails.
    pub fn wait(&mut self, check: impl Fn() -> Result<()>) -> Result<WatchStep<'s>> {
        loop {
            check()?;
            if let Some(step) = self.step()? {
                return Ok(step);
            }
            self.query.source().check_interrupted()?;
            thread::sleep(POLL);
        }
    }

    /// Reads, under one snapshot, how many of the known blocks are still on the chain, and, if all
    /// are, the hashes of the next ones.
    fn look(&self) -> Result<(usize, Vec<(u64, B256)>)> {
        let node = self.query.source().node(Capability::Blocks)?;
        Ok(reread("new blocks", || {
            let snapshot = node.db().snapshot()?;
            let tip = snapshot.tip();
            let mut kept = self.known.len();
            for (block, hash) in self.known.iter().rev() {
                if *block <= tip && snapshot.block_hash(*block)? == *hash {
                    break;
                }
                kept -= 1;
            }
            let added = match kept == self.known.len() {
                true => hashes(&snapshot, self.next, (tip + 1).min(self.next + STEP_BLOCKS))?,
                false => Vec::new(),
            };
            Ok((kept, added))
        })?)
    }
}

/// The hashes of the blocks from `first` up to, but not including, `end`.
fn hashes(
    snapshot: &Snapshot<'_>,
    first: u64,
    end: u64,
) -> txgraph_nodedb::Result<Vec<(u64, B256)>> {
    (first..end)
        .map(|block| Ok((block, snapshot.block_hash(block)?)))
        .collect()
}
