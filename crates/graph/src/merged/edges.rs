//! Edges of a merged graph in 44 bytes each, aggregated by sorting.
//!
//! A new transfer is appended to the shard of its sender. When half as many transfers are
//! new as there are edges, every shard sorts its new transfers and merges them with its
//! edges. So a shard is read and written in order, and an edge takes its own bytes and
//! half the bytes of a new one. A hash table of edges would take a slot for each on top, twice
//! that while it grows, and a cache miss for each transfer.

use crate::AmountSum;
use alloy_primitives::map::HashMap;
use rayon::prelude::*;

/// Senders of one shard, as a power of two. The shards of ten million addresses are then few
/// enough that the ends of all of them stay in the cache.
const SHARD_BITS: u32 = 13;

/// New transfers below which none are merged. They take 11 MiB.
const FRESH_MIN: usize = 1 << 18;

/// All transfers of one asset from one address to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeSum {
    /// Sender, by number.
    pub from: u32,
    /// Receiver, by number.
    pub to: u32,
    /// Asset, by number.
    pub asset: u32,
    /// The number of transfers.
    pub count: u64,
    /// Sum of their amounts.
    pub sum: AmountSum,
    /// Smallest hop of any of them.
    pub hop: u32,
    /// Block of the first, by number.
    pub first: u32,
    /// Block of the last, by number.
    pub last: u32,
}

/// An edge as it is stored. What does not fit is in [`Shard::carried`].
#[derive(Clone, Copy, Debug)]
struct Packed {
    from: u32,
    to: u32,
    asset: u32,
    count: u32,
    hop: u32,
    first: u32,
    last: u32,
    /// The low 128 bits, as bytes: a `u128` would align the edge to 16.
    sum: [u8; 16],
}

impl Packed {
    /// The order of edges: by sender, receiver and asset.
    fn key(&self) -> u128 {
        u128::from(self.from) << 64 | u128::from(self.to) << 32 | u128::from(self.asset)
    }

