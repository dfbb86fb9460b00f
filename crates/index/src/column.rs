//! Columns of numbers of equal width: as many bytes as the largest number needs.
//!
//! A number is read as an eight-byte word that starts at its first byte; a mask removes the
//! bytes of its neighbors. A column therefore ends with [`PAD`] bytes. This takes one load
//! and one mask for every width, and is as fast for 3-byte numbers as for 4-byte ones.

use crate::checksummed_file::{Fault, Span};
use std::ops::Range;

/// The number of zero bytes after the last number of a column.
pub(crate) const PAD: usize = 8;

/// The number of bytes that numbers up to `max` need: none if all are zero.
pub(crate) const fn width_of(max: u64) -> usize {
    (u64::BITS - max.leading_zeros()).div_ceil(8) as usize
}

/// A column in a part of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    span: Span<'a>,
    width: usize,
    mask: u64,
    len: usize,
}

impl<'a> Column<'a> {
    /// A column of `len` numbers. Fails if the part does not have exactly their length.
    pub(crate) fn new(span: Span<'a>, width: usize, len: usize) -> Result<Self, Fault<'a>> {
        let needed = len.checked_mul(width).and_then(|it| it.checked_add(PAD));
        let mask = match width {
            0 => 0,
            1..8 => (1 << (8 * width)) - 1,
            8 => u64::MAX,
            _ => return Err(span.invalid()),
        };
        if needed != Some(span.len()) {
            return Err(span.invalid());
        }
        Ok(Self {
            span,
            width,
            mask,
            len,
        })
    }

    /// The number of entries.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number at `at`.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Result<u64, Fault<'a>> {
        if at >= self.len {
            return Err(self.span.beyond());
        }
        // Cannot overflow: `at * width` is inside of the part.
        let bytes = self.span.array(at * self.width)?;
        Ok(u64::from_le_bytes(*bytes) & self.mask)
    }

    /// Returns the number at `at` as an index.
    #[inline]
    pub(crate) fn index(&self, at: usize) -> Result<usize, Fault<'a>> {
        usize::try_from(self.get(at)?).map_err(|_| self.span.invalid())
    }

    /// Returns the number at `at` as a `u32`.
    #[inline]
    pub(crate) fn small(&self, at: usize) -> Result<u32, Fault<'a>> {
        u32::try_from(self.get(at)?).map_err(|_| self.span.invalid())
    }

    /// Returns the numbers at `at` and after it: the bounds of a run in another column.
    /// Fails unless they are in order.
    #[inline]
    pub(crate) fn bounds(&self, at: usize) -> Result<(usize, usize), Fault<'a>> {
        let next = at.checked_add(1).ok_or_else(|| self.span.beyond())?;
        let (start, end) = (self.index(at)?, self.index(next)?);
        match start <= end {
            true => Ok((start, end)),
            false => Err(self.invalid()),
        }
    }

    /// The error for numbers that contradict other parts.
    #[cold]
    pub(crate) const fn invalid(&self) -> Fault<'a> {
        self.span.invalid()
    }
}

/// Returns the first of `range` that is not `before`, or its end, if all that are `before`
/// come first. By binary search.
#[inline]
pub(crate) fn partition_point<E>(
    range: Range<usize>,
    mut before: impl FnMut(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Appends a column of `numbers`, none above `max`, to `out`. Returns its width.
pub(crate) fn write(numbers: impl Iterator<Item = u64>, max: u64, out: &mut Vec<u8>) -> usize {
    let width = width_of(max);
    if width > 0 {
        let (least, _) = numbers.size_hint();
        out.reserve(least.saturating_mul(width) + PAD);
        for number in numbers {
            debug_assert!(number <= max);
            let end = out.len() + width;
            out.extend_from_slice(&number.to_le_bytes());
            out.truncate(end);
        }
    }
    out.extend_from_slice(&[0; PAD]);
    width
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{checksummed_file::CheckedFile, layout::Part, part_writer::one_part};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_round_trip(numbers in proptest::collection::vec(any::<u64>(), 0..50), shift in 0u32..=64) {
            let numbers: Vec<u64> = numbers.iter().map(|n| n.checked_shr(shift).unwrap_or(0)).collect();
            let max = numbers.iter().copied().max().unwrap_or(0);
            let mut bytes = Vec::new();
            let width = write(numbers.iter().copied(), max, &mut bytes);
            prop_assert_eq!(bytes.len(), numbers.len() * width + PAD);
            let file = one_part(Part::Times, &bytes);
            let (file, ..) = CheckedFile::from_bytes(file, "test".as_ref()).unwrap();
            let span = file.span(Part::Times);
            let column = Column::new(span, width, numbers.len()).unwrap();
            let read: Vec<_> = (0..column.len()).map(|at| column.get(at).unwrap()).collect();
            prop_assert_eq!(&read, &numbers);
            prop_assert!(column.get(numbers.len()).is_err());
            prop_assert!(column.get(usize::MAX).is_err());
            prop_assert!(Column::new(span, 9, numbers.len()).is_err());
            prop_assert!(width == 0 || Column::new(span, width, numbers.len() + 1).is_err());
        }

        #[test]
        fn partition_point_is_that_of_slices(mut numbers in proptest::collection::vec(0..20, 0..50), limit in 0..20) {
            numbers.sort_unstable();
            let found = partition_point(0..numbers.len(), |at| Ok::<_, ()>(numbers[at] < limit));
            prop_assert_eq!(found, Ok(numbers.partition_point(|number| *number < limit)));
        }
    }

    #[test]
    fn width_is_the_bytes_of_the_largest_number() {
        for (max, width) in [
            (0, 0),
            (1, 1),
            (255, 1),
            (256, 2),
            (1 << 24, 4),
            (u64::MAX, 8),
        ] {
            assert_eq!(width_of(max), width, "{max}");
        }
    }
}
