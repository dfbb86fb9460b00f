//! From an address to its number, and from that to its rows.

use crate::{builder::leading_bits, column::Column};
use alloy_primitives::Address;
use std::ops::Range;

/// Bytes of an address.
pub(super) const ADDRESS_BYTES: usize = 20;

/// The sorted addresses, with a table that says where those with certain leading bits
/// begin. Addresses are hashes, so buckets are equally full, and one is found with two
/// cache misses whatever their number, where a binary search takes one for each of its
/// last dozen steps. Addresses ground to begin alike share a bucket; there it is a
/// binary search again.
pub(super) struct Dictionary<'a> {
    pub(super) bits: u32,
    pub(super) buckets: Column<'a>,
    pub(super) addresses: &'a [u8],
}

impl Dictionary<'_> {
    /// The number of an address; `None` if it is not there.
    #[inline]
    pub(super) fn find(&self, address: &Address) -> Option<usize> {
        let bucket = usize::try_from(leading_bits(address, self.bits)).ok()?;
        let (start, end) = self.buckets.bounds(bucket)?;
        let bytes = self
            .addresses
            .get(start.checked_mul(ADDRESS_BYTES)?..end.checked_mul(ADDRESS_BYTES)?)?;
        let (bucket, _) = bytes.as_chunks::<ADDRESS_BYTES>();
        let at = bucket.binary_search(&address.0.0).ok()?;
        Some(start + at)
    }

    pub(super) fn address(&self, number: usize) -> Option<Address> {
        address_at(self.addresses, number)
    }
}

#[inline]
pub(super) fn address_at(addresses: &[u8], number: usize) -> Option<Address> {
    let start = number.checked_mul(ADDRESS_BYTES)?;
    let bytes = addresses.get(start..)?.first_chunk::<ADDRESS_BYTES>()?;
    Some(Address::new(*bytes))
}

/// Rows by address.
pub(super) struct Adjacency<'a> {
    pub(super) starts: Column<'a>,
    pub(super) rows: Column<'a>,
}

impl Adjacency<'_> {
    /// Where the rows of an address stand.
    #[inline]
    pub(super) fn of(&self, number: usize) -> Option<Range<usize>> {
        let (start, end) = self.starts.bounds(number)?;
        (end <= self.rows.len()).then_some(start..end)
    }

    /// Appends the chosen rows of an address. How many ascending runs they are; `None`
    /// if the list makes no sense.
    pub(super) fn choose(
        &self,
        run: Range<usize>,
        choice: &Choice<'_>,
        rows: &mut Vec<u32>,
    ) -> Option<usize> {
        let mut runs = 0;
        let mut at = match choice.span.start {
            0 => run.start,
            first => self.first(run.clone(), |row| choice.classes.index(row) >= Some(first)),
        };
        while at < run.end {
            let class = choice.classes.index(self.rows.index(at)?)?;
            if class >= choice.span.end {
                break;
            }
            let end = self.end_of_class(at..run.end, class, choice);
            if *choice.wanted.get(class)? {
                let mut chosen = at..end;
                // Most questions are about all blocks.
                if choice.within.len() < choice.rows {
                    let from = self.first(chosen.clone(), |row| row >= choice.within.start);
                    let until = self.first(from..end, |row| row >= choice.within.end);
                    chosen = from..until;
                }
                runs += usize::from(!chosen.is_empty());
                for at in chosen {
                    rows.push(u32::try_from(self.rows.get(at)?).ok()?);
                }
            }
            at = end;
        }
        Some(runs)
    }

    /// Where another class begins: near, most often.
    fn end_of_class(&self, run: Range<usize>, class: usize, choice: &Choice<'_>) -> usize {
        let other = |row| choice.classes.index(row) != Some(class);
        let (mut low, mut step) = (run.start, 1);
        while let Some(high) = low.checked_add(step).filter(|high| *high < run.end) {
            if self.rows.index(high).is_none_or(other) {
                return self.first(low + 1..high, other);
            }
            low = high;
            step *= 2;
        }
        self.first(low + 1..run.end, other)
    }

    /// The first place of a run, or its end, whose row is `beyond`, as are all after it.
    fn first(&self, run: Range<usize>, beyond: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (run.start, run.end);
        while low < high {
            let middle = low.midpoint(high);
            if self.rows.index(middle).is_none_or(&beyond) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// Which rows of an address are asked for.
pub(super) struct Choice<'a> {
    /// The class of each row.
    classes: Column<'a>,
    /// By class.
    wanted: &'a [bool],
    /// From the first to the last that is wanted.
    span: Range<usize>,
    /// Rows of the blocks that are asked for.
    pub(super) within: Range<usize>,
    /// How many there are.
    rows: usize,
}

impl<'a> Choice<'a> {
    /// Of `rows` rows with these classes those in `within` whose class is `wanted`.
    pub(super) fn new(
        classes: Column<'a>,
        wanted: &'a [bool],
        within: Range<usize>,
        rows: usize,
    ) -> Self {
        let first = wanted.iter().position(|wanted| *wanted);
        let last = wanted.iter().rposition(|wanted| *wanted);
        Self {
            classes,
            wanted,
            span: first.unwrap_or(0)..last.map_or(0, |last| last + 1),
            within,
            rows,
        }
    }
}
