//! Answers with an index equal those without.

use crate::support::{Reference, ask, assert_same, chain, everything, node, open, options, range};
use alloy_primitives::Address;
use rand::{SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};
use txgraph_chaingen::{Appender, BlockSample, Config, Layout, Profile};
use txgraph_graph::{SearchRequest, search};
use txgraph_index::{BuildOptions, Index, Indexed, build, verify};
use txgraph_reader::NodeSource;
use txgraph_testkit::queries::{self, compare_internal};
use txgraph_transfers::{
    AddressFilter, BlockRanges, Direction, ScanReport, ScanRequest, Sink, SourceError, Transfer,
    TransferSource, WrappedNative,
};

/// Compares answers, reports and hubs for random requests. Returns the number of rows.
fn compare(node: &NodeSource, index: &Index, queries: usize, seed: u64) -> usize {
    let indexed = Indexed::new(index, node);
    queries::compare(&indexed, node, queries, seed, |request, found| {
        check_hubs(&indexed, request, found);
    })
}

/// An index without movements inside of transactions answers requests for them from logs, in blocks
/// that have these (EIP-7708).
#[test]
fn movements_of_amsterdam_need_no_index_with_them() {
    let (first, last, fork) = (50, 349, 90);
    let sample = BlockSample::logged(4, first, last - first + 1, fork);
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path(), Layout::V2.into()).unwrap();
    let node = node(folder.path());
    let options = BuildOptions {
        first_block: first,
        ..options(16)
    };
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options).unwrap();
    let index = open(place.path(), &node);
    verify(&index, &node, false).unwrap();
    let reference = Reference::among(sample.transfers.clone(), range(first, last));
    let indexed = Indexed::new(&index, &node);
    let rows = compare_internal(&indexed, &reference, 200, |request| {
        // Without a replay, older blocks are answered by an index with these movements only.
        if request.filter.internal {
            request.blocks = request.blocks.intersect(&range(fork, last).into());
        }
    });
    assert!(rows > 200, "{rows}");
}

/// Checks that reported hubs are hubs. Not all hubs have to be reported.
fn check_hubs(indexed: &Indexed<'_>, request: &ScanRequest, transfers: &[Transfer]) {
    let Some(AddressFilter {
        addresses,
        direction,
    }) = &request.filter.touching
    else {
        return;
    };
    for degree_max in [0, 1, 5] {
        let named = indexed.hubs(request, degree_max).unwrap();
        assert!(named.is_sorted());
        for hub in named {
            assert!(addresses.contains(&hub));
            let others: std::collections::BTreeSet<Address> = transfers
                .iter()
                .flat_map(|t| match direction {
                    Direction::Out => vec![(t.from_address, t.to_address)],
                    Direction::In => vec![(t.to_address, t.from_address)],
                    Direction::Both => vec![
                        (t.from_address, t.to_address),
                        (t.to_address, t.from_address),
                    ],
                })
                .filter(|(own, other)| *own == hub && *other != hub)
                .map(|(_, other)| other)
                .collect();
            assert!(others.len() > degree_max as usize, "{hub}: {others:?}");
        }
    }
}

#[test]
fn named_hubs_are_hubs() {
    for profile in [Profile::Mainnet, Profile::Odd, Profile::Tokens] {
        let (_folder, node) = chain(profile, 150);
        for (segment_blocks, seed) in [(1 << 20, 1), (32, 2), (7, 3)] {
            let place = tempfile::tempdir().unwrap();
            build(place.path(), &node, &options(segment_blocks)).unwrap();
            let rows = compare(&node, &open(place.path(), &node), 60, seed);
            assert!(rows > 1000, "{rows}");
        }
    }
}

