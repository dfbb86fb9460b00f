//! Weakly connected components: the parts of the graph that transfers connect, in
//! whichever direction. The zero address connects nothing: sharing a token's mints and
//! burns ties no two addresses together. It is a component of its own.

use crate::{ColumnType, MeasureResult, Table, ratio::share_of_count};
use alloy_primitives::Address;
use petgraph::unionfind::UnionFind;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_base::Interner;
use txgraph_graph::{SearchError, TransferGraph};
use txgraph_transfers::Transfer;

/// The components of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Components {
    /// The number of components, listed or not.
    pub total: u64,
    /// The largest component's part of all vertices; absent when there are none.
    pub largest_share: Option<f64>,
    /// The number of components of each size: (vertices, components), ascending.
    pub sizes: Vec<(u64, u64)>,
    /// The listed components, by vertices, then transfers, largest first, then by lowest
    /// address.
    pub components: Vec<Component>,
}

/// Addresses connected with each other by transfers, and with no others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// Addresses.
    pub vertices: u64,
    /// Transfers among them, and their mints and burns.
    pub transfers: u64,
    /// The lowest of the addresses, which identifies the component.
    pub lowest_address: Address,
    /// Roots of the search among them, in the order of their vertices.
    pub roots: Vec<Address>,
    /// Block of the first transfer.
    pub first_block: Option<u64>,
    /// Block of the last transfer.
    pub last_block: Option<u64>,
}

/// Finds the weakly connected components of `graph`, and lists at most `limit` of them.
/// Near linear.
///
/// # Errors
///
/// [`SearchError::TooLarge`] at 2^32 - 1 addresses.
pub fn components(graph: &TransferGraph, limit: Option<usize>) -> Result<Components, SearchError> {
    let mut connected = Connected::default();
    let addresses: Vec<_> = graph.graph.node_weights().map(|v| v.address).collect();
    connected.number(&addresses)?;
    for edge in graph.graph.edge_weights() {
        connected.add(std::slice::from_ref(&edge.transfer))?;
    }
    let roots = graph.roots.iter().map(|root| graph.graph[*root].address);
    Ok(connected.finish(&roots.collect::<Vec<_>>(), limit))
}

/// Transfers whose ends are numbered at once.
const CHUNK: usize = 1 << 10;

/// Finds the components of transfers while they are read. It keeps no transfer, only about 70
/// bytes for each address.
#[derive(Debug, Default)]
pub struct Connected {
    addresses: Interner<Address>,
    /// By number of an address.
    sets: UnionFind<u32>,
    /// By number of an address: transfers of its component. The counts of one component may be at
    /// several of its addresses, and are added up in the end.
    counts: Vec<Count>,
    transfers: u64,
}

/// Transfers, and the blocks of the first and the last.
#[derive(Clone, Copy, Debug)]
struct Count {
    transfers: u64,
    first: u64,
    last: u64,
}

impl Count {
    const NONE: Self = Self {
        transfers: 0,
        first: u64::MAX,
        last: 0,
    };

    fn add(&mut self, other: Self) {
        self.transfers += other.transfers;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// An address of a spanning forest: [`Connected`] in a form that can be stored, and merged with
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The address.
    pub address: Address,
    /// The same address of its component for all of them.
    pub root: Address,
    /// Transfers of the component that are counted at this address.
    pub transfers: u64,
    /// The block of the first of them; the largest number if there is none.
    pub first_block: u64,
    /// The block of the last of them; 0 if there is none.
    pub last_block: u64,
}

impl Connected {
    /// Adds transfers.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses.
    pub fn add(&mut self, transfers: &[Transfer]) -> Result<(), SearchError> {
        let (mut ends, mut roots) = (Vec::new(), Vec::new());
        for chunk in transfers.chunks(CHUNK) {
            ends.clear();
            ends.extend(chunk.iter().flat_map(|t| [t.from_address, t.to_address]));
            let numbers = self.number(&ends)?;
            // These do not depend on each other, so the processor waits for the memory of many
            // at once. Sets only grow: what is in one set now is in one set later.
            roots.clear();
            roots.extend(numbers.iter().map(|number| self.sets.find_mut(*number)));
            let (numbers, _) = numbers.as_chunks::<2>();
            let (roots, _) = roots.as_chunks::<2>();
            for (transfer, (numbers, roots)) in chunk.iter().zip(numbers.iter().zip(roots)) {
                let minted = transfer.from_address.is_zero();
                if roots[0] != roots[1] && !minted && !transfer.to_address.is_zero() {
                    self.sets.union(numbers[0], numbers[1]);
                }
                // Mostly of the largest component, so in the cache.
                let end = if minted { roots[1] } else { roots[0] };
                self.counts[end as usize].add(Count {
                    transfers: 1,
                    first: transfer.block_number,
                    last: transfer.block_number,
                });
            }
        }
        self.transfers += transfers.len() as u64;
        Ok(())
    }

