//! Times of blocks.

use std::{fmt, num::NonZeroU64};

/// The time of a block in Unix seconds. 0 is a time like any other: many genesis blocks have it.
///
/// `Option<BlockTime>` has the size of a `u64`. With `Option<u64>` a [`crate::Transfer`] would
/// have 208 bytes instead of 200, in every scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockTime {
    /// The seconds and one more, so that 0 means `None`.
    successor: NonZeroU64,
}

impl BlockTime {
    /// Returns the time with these seconds. `None` for 2^64-1, which is not the time of a block:
    /// every block has a later time than its parent, so no block could follow.
    #[inline]
    pub const fn new(seconds: u64) -> Option<Self> {
        match NonZeroU64::new(seconds.wrapping_add(1)) {
            Some(successor) => Some(Self { successor }),
            None => None,
        }
    }

    /// The time in Unix seconds.
    #[inline]
    pub const fn seconds(self) -> u64 {
        self.successor.get() - 1
    }
}

impl fmt::Debug for BlockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockTime").field(&self.seconds()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transfer;

    #[test]
    fn zero_is_a_time() {
        let zero = BlockTime::new(0);
        assert_eq!(zero.map(BlockTime::seconds), Some(0));
        assert!(None < zero && zero < BlockTime::new(1));
        let last = BlockTime::new(u64::MAX - 1);
        assert_eq!(last.map(BlockTime::seconds), Some(u64::MAX - 1));
        assert_eq!(BlockTime::new(u64::MAX), None);
    }

    #[test]
    fn absent_times_and_hashes_take_no_space() {
        assert_eq!(size_of::<Option<BlockTime>>(), size_of::<u64>());
        assert_eq!(size_of::<Transfer>(), 200);
    }
}
