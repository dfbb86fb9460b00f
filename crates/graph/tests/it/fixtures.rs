//! Searches over the receipts of real nodes, compared with the naive search of the test kit. That
//! one is independent of `naive.rs` here, which has every limit and runs on random transfers.

use crate::search_both;
use alloy_primitives::Address;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{
    Poisoning, SearchRequest, ZeroValue,
    testing::{self, MemorySource},
};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    naive::{self, Reached, Rules},
};
use txgraph_transfers::Direction;

/// Returns every full chain that is available.
fn chains() -> Vec<Fixture> {
    let [small, _] = fixtures::committed();
    [Some(small), fixtures::fixture("dev-v2")]
        .into_iter()
        .flatten()
        .collect()
}

/// The scenario of the truth file: a lookalike gets transfers of nothing from the victim.
#[test]
fn planted_poisoning_is_flagged() {
    let mut flagged = 0;
    for chain in chains() {
        let planted = &chain.truth["scenarios"]["address-poisoning"];
        if planted.is_null() {
            continue;
        }
        let address = |name: &str| -> Address {
            let text = planted[name].as_str().expect("an address");
            text.parse().expect("an address")
        };
        let found = Poisoning::of(&testing::graph(naive::decode_fixture(&chain).transfers));
        let mut pair = vec![address("partner"), address("lookalike")];
        pair.sort_unstable();
        assert!(found.lookalikes.contains(&pair), "{found:?}");
        let poison = planted["poison"].as_array().expect("transfers");
        let nothing = poison.iter().filter(|transfer| transfer["value"] == "0");
        let expected = ZeroValue {
            from_address: address("victim"),
            to_address: address("lookalike"),
            transfers: nothing.count() as u64,
        };
        assert!(found.zero_value.contains(&expected), "{found:?}");
        flagged += 1;
    }
    assert!(flagged > 0, "no chain has the scenario");
}

#[test]
fn agrees_with_the_naive_search() {
    let mut edges = 0;
    for chain in chains() {
        let transfers = naive::decode_fixture(&chain).transfers;
        let source = MemorySource::new(transfers.clone());
        let by_position: BTreeMap<_, _> = transfers.iter().map(|t| (t.position(), t)).collect();
        let addresses: BTreeSet<_> = transfers.iter().map(|t| t.from_address).collect();
        let addresses: Vec<_> = addresses.into_iter().collect();
        for case in 0..48 {
            // Roots from the whole address space, and different requests in turn.
            let root = addresses[case * addresses.len() / 48];
            let direction = [Direction::Out, Direction::In, Direction::Both][case % 3];
            let time_respecting = direction != Direction::Both && case % 2 == 0;
            let hops = [Some(1), None, Some(2), Some(3)][case / 3 % 4];
            let stop = addresses[(case * 7 + 1) % addresses.len()];
            let request = SearchRequest {
                hops,
                direction,
                time_respecting,
                expand_zero: case % 5 == 0,
                stop_at: BTreeSet::from([stop]),
                ..SearchRequest::new(vec![root], source.available.clone())
            };
            let rules = Rules {
                hops,
                direction,
                time_respecting,
                expand_zero: request.expand_zero,
                stop_at: BTreeSet::from([stop]),
            };
            let graph = search_both(&source, &request);
            let found = Reached {
                hops: graph
                    .graph
                    .node_weights()
                    .map(|v| (v.address, v.hop))
                    .collect(),
                edges: graph
                    .graph
                    .edge_weights()
                    .map(|e| (e.transfer.position(), e.hop))
                    .collect(),
            };
            let expected = naive::bfs(&transfers, &[root], &rules);
            assert!(found == expected, "{}: {request:?}", chain.name);
            for edge in graph.graph.edge_weights() {
                let transfer = &edge.transfer;
                assert_eq!(by_position[&transfer.position()], transfer);
            }
            edges += found.edges.len();
        }
    }
    assert!(edges > 1_000, "only {edges} edges in all");
}
