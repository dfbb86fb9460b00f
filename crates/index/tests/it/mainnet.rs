//! An index of a data directory of mainnet, whose first block is 15,000,001, and searches in it.
//! The naive decoder finds the same transfers.

use crate::support::{Reference, ask, assert_same, everything, node, open, options};
use alloy_primitives::Address;
use rand::{SeedableRng, rngs::SmallRng};
use std::collections::BTreeSet;
use txgraph_chaingen::{BlockWriter, ExecutedBlock, Layout};
use txgraph_graph::{SearchRequest, TransferGraph, search};
use txgraph_index::{BuildOptions, Indexed, build, verify};
use txgraph_testkit::{
    mainnet::{self, FIRST_BLOCK, LAST_BLOCK},
    naive::{Reached, Rules, bfs},
    or_skip,
};
use txgraph_transfers::{
    BlockRange, Direction, ScanRequest, SourceError, Transfer, TransferSource, WrappedNative,
};

const BLOCKS: BlockRange = BlockRange::from_to(FIRST_BLOCK, LAST_BLOCK);

fn reached(graph: &TransferGraph) -> Reached {
    let graph = &graph.graph;
    Reached {
        hops: graph.node_weights().map(|v| (v.address, v.hop)).collect(),
        edges: graph
            .edge_weights()
            .map(|edge| (edge.transfer.position(), edge.hop))
            .collect(),
    }
}

#[test]
fn index_and_searches_of_a_mainnet_directory_equal_the_naive_ones() {
    let blocks = or_skip!(mainnet::blocks());
    let expected = mainnet::transfers(&blocks).transfers;
    for layout in [Layout::V1, Layout::V2] {
        let folder = tempfile::tempdir().unwrap();
        let executed = blocks.iter().map(|block| {
            ExecutedBlock::decode(&block.header, &block.transactions, &block.receipts).unwrap()
        });
        let writer =
            BlockWriter::create_from(folder.path(), layout.into(), 1 << 30, executed.collect());
        drop(writer.unwrap());
        let node = node(folder.path());
        let place = tempfile::tempdir().unwrap();
        let build_options = BuildOptions {
            wrapped_native: WrappedNative::Any,
            first_block: FIRST_BLOCK,
            ..options(8)
        };
        let built = build(place.path(), &node, &build_options).unwrap();
        assert_eq!(built.read_blocks, 20);
        assert_eq!(built.transfers, expected.len() as u64);
        let index = open(place.path(), &node);
        assert_eq!(index.blocks(), BLOCKS.into());
        let verified = verify(&index, &node, false).unwrap();
        assert_eq!((verified.blocks, verified.transfers), (20, built.transfers));
        let indexed = Indexed::new(&index, &node);
        compare_answers(&indexed, &node, &expected);
        compare_searches(&indexed, &node, &expected);
    }
}

fn any_wraps(request: ScanRequest) -> ScanRequest {
    ScanRequest {
        wrapped_native: WrappedNative::Any,
        ..request
    }
}

/// Random queries from the index, from the node, and to the naive rows.
fn compare_answers(indexed: &Indexed<'_>, node: &dyn TransferSource, expected: &[Transfer]) {
    let reference = Reference::among(expected.to_vec(), BLOCKS);
    let mut chance = SmallRng::seed_from_u64(15);
    let mut rows = 0;
    for _ in 0..60 {
        let request = any_wraps(reference.query(&mut chance));
        let (found, report) = ask(indexed, &request).unwrap();
        let (of_node, _) = ask(node, &request).unwrap();
        assert_same(&found, &of_node, &format!("{request:?}"));
        let mut naive = reference.answer(&request);
        if !request.with_hashes {
            naive.iter_mut().for_each(|row| row.transaction_hash = None);
        }
        assert_same(&found, &naive, &format!("{request:?}"));
        assert!(report.missing.is_empty());
        rows += found.len();
    }
    assert!(rows > 9_000, "{rows}");
    // Every row in every column, hashes included.
    let all = ScanRequest {
        with_hashes: true,
        ..any_wraps(everything(BLOCKS))
    };
    assert_same(&ask(indexed, &all).unwrap().0, expected, "all rows");
    // Before the first block, the index returns the error of the node.
    let before = any_wraps(everything(BlockRange {
        first: 14_999_990,
        ..BLOCKS
    }));
    let [of_index, of_node] = [indexed as &dyn TransferSource, node].map(|source| {
        let error = ask(source, &before).unwrap_err();
        assert!(matches!(error, SourceError::Unavailable { .. }), "{error}");
        error.to_string()
    });
    assert_eq!(of_index, of_node);
}

/// Two hops from addresses that are spread over all senders.
fn compare_searches(indexed: &Indexed<'_>, node: &dyn TransferSource, expected: &[Transfer]) {
    let senders: BTreeSet<Address> = expected.iter().map(|it| it.from_address).collect();
    let senders: Vec<_> = senders.into_iter().collect();
    let mut edges = 0;
    for (case, root) in senders.iter().step_by(senders.len() / 24).enumerate() {
        let direction = [Direction::Out, Direction::In, Direction::Both][case % 3];
        let request = SearchRequest {
            wrapped_native: WrappedNative::Any,
            hops: Some(2),
            direction,
            ..SearchRequest::new(vec![*root], BLOCKS.into())
        };
        let rules = Rules {
            hops: Some(2),
            direction,
            ..Rules::default()
        };
        let naive = bfs(expected, &[*root], &rules);
        for source in [indexed as &dyn TransferSource, node] {
            let found = reached(&search(source, &request).unwrap());
            assert!(found == naive, "{root} {direction:?}: another graph");
        }
        edges += naive.edges.len();
    }
    assert!(edges > 500, "{edges}");
}
