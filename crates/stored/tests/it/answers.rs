//! A store and the node give the same answers.

use crate::{
    stores::Kind,
    support::{chain, node, options},
};
use txgraph_chaingen::{BlockSample, Layout, Profile};
use txgraph_stored::{BuildOptions, BuildSource};
use txgraph_testkit::{
    fixtures,
    queries::{Reference, compare, compare_internal, range},
};
use txgraph_transfers::AllLogged;

for_both_stores!(
    random_requests_have_the_same_answer,
    fixtures_have_the_same_answers,
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

fn fixtures_have_the_same_answers(kind: &Kind, _: &str) {
    let mut fixtures: Vec<_> = fixtures::committed().into();
    fixtures.extend(
        ["dev-v1", "dev-v2", "long-v2"]
            .into_iter()
            .filter_map(fixtures::fixture),
    );
    for fixture in fixtures {
        let node = node(fixture.path());
        let place = tempfile::tempdir().unwrap();
        (kind.build)(place.path(), (&node).into(), &options(64)).unwrap();
        let open = kind.opened(place.path(), &node);
        compare(&*open.source(&node), &node, 25, 5, |_, _| ());
        open.verify(&node, false).unwrap();
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
