use super::*;
use crate::oracle::some_transfers;
use proptest::prelude::*;
use std::collections::BTreeSet;
use txgraph_graph::testing;
use txgraph_labels::{Label, LabelSet};

fn names(addresses: &[Address]) -> String {
    addresses
        .iter()
        .copied()
        .map(testing::name)
        .collect::<Vec<_>>()
        .concat()
}

fn found(text: &str, limit: Option<usize>) -> Cycles {
    cycles(
        &MergedGraph::of(&testing::graph(testing::transfers(text))),
        limit,
    )
}

/// Compares the cycles of `text`, as `vertices: cycle pairs/transfers`.
fn check(text: &str, expected: &[&str]) {
    let found = found(text, None);
    let shown: Vec<_> = found
        .cycles
        .iter()
        .map(|each| {
            let (vertices, cycle) = (names(&each.vertices), names(&each.cycle));
            format!("{vertices}: {cycle} {}/{}", each.pairs, each.transfers)
        })
        .collect();
    assert_eq!(shown, expected, "{text}");
    assert_eq!(found.tables().len(), 5);
}

#[test]
fn finds_loops_and_short_cycles() {
    check("", &[]);
    check("a>b>c", &[]);
    check("a>a", &[]);
    check("a>b>a", &["ab: ab 2/2"]);
    check("b>a>b>a c>a", &["ab: ab 2/3"]);
    check("c>a>b>c", &["abc: abc 3/3"]);
    check("c>b>a>c", &["abc: acb 3/3"]);
    // Two cycles that a bridge connects, the larger first. A tail belongs to none.
    check("x>y>x a>b>c>a c>x y>z", &["abc: abc 3/3", "xy: xy 2/2"]);
    // Equal sizes: more transfers first, then by address.
    check(
        "x>y>x>y a>b>a c>d>c",
        &["xy: xy 2/3", "ab: ab 2/2", "cd: cd 2/2"],
    );
    // A short cycle in a large cycle.
    check("a>b>c>d>e>a c>e e>f>g>e", &["abcdefg: efg 9/9"]);
    // Self-transfers neither make nor widen a cycle.
    check("a>b>a a>a", &["ab: ab 2/2"]);
}

#[test]
fn no_loop_runs_through_the_zero_address() {
    check("a>0>b>a", &[]);
    check("a>0>b>a>b", &["ab: ab 2/2"]);
}

#[test]
fn loops_cross_assets_and_are_counted_beyond_the_limit() {
    let text = "a>b@T b>a@U x>y>z>x@T";
    check(text, &["xyz: xyz 3/3", "ab: ab 2/2"]);
    let found = found(text, Some(1));
    assert_eq!((found.total, found.cycles.len()), (2, 1));
    assert_eq!(found.tables()[0].title, "Cycles (the largest; 1 more)");
}

#[test]
fn sums_amounts_blocks_and_self_loops() {
    let found = found("a>b:5 b>a:7 a>b:1@T b>b:9 b>b:1 c>a:100", None);
    let each = &found.cycles[0];
    assert_eq!(
        (each.first_block, each.last_block, each.transfers),
        (100, 102, 3)
    );
    let moved: Vec<_> = each
        .assets
        .iter()
        .map(|a| (a.transfers, a.amount))
        .collect();
    assert_eq!(moved, [(1, AmountSum::from(1)), (2, AmountSum::from(12))]);
    let [own] = &found.self_loops[..] else {
        panic!("{:?}", found.self_loops)
    };
    assert_eq!((own.transfers, own.amount), (2, AmountSum::from(10)));
    assert_eq!((own.first_block, own.last_block), (103, 104));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["cycles"][0]["assets"][1]["amount"], "12");
    assert_eq!(json["self_loops"][0]["amount"], "10");
}

