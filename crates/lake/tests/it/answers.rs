//! Answers of a lake equal those of the node.

use crate::support::{
    Reference, ask, assert_same, assert_tidy, content, everything, node, open, options, range,
    seen, source, work,
};
use alloy_primitives::Address;
use rand::{SeedableRng, rngs::SmallRng};
use std::path::Path;
use txgraph_chaingen::{
    Appender, BlockSample, BlockWriter, Config, ExecutedBlock, Layout, Profile,
};
use txgraph_lake::{BuildOptions, Error, Lake, LakeSource, append, build, verify};
use txgraph_reader::{NodeSource, Threads};
use txgraph_stored::Origin;
use txgraph_testkit::{
    fixtures,
    mainnet::{self, FIRST_BLOCK, LAST_BLOCK},
    questions::NothingInside,
};
use txgraph_transfers::{
    Direction, ScanRequest, SourceError, TokenFilter, Touching, Transfer, TransferSource,
    WrappedNative,
};
use txgraph_work::Work;

/// Writes a chain of a profile to a folder.
pub(crate) fn chain(folder: &Path, profile: Profile, blocks: u64) {
    let config = Config {
        profile,
        ..Config::small(7, Layout::V2)
    };
    let mut node = Appender::create(folder, config).unwrap();
    node.append(blocks).unwrap();
}

/// Compares answers and reports for random requests. Returns the number of rows.
pub(crate) fn compare(node: &NodeSource, lake: &Lake, questions: usize, seed: u64) -> usize {
    let reference = Reference::of(node);
    let lake = source(lake);
    let mut chance = SmallRng::seed_from_u64(seed);
    let mut rows = 0;
    for number in 0..questions {
        let request = reference.question(&mut chance);
        let what = format!("question {number} of seed {seed}: {request:?}");
        let (mut found, report) = ask(&lake, &request).unwrap();
        let (expected, expected_report) = ask(node, &request).unwrap();
        assert_same(&found, &expected, &what);
        assert_eq!(seen(&report), seen(&expected_report), "{what}");
        // A source prepared for frontiers has the report of the whole, and the same answers.
        let mut whole = request.clone();
        whole.filter.touching = None;
        let prepared = lake.by_frontier(&whole).unwrap().unwrap();
        let (_, of_whole) = ask(node, &whole).unwrap();
        assert_eq!(
            seen(prepared.report.as_ref().unwrap()),
            seen(&of_whole),
            "{what}"
        );
        let (again, _) = ask(&*prepared.source, &request).unwrap();
        assert_same(&again, &expected, &what);
        // Hashes on request equal those that are filled in later, in any order.
        let with_hashes = ScanRequest {
            with_hashes: true,
            ..request.clone()
        };
        let (expected, _) = ask(node, &with_hashes).unwrap();
        found.reverse();
        lake.fill_hashes(&mut found, &report.pins).unwrap();
        found.reverse();
        assert_same(&found, &expected, &what);
        rows += found.len();
    }
    rows
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
        // One partition, several, and many.
        for (partition_blocks, seed) in [(1 << 20, 1), (32, 2), (7, 3)] {
            let place = tempfile::tempdir().unwrap();
            let built = build(place.path(), &node, &options(partition_blocks)).unwrap();
            assert_eq!(built.read_blocks, blocks + 1);
            let lake = open(place.path());
            assert_eq!(*lake.blocks(), range(0, blocks).into());
            assert_eq!(
                lake.partitions().len() as u64,
                (blocks + 1).div_ceil(partition_blocks)
            );
            let rows = compare(&node, &lake, 60, seed);
            assert!(rows > 1000, "{rows}");
            let verified = verify(&lake, &node).unwrap();
            assert_eq!(verified.blocks, blocks + 1);
            assert_eq!(verified.transfers, built.transfers);
            assert_tidy(place.path());
        }
    }
}

