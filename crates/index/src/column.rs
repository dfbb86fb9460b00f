//! Columns of numbers: as many bytes for each as the largest needs.
//!
//! A number is read as eight bytes at its place, of which those that belong to it are
//! kept; so a column ends with [`PAD`] bytes that nothing points to. One load and one
//! mask for any width, without a branch: on 3-byte numbers as fast as on 4-byte ones.

/// Zero bytes behind the last number of a column.
pub(crate) const PAD: usize = 8;

/// Bytes that a number up to `max` needs; none if all are zero.
pub(crate) const fn width_of(max: u64) -> usize {
    (u64::BITS - max.leading_zeros()).div_ceil(8) as usize
}

/// A column in borrowed bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    bytes: &'a [u8],
    width: usize,
    mask: u64,
    len: usize,
}

impl<'a> Column<'a> {
    /// A column of `len` numbers; `None` when `bytes` is not as long as that.
    pub(crate) fn new(bytes: &'a [u8], width: usize, len: usize) -> Option<Self> {
        let needed = len.checked_mul(width)?.checked_add(PAD)?;
        let mask = match width {
            0 => 0,
            1..8 => (1 << (8 * width)) - 1,
            8 => u64::MAX,
            _ => return None,
        };
        (bytes.len() == needed).then_some(Self {
            bytes,
            width,
            mask,
            len,
        })
    }

    /// How many numbers.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The number at `at`; `None` beyond the end.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u64> {
        if at >= self.len {
            return None;
        }
        // Cannot overflow: `at * width` is inside `bytes`.
        let bytes = self.bytes[at * self.width..].first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes) & self.mask)
    }

    /// The same as an index.
    #[inline]
    pub(crate) fn index(&self, at: usize) -> Option<usize> {
        usize::try_from(self.get(at)?).ok()
    }

    /// Number at `at` and at the next place: the bounds of a run in another column,
    /// `None` unless they are in order.
    #[inline]
    pub(crate) fn bounds(&self, at: usize) -> Option<(usize, usize)> {
        let (start, end) = (self.index(at)?, self.index(at.checked_add(1)?)?);
        (start <= end).then_some((start, end))
    }
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<u64>(), 0..50), shift in 0u32..=64) {
            let numbers: Vec<u64> = numbers.iter().map(|n| n.checked_shr(shift).unwrap_or(0)).collect();
            let max = numbers.iter().copied().max().unwrap_or(0);
            let mut bytes = Vec::new();
            let width = write(numbers.iter().copied(), max, &mut bytes);
            prop_assert_eq!(bytes.len(), numbers.len() * width + PAD);
            let column = Column::new(&bytes, width, numbers.len()).unwrap();
            let read: Vec<_> = (0..column.len()).map(|at| column.get(at).unwrap()).collect();
            prop_assert_eq!(&read, &numbers);
            prop_assert_eq!(column.get(numbers.len()), None);
            prop_assert_eq!(column.get(usize::MAX), None);
            // Another length or width is another column, or none.
            prop_assert!(Column::new(&bytes, 9, numbers.len()).is_none());
            prop_assert!(width == 0 || Column::new(&bytes, width, numbers.len() + 1).is_none());
        }
    }

    #[test]
    fn widths() {
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
