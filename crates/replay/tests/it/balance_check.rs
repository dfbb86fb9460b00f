//! Balances as tokens report them, compared with those that follow from their logs.

use crate::support::{Opened, open};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, ops::ControlFlow};
use txgraph_replay::{BalanceDifference, RangeReport, ReplayOptions, TransactionLocation};
use txgraph_testkit::{
    fixtures::{self, Fixture},
    or_skip,
};

/// Addresses of tokens by their key in `truth.json`.
fn tokens(fixture: &Fixture) -> BTreeMap<String, Address> {
    let tokens = fixture.truth["tokens"].as_object().unwrap().iter();
    let address = |token: &serde_json::Value| token["address"].as_str().unwrap().parse().unwrap();
    tokens
        .map(|(key, token)| (key.clone(), address(token)))
        .collect()
}

/// Balances that a replay of all blocks of a fixture compares.
struct Expected {
    fixture: &'static str,
    /// ERC-20 and ERC-721 balances that were compared.
    compared: u64,
    /// ERC-1155 balances: such a token does not answer `balanceOf(address)`.
    unanswered: u64,
    /// Differences by key of the token.
    differing: &'static [(&'static str, usize)],
}

/// Both layouts of the committed chain, and a large one that may be absent.
const EXPECTED: [Expected; 3] = [
    Expected {
        fixture: "small/v1",
        compared: 580,
        unanswered: 2,
        differing: &[],
    },
    Expected {
        fixture: "small/v2",
        compared: 580,
        unanswered: 2,
        differing: &[],
    },
    Expected {
        fixture: "dev-v2",
        compared: 46_026,
        unanswered: 954,
        differing: &[("b32", 2), ("reb", 107)],
    },
];

/// The committed fixtures, and the large one where it is present.
fn chains() -> Vec<Fixture> {
    let large = fixtures::fixture("dev-v2");
    fixtures::committed().into_iter().chain(large).collect()
}

/// A difference and its transaction.
#[derive(Clone, Copy, Debug)]
struct Found {
    block: u64,
    index: u32,
    difference: BalanceDifference,
}

/// Replays all blocks and collects the differences.
fn check(opened: &Opened, tokens: Vec<Address>) -> (RangeReport, Vec<Found>) {
    let options = ReplayOptions {
        tokens,
        ..ReplayOptions::default()
    };
    let mut found = Vec::new();
    let report = opened
        .replayer(options)
        .range(opened.blocks, &mut |replay| {
            // The calls of `balanceOf` do not change what is replayed.
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
fn balances_agree_with_the_logs_of_honest_tokens() {
    for fixture in chains() {
        let name = fixture.name.as_str();
        let expected = EXPECTED.iter().find(|it| it.fixture == name).unwrap();
        let opened = open(&fixture);
        let mut tokens = tokens(&fixture);
        // The ERC-1155 token has a report of its own.
        let multi = tokens.remove("multi").unwrap();
        let (report, found) = check(&opened, vec![multi]);
        assert_eq!((report.balances_compared, found.len()), (0, 0), "{name}");
        assert_eq!(report.balances_unanswered, expected.unanswered, "{name}");

        let (report, found) = check(&opened, tokens.values().copied().collect());
        assert_eq!(report.balances_compared, expected.compared, "{name}");
        assert_eq!(report.balances_unanswered, 0, "{name}");
        let mut differing = BTreeMap::new();
        for one in &found {
            let token = one.difference.token;
            let (key, _) = tokens.iter().find(|(_, it)| **it == token).unwrap();
            differing
                .entry(key.as_str())
                .or_insert_with(Vec::new)
                .push(*one);
        }
        let counts = differing.iter().map(|(key, found)| (*key, found.len()));
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, expected.differing, "{name}");
        if let Some(found) = differing.get("reb") {
            check_rebasing_token(found);
        }
        if let Some(found) = differing.get("b32") {
            check_silent_mint_and_burn(found);
        }
    }
}

/// The balances of this token grow without a transfer, and shares round to whole units.
fn check_rebasing_token(found: &[Found]) {
    let grown = found.iter().find(|found| {
        let BalanceDifference { received, sent, .. } = found.difference;
        (received, sent) == (U256::ZERO, U256::ZERO)
    });
    let grown = grown.unwrap().difference;
    assert!(
        grown.after > grown.before + (grown.before >> 7),
        "{grown:?}"
    );
    let rounded = found.iter().map(|found| found.difference);
    let rounded = rounded.filter(|it| it.logged().magnitude > U256::ZERO);
    let units = |it: BalanceDifference| (it.logged().magnitude).abs_diff(it.actual().magnitude);
    let units: Vec<_> = rounded.map(units).collect();
    assert!(
        !units.is_empty() && units.iter().all(|it| *it <= U256::from(2)),
        "{units:?}"
    );
}

/// This token mints its first units without a log, and burns some without one.
fn check_silent_mint_and_burn(found: &[Found]) {
    let places: Vec<_> = found.iter().map(|it| (it.block, it.index)).collect();
    assert_eq!(places, [(2, 2), (128, 10)]);
    let mut logged = found.iter().map(|it| it.difference.logged());
    assert!(logged.all(|logged| logged.magnitude.is_zero()));
    assert!(!found[0].difference.actual().is_negative);
    assert!(found[1].difference.actual().is_negative);
}

/// A transaction replayed alone has the same differences as in its block.
#[test]
fn checks_balances_of_one_transaction() {
    let fixture = or_skip!(fixtures::fixture("dev-v2"));
    let opened = open(&fixture);
    let options = ReplayOptions {
        tokens: vec![tokens(&fixture)["b32"]],
        ..ReplayOptions::default()
    };
    let place = TransactionLocation::new(128, 10, None);
    let (alone, mismatches) = opened.replayer(options).transaction(place, None).unwrap();
    assert_eq!(mismatches, []);
    let check = alone.balances.unwrap();
    assert_eq!((check.compared, check.differing.len()), (2, 1));
    assert_eq!(
        check.differing[0].actual().to_string(),
        "-100000000000000000000"
    );
}
