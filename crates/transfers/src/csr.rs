//! Numbers grouped by key: compressed sparse rows.
//!
//! `petgraph::csr::Csr` cannot replace it: it holds the neighbors of a vertex, one edge
//! for each, sorted by the caller first. A search groups the numbers of its transfers,
//! of which many may connect the same two addresses.

/// Numbers grouped by a key, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Csr {
    /// Where the items of each key start; one more than there are keys.
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Default for Csr {
    fn default() -> Self {
        Self::group(0, std::iter::empty)
    }
}

impl Csr {
    /// Groups (key, item) pairs, of which there are fewer than 2^32. `pairs` is called
    /// twice and must give the same pairs; keys are below `keys`.
    pub fn group<I: Iterator<Item = (u32, u32)>>(keys: usize, pairs: impl Fn() -> I) -> Self {
        Self::group_counted(keys, pairs().map(|(key, _)| key), pairs())
    }

    /// Groups (key, item) pairs. `all` are their keys in an order that is fast to read.
    pub fn group_counted(
        keys: usize,
        all: impl Iterator<Item = u32>,
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Self {
        // A counting sort: how many items each key has, where each starts, then fill. The
        // second loop moves each start to its end, which is the start of the next.
        let mut starts = vec![0u32; keys + 1];
        // `for_each` runs nested iterators as nested loops.
        all.for_each(|key| starts[key as usize] += 1);
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut items = vec![0; total as usize];
        pairs.for_each(|(key, item)| {
            let at = &mut starts[key as usize];
            items[*at as usize] = item;
            *at += 1;
        });
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, items }
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

    /// The start of each group, followed by the end of the last, and the items of all groups.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>) {
        (self.starts, self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order() {
        let pairs = [(2, 9), (0, 7), (2, 8), (2, 9)];
        let csr = Csr::group(4, || pairs.into_iter());
        assert_eq!(
            [0, 1, 2, 3].map(|key| csr.of(key)),
            [&[7][..], &[], &[9, 8, 9], &[]]
        );
        let (starts, items) = csr.into_parts();
        assert_eq!(starts, [0, 1, 1, 4, 4]);
        assert_eq!(items, [7, 9, 8, 9]);
    }
}
