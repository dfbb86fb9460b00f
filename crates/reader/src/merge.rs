//! Puts what the workers read back into block order, within bounds of memory.
//!
//! This is bookkeeping without threads, disk or clock: it says which chunk may be
//! started, takes what came out of it, and gives the pieces in order. A slot per
//! chunk, from the first that was not emitted yet (the head) to the last that was
//! started; the number of slots and the bytes they hold are bounded, so a slow
//! head makes the others wait, not pile up. The head itself may always start:
//! there is no deadlock.

use crate::chunk::Chunks;
use alloy_primitives::B256;
use std::{collections::VecDeque, iter::Peekable};
use txgraph_transfers::{BlockRange, BlockRanges, DecodeCounts, Transfer, Unavailable};

/// How often a chunk that does not fit its predecessor is read again.
const REDONE_MAX: u32 = 8;

/// What was read of a chunk: consecutive blocks, each naming the hash of the one
/// before.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) blocks: BlockRange,
    /// Parent hash of the first block.
    pub(crate) parent: B256,
    /// Hash of the last block; with the links it pins all of them.
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

/// How the reading of a chunk ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Its first blocks, or all. Some, when a worker's share of memory was full.
    Read(Piece),
    /// These blocks of it were deleted since the scan began.
    Gone(Vec<Unavailable>),
    /// The tip of the chain is below the end of the chunk by now.
    Unwound {
        /// The lowest block that the chain has no more.
        block: u64,
    },
    /// The scan is to end.
    Stopped,
    /// It cannot be read.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

/// A chunk to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Names the task when its outcome comes; never used twice.
    pub(crate) id: u64,
    pub(crate) blocks: BlockRange,
}

/// Bounds of what may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Chunks that were begun and not emitted; parts of chunks that were cut short
    /// count on top, but no more than so many are read at a time.
    pub(crate) window: usize,
    /// Bytes of transfers in all of them.
    pub(crate) memory_bytes: u64,
    /// Bytes set aside for a chunk while it is being read.
    pub(crate) share_bytes: u64,
}

impl Limits {
    /// For `threads` workers and the bound a user gave.
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

    /// A worker ends a piece when its transfers take so many bytes. Half of the
    /// share, because a growing vector may be half empty.
    pub(crate) fn piece_bytes(&self) -> u64 {
        self.share_bytes / 2
    }
}

/// The state of what stands first in line.
#[derive(Debug)]
pub(crate) enum Head {
    /// Take it: it follows what was taken before.
    Ready(Piece),
    /// It does not name the hash of the last block taken as its parent.
    Unlinked {
        /// Its first block.
        block: u64,
    },
    /// It could not be read. The slot stays until [`Merge::redo`] or [`Merge::skip`].
    Broken(Outcome),
    /// Not read yet.
    Pending,
    /// Nothing is left.
    End,
}

#[derive(Debug)]
enum State {
    Waiting,
    Running { id: u64 },
    Done(Outcome),
}

#[derive(Debug)]
struct Slot {
    blocks: BlockRange,
    redone: u32,
    state: State,
}