    /// Adds the transfers of `other`, which has the same key.
    fn absorb(&mut self, other: &Self, carried: &mut Carried) {
        let (count, more_transfers) = self.count.overflowing_add(other.count);
        let sums = [self.sum, other.sum].map(u128::from_ne_bytes);
        let (sum, more_amount) = sums[0].overflowing_add(sums[1]);
        if more_transfers || more_amount {
            let carried = carried.entry(self.key()).or_default();
            carried.count += u64::from(more_transfers) << 32;
            carried.sum += AmountSum::from(more_amount) << 128;
        }
        (self.count, self.sum) = (count, sum.to_ne_bytes());
        self.hop = self.hop.min(other.hop);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// The part of a count beyond 32 bits, and of a sum beyond 128.
#[derive(Clone, Copy, Debug, Default)]
struct Carry {
    count: u64,
    sum: AmountSum,
}

/// By key of an edge. Hardly any amount of an honest token has 128 bits.
type Carried = HashMap<u128, Carry>;

/// The edges of some senders.
#[derive(Debug, Default)]
struct Shard {
    /// One for each key, ascending.
    edges: Vec<Packed>,
    /// Transfers that are not merged yet.
    fresh: Vec<Packed>,
    carried: Carried,
}

impl Shard {
    fn push(&mut self, new: &EdgeSum) {
        let [low, high, rest @ ..] = *new.sum.as_limbs();
        let count = u32::try_from(new.count & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        let edge = Packed {
            from: new.from,
            to: new.to,
            asset: new.asset,
            count,
            hop: new.hop,
            first: new.first,
            last: new.last,
            sum: (u128::from(high) << 64 | u128::from(low)).to_ne_bytes(),
        };
        let more = new.count - u64::from(count);
        if rest != [0; 3] || more > 0 {
            let carried = self.carried.entry(edge.key()).or_default();
            carried.count += more;
            carried.sum += AmountSum::from_limbs([0, 0, rest[0], rest[1], rest[2]]);
        }
        self.fresh.push(edge);
    }

    /// Merges the new transfers with the edges, in the memory of the edges.
    fn merge(&mut self) {
        let Self {
            edges,
            fresh,
            carried,
        } = self;
        let mut fresh = std::mem::take(fresh);
        fresh.par_sort_unstable_by_key(Packed::key);
        fresh.dedup_by(|next, kept| {
            let same = next.key() == kept.key();
            if same {
                kept.absorb(next, carried);
            }
            same
        });
        let mut at = 0;
        fresh.retain(|new| {
            while edges.get(at).is_some_and(|edge| edge.key() < new.key()) {
                at += 1;
            }
            match edges.get_mut(at) {
                Some(edge) if edge.key() == new.key() => {
                    edge.absorb(new, carried);
                    false
                }
                _ => true,
            }
        });
        // What remains is inserted from the back, so that each edge moves once.
        let mut left = edges.len();
        edges.reserve_exact(fresh.len());
        edges.extend_from_slice(&fresh);
        let mut place = edges.len();
        for new in fresh.into_iter().rev() {
            while left > 0 && edges[left - 1].key() > new.key() {
                (left, place) = (left - 1, place - 1);
                edges[place] = edges[left];
            }
            place -= 1;
            edges[place] = new;
        }
    }

    fn sum(&self, edge: &Packed) -> EdgeSum {
        let mut carry = Carry::default();
        if !self.carried.is_empty() {
            carry = self.carried.get(&edge.key()).copied().unwrap_or_default();
        }
        EdgeSum {
            from: edge.from,
            to: edge.to,
            asset: edge.asset,
            count: u64::from(edge.count) + carry.count,
            sum: AmountSum::from(u128::from_ne_bytes(edge.sum)) + carry.sum,
            hop: edge.hop,
            first: edge.first,
            last: edge.last,
        }
    }
}

/// The edges of a merged graph.
#[derive(Debug, Default)]
pub(super) struct EdgeStore {
    /// By sender: 2^[`SHARD_BITS`] each.
    shards: Vec<Shard>,
    /// New transfers of all shards.
    fresh: usize,
    /// Edges of all shards.
    merged: usize,
}

impl EdgeStore {
    /// Adds a transfer, or a sum of several. The caller calls [`Self::merge_if_many`] now and then,
    /// and [`Self::merge`] at the end.
    #[inline]
    pub(super) fn push(&mut self, new: &EdgeSum) {
        let shard = (new.from >> SHARD_BITS) as usize;
        if shard >= self.shards.len() {
            self.shards.resize_with(shard + 1, Shard::default);
        }
        self.shards[shard].push(new);
        self.fresh += 1;
    }

    /// Merges the new transfers if they are half as many as the edges.
    pub(super) fn merge_if_many(&mut self) {
        if self.fresh >= FRESH_MIN.max(self.merged / 2) {
            self.merge();
        }
    }

    /// Merges the new transfers. Runs on the current rayon pool.
    pub(super) fn merge(&mut self) {
        self.shards
            .par_iter_mut()
            .filter(|shard| !shard.fresh.is_empty())
            .for_each(Shard::merge);
        self.merged = self.shards.iter().map(|shard| shard.edges.len()).sum();
        self.fresh = 0;
    }

    /// The number of edges.
    pub(super) fn len(&self) -> usize {
        self.merged
    }

    /// Returns the edges by (sender, receiver, asset).
    pub(super) fn iter(&self) -> impl Iterator<Item = EdgeSum> {
        let shards = self.shards.iter();
        shards.flat_map(|shard| shard.edges.iter().map(|edge| shard.sum(edge)))
    }

    /// Returns the edges at these ascending places of [`Self::iter`].
    pub(super) fn at<'a>(&'a self, places: &'a [u32]) -> impl Iterator<Item = EdgeSum> + 'a {
        let (mut shard, mut start) = (0, 0);
        places.iter().map(move |place| {
            let place = *place as usize;
            while place - start >= self.shards[shard].edges.len() {
                start += self.shards[shard].edges.len();
                shard += 1;
            }
            let shard = &self.shards[shard];
            shard.sum(&shard.edges[place - start])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widen;
    use alloy_primitives::U256;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn value() -> impl Strategy<Value = U256> {
        prop_oneof![
            3 => (0u64..4).prop_map(U256::from),
            1 => Just(U256::from(u128::MAX)),
            1 => Just(U256::MAX),
        ]
    }

    proptest! {
        /// Merging at any time gives the edges of a map. Senders are in three shards.
        #[test]
        fn edges_agree_with_a_map(
            transfers in proptest::collection::vec(((0u32..3, 0u32..3, 0u32..2), 0u32..3, value(), any::<bool>()), 0..80),
        ) {
            let mut store = EdgeStore::default();
            let mut map = BTreeMap::new();
            for (block, ((from, to, asset), hop, value, merge)) in (0u32..).zip(transfers) {
                let from = from << SHARD_BITS;
                // Sums of several transfers, too.
                let count = 1 + (u64::from(hop) << 31);
                let new = EdgeSum { from, to, asset, count, sum: widen(value), hop, first: block, last: block };
                store.push(&new);
                let edge = map.entry((from, to, asset)).or_insert(EdgeSum { count: 0, sum: AmountSum::ZERO, ..new });
                edge.count += count;
                edge.sum += widen(value);
                edge.hop = hop.min(edge.hop);
                edge.last = block;
                if merge {
                    store.merge();
                }
            }
            store.merge();
            let expected: Vec<_> = map.into_values().collect();
            prop_assert_eq!(store.len(), expected.len());
            prop_assert_eq!(store.iter().collect::<Vec<_>>(), &expected[..]);
            let places: Vec<u32> = (0..).take(expected.len()).step_by(2).collect();
            let every_second: Vec<_> = expected.into_iter().step_by(2).collect();
            prop_assert_eq!(store.at(&places).collect::<Vec<_>>(), every_second);
        }
    }

    #[test]
    fn counts_beyond_32_bits_are_exact() {
        let mut carried = Carried::default();
        let new = EdgeSum {
            from: 1,
            to: 2,
            asset: 3,
            count: 1,
            sum: AmountSum::from(5),
            hop: 1,
            first: 4,
            last: 4,
        };
        let mut shard = Shard::default();
        shard.push(&new);
        let mut edge = shard.fresh[0];
        edge.count = u32::MAX;
        let other = edge;
        edge.absorb(&other, &mut carried);
        shard.carried = carried;
        assert_eq!(shard.sum(&edge).count, 2 * u64::from(u32::MAX));
    }

    #[test]
    fn merges_when_half_as_many_transfers_are_new() {
        let mut store = EdgeStore::default();
        let mut push = |count: u32, start: u32| {
            for to in start..start + count {
                store.push(&EdgeSum {
                    from: 0,
                    to,
                    asset: 0,
                    count: 1,
                    sum: AmountSum::ZERO,
                    hop: 1,
                    first: 0,
                    last: 0,
                });
            }
            store.merge_if_many();
            (store.fresh, store.merged)
        };
        let min = u32::try_from(FRESH_MIN).unwrap();
        assert_eq!(push(min - 1, 0), (FRESH_MIN - 1, 0));
        assert_eq!(push(3 * min + 1, min - 1), (0, 4 * FRESH_MIN));
        assert_eq!(push(min, 4 * min), (FRESH_MIN, 4 * FRESH_MIN));
        assert_eq!(push(min, 5 * min), (0, 6 * FRESH_MIN));
    }

    #[test]
    fn an_edge_has_44_bytes() {
        assert_eq!(size_of::<Packed>(), 44);
    }
}
