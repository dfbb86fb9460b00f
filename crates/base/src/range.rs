//! Ranges of block numbers. Inclusive at both ends, never empty.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The blocks `first..=last`. Not empty, if made by [`BlockRange::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockRange {
    /// The first block of the range.
    pub first: u64,
    /// The last block of the range (inclusive).
    pub last: u64,
}

/// The transactions `first..=last` of the chain, counted from its first block on.
pub type TxRange = BlockRange;

impl BlockRange {
    /// Returns the blocks from the first one of a chain to `last`.
    pub const fn up_to(last: u64) -> Self {
        Self { first: 0, last }
    }

    /// Returns a single block.
    pub const fn one(block: u64) -> Self {
        Self::from_to(block, block)
    }

    /// Returns `first..=last`, where `first` is known not to be above `last`. See [`Self::new`].
    pub const fn from_to(first: u64, last: u64) -> Self {
        Self { first, last }
    }

    /// Returns `first..=last`, or `None` if that is empty.
    pub const fn new(first: u64, last: u64) -> Option<Self> {
        if first <= last {
            Some(Self { first, last })
        } else {
            None
        }
    }

    /// The number of blocks. Saturates: `0..=u64::MAX` has 2^64. Returns 0 for a range
    /// that was built with `first > last`.
    pub const fn blocks(&self) -> u64 {
        match self.last.checked_sub(self.first) {
            Some(rest) => rest.saturating_add(1),
            None => 0,
        }
    }

    /// Whether the range contains `block`.
    pub const fn contains(&self, block: u64) -> bool {
        self.first <= block && block <= self.last
    }

    /// The blocks that are in both ranges.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        Self::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// The blocks from the first to the last of both ranges.
    #[must_use]
    pub fn hull(&self, other: &Self) -> Self {
        Self::from_to(self.first.min(other.first), self.last.max(other.last))
    }

    /// The blocks that are above `block`.
    pub fn after(&self, block: u64) -> Option<Self> {
        Self::new(self.first.max(block.checked_add(1)?), self.last)
    }

    /// The first blocks, at most `most` of them, and at least one.
    pub fn prefix(&self, most: u64) -> Self {
        let last = self.first.saturating_add(most.saturating_sub(1));
        Self::from_to(self.first, last.min(self.last))
    }

    /// Divides the range into parts of `most` blocks, of which the last may have fewer.
    pub fn chunks(self, most: u64) -> impl Iterator<Item = Self> {
        let mut rest = Self::new(self.first, self.last);
        std::iter::from_fn(move || {
            let left = rest?;
            let chunk = left.prefix(most);
            rest = left.after(chunk.last);
            Some(chunk)
        })
    }
}

/// Formats the range as users write it: `5:8` is 5, 6 and 7. The end is excluded, and absent if it
/// exceeds a `u64`.
impl fmt::Display for BlockRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last.checked_add(1) {
            Some(end) => write!(f, "{}:{end}", self.first),
            None => write!(f, "{}:", self.first),
        }
    }
}

/// A set of blocks: sorted ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRanges(Vec<BlockRange>);

impl BlockRanges {
    /// Sorts `ranges` and joins those that overlap or touch.
    pub fn new(mut ranges: Vec<BlockRange>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<BlockRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(previous) if range.first <= previous.last.saturating_add(1) => {
                    previous.last = previous.last.max(range.last);
                }
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BlockRange> + '_ {
        self.0.iter().copied()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of blocks (saturating).
    pub fn blocks(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, range| sum.saturating_add(range.blocks()))
    }

    /// The smallest range that contains all blocks; `None` for an empty set.
    pub fn span(&self) -> Option<BlockRange> {
        Some(BlockRange {
            first: self.0.first()?.first,
            last: self.0.last()?.last,
        })
    }

    /// Whether the set contains `block`.
    pub fn contains(&self, block: u64) -> bool {
        let after = self.0.partition_point(|range| range.first <= block);
        after > 0 && self.0[after - 1].contains(block)
    }