impl Slot {
    fn new(blocks: BlockRange) -> Self {
        Self {
            blocks,
            redone: 0,
            state: State::Waiting,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Merge {
    /// What has no slot yet.
    chunks: Peekable<Chunks>,
    slots: VecDeque<Slot>,
    limits: Limits,
    next_id: u64,
    running: usize,
    /// Bytes of the pieces in `slots`.
    held_bytes: u64,
    /// Number and hash of the last block that was taken.
    tail: Option<(u64, B256)>,
}

impl Merge {
    pub(crate) fn new(chunks: Chunks, limits: Limits) -> Self {
        Self {
            chunks: chunks.peekable(),
            slots: VecDeque::new(),
            limits,
            next_id: 0,
            running: 0,
            held_bytes: 0,
            tail: None,
        }
    }

    /// The next chunk to start now, if any may. Lower blocks first.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        let mut at = self
            .slots
            .iter()
            .position(|slot| matches!(slot.state, State::Waiting));
        if at.is_none()
            && self.slots.len() < self.limits.window
            && !self.has_failed()
            && let Some(blocks) = self.chunks.next()
        {
            self.slots.push_back(Slot::new(blocks));
            at = Some(self.slots.len() - 1);
        }
        let at = at?;
        // The head may always start, or nothing would ever get better.
        if at > 0 && !self.has_room() {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.running += 1;
        let slot = &mut self.slots[at];
        slot.state = State::Running { id };
        Some(Task {
            id,
            blocks: slot.blocks,
        })
    }

    /// Whether one more chunk may be read without breaking the bounds.
    fn has_room(&self) -> bool {
        let tasks = self.running + 1;
        let shares = u64::try_from(tasks)
            .unwrap_or(u64::MAX)
            .saturating_mul(self.limits.share_bytes);
        tasks <= self.limits.window
            && self.held_bytes.saturating_add(shares) <= self.limits.memory_bytes
    }

    /// Whether a scan is bound to stop before it comes to chunks not yet started.
    fn has_failed(&self) -> bool {
        let failed = |slot: &Slot| {
            matches!(
                slot.state,
                State::Done(Outcome::Failed(_) | Outcome::Stopped)
            )
        };
        self.slots.iter().any(failed)
    }

    /// Takes what came out of the task `id`.
    pub(crate) fn finish(&mut self, id: u64, outcome: Outcome) {
        let mine = |slot: &Slot| matches!(slot.state, State::Running { id: mine } if mine == id);
        let Some(at) = self.slots.iter().position(mine) else {
            return;
        };
        self.running -= 1;
        let slot = &mut self.slots[at];
        if let Outcome::Read(piece) = &outcome {
            self.held_bytes = self.held_bytes.saturating_add(piece.bytes());
            // Cut short: the rest is a chunk of its own, in the same place.
            let rest = piece.blocks.last.checked_add(1);
            if let Some(rest) = rest.and_then(|next| BlockRange::new(next, slot.blocks.last)) {
                slot.blocks = piece.blocks;
                slot.state = State::Done(outcome);
                self.slots.insert(at + 1, Slot::new(rest));
                return;
            }
        }
        slot.state = State::Done(outcome);
    }

    /// What stands first in line; a piece that is ready leaves it.
    pub(crate) fn head(&mut self) -> Head {
        let Some(slot) = self.slots.front_mut() else {
            return if self.chunks.peek().is_some() {
                Head::Pending
            } else {
                Head::End
            };
        };
        let State::Done(outcome) = &mut slot.state else {
            return Head::Pending;
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
        match self.slots.pop_front() {
            Some(Slot {
                state: State::Done(Outcome::Read(piece)),
                ..
            }) => Head::Ready(piece),
            _ => unreachable!("matched above"),
        }
    }

    /// Number and hash of the last block that left the line.
    pub(crate) fn tail(&self) -> Option<(u64, B256)> {
        self.tail
    }

    /// Has everything that waits in line read again: the head does not follow
    /// what was taken, so it was read before the chain changed, and so may
    /// the others. False when that was done too often.
    pub(crate) fn redo(&mut self) -> bool {
        let Some(head) = self.slots.front_mut() else {
            return false;
        };
        head.redone += 1;
        if head.redone > REDONE_MAX {
            return false;
        }
        for slot in &mut self.slots {
            if let State::Done(outcome) = &slot.state {
                if let Outcome::Read(piece) = outcome {
                    self.held_bytes = self.held_bytes.saturating_sub(piece.bytes());
                }
                slot.state = State::Waiting;
            }
        }
        true
    }

    /// Leaves `gone` out of the head, which could not be read because of them.
    pub(crate) fn skip(&mut self, gone: &BlockRanges) {
        let Some(head) = self.slots.pop_front() else {
            return;
        };
        let left = BlockRanges::from(head.blocks).subtract(gone);
        let left: Vec<_> = left.iter().collect();
        for blocks in left.into_iter().rev() {
            self.slots.push_front(Slot::new(blocks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Sizing;
    use alloy_primitives::{Address, U256};
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng, rngs::SmallRng};
    use txgraph_transfers::{Kind, TokenStandard};

    const ROW: Transfer = Transfer {
        block_number: 0,
        block_timestamp: 0,
        transaction_index: 0,
        log_index: None,
        sub_index: 0,
        transaction_hash: B256::ZERO,
        token_address: None,
        from_address: Address::ZERO,
        to_address: Address::ZERO,
        value: U256::ZERO,
        token_id: None,
        token_standard: TokenStandard::Native,
        kind: Kind::Value,
    };

    /// A piece of the chain in which every block's hash is its number.
    fn piece(blocks: BlockRange, rows: usize) -> Piece {
        let hash = |block: u64| B256::from(U256::from(block));
        Piece {
            blocks,
            parent: blocks.first.checked_sub(1).map_or(B256::ZERO, hash),
            hash: hash(blocks.last),
            transfers: vec![ROW; rows],
            counts: DecodeCounts::default(),
        }
    }

    impl Merge {
        /// The books agree with the slots, and the bounds hold.
        fn audit(&self, rows_in_share: u64) {
            let held = self.slots.iter().map(|slot| match &slot.state {
                State::Done(Outcome::Read(piece)) => piece.bytes(),
                _ => 0,
            });
            assert_eq!(self.held_bytes, held.sum::<u64>());
            let running = |slot: &&Slot| matches!(slot.state, State::Running { .. });
            assert_eq!(self.running, self.slots.iter().filter(running).count());
            let Limits {
                window,
                memory_bytes,
                share_bytes,
            } = self.limits;
            assert!(self.running <= window + 1);
            // No worker overshoots here, so only the head can go beyond the bound.
            let most = self.held_bytes + self.running as u64 * share_bytes;
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
            let all = BlockRanges::from(BlockRange { first: 0, last: 99 });
            let mut merge = Merge::new(Chunks::new(&all, Sizing::Blocks(size)), limits);
            let mut chance = SmallRng::seed_from_u64(seed);
            let mut running: Vec<Task> = Vec::new();
            let mut next = 0;
            loop {
                if chance.random() && let Some(task) = merge.next_task() {
                    running.push(task);
                }
                if chance.random() && !running.is_empty() {
                    let at = chance.random_range(0..running.len());
                    let task = running.swap_remove(at);
                    let last = chance.random_range(task.blocks.first..=task.blocks.last);
                    let rows = chance.random_range(0..=usize::try_from(share).unwrap());
                    let read = piece(BlockRange { last, ..task.blocks }, rows);
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
    fn what_does_not_follow_is_read_again_but_not_for_ever() {
        let all = BlockRanges::from(BlockRange { first: 0, last: 9 });
        let mut merge = Merge::new(Chunks::new(&all, Sizing::Blocks(5)), Limits::new(1, None));
        let (first, second) = (merge.next_task().unwrap(), merge.next_task().unwrap());
        merge.finish(first.id, Outcome::Read(piece(first.blocks, 1)));
        merge.finish(
            second.id,
            Outcome::Read(Piece {
                parent: B256::ZERO,
                ..piece(second.blocks, 1)
            }),
        );
        assert!(matches!(merge.head(), Head::Ready(_)));
        for _ in 0..REDONE_MAX {
            assert!(matches!(merge.head(), Head::Unlinked { block: 5 }));
            assert!(merge.redo());
            let again = merge.next_task().unwrap();
            assert_eq!(again.blocks, second.blocks);
            // What the first attempt says now is of no interest any more.
            merge.finish(second.id, Outcome::Stopped);
            let read = Piece {
                parent: B256::ZERO,
                ..piece(again.blocks, 1)
            };
            merge.finish(again.id, Outcome::Read(read));
        }
        assert!(matches!(merge.head(), Head::Unlinked { block: 5 }));
        assert!(!merge.redo());
    }

    #[test]
    fn nothing_new_is_begun_behind_a_failure() {
        let all = BlockRanges::from(BlockRange { first: 0, last: 99 });
        let mut merge = Merge::new(Chunks::new(&all, Sizing::Blocks(5)), Limits::new(1, None));
        let (_first, second) = (merge.next_task().unwrap(), merge.next_task().unwrap());
        merge.finish(second.id, Outcome::Failed("damaged".into()));
        assert_eq!(merge.next_task(), None);
        assert!(
            matches!(merge.head(), Head::Pending),
            "the first may fail too, and counts"
        );
    }
}
