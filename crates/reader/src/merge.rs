//! Puts the chunks that workers read back into block order, within bounds of memory.
//!
//! This is bookkeeping without threads, disk or clock: it decides which chunk may start,
//! stores its outcome, and returns the pieces in order. In line are the chunks from the
//! first that was not emitted yet (the head) to the last that was started. Their number
//! and the bytes they hold are bounded, so a slow head makes the others wait. The head
//! itself may always start, so there is no deadlock.

use crate::chunk::Chunks;
use alloy_primitives::B256;
use std::iter::Peekable;
use txgraph_transfers::{
    BlockRange, BlockRanges, DecodeCounts, SourceFailure, Transfer, Unavailable,
};
use txgraph_work::{QueueHead, Retry, RunningTask, TaskQueue};

/// A part of a chunk that was read: consecutive blocks. Each has the hash of the one before as
/// its parent hash.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) blocks: BlockRange,
    /// Parent hash of the first block.
    pub(crate) parent: B256,
    /// Hash of the last block. Together with the links it fixes all of them.
    pub(crate) hash: B256,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) counts: DecodeCounts,
}

impl Piece {
    fn bytes(&self) -> u64 {
        let bytes = self
            .transfers
            .capacity()
            .saturating_mul(size_of::<Transfer>());
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// The outcome of reading a chunk.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all outcomes are of the large variant"
)]
pub(crate) enum Outcome {
    /// All its blocks, or the first ones if a worker's share of memory was full.
    Read(Piece),
    /// These blocks were deleted since the scan began.
    Gone(Vec<Unavailable>),
    /// The tip is now below the end of the chunk.
    Unwound {
        /// The lowest block that is no longer in the chain.
        block: u64,
    },
    /// The scan ends.
    Stopped,
    /// It cannot be read.
    Failed(SourceFailure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) blocks: BlockRange,
    /// How often it was read again because it did not follow its predecessor.
    rereads: u32,
}

impl Chunk {
    const fn new(blocks: BlockRange) -> Self {
        Self { blocks, rereads: 0 }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The number of chunks that are started and not emitted. Rests of chunks that were cut short
    /// are in addition, but no more than this number is read at a time.
    pub(crate) window: usize,
    /// The bytes of transfers in all of them.
    pub(crate) memory_bytes: u64,
    /// The bytes that are reserved for a chunk while it is read.
    pub(crate) share_bytes: u64,
}

impl Limits {
    /// Returns the limits for `threads` workers and the limit of the options.
    pub(crate) fn new(threads: usize, memory_bytes_max: Option<u64>) -> Self {
        const MIB: u64 = 1 << 20;
        let threads = threads.max(1);
        let window = threads.saturating_mul(4);
        let slots = u64::try_from(window).unwrap_or(u64::MAX);
        let memory_bytes = memory_bytes_max.unwrap_or(slots.saturating_mul(4 * MIB).max(64 * MIB));
        let share_bytes = (memory_bytes / slots).clamp(MIB / 4, 16 * MIB);
        Self {
            window,
            memory_bytes,
            share_bytes,
        }
    }

    /// A worker ends a piece when its transfers take this number of bytes. That is half of the
    /// share, because a growing vector may be half empty.
    pub(crate) fn piece_bytes(&self) -> u64 {
        self.share_bytes / 2
    }
}

/// The state of the first chunk.
#[derive(Debug)]
pub(crate) enum Head {
    /// It is read and follows the piece taken before.
    Ready(Piece),
    /// Its parent hash is not the hash of the last block taken.
    Unlinked {
        /// Its first block.
        block: u64,
    },
    /// It could not be read. It stays in the queue until [`Merge::redo`] or [`Merge::skip`].
    Broken(Outcome),
    /// It is not read yet.
    Pending,
    /// No chunk is left.
    End,
}

/// The chunks of a scan in order; see the module.
#[derive(Debug)]
pub(crate) struct Merge {
    /// Blocks that are not in the queue yet.
    blocks: Peekable<Chunks>,
    queue: TaskQueue<Chunk, Outcome>,
    limits: Limits,
    /// Bytes of the pieces in `line`.
    held_bytes: u64,
    /// Number and hash of the last block that was taken.
    tail: Option<(u64, B256)>,
}

impl Merge {
    pub(crate) fn new(blocks: Chunks, limits: Limits) -> Self {
        Self {
            blocks: blocks.peekable(),
            queue: TaskQueue::default(),
            limits,
            held_bytes: 0,
            tail: None,
        }
    }

