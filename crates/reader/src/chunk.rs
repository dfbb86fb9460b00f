//! Divides ranges of blocks into chunks, the units of work.
//!
//! A worker reads a chunk under one snapshot. Chunks can have a fixed number of blocks. By
//! default they have equal *cost*: a block of the first year of a chain contains nothing, and a
//! recent one hundreds of transactions. With chunks of equal length, the last and most expensive
//! ones would be read alone at the end.

use std::iter::FusedIterator;
use txgraph_transfers::{BlockRange, BlockRanges};

/// The cost of a block, for its header and its rows in tables, in addition to its transactions. A
/// transaction with its receipt and logs has cost 1 (about 1 µs).
const BLOCK_COST: u64 = 2;

/// The maximum cost of a chunk, about a tenth of a second. So its snapshot is short, and a scan
/// does not end with one busy worker and the others idle.
const COST_MAX: u64 = 100_000;

/// The minimum cost of a chunk, unless its length is given. Opening a snapshot takes about 50 µs,
/// which must be small in comparison.
const COST_MIN: u64 = 2_000;

/// The number of chunks per thread that a range is divided into, within the limits above.
const CHUNKS_PER_THREAD: u64 = 16;

/// The number of transactions before a block, known for some blocks and estimated for the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Density {
    /// Pairs of a block and the number of transactions before it, both ascending.
    samples: Vec<(u64, u64)>,
}

impl Density {
    /// Takes `samples` in any order. Those that contradict others are ignored.
    pub(crate) fn new(mut samples: Vec<(u64, u64)>) -> Self {
        samples.sort_unstable();
        samples.dedup_by_key(|sample| sample.0);
        let mut highest = 0;
        samples.retain(|&(_, transactions)| {
            let ascends = transactions >= highest;
            highest = highest.max(transactions);
            ascends
        });
        Self { samples }
    }

    /// Estimates the number of transactions before `block`, by linear interpolation between the
    /// samples around it. Constant outside of the samples.
    fn before(&self, block: u64) -> u64 {
        let after = self.samples.partition_point(|sample| sample.0 <= block);
        let Some(&(left, low)) = after.checked_sub(1).and_then(|at| self.samples.get(at)) else {
            return self.samples.first().map_or(0, |sample| sample.1);
        };
        let Some(&(right, high)) = self.samples.get(after) else {
            return low;
        };
        let share = u128::from(high - low) * u128::from(block - left) / u128::from(right - left);
        // Not larger than `high - low`, so it fits.
        low + u64::try_from(share).unwrap_or(high - low)
    }

    /// Estimates the number of transactions per block in `ranges`.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn per_block(&self, ranges: &BlockRanges) -> f64 {
        let transactions = ranges.iter().map(|range| {
            let end = self.before(range.last.saturating_add(1));
            end.saturating_sub(self.before(range.first)) as f64
        });
        transactions.sum::<f64>() / (ranges.blocks().max(1)) as f64
    }

    /// Estimates the cost of reading `range`.
    fn cost(&self, range: BlockRange) -> u64 {
        let end = range.last.saturating_add(1);
        let transactions = self.before(end).saturating_sub(self.before(range.first));
        transactions.saturating_add(range.blocks().saturating_mul(BLOCK_COST))
    }

    /// Returns the longest part at the start of `range` that costs at most `target`, but at least
    /// one block.
    fn cut(&self, range: BlockRange, target: u64) -> BlockRange {
        let (mut fits, mut over) = (range.first, range.last);
        if self.cost(range) <= target {
            return range;
        }
        while fits + 1 < over {
            let middle = fits + (over - fits) / 2;
            let cost = self.cost(BlockRange::from_to(range.first, middle));
            if cost <= target {
                fits = middle
            } else {
                over = middle
            }
        }
        BlockRange::from_to(range.first, fits)
    }
}

/// Returns about `count` blocks of `ranges`, evenly distributed, including the first.
pub(crate) fn sample(ranges: &BlockRanges, count: u64) -> Vec<u64> {
    let step = ranges.blocks().div_ceil(count.max(1)).max(1);
    let mut blocks = Vec::new();
    // The step continues from range to range, so that many small ranges do not give many samples.
    let mut skip = 0;
    for range in ranges.iter() {
        let mut left = range.blocks();
        let mut next = range.first;
        while skip < left {
            next += skip;
            blocks.push(next);
            left -= skip;
            skip = step;
        }
        skip -= left;
    }
    blocks
}

/// The size of chunks.
#[derive(Clone, Debug)]
pub(crate) enum Sizing {
    /// A number of blocks, at least 1.
    Blocks(u64),
    /// A cost, at least 1.
    Cost { density: Density, target: u64 },
}

impl Sizing {
    /// Chooses a size that keeps `threads` threads evenly busy over `ranges`.
    pub(crate) fn balanced(ranges: &BlockRanges, density: Density, threads: usize) -> Self {
        let total = ranges
            .iter()
            .fold(0u64, |sum, range| sum.saturating_add(density.cost(range)));
        let threads = u64::try_from(threads).unwrap_or(1).max(1);
        let target = (total / threads.saturating_mul(CHUNKS_PER_THREAD)).clamp(COST_MIN, COST_MAX);
        Self::Cost { density, target }
    }
}

/// The chunks of ranges, ascending. Together they contain exactly the blocks of the ranges. No
/// chunk extends over a gap.
#[derive(Clone, Debug)]
pub(crate) struct Chunks {
    ranges: std::vec::IntoIter<BlockRange>,
    /// The rest of the current range.
    rest: Option<BlockRange>,
    sizing: Sizing,
}