    /// Adds the branches of a forest.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses.
    pub fn merge(&mut self, branches: &[Branch]) -> Result<(), SearchError> {
        let mut ends = Vec::new();
        for chunk in branches.chunks(CHUNK) {
            ends.clear();
            ends.extend(
                chunk
                    .iter()
                    .flat_map(|branch| [branch.address, branch.root]),
            );
            let numbers = self.number(&ends)?;
            let (numbers, _) = numbers.as_chunks::<2>();
            for (branch, [address, root]) in chunk.iter().zip(numbers) {
                self.sets.union(*address, *root);
                self.counts[*address as usize].add(Count {
                    transfers: branch.transfers,
                    first: branch.first_block,
                    last: branch.last_block,
                });
                self.transfers += branch.transfers;
            }
        }
        Ok(())
    }

    /// Returns a branch for each address.
    pub fn into_forest(self) -> impl Iterator<Item = Branch> {
        let addresses = self.addresses.into_values();
        let roots = self.sets.into_labeling();
        (0..addresses.len()).map(move |at| Branch {
            address: addresses[at],
            root: addresses[roots[at] as usize],
            transfers: self.counts[at].transfers,
            first_block: self.counts[at].first,
            last_block: self.counts[at].last,
        })
    }

    /// The number of addresses.
    pub fn addresses(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// The number of transfers.
    pub const fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Numbers addresses. A new one is a component of its own.
    fn number(&mut self, addresses: &[Address]) -> Result<Vec<u32>, SearchError> {
        let mut numbers = Vec::with_capacity(addresses.len());
        self.addresses.intern_all(addresses, &mut numbers)?;
        self.counts.resize(self.addresses.len(), Count::NONE);
        while self.sets.len() < self.addresses.len() {
            self.sets.new_set();
        }
        Ok(numbers)
    }

    /// Returns the components, and lists at most `limit` of them. Each of `roots` that has
    /// been numbered is listed with its component.
    pub fn finish(self, roots: &[Address], limit: Option<usize>) -> Components {
        let Self {
            addresses,
            sets,
            counts,
            transfers: _,
        } = self;
        let roots: Vec<_> = roots
            .iter()
            .filter_map(|root| Some((addresses.get(root)?, *root)))
            .collect();
        let addresses = addresses.into_values();
        // By representative, then by vertex.
        let mut number = vec![u32::MAX; addresses.len()];
        let mut found: Vec<(Count, Component)> = Vec::new();
        for (vertex, representative) in sets.into_labeling().into_iter().enumerate() {
            let representative = representative as usize;
            if number[representative] == u32::MAX {
                // There are no more components than addresses, which are numbered in `u32`.
                number[representative] = u32::try_from(found.len()).unwrap_or(u32::MAX);
                found.push((
                    Count::NONE,
                    Component {
                        vertices: 0,
                        transfers: 0,
                        lowest_address: addresses[vertex],
                        roots: Vec::new(),
                        first_block: None,
                        last_block: None,
                    },
                ));
            }
            number[vertex] = number[representative];
            let (count, component) = &mut found[number[vertex] as usize];
            count.add(counts[vertex]);
            component.vertices += 1;
            component.lowest_address = component.lowest_address.min(addresses[vertex]);
        }
        for (vertex, root) in roots {
            let (_, component) = &mut found[number[vertex as usize] as usize];
            component.roots.push(root);
        }
        let found = found.into_iter().map(|(count, component)| {
            let any = count.transfers > 0;
            Component {
                transfers: count.transfers,
                first_block: any.then_some(count.first),
                last_block: any.then_some(count.last),
                ..component
            }
        });
        ranked(found.collect(), addresses.len() as u64, limit)
    }
}

/// Counts and orders the components of a graph with this number of vertices.
fn ranked(mut found: Vec<Component>, vertices: u64, limit: Option<usize>) -> Components {
    let mut sizes = BTreeMap::new();
    for component in &found {
        *sizes.entry(component.vertices).or_insert(0) += 1;
    }
    found.sort_unstable_by_key(|component| {
        (
            Reverse((component.vertices, component.transfers)),
            component.lowest_address,
        )
    });
    let total = found.len() as u64;
    let largest_share = found
        .first()
        .and_then(|largest| share_of_count(largest.vertices, vertices));
    found.truncate(limit.unwrap_or(usize::MAX));
    Components {
        total,
        largest_share,
        sizes: sizes.into_iter().collect(),
        components: found,
    }
}

impl Components {
    /// The number of addresses in all of them.
    pub fn vertices(&self) -> u64 {
        let sizes = self.sizes.iter();
        sizes
            .map(|(vertices, components)| vertices * components)
            .sum()
    }

