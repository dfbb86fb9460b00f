//! Answers with an index equal those without.

use crate::support::{Reference, ask, assert_same, everything, node, open, options, range, seen};
use alloy_primitives::{Address, B256};
use rand::{SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use std::{
    ops::ControlFlow,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};
use txgraph_chaingen::{Appender, BlockSample, Config, Layout, Profile};
use txgraph_graph::{SearchRequest, search};
use txgraph_index::{BuildOptions, Error, Index, Indexed, build, verify};
use txgraph_reader::NodeSource;
use txgraph_stored::Origin;
use txgraph_testkit::{fixtures, questions::NothingInside};
use txgraph_transfers::{
    Batch, BlockRanges, ChainInfo, Direction, Pin, ScanReport, ScanRequest, SourceError, Touching,
    Transfer, TransferSource, WrappedNative,
};

/// Writes a chain of a profile to a folder.
fn chain(folder: &Path, profile: Profile, blocks: u64) {
    let config = Config {
        profile,
        ..Config::small(7, Layout::V2)
    };
    let mut node = Appender::create(folder, config).unwrap();
    node.append(blocks).unwrap();
}

/// Compares answers and reports for random requests. Returns the number of rows.
fn compare(node: &NodeSource, index: &Index, questions: usize, seed: u64) -> usize {
    let reference = Reference::of(node);
    let indexed = Indexed::new(index, node);
    let mut chance = SmallRng::seed_from_u64(seed);
    let mut rows = 0;
    for number in 0..questions {
        let request = reference.question(&mut chance);
        let what = format!("question {number} of seed {seed}: {request:?}");
        let (found, report) = ask(&indexed, &request).unwrap();
        let (expected, expected_report) = ask(node, &request).unwrap();
        assert_same(&found, &expected, &what);
        assert_eq!(seen(&report), seen(&expected_report), "{what}");
        let no_hash = |t: &Transfer| Transfer {
            transaction_hash: None,
            ..t.clone()
        };
        let plain: Vec<_> = found.iter().map(no_hash).collect();
        assert_same(&plain, &reference.answer(&request), &what);
        // A source prepared for frontiers has the report of the whole, and the same answers.
        let mut whole = request.clone();
        whole.filter.touching = None;
        if let Some(prepared) = indexed.by_frontier(&whole).unwrap() {
            let (_, of_whole) = ask(node, &whole).unwrap();
            assert_eq!(
                seen(prepared.report.as_ref().unwrap()),
                seen(&of_whole),
                "{what}"
            );
            let (found, report) = ask(&*prepared.source, &request).unwrap();
            assert_same(&found, &expected, &what);
            assert_eq!(seen(&report), seen(&expected_report), "{what}");
        }
        check_hubs(&indexed, &request, &found);
        rows += found.len();
    }
    rows
}

/// An index with movements inside of transactions, all of which are in logs (EIP-7708), and one
/// without.
#[test]
fn movements_of_amsterdam_are_indexed_from_logs() {
    let (first, last, fork) = (50, 349, 90);
    let sample = BlockSample::logged(4, first, last - first + 1, fork);
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path(), Layout::V2.into()).unwrap();
    let node = node(folder.path());
    let options = BuildOptions {
        first_block: first,
        ..options(16)
    };
    let origin = |inside: bool| Origin {
        internal: inside.then_some(&NothingInside as _),
        ..Origin::from(&node)
    };
    let no_hash = |it: &Transfer| Transfer {
        transaction_hash: None,
        ..it.clone()
    };
    let all: Vec<_> = sample.transfers.iter().map(no_hash).collect();
    let reference = Reference::among(all, range(first, last));
    for inside in [true, false] {
        let place = tempfile::tempdir().unwrap();
        build(place.path(), origin(inside), &options).unwrap();
        let index = open(place.path(), &node);
        verify(&index, origin(inside), false).unwrap();
        let source: Box<dyn TransferSource> = match inside {
            true => Box::new(Indexed::with_rest(&index, &node, &node)),
            false => Box::new(Indexed::new(&index, &node)),
        };
        let mut chance = SmallRng::seed_from_u64(6);
        let mut rows = 0;
        for number in 0..200 {
            let mut request = reference.question(&mut chance);
            request.with_hashes = false;
            request.filter.internal = number % 2 == 0;
            if request.filter.wants_fees() {
                continue;
            }
            // Without a replay, older blocks are answered by an index with these movements only.
            if request.filter.internal && !inside {
                request.blocks = request.blocks.intersect(&range(fork, last).into());
            }
            let mut expected = reference.answer(&request);
            let outside = |it: &Transfer| !it.kind.is_internal(it.log_index.is_some());
            expected.retain(|it| request.filter.internal || outside(it));
            let (found, _) = ask(&*source, &request).unwrap();
            assert_same(
                &found,
                &expected,
                &format!("question {number}: {request:?}"),
            );
            rows += found.iter().filter(|it| !outside(it)).count();
        }
        assert!(rows > 200, "{rows}");
    }
}