#[test]
fn blocks_without_an_index_are_answered_by_the_node() {
    let (_folder, node) = chain(Profile::Mainnet, 200);
    let place = tempfile::tempdir().unwrap();
    // Neither the first nor the last blocks.
    let middle = BuildOptions {
        first_block: 50,
        last_block: Some(149),
        ..options(16)
    };
    build(place.path(), &node, &middle).unwrap();
    let index = open(place.path(), &node);
    assert_eq!(index.blocks(), range(50, 149).into());
    assert!(compare(&node, &index, 100, 11) > 1000);
    // Above the tip the error is the same, and comes before any batch.
    let indexed = Indexed::new(&index, &node);
    let above = everything(range(60, 500));
    let mut batches = 0;
    let error = indexed
        .scan(&above, &mut |_| {
            batches += 1;
            ControlFlow::Continue(())
        })
        .unwrap_err();
    assert_eq!(batches, 0);
    let expected = ask(&node, &above).unwrap_err();
    assert!(matches!(error, SourceError::Unavailable { .. }));
    assert_eq!(error.to_string(), expected.to_string());
    // A partial result has the same gap.
    let partial = ScanRequest {
        allow_partial: true,
        ..above
    };
    let (found, report) = ask(&indexed, &partial).unwrap();
    let (expected, expected_report) = ask(&node, &partial).unwrap();
    assert_same(&found, &expected, "partial");
    assert_eq!(report, expected_report);
    // Single blocks are of one chain, which the hash of the last one fixes.
    let single: BlockRanges = (0..100).map(|it| range(2 * it, 2 * it)).collect();
    let (_, report) = ask(&indexed, &everything(single)).unwrap();
    let [anchor] = report.anchors[..] else {
        panic!("{:?}", report.anchors);
    };
    assert_eq!(anchor.blocks, range(0, 198));
    assert_eq!(Some(anchor.hash), node.canonical_hash(198).unwrap());
    // No batch follows a break.
    let mut batches = 0;
    let whole = everything(range(0, 200));
    let report = indexed.scan(&whole, &mut |batch| {
        batches += 1;
        match batch.blocks.last >= 100 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let covered = report.unwrap().covered;
    assert!(covered.contains(100) && !covered.contains(149), "{covered}");
}

/// Batches of a large segment are decoded on several threads, and come in order.
#[test]
fn large_answers_are_those_of_the_node() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        txs_per_block: 500,
        profile: Profile::Tokens,
        ..Config::small(7, Layout::V2)
    };
    let mut writer = Appender::create(folder.path(), config).unwrap();
    writer.append(120).unwrap();
    drop(writer);
    let node = node(folder.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(1 << 10)).unwrap();
    let index = open(place.path(), &node);
    let indexed = Indexed::new(&index, &node);
    let whole = everything(range(1, 119));
    let (all, _) = ask(&node, &whole).unwrap();
    assert!(all.len() > 3 << 14, "{}", all.len());
    let mut hubs = std::collections::BTreeMap::<Address, usize>::new();
    for end in all.iter().flat_map(|it| [it.from_address, it.to_address]) {
        *hubs.entry(end).or_default() += 1;
    }
    let mut hubs: Vec<_> = hubs.into_iter().collect();
    hubs.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let hubs = hubs.into_iter().take(300).map(|(address, _)| address);
    let mut of_hubs = whole.clone();
    of_hubs.filter.touching = Some(AddressFilter::new(hubs, Direction::Both));
    let mut large_amounts = whole.clone();
    large_amounts.filter.min_value = all[all.len() / 2].value;
    for request in [&whole, &of_hubs, &large_amounts] {
        let (found, report) = ask(&indexed, request).unwrap();
        let (expected, expected_report) = ask(&node, request).unwrap();
        assert!(found.len() > 1 << 14, "{}", found.len());
        assert_same(&found, &expected, "large");
        assert_eq!(report, expected_report);
    }
    // No batch follows a break.
    let mut batches = Vec::new();
    let report = indexed.scan(&whole, &mut |batch| {
        batches.push(batch.blocks);
        match batches.len() {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!(batches.len(), 2);
    assert_eq!(report.unwrap().covered, BlockRanges::new(batches));
}

#[test]
fn another_choice_of_wraps_is_answered_by_the_node() {
    let (_folder, node) = chain(Profile::Mainnet, 100);
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(32)).unwrap();
    let index = open(place.path(), &node);
    let indexed = Indexed::new(&index, &node);
    for (wrapped_native, indexed_answers) in [
        (WrappedNative::Auto, true),
        (WrappedNative::Any, true),
        (WrappedNative::None, false),
        (WrappedNative::Only(vec![Address::repeat_byte(1)]), false),
        (WrappedNative::Only(vec![]), false),
    ] {
        let request = ScanRequest {
            wrapped_native,
            ..everything(range(0, 100))
        };
        assert_eq!(
            !indexed.answers(&request).unwrap().is_empty(),
            indexed_answers
        );
        let (found, report) = ask(&indexed, &request).unwrap();
        let (expected, expected_report) = ask(&node, &request).unwrap();
        assert_same(&found, &expected, "wraps");
        assert_eq!(report, expected_report);
    }
}

/// Counts the blocks that are scanned.
struct Counted<'a> {
    source: &'a NodeSource,
    blocks: AtomicU64,
}

impl txgraph_transfers::Wrapper for Counted<'_> {
    type Inner = NodeSource;

    fn inner(&self) -> &Self::Inner {
        self.source
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.blocks
            .fetch_add(request.blocks.blocks(), Ordering::Relaxed);
        self.source.scan(request, sink)
    }
}