#[test]
fn loop_becomes_a_graph() {
    let mut graph = testing::graph(testing::transfers("a>b>a b>c"));
    for vertex in graph.graph.node_weights_mut() {
        let name = format!("label of {}", testing::name(vertex.address));
        vertex.labels = LabelSet::from_iter([Label::named(name)]);
    }
    let found = cycles(&MergedGraph::of(&graph), None);
    let part = found.cycles[0].subgraph(&graph).unwrap();
    assert_eq!((part.graph.node_count(), part.graph.edge_count()), (2, 2));
    let b = part
        .graph
        .node_weights()
        .find(|v| v.address == testing::address("b"))
        .unwrap();
    assert_eq!((b.out_degree, b.labels.name()), (1, Some("label of b")));
}

/// Returns the length of a shortest cycle within `vertices`, by trying every walk of each
/// length.
fn girth(vertices: &BTreeSet<Address>, edges: &BTreeSet<(Address, Address)>) -> usize {
    let walks = |start: Address| {
        let mut at = BTreeSet::from([start]);
        for length in 1.. {
            at = edges
                .iter()
                .filter(|(from, _)| at.contains(from))
                .map(|(_, to)| *to)
                .collect();
            if at.contains(&start) {
                return length;
            }
        }
        unreachable!()
    };
    vertices.iter().map(|start| walks(*start)).min().unwrap()
}

proptest! {
    #[test]
    fn loops_agree_with_reachability(transfers in some_transfers()) {
        let graph = testing::graph(transfers.clone());
        let found = cycles(&MergedGraph::of(&graph), None);

        let mut expected = BTreeMap::new();
        let edges: BTreeSet<_> = transfers
            .iter()
            .map(|t| (t.from_address, t.to_address))
            .filter(|(from, to)| from != to && !from.is_zero() && !to.is_zero())
            .collect();
        let reach = |start: Address| {
            let mut reached = BTreeSet::from([start]);
            loop {
                let before = reached.len();
                let more: Vec<_> = edges.iter().filter(|(from, _)| reached.contains(from)).map(|(_, to)| *to).collect();
                reached.extend(more);
                if reached.len() == before {
                    return reached;
                }
            }
        };
        for (start, _) in &edges {
            let members: BTreeSet<_> = reach(*start).into_iter().filter(|other| reach(*other).contains(start)).collect();
            if members.len() > 1 {
                let inner: BTreeSet<_> = edges.iter().copied().filter(|(from, to)| members.contains(from) && members.contains(to)).collect();
                expected.insert(members, inner);
            }
        }

        prop_assert_eq!(found.total, expected.len() as u64);
        for each in &found.cycles {
            let members: BTreeSet<_> = each.vertices.iter().copied().collect();
            let inner = &expected[&members];
            prop_assert_eq!(each.pairs, inner.len() as u64);
            let inside = |t: &&txgraph_transfers::Transfer| {
                inner.contains(&(t.from_address, t.to_address))
            };
            prop_assert_eq!(each.transfers, transfers.iter().filter(inside).count() as u64);
            let part = each.subgraph(&graph).unwrap();
            prop_assert_eq!(part.graph.edge_count() as u64, each.transfers);
            prop_assert!(part.graph.edge_weights().all(|e| inside(&&e.transfer)));
            // The example is a shortest cycle of distinct vertices.
            let next = each.cycle.iter().cycle().skip(1);
            prop_assert!(each.cycle.iter().zip(next).all(|(from, to)| inner.contains(&(*from, *to))));
            prop_assert_eq!(each.cycle.iter().collect::<BTreeSet<_>>().len(), each.cycle.len());
            prop_assert_eq!(each.cycle.len(), girth(&members, inner));
            prop_assert_eq!(each.cycle.iter().min(), each.cycle.first());
        }
        let sorted = found.cycles.is_sorted_by_key(|each| (Reverse((each.vertices.len(), each.transfers)), each.vertices[0]));
        prop_assert!(sorted);
        let own = transfers.iter().filter(|t| t.from_address == t.to_address).count() as u64;
        prop_assert_eq!(found.self_loops.iter().map(|each| each.transfers).sum::<u64>(), own);
    }
}
