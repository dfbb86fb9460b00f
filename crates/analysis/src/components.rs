//! Weakly connected components: the parts of the graph that transfers connect, in
//! whichever direction. The zero address connects nothing: sharing a token's mints and
//! burns ties no two addresses together. It is a component of its own.

use crate::{CellKind, MeasureResult, Table, ratio::share_of_count};
use alloy_primitives::Address;
use petgraph::{graph::NodeIndex, unionfind::UnionFind, visit::EdgeRef};
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::TransferGraph;

/// The components of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
pub fn components(graph: &TransferGraph, limit: Option<usize>) -> Components {
    let address = |vertex: usize| graph.graph[NodeIndex::new(vertex)].address;
    let connects = |vertex: usize| !address(vertex).is_zero();
    let edges = || {
        graph.graph.edge_references().map(|edge| {
            (
                edge.source().index(),
                edge.target().index(),
                edge.weight().transfer.block_number,
            )
        })
    };
    let mut sets = UnionFind::<usize>::new(graph.graph.node_count());
    for (source, target, _) in edges() {
        if connects(source) && connects(target) {
            sets.union(source, target);
        }
    }

    let mut number = vec![usize::MAX; graph.graph.node_count()];
    let mut found: Vec<Component> = Vec::new();
    for (vertex, representative) in sets.into_labeling().into_iter().enumerate() {
        if number[representative] == usize::MAX {
            number[representative] = found.len();
            found.push(Component {
                vertices: 0,
                transfers: 0,
                lowest_address: address(vertex),
                roots: Vec::new(),
                first_block: None,
                last_block: None,
            });
        }
        number[vertex] = number[representative];
        let component = &mut found[number[vertex]];
        component.vertices += 1;
        component.lowest_address = component.lowest_address.min(address(vertex));
    }
    for root in &graph.roots {
        found[number[root.index()]]
            .roots
            .push(address(root.index()));
    }
    for (source, target, block) in edges() {
        let end = if connects(source) { source } else { target };
        let component = &mut found[number[end]];
        component.transfers += 1;
        component.first_block = Some(
            component
                .first_block
                .map_or(block, |first| first.min(block)),
        );
        component.last_block = component.last_block.max(Some(block));
    }

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
        .and_then(|largest| share_of_count(largest.vertices, graph.graph.node_count() as u64));
    found.truncate(limit.unwrap_or(usize::MAX));
    Components {
        total,
        largest_share,
        sizes: sizes.into_iter().collect(),
        components: found,
    }
}

impl MeasureResult for Components {
    /// Components, and the number of each size.
    fn tables(&self) -> Vec<Table> {
        use CellKind::{Address, Integer};
        let title = match self.total - self.components.len() as u64 {
            0 => "Components".to_owned(),
            more => format!("Components (the largest; {more} more)"),
        };
        let mut components = Table::new(
            "components",
            title,
            &[
                ("component", Integer),
                ("vertices", Integer),
                ("transfers", Integer),
                ("roots", Integer),
                ("lowest_address", Address),
                ("first_block", Integer),
                ("last_block", Integer),
            ],
        );
        for (number, component) in (1u64..).zip(&self.components) {
            components.push(vec![
                number.into(),
                component.vertices.into(),
                component.transfers.into(),
                component.roots.len().into(),
                component.lowest_address.into(),
                component.first_block.into(),
                component.last_block.into(),
            ]);
        }
        let columns = [("vertices", Integer), ("components", Integer)];
        let mut sizes = Table::new("components-by-size", "Components by size", &columns);
        for (vertices, count) in &self.sizes {
            sizes.push(vec![(*vertices).into(), (*count).into()]);
        }
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
        let found = components(&graph, None);
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
        let found = components(&graph, Some(2));
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
        /// Addresses spread until nothing changes are one component.
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
                expected.insert(*reached.first().unwrap(), reached.len() as u64);
            }
            let graph = testing::graph(transfers.clone());
            let found = components(&graph, None);
            let sizes: BTreeMap<_, _> = found.components.iter().map(|c| (c.lowest_address, c.vertices)).collect();
            prop_assert_eq!(sizes, expected);
            prop_assert_eq!(found.components.iter().map(|c| c.transfers).sum::<u64>(), transfers.len() as u64);
            prop_assert_eq!(found.sizes.iter().map(|(_, n)| n).sum::<u64>(), found.total);
        }
    }
}