impl Chunks {
    pub(crate) fn new(ranges: &BlockRanges, sizing: Sizing) -> Self {
        let ranges: Vec<_> = ranges.iter().collect();
        Self {
            ranges: ranges.into_iter(),
            rest: None,
            sizing,
        }
    }
}

impl Iterator for Chunks {
    type Item = BlockRange;

    fn next(&mut self) -> Option<BlockRange> {
        let range = self.rest.take().or_else(|| self.ranges.next())?;
        let chunk = match &self.sizing {
            Sizing::Blocks(blocks) => range.prefix(*blocks),
            Sizing::Cost { density, target } => density.cut(range, *target),
        };
        self.rest = range.after(chunk.last);
        Some(chunk)
    }
}

impl FusedIterator for Chunks {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(first: u64, last: u64) -> BlockRange {
        BlockRange { first, last }
    }

    /// Sets of up to 200 blocks, also at the largest block numbers.
    fn ranges() -> impl Strategy<Value = BlockRanges> {
        let parts = proptest::collection::vec((0u64..200, 0u64..40), 0..6);
        (parts, prop_oneof![Just(0), Just(u64::MAX - 240)]).prop_map(|(parts, base)| {
            parts
                .into_iter()
                .map(|(at, more)| range(base + at, base + at + more))
                .collect()
        })
    }

    fn sizing() -> impl Strategy<Value = Sizing> {
        let samples = proptest::collection::vec((0u64..260, 0u64..5000), 0..12);
        prop_oneof![
            (1u64..300).prop_map(Sizing::Blocks),
            Just(Sizing::Blocks(u64::MAX)),
            (samples, 1u64..4000).prop_map(|(samples, target)| Sizing::Cost {
                density: Density::new(samples),
                target
            }),
        ]
    }

    /// Checks that each block of `ranges` is in exactly one of `chunks`.
    fn check(ranges: &BlockRanges, chunks: &[BlockRange]) {
        let mut rest = chunks.iter().copied().peekable();
        for whole in ranges.iter() {
            let mut next = Some(whole.first);
            while let Some(chunk) = rest.next_if(|chunk| whole.contains(chunk.first)) {
                assert_eq!(Some(chunk.first), next, "a gap or an overlap");
                assert!(chunk.first <= chunk.last && chunk.last <= whole.last);
                next = chunk.last.checked_add(1);
            }
            assert_eq!(next, whole.last.checked_add(1), "{whole} is not covered");
        }
        assert_eq!(rest.next(), None, "a chunk outside of the ranges");
    }

    #[test]
    fn every_size_covers_every_block_once() {
        let odd = BlockRanges::new(vec![range(0, 0), range(3, 63), range(70, 97)]);
        for blocks in 1..=100 {
            let chunks: Vec<_> = Chunks::new(&odd, Sizing::Blocks(blocks)).collect();
            check(&odd, &chunks);
            let full = chunks
                .iter()
                .filter(|chunk| chunk.blocks() == blocks)
                .count() as u64;
            assert_eq!(
                full,
                [1, 61, 28]
                    .map(|length| length / blocks)
                    .iter()
                    .sum::<u64>()
            );
        }
    }

    proptest! {
        #[test]
        fn chunks_are_the_ranges_cut(ranges in ranges(), sizing in sizing()) {
            let chunks: Vec<_> = Chunks::new(&ranges, sizing.clone()).collect();
            check(&ranges, &chunks);
            if let Sizing::Cost { density, target } = &sizing {
                for chunk in chunks {
                    prop_assert!(chunk.blocks() == 1 || density.cost(chunk) <= *target);
                }
            }
        }

        #[test]
        fn samples_are_few_and_spread(ranges in ranges(), count in 1u64..300) {
            let samples = sample(&ranges, count);
            let all: Vec<u64> = ranges.iter().flat_map(|range| range.first..=range.last).collect();
            let step = all.len().div_ceil(usize::try_from(count).unwrap()).max(1);
            let expected: Vec<u64> = all.into_iter().step_by(step).collect();
            prop_assert!(samples.len() as u64 <= count);
            prop_assert_eq!(samples, expected);
        }

        #[test]
        fn density_never_falls(samples in proptest::collection::vec((0u64..100, 0u64..1000), 0..9)) {
            let density = Density::new(samples);
            prop_assert!((0..120).map(|block| density.before(block)).is_sorted());
        }
    }

    #[test]
    fn chunks_have_equal_cost() {
        // A chain that is empty up to block 50,000 and full of transactions after it.
        let density = Density::new(vec![(0, 0), (50_000, 0), (60_000, 2_000_000)]);
        let all = BlockRanges::from(range(0, 59_999));
        let chunks: Vec<_> = Chunks::new(&all, Sizing::balanced(&all, density, 4)).collect();
        check(&all, &chunks);
        assert!(chunks[0].blocks() > 10_000, "{:?}", chunks[0]);
        let last = chunks[chunks.len() - 2];
        assert!(last.blocks() < 1_000, "{last:?}");
        assert!(chunks.len() > 4 * 5);
    }

    #[test]
    fn small_ranges_have_few_chunks() {
        let density = Density::new(vec![(0, 0), (1000, 8000)]);
        let all = BlockRanges::from(range(0, 999));
        let chunks = Chunks::new(&all, Sizing::balanced(&all, density, 64)).count();
        assert!((2..=8).contains(&chunks), "{chunks}");
    }
}
