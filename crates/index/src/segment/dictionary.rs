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

    /// Of a run of ascending rows, those in `within`.
    pub(super) fn within(&self, run: Range<usize>, within: &Range<usize>) -> Range<usize> {
        let first_not_below = |limit: usize| {
            let (mut low, mut high) = (run.start, run.end);
            while low < high {
                let middle = low.midpoint(high);
                if self.rows.index(middle).is_some_and(|row| row < limit) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        first_not_below(within.start)..first_not_below(within.end)
    }
}
