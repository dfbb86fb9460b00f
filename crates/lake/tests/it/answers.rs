//! A lake and the node give the same answers.

use crate::support::{
    ask, assert_same, chain, content, everything, open, options, range, seen, source, until, work,
};
use alloy_primitives::Address;
use txgraph_chaingen::Profile;
use txgraph_lake::{BuildOptions, LakeSource, append, build};
use txgraph_reader::Threads;
use txgraph_stored::BuildSource;
use txgraph_testkit::says;
use txgraph_transfers::{
    AddressFilter, Direction, ScanRequest, SourceError, TokenFilter, TransferSource, WrappedNative,
};
use txgraph_work::WorkContext;

/// Many addresses are looked up in memory, and the rows of many are read at once.
#[test]
fn many_addresses_have_the_same_answer() {
    let (_folder, node) = chain(Profile::Mainnet, 300);
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
        request.filter.touching = Some(AddressFilter::new(addresses.iter().copied(), direction));
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

/// Addresses in memory, and others, which are read by position.
#[test]
fn answers_do_not_depend_on_the_addresses_in_memory() {
    let (_folder, node) = chain(Profile::Mainnet, 300);
    let place = tempfile::tempdir().unwrap();
    build(place.path(), &node, &options(128)).unwrap();
    let (expected, _) = ask(&node, &everything(range(0, 300))).unwrap();
    let addresses: Vec<_> = expected.iter().map(|it| it.to_address).collect();
    let mut touching = everything(range(0, 300));
    touching.filter.touching = Some(AddressFilter::new(addresses, Direction::Out));
    let (some, _) = ask(&node, &touching).unwrap();
    let first = open(place.path()).partitions()[0].new_addresses;
    for kept in [u64::MAX, first, 0] {
        let mut lake = open(place.path());
        assert!(lake.partitions()[0].transfers > 1 << 10);
        lake.keep_addresses(kept);
        let (found, _) = ask(&source(&lake), &everything(range(0, 300))).unwrap();
        assert_same(&found, &expected, &format!("{kept} addresses in memory"));
        let (found, _) = ask(&source(&lake), &touching).unwrap();
        assert_same(&found, &some, &format!("{kept} addresses in memory"));
    }
}

/// The files do not depend on threads, nor on the steps in which a lake was built.
#[test]
fn builds_are_deterministic() {
    let (_folder, node) = chain(Profile::Mainnet, 200);
    let built = |threads: usize, stops: &[u64]| {
        let place = tempfile::tempdir().unwrap();
        let origin = || BuildSource {
            source: &node,
            internal: None,
            work: WorkContext {
                threads: Threads::new(threads).unwrap(),
                ..WorkContext::default()
            },
        };
        for stop in stops {
            let until = until(*stop, 16);
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
    let (_folder, node) = chain(Profile::Mainnet, 20);
    let place = tempfile::tempdir().unwrap();
    let options = options(8);
    build(place.path(), &node, &options).unwrap();
    let lake = open(place.path());
    let lake_source = source(&lake);
    let request = everything(range(0, 30));
    let error = ask(&lake_source, &request).unwrap_err();
    says(&error, "21:31 (not in the lake)");
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
    let other = BuildOptions {
        wrapped_native: WrappedNative::None,
        ..options.clone()
    };
    let error = build(place.path(), &node, &other).unwrap_err();
    says(&error, "another choice of wrapped coins");
    let empty = LakeSource::new(&lake, work());
    let (none, _) = ask(
        &empty,
        &everything(txgraph_transfers::BlockRanges::default()),
    )
    .unwrap();
    assert!(none.is_empty());
}
