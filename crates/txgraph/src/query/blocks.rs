//! Blocks and transactions of a node, whole, as it stores them.

mod content;

pub use content::{NodeBlock, NodeReceipt, NodeTransaction, ReceiptDetail};

use content::{some, whole};

use crate::{Capability, Error, Hint, Result, Source, error::list_gaps, source::RethNode};
use alloy_primitives::{Address, B256};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};
use txgraph_nodedb::{Block, Error as NodeError, Header, Parts, Scratch, Withdrawal};
use txgraph_transfers::{BlockRange, BlockRanges, SourceError};
use txgraph_work::Retry;

/// Transactions and who signed them. A transaction is found by its place.
pub(super) const SIGNED: Parts = Parts {
    headers: false,
    receipts: false,
    transactions: true,
    senders: true,
    withdrawals: false,
};

/// Blocks that a thread reads at a time, under one snapshot. The first chunks are smaller, for queries
/// that end soon.
const CHUNK_BLOCKS: u64 = 128;

/// Blocks of which some transactions are read under one snapshot. They may be full, and far apart.
const BLOCKS_PER_TASK: usize = 16;

/// Headers that are read under one snapshot.
const HEADERS_PER_TASK: usize = 512;

/// Chunks that are read before the first of them is delivered, for each thread. The largest result of
/// a chunk is the whole content of its blocks.
const CHUNKS_AHEAD_PER_THREAD: usize = 2;

/// The order in which blocks are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The lowest block first.
    #[default]
    OldestFirst,
    /// The highest block first, and its last transaction before the others.
    NewestFirst,
}

/// How far the beacon chain has confirmed the blocks of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalBlocks {
    /// The last block that cannot be replaced.
    pub finalized: Option<u64>,
    /// The last block that is unlikely to be replaced.
    pub safe: Option<u64>,
}

impl Source {
    /// The hash of the newest block that is stored, and its number.
    ///
    /// # Errors
    ///
    /// If the source is not a node, or cannot be read.
    pub fn tip_block(&self) -> Result<(u64, B256)> {
        let node = self.node(Capability::Blocks)?;
        Ok(reread("the tip", || {
            let snapshot = node.db().snapshot()?;
            let tip = snapshot.tip();
            Ok((tip, snapshot.block_hash(tip)?))
        })?)
    }

    /// The last finalized and the last safe block of the node, if it stored them. Both are at most
    /// the tip, although the node can have newer ones in memory.
    ///
    /// # Errors
    ///
    /// As [`Self::tip_block`].
    pub fn final_blocks(&self) -> Result<FinalBlocks> {
        let node = self.node(Capability::Blocks)?;
        Ok(reread("the finalized block", || {
            let snapshot = node.db().snapshot()?;
            Ok(FinalBlocks {
                finalized: snapshot.finalized()?,
                safe: snapshot.safe()?,
            })
        })?)
    }

    /// The hash of a block; `None` above the tip.
    ///
    /// # Errors
    ///
    /// As [`Self::tip_block`], and if the node no longer has the block.
    pub fn block_hash(&self, block: u64) -> Result<Option<B256>> {
        let node = self.node(Capability::Blocks)?;
        Ok(reread("the hash of a block", || {
            let snapshot = node.db().snapshot()?;
            match snapshot.tip() < block {
                true => Ok(None),
                false => snapshot.block_hash(block).map(Some),
            }
        })?)
    }

    /// The number of the block with this hash; `None` if the chain does not have it.
    ///
    /// # Errors
    ///
    /// As [`Self::tip_block`].
    pub fn block_number(&self, hash: B256) -> Result<Option<u64>> {
        let node = self.node(Capability::Blocks)?;
        Ok(reread("the number of a block", || {
            node.db().snapshot()?.block_with_hash(hash)
        })?)
    }

    /// Where a transaction is; `None` if the chain does not have it.
    ///
    /// # Errors
    ///
    /// If the source is not a node, cannot be read, or lacks transactions that would have to be looked
    /// at.
    pub fn find_transaction(&self, hash: B256) -> Result<Option<(u64, u32)>> {
        let node = self.node(Capability::Blocks)?;
        let options = txgraph_reader::ScanOptions {
            threads: self.control.threads.clone(),
            cancel: self.control.cancel.clone(),
            ..txgraph_reader::ScanOptions::default()
        };
        Ok(txgraph_reader::look_for_transaction(
            node.db(),
            hash,
            &options,
        )?)
    }

