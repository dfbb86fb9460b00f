//! A store and the node give the same answers. `sources.rs` of `cli` compares them on chains of real nodes.

use crate::{
    stores::Kind,
    support::{chain, node, options},
};
use txgraph_chaingen::{BlockSample, BlockWriter, ExecutedBlock, Layout, Profile};
use txgraph_stored::{BuildOptions, BuildSource};
use txgraph_testkit::{
    mainnet::{self, FIRST_BLOCK, LAST_BLOCK},
    or_skip,
    queries::{Reference, compare, compare_internal, range},
};
use txgraph_transfers::AllLogged;

for_both_stores!(
    random_requests_have_the_same_answer,
    a_mainnet_directory_has_the_same_answers,
    movements_of_amsterdam_are_stored_from_logs,
);

fn random_requests_have_the_same_answer(kind: &Kind, _: &str) {
    for (profile, blocks) in [
        (Profile::Mainnet, 300),
        (Profile::Odd, 150),
        (Profile::Tokens, 150),
    ] {
        let (_folder, node) = chain(profile, blocks);
        // One unit, several, and many.
        for (unit_blocks, seed) in [(1 << 20, 1), (32, 2), (7, 3)] {
            let place = tempfile::tempdir().unwrap();
            let built = (kind.build)(place.path(), (&node).into(), &options(unit_blocks)).unwrap();
            assert_eq!(built.read_blocks, blocks + 1);
            let open = kind.opened(place.path(), &node);
            assert_eq!(open.blocks(), range(0, blocks).into());
            assert_eq!(open.units() as u64, (blocks + 1).div_ceil(unit_blocks));
            let rows = compare(&*open.source(&node), &node, 90, seed, |_, _| ());
            assert!(rows > 1000, "{rows}");
            let verified = open.verify(&node, false).unwrap();
            assert_eq!(verified.blocks, blocks + 1);
            assert_eq!(verified.transfers, built.transfers);
            kind.assert_tidy(place.path(), &node);
        }
    }
}

/// Tests of `reader` compare this directory with a naive decoder.
fn a_mainnet_directory_has_the_same_answers(kind: &Kind, _: &str) {
    let blocks = or_skip!(mainnet::blocks());
    for layout in [Layout::V1, Layout::V2] {
        let folder = tempfile::tempdir().unwrap();
        let executed = blocks.iter().map(|block| {
            ExecutedBlock::decode(&block.header, &block.transactions, &block.receipts).unwrap()
        });
        let path = folder.path();
        BlockWriter::create_from(path, layout.into(), 1 << 30, executed.collect()).unwrap();
        let node = node(path);
        let place = tempfile::tempdir().unwrap();
        let options = BuildOptions {
            first_block: FIRST_BLOCK,
            ..options(8)
        };
        let built = (kind.build)(place.path(), (&node).into(), &options).unwrap();
        assert_eq!(built.read_blocks, 20);
        let open = kind.opened(place.path(), &node);
        assert_eq!(open.blocks(), range(FIRST_BLOCK, LAST_BLOCK).into());
        let rows = compare(&*open.source(&node), &node, 60, 15, |_, _| ());
        assert!(rows > 5_000, "{rows}");
        let verified = open.verify(&node, false).unwrap();
        assert_eq!((verified.blocks, verified.transfers), (20, built.transfers));
    }
}

/// A store with movements inside of transactions, all of which are in logs (EIP-7708).
fn movements_of_amsterdam_are_stored_from_logs(kind: &Kind, _: &str) {
    let (first, last, fork) = (50, 349, 90);
    let sample = BlockSample::logged(4, first, last - first + 1, fork);
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path(), Layout::V2.into()).unwrap();
    let node = node(folder.path());
    let options = BuildOptions {
        first_block: first,
        ..options(16)
    };
    let origin = || BuildSource {
        internal: Some(&AllLogged),
        ..BuildSource::from(&node)
    };
    let place = tempfile::tempdir().unwrap();
    (kind.build)(place.path(), origin(), &options).unwrap();
    let open = kind.opened(place.path(), &node);
    open.verify(origin(), false).unwrap();
    let reference = Reference::among(sample.transfers.clone(), range(first, last));
    let rows = compare_internal(&*open.source(&node), &reference, 200, |_| ());
    assert!(rows > 200, "{rows}");
}