/// A lake with movements inside of transactions, all of which are in logs (EIP-7708).
#[test]
fn movements_of_amsterdam_are_stored_from_logs() {
    let (first, last, fork) = (50, 349, 90);
    let sample = BlockSample::logged(5, first, last - first + 1, fork);
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path(), Layout::V1.into()).unwrap();
    let node = node(folder.path());
    let origin = Origin {
        internal: Some(&NothingInside),
        ..Origin::from(&node)
    };
    let options = BuildOptions {
        first_block: first,
        ..options(32)
    };
    let place = tempfile::tempdir().unwrap();
    build(place.path(), origin.clone(), &options).unwrap();
    let lake = open(place.path());
    verify(&lake, origin).unwrap();
    let reference = Reference::among(sample.transfers.clone(), range(first, last));
    let lake = source(&lake);
    let mut chance = SmallRng::seed_from_u64(6);
    let mut rows = 0;
    for number in 0..100 {
        let mut request = reference.question(&mut chance);
        request.with_hashes = true;
        request.filter.internal = number % 2 == 0;
        if request.filter.wants_fees() {
            continue;
        }
        let mut expected = reference.answer(&request);
        let outside = |it: &Transfer| !it.kind.is_internal(it.log_index.is_some());
        expected.retain(|it| request.filter.internal || outside(it));
        let (found, _) = ask(&lake, &request).unwrap();
        assert_same(
            &found,
            &expected,
            &format!("question {number}: {request:?}"),
        );
        rows += found.iter().filter(|it| !outside(it)).count();
    }
    assert!(rows > 100, "{rows}");
}

/// Many addresses are looked up in memory, and the rows of many are read at once.
#[test]
fn many_addresses_have_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Mainnet, 300);
    let node = node(folder.path());
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(64)).unwrap();
    let whole = everything(range(0, 300));
    let (all, _) = ask(&node, &whole).unwrap();
    let mut known: Vec<Address> = all
        .iter()
        .flat_map(|it| [it.from_address, it.to_address])
        .collect();
    known.sort_unstable();
    known.dedup();
    // Half of the addresses, and as many that do not exist.
    let absent = (0..known.len()).map(|number| Address::with_last_byte(1).create(number as u64));
    let addresses: Vec<Address> = known.iter().copied().step_by(2).chain(absent).collect();
    assert!(addresses.len() > 600, "{}", addresses.len());
    for (direction, tokens) in [
        (Direction::Out, TokenFilter::All),
        (Direction::In, TokenFilter::All),
        (
            Direction::Both,
            TokenFilter::Only {
                tokens: all
                    .iter()
                    .filter_map(|it| it.token_address)
                    .take(1)
                    .collect(),
                native: true,
            },
        ),
    ] {
        let mut request = ScanRequest {
            with_hashes: true,
            ..whole.clone()
        };
        request.filter.tokens = tokens;
        request.filter.touching = Some(Touching {
            addresses: addresses.iter().copied().collect(),
            direction,
        });
        let (expected, report) = ask(&node, &request).unwrap();
        assert!(expected.len() > 100 && expected.len() < all.len());
        let lake = open(place.path());
        // The second time addresses are in memory from the beginning.
        for _ in 0..2 {
            let (found, found_report) = ask(&source(&lake), &request).unwrap();
            assert_same(&found, &expected, &format!("{direction:?}"));
            assert_eq!(seen(&found_report), seen(&report));
        }
        // Few addresses, when all are in memory.
        request.filter.touching.as_mut().unwrap().addresses =
            addresses[..3].iter().copied().collect();
        let (expected, _) = ask(&node, &request).unwrap();
        let (found, _) = ask(&source(&lake), &request).unwrap();
        assert_same(&found, &expected, &format!("{direction:?} of few"));
    }
}

#[test]
fn fixtures_have_the_same_answer() {
    let mut fixtures: Vec<_> = fixtures::committed().into();
    fixtures.extend(
        ["dev-v1", "dev-v2", "long-v2"]
            .into_iter()
            .filter_map(fixtures::fixture),
    );
    for fixture in fixtures {
        let node = node(fixture.path());
        let place = tempfile::tempdir().unwrap();
        build(place.path(), &node, &options(64)).unwrap();
        let lake = open(place.path());
        compare(&node, &lake, 20, 5);
        verify(&lake, &node).unwrap();
    }
}

#[test]
fn a_mainnet_directory_has_the_transfers_of_the_naive_decoder() {
    let Some(blocks) = mainnet::blocks() else {
        return;
    };
    let expected = mainnet::transfers(&blocks).transfers;
    let folder = tempfile::tempdir().unwrap();
    let executed = blocks.iter().map(|block| {
        ExecutedBlock::decode(&block.header, &block.transactions, &block.receipts).unwrap()
    });
    let layout = Layout::V2.into();
    drop(BlockWriter::create_from(folder.path(), layout, 1 << 30, executed.collect()).unwrap());
    let node = node(folder.path());
    let place = tempfile::tempdir().unwrap();
    let build_options = BuildOptions {
        wrapped_native: WrappedNative::Any,
        first_block: FIRST_BLOCK,
        ..options(8)
    };
    build(place.path(), &node, &build_options).unwrap();
    let lake = open(place.path());
    let request = ScanRequest {
        wrapped_native: WrappedNative::Any,
        with_hashes: true,
        ..everything(range(FIRST_BLOCK, LAST_BLOCK))
    };
    let (found, _) = ask(&source(&lake), &request).unwrap();
    let (of_node, _) = ask(&node, &request).unwrap();
    assert_same(&found, &of_node, "mainnet");
    let positions = |all: &[txgraph_transfers::Transfer]| {
        let key = |it: &txgraph_transfers::Transfer| {
            (it.position(), it.from_address, it.to_address, it.value)
        };
        all.iter().map(key).collect::<Vec<_>>()
    };
    assert_eq!(positions(&found), positions(&expected));
    verify(&lake, &node).unwrap();
}