    /// The header of a block.
    ///
    /// # Errors
    ///
    /// As [`Self::tip_block`], and if there is no such block.
    pub fn header(&self, block: u64) -> Result<Header> {
        let node = self.node(Capability::Blocks)?;
        Ok(reread("a header", || node.db().snapshot()?.header(block))?)
    }

    /// The times of blocks, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// As [`Self::header`].
    pub(super) fn times(&self, blocks: &[u64]) -> Result<Vec<u64>> {
        let node = self.node(Capability::Blocks)?;
        let read = |blocks: &[u64], _: &mut Scratch| {
            reread("headers", || {
                let snapshot = node.db().snapshot()?;
                let time = |block: &u64| snapshot.header(*block).map(|it| it.timestamp);
                blocks.iter().map(time).collect()
            })
        };
        let mut all = Vec::with_capacity(blocks.len());
        let tasks = blocks.chunks(HEADERS_PER_TASK);
        self.in_order(tasks, read, |mut times: Vec<u64>| {
            all.append(&mut times);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// The number of transactions of a block.
    ///
    /// # Errors
    ///
    /// As [`Self::header`].
    pub fn transaction_count(&self, block: u64) -> Result<u64> {
        self.read_block(block, Parts::default(), |block| Ok(block.body.tx_count))
    }

    /// The headers of the ommers of a block; none since the merge.
    ///
    /// # Errors
    ///
    /// As [`Self::header`].
    pub fn ommers(&self, block: u64) -> Result<Vec<Header>> {
        Ok(self.header_with_ommers(block)?.1)
    }

    /// The header of a block, and the headers of its ommers.
    pub(super) fn header_with_ommers(&self, block: u64) -> Result<(Header, Vec<Header>)> {
        self.read_block(block, Parts::default(), |block| {
            let header = block.check_header()?.clone();
            Ok((header, block.ommers()?))
        })
    }

    /// The header and the withdrawals of a block; none before Shanghai.
    ///
    /// # Errors
    ///
    /// As [`Self::header`].
    pub fn withdrawals(&self, block: u64) -> Result<(Header, Vec<Withdrawal>)> {
        let parts = Parts {
            withdrawals: true,
            ..Parts::default()
        };
        self.read_block(block, parts, |block| {
            let header = block.check_header()?.clone();
            Ok((header, block.withdrawals().to_vec()))
        })
    }

    /// A block with its transactions, and with their receipts if `receipts`.
    ///
    /// # Errors
    ///
    /// As [`Self::header`], and if a part of it is not stored.
    pub fn block(&self, block: u64, receipts: bool) -> Result<NodeBlock> {
        let parts = Parts { receipts, ..WHOLE };
        self.read_block(block, parts, |block| whole(block, receipts))
    }

    /// Reads some of a block.
    fn read_block<T>(
        &self,
        block: u64,
        parts: Parts,
        read: impl Fn(&mut Block<'_>) -> txgraph_nodedb::Result<T>,
    ) -> Result<T> {
        let node = self.node(Capability::Blocks)?;
        let found = reread("a block", || {
            let mut found = None;
            let visit = &mut |block: &mut Block<'_>| {
                found = Some(read(block)?);
                Ok(ControlFlow::Continue(()))
            };
            let snapshot = node.db().snapshot()?;
            let blocks = BlockRange::one(block);
            snapshot.for_each_block(blocks, parts, &mut Scratch::default(), visit)?;
            Ok(found)
        })?;
        found.ok_or_else(|| Error::unavailable(format!("block {block} was not read")))
    }

    /// Blocks with their transactions and receipts, in order, until `each` breaks.
    ///
    /// # Errors
    ///
    /// As [`Self::block`], if a block of the range is missing, if the chain is reorganized in the meantime,
    /// and the error of `each`.
    pub fn for_each_block(
        &self,
        blocks: BlockRange,
        order: Order,
        each: impl FnMut(NodeBlock) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let read = |block: &mut Block<'_>| whole(block, true).map(Some);
        self.scan_blocks(blocks, order, WHOLE, read, each)
    }

    /// The blocks whose beneficiary is an address, with their transactions and receipts, in order, until
    /// `each` breaks.
    ///
    /// # Errors
    ///
    /// As [`Self::for_each_block`].
    pub fn blocks_of(
        &self,
        beneficiary: Address,
        blocks: BlockRange,
        order: Order,
        each: impl FnMut(NodeBlock) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let read = |block: &mut Block<'_>| match block.header()?.beneficiary == beneficiary {
            true => whole(block, true).map(Some),
            false => Ok(None),
        };
        self.scan_blocks(blocks, order, WHOLE, read, each)
    }

    /// Transactions by block and index, with as much of their receipts as `detail` says.
    ///
    /// # Errors
    ///
    /// As [`Self::block`], and if a block has fewer transactions.
    pub fn transactions_at(
        &self,
        places: &BTreeSet<(u64, u32)>,
        detail: ReceiptDetail,
    ) -> Result<BTreeMap<(u64, u32), NodeTransaction>> {
        let mut by_block: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for (block, index) in places {
            by_block.entry(*block).or_default().insert(*index);
        }
        // Withdrawals need the header of every block.
        let parts = Parts {
            withdrawals: false,
            receipts: detail != ReceiptDetail::None,
            ..WHOLE
        };
        let read = |block: &mut Block<'_>, indices: &BTreeSet<u32>| some(block, indices, detail);
        let found = self.read_each(by_block, parts, read)?;
        let place = |it: &NodeTransaction| (it.header.number, it.index);
        let all: BTreeMap<_, _> = (found.into_iter().flatten())
            .map(|it| (place(&it), it))
            .collect();
        match places.iter().find(|place| !all.contains_key(place)) {
            None => Ok(all),
            Some((block, index)) => Err(Error::unavailable(format!(
                "block {block} has no transaction {index}"
            ))),
        }
    }

    /// Reads some transactions of each of these blocks on all threads. Returns what was read, in order.
    pub(super) fn read_each<T: Send>(
        &self,
        wanted: BTreeMap<u64, BTreeSet<u32>>,
        parts: Parts,
        read: impl Fn(&mut Block<'_>, &BTreeSet<u32>) -> txgraph_nodedb::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let node = self.node(Capability::Blocks)?;
        let wanted: Vec<_> = wanted.into_iter().collect();
        let read = |blocks: &[(u64, BTreeSet<u32>)], scratch: &mut Scratch| {
            reread("transactions", || {
                let mut found = Vec::with_capacity(blocks.len());
                let snapshot = node.db().snapshot()?;
                for (block, indices) in blocks {
                    let visit = &mut |block: &mut Block<'_>| {
                        found.push(read(block, indices)?);
                        Ok(ControlFlow::Continue(()))
                    };
                    let block = BlockRange::one(*block);
                    snapshot.for_each_block(block, parts, scratch, visit)?;
                }
                Ok(found)
            })
        };
        let mut all = Vec::with_capacity(wanted.len());
        self.in_order(wanted.chunks(BLOCKS_PER_TASK), read, |mut found| {
            all.append(&mut found);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// Reads blocks on all threads and passes the results to `each`, in order. Blocks for which `read`
    /// returns `None` are left out.
    pub(super) fn scan_blocks<T: Send>(
        &self,
        blocks: BlockRange,
        order: Order,
        parts: Parts,
        read: impl Fn(&mut Block<'_>) -> txgraph_nodedb::Result<Option<T>> + Sync,
        mut each: impl FnMut(T) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let node = self.node(Capability::Blocks)?;
        check_available(node, blocks, parts)?;
        // The hash of a block fixes all blocks below it.
        let hash = self.block_hash(blocks.last)?;
        let read = |chunk: BlockRange, scratch: &mut Scratch| {
            reread("blocks", || {
                let mut found = Vec::new();
                let visit = &mut |block: &mut Block<'_>| {
                    found.extend(read(block)?);
                    // A chunk is short, but its blocks may be full.
                    Ok(match node.control.cancel.is_canceled() {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    })
                };
                let snapshot = node.db().snapshot()?;
                snapshot.for_each_block(chunk, parts, scratch, visit)?;
                Ok(found)
            })
        };
        let sizes = growing(1, 2, CHUNK_BLOCKS);
        self.in_order(chunks(blocks, order, sizes), read, |mut found| {
            if order == Order::NewestFirst {
                found.reverse();
            }
            for found in found {
                if each(found)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match self.block_hash(blocks.last)? == hash {
            true => Ok(()),
            false => Err(SourceError::Reorged { block: blocks.last }.into()),
        }
    }

    /// Runs tasks on all threads and passes what they read to `each`, in order.
    pub(super) fn in_order<T: Send, R: Send>(
        &self,
        tasks: impl IntoIterator<Item = T>,
        read: impl Fn(T, &mut Scratch) -> txgraph_nodedb::Result<R> + Sync,
        mut each: impl FnMut(R) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.control.in_order(
            CHUNKS_AHEAD_PER_THREAD,
            tasks,
            Scratch::default,
            |task, scratch| Ok(read(task, scratch)?),
            |found| {
                // A chunk that was canceled is not whole.
                self.check_interrupted()?;
                each(found)
            },
        )
    }
}

/// Sizes of chunks: `first`, and then each `factor` times the one before, up to `most`.
pub(super) fn growing(first: u64, factor: u64, most: u64) -> impl Iterator<Item = u64> {
    let next = move |size: &u64| Some(size.saturating_mul(factor).min(most));
    std::iter::successors(Some(first), next)
}

/// Parts of a range, in order, with as many blocks as `sizes` says. The last one may have fewer.
pub(super) fn chunks(
    blocks: BlockRange,
    order: Order,
    mut sizes: impl Iterator<Item = u64>,
) -> impl Iterator<Item = BlockRange> {
    let mut rest = BlockRange::new(blocks.first, blocks.last);
    std::iter::from_fn(move || {
        let left = rest?;
        let most = sizes.next()?;
        let (chunk, others) = match order {
            Order::OldestFirst => {
                let chunk = left.prefix(most);
                (chunk, left.after(chunk.last))
            }
            Order::NewestFirst => {
                let first = left.last.saturating_sub(most - 1).max(left.first);
                let others =
                    (first > left.first).then(|| BlockRange::from_to(left.first, first - 1));
                (BlockRange::from_to(first, left.last), others)
            }
        };
        rest = others;
        Some(chunk)
    })
}

/// Reads again under a new snapshot what changed while it was read.
pub(super) fn reread<T>(
    what: &str,
    attempt: impl FnMut() -> txgraph_nodedb::Result<T>,
) -> txgraph_nodedb::Result<T> {
    Retry::REREAD.run(what, NodeError::is_stale, attempt)
}

/// Refuses a range of which a part is missing.
fn check_available(node: &RethNode, blocks: BlockRange, parts: Parts) -> Result<()> {
    let missing = txgraph_reader::missing(node.db(), blocks, parts, &node.control.cancel)?;
    if missing.is_empty() {
        return Ok(());
    }
    let gaps: BlockRanges = missing.iter().map(|gap| gap.blocks).collect();
    let available = BlockRanges::from(blocks).subtract(&gaps);
    let hint = match available.iter().last() {
        Some(newest) => Hint::AskExisting { newest },
        None => Hint::ListBlocks,
    };
    let message = format!("blocks not available: {}", list_gaps(&missing));
    Err(Error::unavailable(message).with_hint(hint))
}

/// Everything but headers, which are read where they are needed.
const WHOLE: Parts = Parts {
    headers: false,
    ..Parts::ALL
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_a_range_once_in_both_orders() {
        for (first, last) in [(0, 0), (5, 5), (0, 127), (0, 128), (7, 1000), (3, 130)] {
            let blocks = BlockRange::new(first, last).unwrap();
            let sizes = || growing(1, 2, 128);
            let up: Vec<_> = chunks(blocks, Order::OldestFirst, sizes()).collect();
            let seen: Vec<u64> = up.iter().flat_map(|it| it.first..=it.last).collect();
            assert_eq!(seen, (first..=last).collect::<Vec<_>>());
            assert!(up.iter().all(|it| it.blocks() <= 128));
            let mut down: Vec<_> = chunks(blocks, Order::NewestFirst, sizes()).collect();
            assert_eq!(down[0], BlockRange::one(last));
            let mut whole = down[..down.len() - 1].iter().zip(sizes());
            assert!(whole.all(|(chunk, size)| chunk.blocks() == size));
            down.reverse();
            let seen: Vec<u64> = down.iter().flat_map(|it| it.first..=it.last).collect();
            assert_eq!(seen, (first..=last).collect::<Vec<_>>());
        }
    }
}
