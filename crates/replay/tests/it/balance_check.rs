//! Balances that tokens tell, beside those that their logs tell.

use crate::support::{Opened, open};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, ops::ControlFlow};
use txgraph_replay::{BalanceDifference, RangeReport, ReplayOptions, TransactionId};
use txgraph_testkit::fixtures::{self, Fixture};

/// Addresses of tokens by their key in `truth.json`.
fn tokens(fixture: &Fixture) -> BTreeMap<String, Address> {
    let tokens = fixture.truth["tokens"].as_object().unwrap().iter();
    let address = |token: &serde_json::Value| token["address"].as_str().unwrap().parse().unwrap();
    tokens
        .map(|(key, token)| (key.clone(), address(token)))
        .collect()
}

/// Hears of a token: chain, key, counts, what differs.
type See<'a> = dyn FnMut(&str, &str, RangeReport, &[Found]) + 'a;

/// All chains with tokens, each token by itself.
fn check_all(see: &mut See<'_>) {
    for name in ["small/v1", "small/v2", "dev-v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            continue;
        };
        let opened = open(&fixture);
        let tokens = tokens(&fixture);
        // Alone, so that it is counted alone.
        let multi = tokens["multi"];
        let (report, found) = check(&opened, vec![multi]);
        see(name, "multi", report, &found);
        let others: Vec<_> = tokens.values().copied().filter(|it| *it != multi).collect();
        let (report, found) = check(&opened, others);
        for (key, token) in tokens.iter().filter(|(_, token)| **token != multi) {
            let of_token = found
                .iter()
                .filter(|found| found.difference.token == *token);
            see(name, key, report, &of_token.copied().collect::<Vec<_>>());
        }
    }
}

/// A difference and its place.
#[derive(Clone, Copy, Debug)]
struct Found {
    block: u64,
    index: u32,
    difference: BalanceDifference,
}

fn check(opened: &Opened, tokens: Vec<Address>) -> (RangeReport, Vec<Found>) {
    let options = ReplayOptions {
        tokens,
        ..ReplayOptions::default()
    };
    let mut found = Vec::new();
    let report = opened
        .replayer(options)
        .range(opened.blocks, &mut |replay| {
            // To ask changes nothing of what is replayed.
            assert_eq!(replay.mismatches, []);
            for tx in replay.transactions {
                assert!(tx.frames.is_none() && tx.transitions.is_empty());
                let differing = tx.balances.unwrap().differing.into_iter();
                found.extend(differing.map(|difference| Found {
                    block: tx.block,
                    index: tx.index,
                    difference,
                }));
            }
            ControlFlow::Continue(())
        });
    (report.unwrap(), found)
}

#[test]
fn tokens_and_their_logs() {
    let mut compared = 0;
    check_all(&mut |name, key, report, found| match key {
        "multi" => {
            assert_eq!((report.balances_compared, found.len()), (0, 0), "{name}");
            assert!(report.balances_unanswered > 0, "{name}");
        }
        // Grows by itself; and shares are cut to whole units.
        "reb" => {
            let grown = found.iter().find(|found| {
                let BalanceDifference { received, sent, .. } = found.difference;
                (received, sent) == (U256::ZERO, U256::ZERO)
            });
            let grown = grown.unwrap().difference;
            assert!(
                grown.after > grown.before + (grown.before >> 7),
                "{grown:?}"
            );
            let cut = found.iter().map(|found| found.difference);
            let cut = cut.filter(|it| it.logged().magnitude > U256::ZERO);
            let units =
                |it: BalanceDifference| (it.logged().magnitude).abs_diff(it.actual().magnitude);
            let units: Vec<_> = cut.map(units).collect();
            assert!(
                !units.is_empty() && units.iter().all(|it| *it <= U256::from(2)),
                "{units:?}"
            );
        }
        // Makes its first tokens without a log, and burns some so.
        "b32" => {
            let places: Vec<_> = found.iter().map(|it| (it.block, it.index)).collect();
            assert_eq!(places, [(2, 2), (128, 10)]);
            let told: Vec<_> = found.iter().map(|it| it.difference.logged()).collect();
            assert!(told.iter().all(|told| told.magnitude.is_zero()));
            assert!(!found[0].difference.actual().is_negative);
            assert!(found[1].difference.actual().is_negative);
        }
        // The fee of `fee` has a log of its own.
        _ => {
            assert!(found.is_empty(), "{name} {key}: {found:?}");
            compared += report.balances_compared;
        }
    });
    assert!(compared > 500, "{compared}");
}

/// A transaction alone tells what it tells in its block.
#[test]
fn one_transaction() {
    let Some(fixture) = fixtures::fixture("dev-v2") else {
        return;
    };
    let opened = open(&fixture);
    let options = ReplayOptions {
        tokens: vec![tokens(&fixture)["b32"]],
        ..ReplayOptions::default()
    };
    let place = TransactionId::Place {
        block: 128,
        index: 10,
    };
    let (alone, mismatches) = opened.replayer(options).transaction(place, None).unwrap();
    assert_eq!(mismatches, []);
    let check = alone.balances.unwrap();
    assert_eq!((check.compared, check.differing.len()), (2, 1));
    assert_eq!(
        check.differing[0].actual().to_string(),
        "-100000000000000000000"
    );
}
