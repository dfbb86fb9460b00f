//! Random transfers and requests: the search must agree with the definition, and with itself
//! in the other mode and over other batches.

use crate::{content, naive, search_within};
use alloy_primitives::U256;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, SearchRequest, TransferGraph, testing};
use txgraph_transfers::{Direction, TokenFilter, Transfer};

/// Generates transfers among few addresses, several of them in one block.
pub(crate) fn transfers(names: &'static str, max: usize) -> impl Strategy<Value = Vec<Transfer>> {
    let name = || proptest::sample::select(names.split(' ').collect::<Vec<_>>());
    let token = prop_oneof![4 => Just("T"), 1 => Just("U"), 1 => Just("eth")];
    let row = (name(), name(), token, 0u64..4, 0u64..2);
    proptest::collection::vec(row, 0..max).prop_map(|rows| {
        let (mut block, mut index) = (10, 0);
        let transfer = |(from, to, token, value, step): (&str, &str, &str, u64, u64)| {
            (block, index) = if step == 0 {
                (block, index + 1)
            } else {
                (block + step, 0)
            };
            let (from, to) = (testing::address(from), testing::address(to));
            testing::transfer((block, index), token, from, to, U256::from(value))
        };
        rows.into_iter().map(transfer).collect()
    })
}

fn request(names: &'static str) -> impl Strategy<Value = SearchRequest> {
    let name = proptest::sample::select(names.split(' ').collect::<Vec<_>>());
    let some = |range: std::ops::Range<u64>| proptest::option::weighted(0.3, range);
    let direction = prop_oneof![
        Just(Direction::Out),
        Just(Direction::In),
        Just(Direction::Both)
    ];
    let walk = (
        proptest::option::of(0u32..6),
        direction,
        any::<bool>(),
        any::<bool>(),
    );
    let limits = (some(0..4), some(0..8), some(0..12), some(1..5));
    let roots = proptest::collection::vec(name.clone(), 1..4);
    let stops = proptest::option::weighted(0.3, name);
    let filter = (any::<bool>(), 0u64..2);
    (walk, limits, roots, stops, filter).prop_map(|(walk, limits, roots, stop, filter)| {
        let roots = roots.into_iter().map(testing::address).collect();
        let blocks = testing::MemorySource::new(Vec::new()).available;
        let mut request = SearchRequest::new(roots, blocks);
        (
            request.hops,
            request.direction,
            request.time_respecting,
            request.expand_zero,
        ) = walk;
        request.time_respecting &= request.direction != Direction::Both;
        request.max_degree = limits.0.map(|max| max as u32);
        // At least the largest number of roots.
        request.max_vertices = limits.1.map(|max| max + 3);
        request.max_edges = limits.2;
        request.top = limits.3.map(|top| top as u32);
        request.stop_at = BTreeSet::from_iter(stop.map(testing::address));
        if filter.0 {
            request.filter.tokens = TokenFilter::only([testing::address("T")]);
        }
        request.filter.min_value = U256::from(filter.1);
        request
    })
}

fn ask(source: &testing::MemorySource, request: &SearchRequest, memory: u64) -> TransferGraph {
    search_within(source, request, memory).expect("a graph")
}

fn answer(graph: &TransferGraph) -> naive::Answer {
    let vertices = graph.graph.node_weights();
    let edges = graph.graph.edge_weights();
    naive::Answer {
        vertices: vertices
            .map(|v| (v.address, (v.hop, v.expansion)))
            .collect(),
        edges: edges.map(|e| (e.transfer.position(), e.hop)).collect(),
        limits: graph.limits.clone(),
    }
}

const NAMES: &str = "0 a b c d e f g h i";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn search_agrees_with_the_definition(
        transfers in transfers(NAMES, 40),
        request in request(NAMES),
        batch_blocks in 1u64..8,
        memory in 300u64..2_000,
    ) {
        let mut source = testing::MemorySource::new(transfers.clone());
        let request = SearchRequest { blocks: source.available.clone(), ..request };
        let graph = ask(&source, &request, u64::MAX);
        prop_assert_eq!(answer(&graph), naive::search(&transfers, &request));

        // Vertices by (hop, address), edges in total order, correct ends and hashes.
        let order: Vec<_> = graph.graph.node_weights().map(|v| (v.hop, v.address)).collect();
        prop_assert!(order.is_sorted());
        let edges = graph.graph.raw_edges();
        prop_assert!(edges.is_sorted_by_key(|edge| edge.weight.transfer.position()));
        for edge in edges {
            let transfer = &edge.weight.transfer;
            prop_assert!(transfers.contains(transfer));
            prop_assert_eq!(graph.graph[edge.source()].address, transfer.from_address);
            prop_assert_eq!(graph.graph[edge.target()].address, transfer.to_address);
        }

        // The same result with a scan per hop, a change of plan halfway, and other batches.
        let expected = content(&graph);
        prop_assert_eq!(&content(&ask(&source, &request, 0)), &expected);
        prop_assert_eq!(&content(&ask(&source, &request, memory)), &expected);
        source.batch_blocks = batch_blocks;
        prop_assert_eq!(&content(&ask(&source, &request, u64::MAX)), &expected);
        prop_assert_eq!(&content(&ask(&source, &request, 0)), &expected);
    }

    #[test]
    fn time_respecting_hops_are_lengths_of_shortest_paths(
        transfers in transfers("a b c d e", 14),
        hops in proptest::option::of(0u32..5),
        inwards in any::<bool>(),
    ) {
        let source = testing::MemorySource::new(transfers.clone());
        let mut request = SearchRequest::new(vec![testing::address("a")], source.available.clone());
        request.hops = hops;
        request.direction = if inwards { Direction::In } else { Direction::Out };
        request.time_respecting = true;
        let graph = ask(&source, &request, u64::MAX);
        let found: BTreeMap<_, _> =
            graph.graph.node_weights().map(|vertex| (vertex.address, vertex.hop)).collect();
        prop_assert_eq!(found, naive::shortest_paths(&transfers, &request));
    }

    #[test]
    fn totals_and_merged_edges_add_up(transfers in transfers("a b c d", 30)) {
        let graph = testing::graph(transfers);
        let merged = testing::merged(&graph);
        prop_assert!(merged.is_sorted_by_key(|edge| (edge.source, edge.target, edge.asset)));
        for id in graph.graph.node_indices() {
            let vertex = &graph.graph[id];
            let out: Vec<_> = merged.iter().filter(|edge| edge.source == id).collect();
            let receivers: std::collections::BTreeSet<_> = out.iter().map(|e| e.target).collect();
            prop_assert_eq!(vertex.out_degree as usize, receivers.len());
            for totals in &vertex.totals {
                let out = || out.iter().filter(|edge| edge.asset == totals.asset);
                prop_assert_eq!(totals.out_transfers, out().map(|edge| edge.count).sum::<u64>());
                let sum = out().fold(AmountSum::ZERO, |sum, edge| sum + edge.sum);
                prop_assert_eq!(totals.out_amount, sum);
            }
        }
        let counted: u64 = merged.iter().map(|edge| edge.count).sum();
        prop_assert_eq!(counted as usize, graph.graph.edge_count());
    }
}
