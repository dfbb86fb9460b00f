//! Searches the block numbers of a shard of the history indices: a 64-bit Roaring bitmap in
//! its portable format (<https://github.com/RoaringBitmap/RoaringFormatSpec>), as written by
//! `RoaringTreemap::serialize_into` of the crate `roaring`. The bytes are searched in place,
//! because a lookup needs one of at most 2000 numbers.

use crate::compact::{Malformed, Reader};

/// The low half of the first word, with and without run containers.
const COOKIE_RUNS: u32 = 12347;
const COOKIE: u32 = 12346;
/// With run containers, there are offsets from this many containers on.
const OFFSETS_FROM: usize = 4;
/// A container with more numbers than this is a bit set.
const ARRAY_MAX: usize = 4096;
const BIT_SET_BYTES: usize = 8192;

/// Returns the smallest number that is >= `from`.
pub(crate) fn first_from(bytes: &[u8], from: u64) -> Result<Option<u64>, Malformed> {
    let mut reader = Reader::new(bytes);
    let bitmaps = u64::from_le_bytes(*reader.array()?);
    for _ in 0..bitmaps {
        let high = u64::from(u32::from_le_bytes(*reader.array()?)) << 32;
        if let Some(low) = in_bitmap(&mut reader, from.saturating_sub(high))? {
            return Ok(Some(high | u64::from(low)));
        }
    }
    reader.finish()?;
    Ok(None)
}

/// Reads a 32-bit bitmap, up to the first number that is >= `from`.
fn in_bitmap(reader: &mut Reader<'_>, from: u64) -> Result<Option<u32>, Malformed> {
    let cookie = u32::from_le_bytes(*reader.array()?);
    let (containers, runs) = match cookie {
        COOKIE => (u32::from_le_bytes(*reader.array()?) as usize, None),
        _ if cookie & 0xffff == COOKIE_RUNS => {
            let containers = (cookie >> 16) as usize + 1;
            (containers, Some(reader.take(containers.div_ceil(8))?))
        }
        _ => return Err("a Roaring bitmap is expected"),
    };
    if containers > 1 << 16 {
        return Err("a Roaring bitmap has too many containers");
    }
    let descriptions = reader.take(4 * containers)?;
    if runs.is_none() || containers >= OFFSETS_FROM {
        reader.take(4 * containers)?;
    }
    let mut before = None;
    for (index, description) in descriptions.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = *description;
        let (key, count) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        if before.is_some_and(|before| before >= key) {
            return Err("containers of a Roaring bitmap do not ascend");
        }
        before = Some(key);
        let high = u32::from(key) << 16;
        let is_runs = runs.is_some_and(|flags| flags[index / 8] >> (index % 8) & 1 == 1);
        let container = Container::read(reader, is_runs, usize::from(count) + 1)?;
        let from = from.saturating_sub(u64::from(high));
        if let Ok(from) = u16::try_from(from)
            && let Some(low) = container.first_from(from)
        {
            return Ok(Some(high | u32::from(low)));
        }
    }
    Ok(None)
}

/// Numbers with the same upper 48 bits.
enum Container<'a> {
    /// Ascending.
    Array(&'a [[u8; 2]]),
    BitSet(&'a [u8]),
    /// The first number and the count of those after it, ascending.
    Runs(&'a [[u8; 4]]),
}

impl<'a> Container<'a> {
    fn read(reader: &mut Reader<'a>, is_runs: bool, count: usize) -> Result<Self, Malformed> {
        Ok(if is_runs {
            let runs = u16::from_le_bytes(*reader.array()?);
            Self::Runs(reader.take(4 * usize::from(runs))?.as_chunks().0)
        } else if count <= ARRAY_MAX {
            Self::Array(reader.take(2 * count)?.as_chunks().0)
        } else {
            Self::BitSet(reader.take(BIT_SET_BYTES)?)
        })
    }

    fn first_from(&self, from: u16) -> Option<u16> {
        match self {
            Self::Array(numbers) => {
                let at = numbers.partition_point(|number| u16::from_le_bytes(*number) < from);
                numbers.get(at).map(|number| u16::from_le_bytes(*number))
            }
            Self::BitSet(bytes) => (from..=u16::MAX)
                .find(|number| bytes[usize::from(number >> 3)] >> (number & 7) & 1 == 1),
            Self::Runs(runs) => runs.iter().find_map(|[a, b, c, d]| {
                let first = u16::from_le_bytes([*a, *b]);
                let last = first.saturating_add(u16::from_le_bytes([*c, *d]));
                (last >= from).then(|| first.max(from))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use roaring::RoaringTreemap;

    fn stored(numbers: &RoaringTreemap) -> Vec<u8> {
        let mut bytes = Vec::new();
        numbers.serialize_into(&mut bytes).unwrap();
        bytes
    }

    fn agree(numbers: &RoaringTreemap, from: u64) {
        let expected = numbers.iter().find(|number| *number >= from);
        assert_eq!(first_from(&stored(numbers), from), Ok(expected));
    }

    #[test]
    fn searches_all_kinds_of_containers() {
        let mut sparse: RoaringTreemap = [5, 70_000, 70_001, 1 << 33].into_iter().collect();
        let mut dense: RoaringTreemap = (0..200_000).step_by(3).collect();
        for from in [0, 5, 6, 65_536, 70_001, 70_002, 199_999, 1 << 33, u64::MAX] {
            agree(&sparse, from);
            agree(&dense, from);
        }
        sparse.insert_range(1000..9000);
        dense.insert_range(100_000..300_000);
        sparse.optimize();
        dense.optimize();
        for from in [0, 6, 999, 1000, 8999, 9000, 150_000, 299_999, 300_000] {
            agree(&sparse, from);
            agree(&dense, from);
        }
        agree(&RoaringTreemap::new(), 0);
    }

    #[test]
    fn rejects_truncated_bitmaps() {
        let bytes = stored(&(0..100).step_by(7).collect());
        for len in 0..bytes.len() {
            assert!(first_from(&bytes[..len], 99).is_err(), "{len}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(first_from(&longer, 99).is_err());
    }

    proptest! {
        #[test]
        fn equals_the_library(
            numbers in prop::collection::btree_set(0..400_000_u64, 0..300),
            runs in prop::collection::vec((0..400_000_u64, 1..5_000_u64), 0..4),
            from in 0..410_000_u64,
        ) {
            let mut numbers: RoaringTreemap = numbers.into_iter().collect();
            for (first, count) in runs {
                numbers.insert_range(first..first + count);
            }
            agree(&numbers, from);
            numbers.optimize();
            agree(&numbers, from);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), from in any::<u64>()) {
            let _ = first_from(&bytes, from);
        }
    }
}
