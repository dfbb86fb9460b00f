//! Which transfers can be followed from each address: compressed sparse rows.

use crate::rows::Row;
use txgraph_transfers::Direction;

/// For each address the numbers of its rows in the direction followed, ascending.
#[derive(Debug)]
pub(crate) struct Csr {
    /// Where the rows of each address start; one more than there are addresses.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Csr {
    /// Groups `rows` by sender (`Out`), receiver (`In`) or both (`Both`; a transfer
    /// to itself once). Ends are numbers below `addresses`.
    pub(crate) fn new(rows: &[Row], direction: Direction, addresses: usize) -> Self {
        let ends = |row: &Row| match direction {
            Direction::Out => (row.from, None),
            Direction::In => (row.to, None),
            Direction::Both => (row.from, (row.to != row.from).then_some(row.to)),
        };
        // A counting sort: how many each has, where each starts, then fill. The second
        // loop moves each start to its end, which is the start of the next.
        let mut starts = vec![0u32; addresses + 1];
        for (one, other) in rows.iter().map(ends) {
            starts[one as usize] += 1;
            other
                .into_iter()
                .for_each(|other| starts[other as usize] += 1);
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut grouped = vec![0; total as usize];
        for (number, (one, other)) in (0..).zip(rows.iter().map(ends)) {
            for end in std::iter::once(one).chain(other) {
                let at = &mut starts[end as usize];
                grouped[*at as usize] = number;
                *at += 1;
            }
        }
        starts.rotate_right(1);
        starts[0] = 0;
        Self {
            starts,
            rows: grouped,
        }
    }

    /// The rows of one address, in the order of the rows.
    #[inline]
    pub(crate) fn of(&self, address: u32) -> &[u32] {
        let at = address as usize;
        &self.rows[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Memory that grouping `rows` rows of `addresses` addresses takes.
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
        let (mut names, mut store) = Default::default();
        for transfer in testing::transfers(text) {
            RowStore::push(&mut store, &transfer, &mut names).unwrap();
        }
        let csr = Csr::new(store.rows(), direction, names.addresses.len());
        let mut found: Vec<_> = (0..u32::try_from(names.addresses.len()).unwrap())
            .map(|id| {
                format!(
                    "{}{:?}",
                    testing::name(names.addresses.value(id)),
                    csr.of(id)
                )
            })
            .collect();
        found.sort();
        assert_eq!(found.join(" "), expected, "{text} {direction:?}");
    }

    #[test]
    fn groups_by_the_end_followed() {
        check("a>b c>b a>a b>a", Direction::Out, "a[0, 2] b[3] c[1]");
        check("a>b c>b a>a b>a", Direction::In, "a[2, 3] b[0, 1] c[]");
        check(
            "a>b c>b a>a b>a",
            Direction::Both,
            "a[0, 2, 3] b[0, 1, 3] c[1]",
        );
        check("", Direction::Both, "");
    }
}
