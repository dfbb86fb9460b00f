//! From an address to its number, and from the number to its rows.

use super::classes::Wanted;
use crate::{
    builder::leading_bits,
    checksummed_file::{Fault, Span},
    column::{Column, partition_point},
};
use alloy_primitives::Address;
use std::ops::Range;

pub(super) const ADDRESS_BYTES: usize = 20;

/// The sorted addresses, with the start of each bucket of addresses that share their leading bits.
/// Addresses are hashes, so buckets are equally full, and an address is found with two cache misses
/// in a dictionary of any size; a binary search takes one for each of its last dozen steps. Vanity
/// addresses with a common prefix share a bucket, in which a binary search finds them.
pub(super) struct Dictionary<'a> {
    pub(super) bits: u32,
    pub(super) buckets: Column<'a>,
    pub(super) addresses: Span<'a>,
}

impl<'a> Dictionary<'a> {
    /// Returns the number of an address; `None` if the segment does not have it.
    #[inline]
    pub(super) fn find(&self, address: &Address) -> Result<Option<usize>, Fault<'a>> {
        let Ok(bucket) = usize::try_from(leading_bits(address, self.bits)) else {
            return Err(self.buckets.invalid());
        };
        let (start, end) = self.buckets.bounds(bucket)?;
        let at = start.checked_mul(ADDRESS_BYTES);
        let len = (end - start).checked_mul(ADDRESS_BYTES);
        let (Some(at), Some(len)) = (at, len) else {
            return Err(self.buckets.invalid());
        };
        let (bucket, _) = self.addresses.read(at, len)?.as_chunks::<ADDRESS_BYTES>();
        Ok(bucket.binary_search(&address.0.0).ok().map(|at| start + at))
    }

    pub(super) fn address(&self, number: usize) -> Result<Address, Fault<'a>> {
        address_at(self.addresses, number)
    }
}

#[inline]
pub(super) fn address_at(addresses: Span<'_>, number: usize) -> Result<Address, Fault<'_>> {
    let start = number
        .checked_mul(ADDRESS_BYTES)
        .ok_or_else(|| addresses.beyond())?;
    Ok(Address::new(*addresses.array::<ADDRESS_BYTES>(start)?))
}

/// Rows by address.
pub(super) struct Adjacency<'a> {
    pub(super) starts: Column<'a>,
    pub(super) rows: Column<'a>,
}

impl<'a> Adjacency<'a> {
    /// Returns the run of an address in `rows`.
    #[inline]
    pub(super) fn of(&self, number: usize) -> Result<Range<usize>, Fault<'a>> {
        let (start, end) = self.starts.bounds(number)?;
        match end <= self.rows.len() {
            true => Ok(start..end),
            false => Err(self.starts.invalid()),
        }
    }

    /// Appends the chosen rows of an address. Returns the number of ascending runs.
    pub(super) fn choose(
        &self,
        run: Range<usize>,
        choice: &Choice<'a, '_>,
        rows: &mut Vec<u32>,
    ) -> Result<usize, Fault<'a>> {
        let mut runs = 0;
        let mut at = match choice.span.start {
            0 => run.start,
            first => partition_point(run.clone(), |at| Ok(self.class(at, choice)? < first))?,
        };
        while at < run.end {
            let class = self.class(at, choice)?;
            if class >= choice.span.end {
                break;
            }
            let end = self.end_of_class(at..run.end, class, choice)?;
            let wanted = choice.wanted.get(class)?;
            if wanted.ok_or_else(|| choice.classes.invalid())? {
                let mut chosen = at..end;
                // Most queries are about all blocks.
                if choice.within.len() < choice.rows {
                    let below =
                        |limit: usize| move |at| Ok::<_, Fault<'a>>(self.rows.index(at)? < limit);
                    let from = partition_point(chosen.clone(), below(choice.within.start))?;
                    let until = partition_point(from..end, below(choice.within.end))?;
                    chosen = from..until;
                }
                runs += usize::from(!chosen.is_empty());
                for at in chosen {
                    rows.push(self.rows.small(at)?);
                }
            }
            at = end;
        }
        Ok(runs)
    }

    /// Returns the class of the row at `at`.
    #[inline]
    fn class(&self, at: usize, choice: &Choice<'a, '_>) -> Result<usize, Fault<'a>> {
        choice.classes.index(self.rows.index(at)?)
    }

    /// Returns where another class begins, which most often is near. By exponential search.
    fn end_of_class(
        &self,
        run: Range<usize>,
        class: usize,
        choice: &Choice<'a, '_>,
    ) -> Result<usize, Fault<'a>> {
        let same = |at| Ok::<_, Fault<'a>>(self.class(at, choice)? == class);
        let (mut low, mut step) = (run.start, 1);
        while let Some(high) = low.checked_add(step).filter(|high| *high < run.end) {
            if !same(high)? {
                return partition_point(low + 1..high, same);
            }
            low = high;
            step *= 2;
        }
        partition_point(low + 1..run.end, same)
    }
}

/// Which rows of an address are wanted.
pub(super) struct Choice<'a, 'w> {
    /// The class of each row.
    classes: Column<'a>,
    wanted: &'w Wanted<'a>,
    /// From the first to the last class that is wanted.
    span: Range<usize>,
    /// The rows of the wanted blocks.
    pub(super) within: Range<usize>,
    /// The number of rows in the segment.
    rows: usize,
}

impl<'a, 'w> Choice<'a, 'w> {
    /// Chooses the rows in `within` whose class is `wanted`, from `rows` rows with these classes.
    pub(super) fn new(
        classes: Column<'a>,
        wanted: &'w Wanted<'a>,
        within: Range<usize>,
        rows: usize,
    ) -> Self {
        Self {
            classes,
            wanted,
            span: wanted.span(),
            within,
            rows,
        }
    }
}