/// Checks that reported hubs are hubs. Not all hubs have to be reported.
fn check_hubs(indexed: &Indexed<'_>, request: &ScanRequest, transfers: &[Transfer]) {
    let Some(Touching {
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
fn random_requests_have_the_same_answer() {
    for (profile, blocks) in [
        (Profile::Mainnet, 300),
        (Profile::Odd, 150),
        (Profile::Tokens, 150),
    ] {
        let folder = tempfile::tempdir().unwrap();
        chain(folder.path(), profile, blocks);
        let node = node(folder.path());
        // One segment, several, and many.
        for (segment_blocks, seed) in [(1 << 20, 1), (32, 2), (7, 3)] {
            let place = tempfile::tempdir().unwrap();
            let built = build(place.path(), &node, &options(segment_blocks)).unwrap();
            assert_eq!(built.read_blocks, blocks + 1);
            let index = open(place.path(), &node);
            assert_eq!(index.blocks(), range(0, blocks).into());
            assert_eq!(
                index.segments().len() as u64,
                (blocks + 1).div_ceil(segment_blocks)
            );
            let rows = compare(&node, &index, 120, seed);
            assert!(rows > 1000, "{rows}");
            let verified = verify(&index, &node, false).unwrap();
            assert_eq!(verified.blocks, blocks + 1);
            assert_eq!(verified.transfers, built.transfers);
        }
    }
}

#[test]
fn real_chains_have_the_same_answers() {
    let mut fixtures: Vec<_> = fixtures::committed().into();
    fixtures.extend(
        ["dev-v1", "dev-v2", "long-v2"]
            .into_iter()
            .filter_map(fixtures::fixture),
    );
    for fixture in fixtures {
        let node = node(fixture.path());
        let place = tempfile::tempdir().unwrap();
        build(place.path(), &node, &options(16)).unwrap();
        let index = open(place.path(), &node);
        compare(&node, &index, 30, 5);
        verify(&index, &node, false).unwrap();
    }
}

#[test]
fn blocks_without_an_index_are_answered_by_the_node() {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Mainnet, 200);
    let node = node(folder.path());
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
    // A partial answer has the same gap.
    let partial = ScanRequest {
        allow_partial: true,
        ..above
    };
    let (found, report) = ask(&indexed, &partial).unwrap();
    let (expected, expected_report) = ask(&node, &partial).unwrap();
    assert_same(&found, &expected, "partial");
    assert_eq!(report, expected_report);
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

/// The error has all missing blocks, not those of the segment that was read first.
#[test]
fn build_reports_missing_blocks_before_it_reads() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        blocks_per_file: 10,
        ..Config::small(7, Layout::V2)
    };
    let mut writer = Appender::create(folder.path(), config).unwrap();
    writer.append(100).unwrap();
    assert_eq!(writer.prune_receipts(50).unwrap(), Some(49));
    drop(writer);
    let node = node(folder.path());
    let place = tempfile::tempdir().unwrap();
    let error = build(place.path(), &node, &options(8)).unwrap_err();
    let Error::Source(SourceError::Unavailable { missing, available }) = error else {
        panic!("{error}");
    };
    let missing: BlockRanges = missing.iter().map(|gap| gap.blocks).collect();
    assert_eq!(missing.span().unwrap().last, 49);
    assert_eq!(
        BlockRanges::from(range(0, 100)).subtract(&missing),
        available
    );
    assert!(available.contains(50));
    assert!(open(place.path(), &node).segments().is_empty());
}

#[test]
fn another_choice_of_wraps_is_answered_by_the_node() {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Mainnet, 100);
    let node = node(folder.path());
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

impl TransferSource for Counted<'_> {
    fn chain(&self) -> &ChainInfo {
        self.source.chain()
    }

    fn scan(
        &self,
        request: &ScanRequest,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) -> Result<ScanReport, SourceError> {
        self.blocks
            .fetch_add(request.blocks.blocks(), Ordering::Relaxed);
        self.source.scan(request, sink)
    }

    fn fill_hashes(&self, transfers: &mut [Transfer], pins: &[Pin]) -> Result<(), SourceError> {
        self.source.fill_hashes(transfers, pins)
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        self.source.check_available(request)
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        self.source.canonical_hashes(blocks)
    }
}

#[test]
fn search_scans_blocks_without_an_index_once() {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Tokens, 150);
    let node = node(folder.path());
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
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Tokens, 150);
    let node = node(folder.path());
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
