//! Weakly connected components: which parts of the graph hang together, whichever
//! way the transfers went. Union-find with path halving and union by size.

use crate::{CellKind, Table, ratio::share_of_count};
use alloy_primitives::Address;
use petgraph::visit::EdgeRef;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::TransferGraph;

/// How to find components.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ComponentSettings {
    /// Whether mints and burns connect. Default no: sharing a token's zero address
    /// ties nobody together. It is then a component of its own.
    pub through_zero: bool,
    /// How many components to list, the largest first. Default: all.
    pub limit: Option<usize>,
}

/// The components of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Components {
    /// How many there are, listed or not.
    pub total: u64,
    /// Part of all vertices that lies in the largest; absent when there are none.
    pub largest_share: Option<f64>,
    /// How many components have how many vertices: (vertices, components), ascending.
    pub sizes: Vec<(u64, u64)>,
    /// Those listed, by vertices, then transfers, largest first, then by lowest address.
    pub components: Vec<Component>,
}

/// Addresses connected by transfers, and with nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Component {
    /// Addresses.
    pub vertices: u64,
    /// Transfers among them. Without `through_zero` their mints and burns too.
    pub transfers: u64,
    /// The lowest of the addresses: names the component.
    pub lowest_address: Address,
    /// Roots of the search among them, in the order of their vertices.
    pub roots: Vec<Address>,
    /// Block of the first transfer.
    pub first_block: Option<u64>,
    /// Block of the last transfer.
    pub last_block: Option<u64>,
}

/// Finds the weakly connected components of `graph`. Near linear.
pub fn components(graph: &TransferGraph, settings: &ComponentSettings) -> Components {
    let address = |vertex: usize| graph.graph[petgraph::graph::NodeIndex::new(vertex)].address;
    let connects = |vertex: usize| settings.through_zero || !address(vertex).is_zero();
    let edges = || {
        graph.graph.edge_references().map(|edge| {
            (
                edge.source().index(),
                edge.target().index(),
                edge.weight().transfer.block_number,
            )
        })
    };
    let mut sets = Sets::new(graph.graph.node_count());
    for (source, target, _) in edges() {
        if connects(source) && connects(target) {
            sets.union(source, target);
        }
    }

    let mut number = vec![usize::MAX; graph.graph.node_count()];
    let mut found: Vec<Component> = Vec::new();
    for vertex in 0..graph.graph.node_count() {
        let representative = sets.find(vertex);
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
    found.truncate(settings.limit.unwrap_or(usize::MAX));
    Components {
        total,
        largest_share,
        sizes: sizes.into_iter().collect(),
        components: found,
    }
}

/// Disjoint sets of the numbers `0..n`.
struct Sets {
    parent: Vec<usize>,
    size: Vec<usize>,
}

impl Sets {
    fn new(n: usize) -> Self {
        Self {
            parent: (0..n).collect(),
            size: vec![1; n],
        }
    }

    fn find(&mut self, mut member: usize) -> usize {
        while self.parent[member] != member {
            self.parent[member] = self.parent[self.parent[member]];
            member = self.parent[member];
        }
        member
    }

    fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            let (small, large) = if self.size[a] < self.size[b] {
                (a, b)
            } else {
                (b, a)
            };
            self.parent[small] = large;
            self.size[large] += self.size[small];
        }
    }
}

impl Components {
    /// As tables: components, and how many there are of each size.
    pub fn tables(&self) -> Vec<Table> {
        use CellKind::{Address, Integer};
        let title = match self.total - self.components.len() as u64 {
            0 => "Components".to_owned(),
            more => format!("Components (the largest; {more} more)"),
        };
        let mut components = Table::new(
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
        let mut sizes = Table::new("Components by size", &columns);
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

    fn check(text: &str, through_zero: bool, expected: &[&str]) {
        let graph = testing::graph(testing::transfers(text));
        let settings = ComponentSettings {
            through_zero,
            limit: None,
        };
        let found = components(&graph, &settings);
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
    fn parts_of_graphs() {
        check("", false, &[]);
        check("a>b", false, &["a 2v 1t 100..100"]);
        check(
            "c>b a>b d>e d>e",
            false,
            &["a 3v 2t 100..101", "d 2v 2t 102..103"],
        );
        check(
            "x>x a>b a>b",
            false,
            &["a 2v 2t 101..102", "x 1v 1t 100..100"],
        );
        let minted = "0>a 0>b b>0 0>0";
        check(minted, true, &["0 3v 4t 100..103"]);
        check(
            minted,
            false,
            &["b 1v 2t 101..102", "0 1v 1t 103..103", "a 1v 1t 100..100"],
        );
    }

    #[test]
    fn roots_limit_and_sizes() {
        let mut graph = testing::graph(testing::transfers("a>b c>d e>e"));
        graph.roots = graph
            .graph
            .node_indices()
            .filter(|id| id.index() > 1)
            .collect();
        let settings = ComponentSettings {
            limit: Some(2),
            ..Default::default()
        };
        let found = components(&graph, &settings);
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
        fn agree_with_flooding(transfers in crate::oracle::some_transfers(), through_zero in any::<bool>()) {
            let connected: Vec<_> = transfers
                .iter()
                .map(|t| (t.from_address, t.to_address))
                .filter(|(from, to)| through_zero || !(from.is_zero() || to.is_zero()))
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
            let settings = ComponentSettings { through_zero, limit: None };
            let found = components(&graph, &settings);
            let sizes: BTreeMap<_, _> = found.components.iter().map(|c| (c.lowest_address, c.vertices)).collect();
            prop_assert_eq!(sizes, expected);
            prop_assert_eq!(found.components.iter().map(|c| c.transfers).sum::<u64>(), transfers.len() as u64);
            prop_assert_eq!(found.sizes.iter().map(|(_, n)| n).sum::<u64>(), found.total);
        }
    }
}