#[test]
fn search_scans_blocks_without_an_index_once() {
    let (_folder, node) = chain(Profile::Tokens, 150);
    let reference = Reference::of(&node);
    let place = tempfile::tempdir().unwrap();
    // Neither the first blocks nor the last are indexed.
    let middle = BuildOptions {
        first_block: 10,
        last_block: Some(129),
        ..options(32)
    };
    build(place.path(), &node, &middle).unwrap();
    let index = open(place.path(), &node);
    let mut chance = SmallRng::seed_from_u64(4);
    let mut by_hop = 0;
    for _ in 0..10 {
        let rest = Counted {
            source: &node,
            blocks: AtomicU64::new(0),
        };
        let root = reference.all.choose(&mut chance).unwrap().from_address;
        let request = SearchRequest {
            hops: Some(4),
            ..SearchRequest::new(vec![root], range(0, 150).into())
        };
        let found = search(&Indexed::with_rest(&index, &node, &rest), &request).unwrap();
        let expected = search(&node, &request).unwrap();
        assert_eq!(found.scan, expected.scan);
        assert_eq!(found.graph.edge_count(), expected.graph.edge_count());
        assert_eq!(rest.blocks.into_inner(), 10 + 21);
        by_hop += found.graph.edge_count();
    }
    assert!(by_hop > 100, "{by_hop}");
}

#[test]
fn searches_return_the_same_graph() {
    let (_folder, node) = chain(Profile::Tokens, 150);
    let reference = Reference::of(&node);
    let mut chance = SmallRng::seed_from_u64(4);
    for (last_block, seed) in [(None, 1), (Some(140), 2)] {
        let place = tempfile::tempdir().unwrap();
        let options = BuildOptions {
            last_block,
            ..options(32)
        };
        build(place.path(), &node, &options).unwrap();
        let index = open(place.path(), &node);
        let indexed = Indexed::new(&index, &node);
        let mut edges = 0;
        for number in 0..40 {
            let root = reference.all.choose(&mut chance).unwrap().from_address;
            let request = SearchRequest {
                hops: [Some(1), Some(2), Some(3), None][number % 4],
                direction: [Direction::Out, Direction::In, Direction::Both][number % 3],
                max_degree: [None, Some(3), Some(20)][number / 2 % 3],
                max_edges: [None, Some(200)][number / 5 % 2],
                ..SearchRequest::new(vec![root], range(0, 150).into())
            };
            let found = search(&indexed, &request).unwrap();
            let expected = search(&node, &request).unwrap();
            assert_eq!(found.scan, expected.scan, "{request:?}");
            assert_eq!(found.limits, expected.limits, "{request:?}");
            let flat = |graph: &txgraph_graph::TransferGraph| {
                let vertices: Vec<_> = graph.graph.node_weights().cloned().collect();
                let edges: Vec<_> = graph
                    .graph
                    .edge_indices()
                    .map(|edge| (graph.graph.edge_endpoints(edge), graph.graph[edge].clone()))
                    .collect();
                format!("{vertices:?} {edges:?}")
            };
            assert_eq!(flat(&found), flat(&expected), "seed {seed}: {request:?}");
            edges += found.graph.edge_count();
        }
        assert!(edges > 1000, "{edges}");
    }
}
