//! Division of blocks into units of a fixed size.

use std::collections::VecDeque;
use txgraph_transfers::{BlockRange, BlockRanges};

/// Divides blocks at multiples of `unit_blocks`, which is at least 1.
pub fn units(blocks: &BlockRanges, unit_blocks: u64) -> VecDeque<BlockRange> {
    let mut units = VecDeque::new();
    for range in blocks.iter() {
        let mut first = range.first;
        loop {
            let end = (first / unit_blocks * unit_blocks).saturating_add(unit_blocks - 1);
            let last = end.min(range.last);
            units.push_back(BlockRange { first, last });
            match last.checked_add(1).filter(|next| *next <= range.last) {
                Some(next) => first = next,
                None => break,
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, last: u64) -> BlockRange {
        BlockRange { first, last }
    }

    #[test]
    fn units_are_divided_at_multiples() {
        let cut =
            |blocks: &[BlockRange], size| Vec::from(units(&blocks.iter().copied().collect(), size));
        assert_eq!(
            cut(&[range(3, 9), range(20, 21)], 4),
            [range(3, 3), range(4, 7), range(8, 9), range(20, 21)]
        );
        assert_eq!(cut(&[range(0, 7)], 8), [range(0, 7)]);
        assert_eq!(
            cut(&[range(u64::MAX - 1, u64::MAX)], 8),
            [range(u64::MAX - 1, u64::MAX)]
        );
        assert_eq!(cut(&[], 8), []);
    }
}