    /// The blocks that are in both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        for mine in self.iter() {
            both.extend(other.iter().filter_map(|theirs| mine.intersect(&theirs)));
        }
        Self::new(both)
    }

    /// The blocks of this set that are not in `other`.
    pub fn subtract(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        for mine in self.iter() {
            let mut first = Some(mine.first);
            for theirs in other.iter().filter_map(|theirs| mine.intersect(&theirs)) {
                let Some(start) = first else { break };
                if let Some(before) = theirs.first.checked_sub(1) {
                    left.extend(BlockRange::new(start, before));
                }
                first = theirs.last.checked_add(1);
            }
            left.extend(first.and_then(|start| BlockRange::new(start, mine.last)));
        }
        Self::new(left)
    }
}

impl From<BlockRange> for BlockRanges {
    fn from(range: BlockRange) -> Self {
        Self(vec![range])
    }
}

impl FromIterator<BlockRange> for BlockRanges {
    fn from_iter<I: IntoIterator<Item = BlockRange>>(ranges: I) -> Self {
        Self::new(ranges.into_iter().collect())
    }
}

impl fmt::Display for BlockRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (i, range) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{range}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(ranges: &BlockRanges) -> BTreeSet<u64> {
        ranges.iter().flat_map(|r| r.first..=r.last).collect()
    }

    fn ranges() -> impl Strategy<Value = BlockRanges> {
        proptest::collection::vec((0u64..60, 0u64..12), 0..8).prop_map(|v| {
            v.into_iter()
                .map(|(first, more)| BlockRange {
                    first,
                    last: first + more,
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn ranges_behave_as_sets(a in ranges(), b in ranges()) {
            let (sa, sb) = (set(&a), set(&b));
            prop_assert_eq!(a.blocks(), sa.len() as u64);
            prop_assert_eq!(set(&a.intersect(&b)), &sa & &sb);
            prop_assert_eq!(set(&a.subtract(&b)), &sa - &sb);
            for block in 0..80 {
                prop_assert_eq!(a.contains(block), sa.contains(&block));
            }
        }
    }

    #[test]
    fn chunks_are_all_blocks_in_order() {
        let range = BlockRange::from_to;
        let chunks = |range: BlockRange, most| range.chunks(most).collect::<Vec<_>>();
        assert_eq!(
            chunks(range(3, 9), 3),
            [range(3, 5), range(6, 8), range(9, 9)]
        );
        assert_eq!(chunks(range(3, 5), 3), [range(3, 5)]);
        assert_eq!(chunks(range(3, 4), 0), [range(3, 3), range(4, 4)]);
        let end = range(u64::MAX - 1, u64::MAX);
        assert_eq!(chunks(end, u64::MAX), [end]);
        assert_eq!(chunks(range(5, 4), 3), []);
        assert_eq!(range(3, 9).after(1), Some(range(3, 9)));
        assert_eq!(range(3, 9).after(9), None);
    }

    #[test]
    fn ranges_are_written_without_their_end() {
        let range = |first, last| BlockRange { first, last };
        assert_eq!(range(5, 7).to_string(), "5:8");
        assert_eq!(range(5, u64::MAX).to_string(), "5:");
        let both = BlockRanges::new(vec![range(9, 9), range(0, 4)]);
        assert_eq!(both.to_string(), "0:5, 9:10");
    }

    #[test]
    fn reversed_ranges_are_empty() {
        assert_eq!(BlockRange::new(5, 4), None);
        let reversed = BlockRange { first: 5, last: 4 };
        assert_eq!(reversed.blocks(), 0);
        assert!(!reversed.contains(4) && !reversed.contains(5));
    }

    #[test]
    fn the_largest_block_number_does_not_overflow() {
        let all = BlockRanges::from(BlockRange {
            first: 0,
            last: u64::MAX,
        });
        assert!(all.subtract(&all).is_empty());
        assert_eq!(BlockRanges::new(vec![all.iter().next().unwrap(); 2]), all);
        assert_eq!(all.blocks(), u64::MAX);
    }
}
