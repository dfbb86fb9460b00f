//! Numbers grouped by key: compressed sparse rows.
//!
//! `petgraph::csr::Csr` is no replacement: it holds the neighbours of a vertex, one edge
//! for each, sorted by the caller first. A search groups the numbers of its transfers,
//! of which many may connect the same two addresses.

use crate::rows::Row;
use txgraph_transfers::Direction;

/// Numbers grouped by a key, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Csr {
    /// Where the items of each key start; one more than there are keys.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Csr {
    /// Groups (key, item) pairs, of which there are fewer than 2^32. `pairs` is called
    /// twice and must give the same pairs; keys are below `keys`.
    pub fn group<I: Iterator<Item = (u32, u32)>>(keys: usize, pairs: impl Fn() -> I) -> Self {
        // A counting sort: how many items each key has, where each starts, then fill. The
        // second loop moves each start to its end, which is the start of the next.
        let mut starts = vec![0u32; keys + 1];
        // `for_each` runs nested iterators as nested loops.
        pairs().for_each(|(key, _)| starts[key as usize] += 1);
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut items = vec![0; total as usize];
        pairs().for_each(|(key, item)| {
            let at = &mut starts[key as usize];
            items[*at as usize] = item;
            *at += 1;
        });
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, items }
    }

    /// The numbers of the transfers that can be followed from each address: those that it
    /// sent (`Out`), received (`In`) or both (`Both`; a transfer to itself once).
    pub(crate) fn of_rows(rows: &[Row], direction: Direction, addresses: usize) -> Self {
        let ends = |row: &Row| match direction {
            Direction::Out => (row.from, None),
            Direction::In => (row.to, None),
            Direction::Both => (row.from, (row.to != row.from).then_some(row.to)),
        };
        Self::group(addresses, || {
            (0u32..).zip(rows).flat_map(|(number, row)| {
                let (one, other) = ends(row);
                std::iter::once(one)
                    .chain(other)
                    .map(move |end| (end, number))
            })
        })
    }

    /// The items of one key.
    #[inline]
    pub fn of(&self, key: u32) -> &[u32] {
        let at = key as usize;
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// How many keys there are.
    pub fn keys(&self) -> usize {
        self.starts.len() - 1
    }

    /// Memory that grouping `rows` transfers of `addresses` addresses takes.
    pub(crate) fn bytes(rows: usize, direction: Direction, addresses: usize) -> usize {
        let ends = if direction == Direction::Both {
            2 * rows
        } else {
            rows
        };
        size_of::<u32>() * (addresses + 1 + ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{rows::RowStore, testing};

    fn check(text: &str, direction: Direction, expected: &str) {
        let (mut interned, mut store) = Default::default();
        for transfer in testing::transfers(text) {
            RowStore::push(&mut store, &transfer, &mut interned).unwrap();
        }
        let csr = Csr::of_rows(store.rows(), direction, interned.addresses.len());
        assert_eq!(csr.keys(), interned.addresses.len());
        let mut found: Vec<_> = (0..u32::try_from(interned.addresses.len()).unwrap())
            .map(|id| {
                format!(
                    "{}{:?}",
                    testing::name(interned.addresses.value(id)),
                    csr.of(id)
                )
            })
            .collect();
        found.sort();
        assert_eq!(found.join(" "), expected, "{text} {direction:?}");
    }

    #[test]
    fn groups_rows_by_direction() {
        check("a>b c>b a>a b>a", Direction::Out, "a[0, 2] b[3] c[1]");
        check("a>b c>b a>a b>a", Direction::In, "a[2, 3] b[0, 1] c[]");
        check(
            "a>b c>b a>a b>a",
            Direction::Both,
            "a[0, 2, 3] b[0, 1, 3] c[1]",
        );
        check("", Direction::Both, "");
    }

    #[test]
    fn items_keep_their_order() {
        let pairs = [(2, 9), (0, 7), (2, 8), (2, 9)];
        let csr = Csr::group(4, || pairs.into_iter());
        assert_eq!(
            [0, 1, 2, 3].map(|key| csr.of(key)),
            [&[7][..], &[], &[9, 8, 9], &[]]
        );
    }
}
