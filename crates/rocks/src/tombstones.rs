//! Deleted ranges of keys.

use std::collections::BTreeMap;

/// Deleted ranges in the order of their keys, without overlaps. Only the newest deletion of each
/// key counts, because the newest state is read.
#[derive(Debug, Default)]
pub(crate) struct Tombstones {
    spans: Vec<Deleted>,
}

/// A deleted range: begin, end (exclusive), and the sequence number of the deletion.
pub(crate) type Deleted = (Vec<u8>, Vec<u8>, u64);

impl Tombstones {
    pub(crate) fn new(ranges: &[Deleted]) -> Self {
        // What begins (true) and ends (false) at each key.
        let mut bounds: BTreeMap<&[u8], Vec<(bool, u64)>> = BTreeMap::new();
        for (begin, end, sequence) in ranges.iter().filter(|(begin, end, _)| begin < end) {
            bounds.entry(begin).or_default().push((true, *sequence));
            bounds.entry(end).or_default().push((false, *sequence));
        }
        let mut spans: Vec<Deleted> = Vec::new();
        // How many ranges with each sequence number cover the current key.
        let mut open: BTreeMap<u64, u32> = BTreeMap::new();
        let mut begin: &[u8] = &[];
        for (key, events) in bounds {
            if let Some((sequence, _)) = open.last_key_value() {
                match spans.last_mut() {
                    Some((_, end, last)) if *end == begin && last == sequence => {
                        *end = key.into();
                    }
                    _ => spans.push((begin.into(), key.into(), *sequence)),
                }
            }
            for (begins, sequence) in events {
                let count = open.entry(sequence).or_default();
                // A range ends after it began, because empty ones were left out.
                *count = if begins { *count + 1 } else { *count - 1 };
                if *count == 0 {
                    open.remove(&sequence);
                }
            }
            begin = key;
        }
        Self { spans }
    }

    /// Returns the sequence number of the newest deletion of a key, 0 without one.
    pub(crate) fn sequence(&self, key: &[u8]) -> u64 {
        let after = self
            .spans
            .partition_point(|(begin, ..)| begin.as_slice() <= key);
        match self.spans[..after].last() {
            Some((_, end, sequence)) if key < end.as_slice() => *sequence,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_to_the_list(ranges in prop::collection::vec((0..40u8, 0..40u8, 1..9u64), 0..12)) {
            let ranges: Vec<_> = ranges.iter().map(|(a, b, s)| (vec![*a], vec![*b], *s)).collect();
            let fast = Tombstones::new(&ranges);
            for key in 0..41u8 {
                let covers = |(begin, end, _): &&Deleted| *begin <= vec![key] && vec![key] < *end;
                let slow = ranges.iter().filter(covers).map(|range| range.2).max().unwrap_or(0);
                prop_assert_eq!(fast.sequence(&[key]), slow);
            }
        }
    }
}
