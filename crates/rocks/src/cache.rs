//! Blocks that were read before.

use crate::block::Block;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Memory for blocks, as much as RocksDB uses by default.
pub(crate) const BLOCK_CACHE_BYTES: usize = 32 << 20;
/// Threads that read at the same time rarely wait for one another.
const SHARDS: usize = 8;

/// The number of a table, and the offset of a block.
type Place = (u64, u64);

/// Blocks with a bound for their memory. One that was used again is kept for another round.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    blocks: HashMap<Place, (Arc<Block>, bool)>,
    /// The oldest first.
    order: VecDeque<Place>,
    bytes: usize,
}

impl Blocks {
    fn shard(&self, (table, offset): Place) -> MutexGuard<'_, Shard> {
        let mixed = (table ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        lock(&self.shards[usize::try_from(mixed).unwrap_or(0) % SHARDS])
    }

    pub(crate) fn get(&self, place: Place) -> Option<Arc<Block>> {
        let mut shard = self.shard(place);
        let (block, used) = shard.blocks.get_mut(&place)?;
        *used = true;
        Some(Arc::clone(block))
    }

    pub(crate) fn insert(&self, place: Place, block: &Arc<Block>) {
        let mut shard = self.shard(place);
        shard.bytes += block.size();
        match shard.blocks.insert(place, (Arc::clone(block), false)) {
            Some((old, _)) => shard.bytes -= old.size(),
            None => shard.order.push_back(place),
        }
        while shard.bytes > BLOCK_CACHE_BYTES / SHARDS {
            let Some(oldest) = shard.order.pop_front() else {
                break;
            };
            match shard.blocks.get_mut(&oldest) {
                Some((_, used)) if *used => {
                    *used = false;
                    shard.order.push_back(oldest);
                }
                _ => {
                    if let Some((old, _)) = shard.blocks.remove(&oldest) {
                        shard.bytes -= old.size();
                    }
                }
            }
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