/// The files do not depend on threads, nor on the steps in which a lake was built.
#[test]
fn builds_are_deterministic() {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Mainnet, 200);
    let node = node(folder.path());
    let built = |threads: usize, stops: &[u64]| {
        let place = tempfile::tempdir().unwrap();
        let origin = || Origin {
            source: &node,
            internal: None,
            work: Work {
                threads: Threads::new(threads).unwrap(),
                ..Work::default()
            },
        };
        for stop in stops {
            let until = BuildOptions {
                last_block: Some(*stop),
                ..options(16)
            };
            build(place.path(), origin(), &until).unwrap();
        }
        append(place.path(), origin(), &options(16)).unwrap();
        content(&open(place.path()))
    };
    let expected = built(1, &[200]);
    assert_eq!(expected.len(), 13 * 8);
    assert!(built(2, &[200]) == expected);
    assert!(built(4, &[15, 63, 200]) == expected);
}

#[test]
fn refuses_what_it_cannot_answer() {
    let folder = tempfile::tempdir().unwrap();
    chain(folder.path(), Profile::Mainnet, 20);
    let node = node(folder.path());
    let place = tempfile::tempdir().unwrap();
    let options = options(8);
    build(place.path(), &node, &options).unwrap();
    let lake = open(place.path());
    let lake_source = source(&lake);
    let request = everything(range(0, 30));
    let error = ask(&lake_source, &request).unwrap_err();
    assert!(
        error.to_string().contains("21:31 (not in the lake)"),
        "{error}"
    );
    let error = lake_source.check_available(&request).unwrap_err();
    assert!(matches!(error, SourceError::Unavailable { .. }), "{error}");
    let partial = ScanRequest {
        allow_partial: true,
        ..request
    };
    let (found, report) = ask(&lake_source, &partial).unwrap();
    let (expected, expected_report) = ask(&node, &partial).unwrap();
    assert_same(&found, &expected, "partial");
    assert_eq!(report.covered, expected_report.covered);
    assert_eq!(report.missing.len(), 1);
    let mut internal = everything(range(0, 20));
    internal.filter.internal = true;
    let wraps = ScanRequest {
        wrapped_native: WrappedNative::None,
        ..everything(range(0, 20))
    };
    for request in [internal, wraps] {
        let error = ask(&lake_source, &request).unwrap_err();
        assert!(matches!(error, SourceError::Unsupported { .. }), "{error}");
    }
    // Neither another choice nor another chain.
    let other = BuildOptions {
        wrapped_native: WrappedNative::None,
        ..options.clone()
    };
    let error = build(place.path(), &node, &other).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another choice of wrapped coins"),
        "{error}"
    );
    let other = tempfile::tempdir().unwrap();
    let config = Config::small(8, Layout::V2);
    Appender::create(other.path(), config)
        .unwrap()
        .append(5)
        .unwrap();
    let other = crate::support::node(other.path());
    for result in [
        append(place.path(), &other, &options).map(drop),
        build(place.path(), &other, &options).map(drop),
        verify(&lake, &other).map(drop),
    ] {
        assert!(
            matches!(result, Err(Error::WrongChain { .. })),
            "{result:?}"
        );
    }
    let nowhere = place.path().join("nowhere");
    for result in [
        append(&nowhere, &node, &options).map(drop),
        Lake::open(&nowhere).map(drop),
        txgraph_lake::compact(&nowhere, &work()).map(drop),
    ] {
        assert!(matches!(result, Err(Error::NotALake { .. })), "{result:?}");
    }
    let empty = LakeSource::new(&lake, work());
    let (none, _) = ask(
        &empty,
        &everything(txgraph_transfers::BlockRanges::default()),
    )
    .unwrap();
    assert!(none.is_empty());
}