    /// The next chunk to start now, if one may start. Lower blocks first.
    pub(crate) fn next_task(&mut self) -> Option<RunningTask<Chunk>> {
        let mut at = self.queue.first_waiting();
        if at.is_none()
            && self.queue.len() < self.limits.window
            && !self.has_failed()
            && let Some(blocks) = self.blocks.next()
        {
            self.queue.push_back(Chunk::new(blocks));
            at = Some(self.queue.len() - 1);
        }
        // The head may always start, or the scan could not go on.
        let at = at.filter(|at| *at == 0 || self.has_room())?;
        Some(self.queue.start(at))
    }

    /// Whether one more chunk may be read within the bounds.
    fn has_room(&self) -> bool {
        let tasks = self.queue.running() + 1;
        let shares = u64::try_from(tasks)
            .unwrap_or(u64::MAX)
            .saturating_mul(self.limits.share_bytes);
        tasks <= self.limits.window
            && self.held_bytes.saturating_add(shares) <= self.limits.memory_bytes
    }

    /// Whether the scan will stop before it reaches chunks that are not in the queue yet.
    fn has_failed(&self) -> bool {
        let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_) | Outcome::Stopped);
        self.queue.results().any(failed)
    }

    /// Stores the outcome of the task `id`.
    pub(crate) fn finish(&mut self, id: u64, outcome: Outcome) {
        let read = match &outcome {
            Outcome::Read(piece) => Some((piece.blocks, piece.bytes())),
            _ => None,
        };
        let Some((at, chunk)) = self.queue.finish(id, outcome) else {
            return;
        };
        let Some((blocks, bytes)) = read else { return };
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        // Cut short: the rest is a chunk of its own in the same place.
        if let Some(rest) = chunk.blocks.after(blocks.last) {
            chunk.blocks = blocks;
            self.queue.insert(at + 1, Chunk::new(rest));
        }
    }

    /// The state of the first chunk in the queue. A piece that is ready leaves the queue.
    pub(crate) fn head(&mut self) -> Head {
        let outcome = match self.queue.head() {
            QueueHead::Done(outcome) => outcome,
            QueueHead::Pending => return Head::Pending,
            QueueHead::Empty if self.blocks.peek().is_some() => return Head::Pending,
            QueueHead::Empty => return Head::End,
        };
        let Outcome::Read(piece) = outcome else {
            return Head::Broken(std::mem::replace(outcome, Outcome::Stopped));
        };
        let first = piece.blocks.first;
        if self.tail.is_some_and(|(block, hash)| {
            block.checked_add(1) == Some(first) && hash != piece.parent
        }) {
            return Head::Unlinked { block: first };
        }
        self.tail = Some((piece.blocks.last, piece.hash));
        self.held_bytes = self.held_bytes.saturating_sub(piece.bytes());
        match self.queue.take_head() {
            Some((_, Outcome::Read(piece))) => Head::Ready(piece),
            _ => unreachable!("matched above"),
        }
    }

    /// Number and hash of the last block that left the queue.
    pub(crate) fn tail(&self) -> Option<(u64, B256)> {
        self.tail
    }

    /// Has everything in the queue read again: the head does not follow what was taken, so it
    /// was read before the chain changed, and so may the others have been. Returns false
    /// if the head was read again too often.
    pub(crate) fn redo(&mut self) -> bool {
        let Some(head) = self.queue.front_mut() else {
            return false;
        };
        head.rereads += 1;
        if head.rereads >= Retry::REREAD.attempts {
            return false;
        }
        let held_bytes = &mut self.held_bytes;
        self.queue.reset(|outcome| {
            if let Outcome::Read(piece) = outcome {
                *held_bytes = held_bytes.saturating_sub(piece.bytes());
            }
        });
        true
    }

    /// Removes the blocks `gone` from the head, which could not be read because of them.
    pub(crate) fn skip(&mut self, gone: &BlockRanges) {
        let Some((head, _)) = self.queue.take_head() else {
            return;
        };
        let left = BlockRanges::from(head.blocks).subtract(gone);
        for (at, blocks) in left.iter().enumerate() {
            self.queue.insert(at, Chunk::new(blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Sizing;
    use alloy_primitives::U256;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};
    use txgraph_transfers::testing;

    /// A piece of the chain in which every block's hash is its number.
    fn piece(blocks: BlockRange, rows: usize) -> Piece {
        let hash = |block: u64| B256::from(U256::from(block));
        Piece {
            blocks,
            parent: blocks.first.checked_sub(1).map_or(B256::ZERO, hash),
            hash: hash(blocks.last),
            transfers: vec![testing::transfer(0); rows],
            counts: DecodeCounts::default(),
        }
    }

    impl Merge {
        /// Checks the counters against the queue, and the bounds.
        fn audit(&self, rows_in_share: u64) {
            let held = self.queue.results().map(|outcome| match outcome {
                Outcome::Read(piece) => piece.bytes(),
                _ => 0,
            });
            assert_eq!(self.held_bytes, held.sum::<u64>());
            let running = self.queue.running();
            let Limits {
                window,
                memory_bytes,
                share_bytes,
            } = self.limits;
            assert!(running <= window + 1);
            // No worker overshoots here, so only the head can go beyond the bound.
            let most = self.held_bytes + running as u64 * share_bytes;
            assert!(
                most <= memory_bytes + share_bytes,
                "{most}: {rows_in_share} rows in a share"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn bounded_and_in_order(
            seed: u64,
            size in 1u64..20,
            window in 1usize..10,
            share in 1u64..9,
            memory in 1u64..60,
        ) {
            let row = size_of::<Transfer>() as u64;
            let limits = Limits {
                window,
                memory_bytes: memory.max(share) * row,
                share_bytes: share * row,
            };
            let all = BlockRanges::from(BlockRange::up_to(99));
            let mut merge = Merge::new(Chunks::new(&all, Sizing::Blocks(size)), limits);
            let mut chance = SmallRng::seed_from_u64(seed);
            let mut running: Vec<RunningTask<Chunk>> = Vec::new();
            let mut next = 0;
            loop {
                if chance.random() && let Some(task) = merge.next_task() {
                    running.push(task);
                }
                if chance.random() && !running.is_empty() {
                    let at = chance.random_range(0..running.len());
                    let task = running.swap_remove(at);
                    let last = chance.random_range(task.task.blocks.first..=task.task.blocks.last);
                    let rows = chance.random_range(0..=usize::try_from(share).unwrap());
                    let read = piece(BlockRange { last, ..task.task.blocks }, rows);
                    merge.finish(task.id, Outcome::Read(read));
                }
                merge.audit(share);
                match merge.head() {
                    Head::Ready(piece) => {
                        prop_assert_eq!(piece.blocks.first, next);
                        next = piece.blocks.last + 1;
                    }
                    Head::Pending => {}
                    Head::End => break,
                    head => panic!("{head:?}"),
                }
            }
            prop_assert_eq!(next, 100);
        }
    }

    #[test]
    fn rereads_unlinked_chunks_a_bounded_number_of_times() {
        let all = BlockRanges::from(BlockRange::up_to(9));
        let mut merge = Merge::new(Chunks::new(&all, Sizing::Blocks(5)), Limits::new(1, None));
        let (first, second) = (merge.next_task().unwrap(), merge.next_task().unwrap());
        merge.finish(first.id, Outcome::Read(piece(first.task.blocks, 1)));
        merge.finish(
            second.id,
            Outcome::Read(Piece {
                parent: B256::ZERO,
                ..piece(second.task.blocks, 1)
            }),
        );
        assert!(matches!(merge.head(), Head::Ready(_)));
        for _ in 1..Retry::REREAD.attempts {
            assert!(matches!(merge.head(), Head::Unlinked { block: 5 }));
            assert!(merge.redo());
            let again = merge.next_task().unwrap();
            assert_eq!(again.task.blocks, second.task.blocks);
            // The late outcome of the first attempt is ignored.
            merge.finish(second.id, Outcome::Stopped);
            let read = Piece {
                parent: B256::ZERO,
                ..piece(again.task.blocks, 1)
            };
            merge.finish(again.id, Outcome::Read(read));
        }
        assert!(matches!(merge.head(), Head::Unlinked { block: 5 }));
        assert!(!merge.redo());
    }

    #[test]
    fn starts_no_chunk_after_a_failure() {
        let all = BlockRanges::from(BlockRange::up_to(99));
        let mut merge = Merge::new(Chunks::new(&all, Sizing::Blocks(5)), Limits::new(1, None));
        let (_first, second) = (merge.next_task().unwrap(), merge.next_task().unwrap());
        merge.finish(
            second.id,
            Outcome::Failed(SourceFailure::new(
                txgraph_transfers::FailureKind::Unreadable,
                "damaged",
            )),
        );
        assert_eq!(merge.next_task(), None);
        assert!(
            matches!(merge.head(), Head::Pending),
            "the first may fail too, and counts"
        );
    }
}