    /// Computes the shares again, for components that were read: text has no exact doubles.
    pub fn with_shares(self) -> Self {
        let largest = self.sizes.last().map(|(vertices, _)| *vertices);
        let share = largest.and_then(|largest| share_of_count(largest, self.vertices()));
        Self {
            largest_share: share,
            ..self
        }
    }
}

impl MeasureResult for Components {
    /// Components, and the number of each size.
    fn tables(&self) -> Vec<Table> {
        use ColumnType::{Address, U64};
        let title = match self.total - self.components.len() as u64 {
            0 => "Components".to_owned(),
            more => format!("Components (the largest; {more} more)"),
        };
        let components = Table::of(
            "components",
            title,
            (1u64..).zip(&self.components),
            &[
                ("component", U64, |(number, _)| number.into()),
                ("vertices", U64, |(_, it)| it.vertices.into()),
                ("transfers", U64, |(_, it)| it.transfers.into()),
                ("roots", U64, |(_, it)| it.roots.len().into()),
                ("lowest_address", Address, |(_, it)| {
                    it.lowest_address.into()
                }),
                ("first_block", U64, |(_, it)| it.first_block.into()),
                ("last_block", U64, |(_, it)| it.last_block.into()),
            ],
        );
        let sizes = Table::of(
            "components-by-size",
            "Components by size",
            &self.sizes,
            &[
                ("vertices", U64, |(vertices, _)| (*vertices).into()),
                ("components", U64, |(_, components)| (*components).into()),
            ],
        );
        vec![components, sizes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use txgraph_graph::testing;

    fn check(text: &str, expected: &[&str]) {
        let graph = testing::graph(testing::transfers(text));
        let found = components(&graph, None).unwrap();
        let shown: Vec<_> = found
            .components
            .iter()
            .map(|c| {
                let name = testing::name(c.lowest_address);
                format!(
                    "{name} {}v {}t {:?}..{:?}",
                    c.vertices, c.transfers, c.first_block, c.last_block
                )
                .replace("Some(", "")
                .replace(')', "")
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn lists_components_of_small_graphs() {
        check("", &[]);
        check("a>b", &["a 2v 1t 100..100"]);
        check("c>b a>b d>e d>e", &["a 3v 2t 100..101", "d 2v 2t 102..103"]);
        check("x>x a>b a>b", &["a 2v 2t 101..102", "x 1v 1t 100..100"]);
        let minted = "0>a 0>b b>0 0>0";
        check(
            minted,
            &["b 1v 2t 101..102", "0 1v 1t 103..103", "a 1v 1t 100..100"],
        );
    }

    #[test]
    fn counts_roots_and_sizes_beyond_the_limit() {
        let mut graph = testing::graph(testing::transfers("a>b c>d e>e"));
        graph.roots = graph
            .graph
            .node_indices()
            .filter(|id| id.index() > 1)
            .collect();
        let found = components(&graph, Some(2)).unwrap();
        assert_eq!((found.total, found.largest_share), (3, Some(0.4)));
        assert_eq!(found.sizes, [(1, 1), (2, 2)]);
        let roots: Vec<_> = found.components.iter().map(|c| c.roots.clone()).collect();
        assert_eq!(
            roots,
            [vec![], vec![testing::address("c"), testing::address("d")]]
        );
        assert_eq!(found.tables()[0].title, "Components (the largest; 1 more)");
    }

    proptest! {
        #[test]
        fn streamed_components_equal_those_of_the_graph(
            transfers in crate::oracle::some_transfers(),
            batch in 1usize..20,
        ) {
            let mut connected = Connected::default();
            for batch in transfers.chunks(batch) {
                connected.add(batch).unwrap();
            }
            prop_assert_eq!(connected.transfers(), transfers.len() as u64);
            let graph = testing::graph(transfers);
            prop_assert_eq!(connected.addresses(), graph.graph.node_count() as u64);
            prop_assert_eq!(connected.finish(&[], None), components(&graph, None).unwrap());
        }

        /// However transfers are divided, and in whatever order the forests are merged.
        #[test]
        fn merged_forests_have_the_components_of_all_transfers(
            transfers in crate::oracle::some_transfers(),
            part in 1usize..20,
            first in 0usize..20,
        ) {
            let mut forests: Vec<Vec<Branch>> = transfers
                .chunks(part)
                .map(|part| {
                    let mut connected = Connected::default();
                    connected.add(part).unwrap();
                    connected.into_forest().collect()
                })
                .collect();
            let count = forests.len().max(1);
            forests.rotate_left(first % count);
            let mut merged = Connected::default();
            for half in forests.chunks(2) {
                let mut connected = Connected::default();
                for forest in half {
                    connected.merge(forest).unwrap();
                }
                let forest: Vec<_> = connected.into_forest().collect();
                merged.merge(&forest).unwrap();
            }
            prop_assert_eq!(merged.transfers(), transfers.len() as u64);
            let mut whole = Connected::default();
            whole.add(&transfers).unwrap();
            prop_assert_eq!(merged.finish(&[], None), whole.finish(&[], None));
        }

        /// Addresses spread until nothing changes are one component, with their transfers.
        #[test]
        fn components_agree_with_flooding(transfers in crate::oracle::some_transfers()) {
            let connected: Vec<_> = transfers
                .iter()
                .map(|t| (t.from_address, t.to_address))
                .filter(|(from, to)| !(from.is_zero() || to.is_zero()))
                .collect();
            let mut expected = BTreeMap::new();
            for start in transfers.iter().flat_map(|t| [t.from_address, t.to_address]) {
                let mut reached = BTreeSet::from([start]);
                loop {
                    let before = reached.len();
                    for (from, to) in &connected {
                        if reached.contains(from) || reached.contains(to) {
                            reached.extend([*from, *to]);
                        }
                    }
                    if reached.len() == before {
                        break;
                    }
                }
                let of_component = transfers.iter().filter(|t| {
                    let minted = t.from_address.is_zero();
                    reached.contains(if minted { &t.to_address } else { &t.from_address })
                });
                let blocks = of_component.clone().map(|t| t.block_number);
                let about = (
                    reached.len() as u64,
                    of_component.count() as u64,
                    blocks.clone().min(),
                    blocks.max(),
                );
                expected.insert(*reached.first().unwrap(), about);
            }
            let graph = testing::graph(transfers.clone());
            let found = components(&graph, None).unwrap();
            let about = |c: &Component| (c.vertices, c.transfers, c.first_block, c.last_block);
            let components: BTreeMap<_, _> = found.components.iter().map(|c| (c.lowest_address, about(c))).collect();
            prop_assert_eq!(components, expected);
            prop_assert_eq!(found.components.iter().map(|c| c.transfers).sum::<u64>(), transfers.len() as u64);
            prop_assert_eq!(found.sizes.iter().map(|(_, n)| n).sum::<u64>(), found.total);
        }
    }
}
