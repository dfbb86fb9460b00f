//! Taint through swaps.

use super::{
    tests::{exact_methods, follow, shown},
    *,
};
use crate::MeasureResult;
use proptest::prelude::*;
use std::collections::BTreeMap;
use txgraph_graph::testing;

fn end(address: &Address) -> Option<TaintEnd> {
    match testing::name(*address).as_str() {
        "r" => Some(TaintEnd::Returned),
        "p" | "q" => Some(TaintEnd::Hub),
        _ => None,
    }
}

fn tracker(method: TaintMethod) -> TaintTracker<'static> {
    TaintTracker::new(method, end, |_, _| Some(U256::ZERO))
}

fn run(method: TaintMethod, transfers: &[Transfer], tokens: TokenFilter) -> Taint {
    let tracker = tracker(method).with_swaps(testing::nettings(transfers), tokens);
    follow(tracker, transfers)
}

fn only_t() -> TokenFilter {
    TokenFilter::only([testing::address("T")])
}

fn check(method: TaintMethod, text: &str, rows: &[&str], ends: &[&str]) -> Taint {
    let found = run(method, &testing::transactions(text), TokenFilter::All);
    let shown = shown(&found);
    assert_eq!(shown.0, rows, "{method} {text}");
    assert_eq!(shown.1, ends, "{method} {text}");
    found
}

/// `a` has 5 of its own, gets 10 tainted ones, gives 12 for 24 of another token, and sends 18 of these.
const SWAP: &str = "x>a:5@T | r>a:10@T | a>x:12@T x>p:12@T p>a:24@U | a>b:18@U";

#[test]
fn what_is_got_is_tainted_as_what_was_given() {
    use TaintMethod::{Fifo, Haircut, Lifo, Poison};
    let found = check(
        Fifo,
        SWAP,
        &["r>a:10/1 1", "a>x:7/1 2", "p>a:14/1 2", "a>b:14/1 3"],
        &["a:7 swapped", "a:3 held", "b:14 held"],
    );
    let [swap] = &found.swaps[..] else {
        panic!("{found:?}")
    };
    let amounts = [widen(swap.swap.given), swap.tainted_given, swap.tainted_got];
    assert_eq!(amounts, [12, 7, 14].map(AmountSum::from));
    assert_eq!(swap.swap.got, U256::from(24));
    let rules: Vec<_> = found.rows.iter().map(|row| row.rule.as_str()).collect();
    assert_eq!(rules, ["transfer", "given", "got", "transfer"]);
    check(
        Lifo,
        SWAP,
        &["r>a:10/1 1", "a>x:10/1 2", "p>a:20/1 2", "a>b:14/1 3"],
        &["a:10 swapped", "b:14 held", "a:6 held"],
    );
    // 8 of the 10, 16 of the 24, and two thirds of the 18.
    check(
        Haircut,
        SWAP,
        &["r>a:10/1 1", "a>x:8/1 2", "p>a:16/1 2", "a>b:12/1 3"],
        &["a:8 swapped", "a:2 held", "b:12 held", "a:4 held"],
    );
    check(
        Poison,
        SWAP,
        &["r>a:10/1 1", "a>x:12/1 2", "p>a:24/1 2", "a>b:18/1 3"],
        &["a:12 swapped", "a:10 held", "a:24 held", "b:18 held"],
    );
}

/// Lists the swaps of tokens that are not followed into what was got.
fn listed(method: TaintMethod, text: &str) -> Taint {
    let transfers = testing::transactions(text);
    let mut found = follow(tracker(method), &transfers);
    let amounts = shown(&found);
    found.list_swaps(&testing::nettings(&transfers));
    assert_eq!(shown(&found), amounts, "amounts stay the same");
    assert!(!found.follows_swaps);
    found
}

#[test]
fn swaps_that_are_not_followed_are_listed() {
    use TaintMethod::{Fifo, Haircut, Lifo, Poison};
    for text in [
        SWAP,
        // A third comes back.
        "r>a:6@T | x>a:3@T | a>x:9@T x>p:6@T x>a:3@T p>a:12@U",
        // The root itself swaps.
        "r>p:4@T p>r:8@U",
        // Two others get what is swapped.
        "r>a:6@T | x>a:4@T | a>p:10@T p>b:16@U p>c:5@U",
    ] {
        for method in [Fifo, Lifo, Haircut, Poison] {
            let followed = run(method, &testing::transactions(text), TokenFilter::All);
            assert_eq!(
                listed(method, text).swaps,
                followed.swaps,
                "{method} {text}"
            );
        }
    }
    // A payment beside the swap is not given in it, and what nothing tainted was given for is no swap.
    let found = listed(
        Fifo,
        "r>a:9@T | a>p:6@T p>a:12@U a>b:3@T | b>p:3@T p>c:3@U | x>p:5@V p>x:7@U",
    );
    let amounts = found
        .swaps
        .iter()
        .map(|it| (it.tainted_given, it.tainted_got));
    let expected =
        [(6, 12), (3, 3)].map(|(given, got)| (AmountSum::from(given), AmountSum::from(got)));
    assert!(amounts.eq(expected), "{found:?}");
    let found = listed(Fifo, "r>a:9@T | a>p:5@T a>p:3@V p>a:1@U");
    assert_eq!((found.swaps.len(), found.unresolved_swaps), (0, 1));
}

#[test]
fn the_order_within_a_transaction_does_not_matter() {
    let rows = ["r>a:4/1 1", "p>a:2/1 2", "a>p:4/1 2", "a>b:2/1 3"];
    let ends = ["a:4 swapped", "b:2 held"];
    let text = "r>a:4@T | p>a:2@U a>p:4@T | a>b:2@U";
    check(TaintMethod::Fifo, text, &rows, &ends);
}

#[test]
fn what_comes_back_is_tainted_as_before() {
    // A third comes back: 2 of the 6 tainted ones, and 4 are given for 8.
    check(
        TaintMethod::Fifo,
        "r>a:6@T | x>a:3@T | a>x:9@T x>p:6@T x>a:3@T p>a:12@U",
        &["r>a:6/1 1", "a>x:6/1 2", "x>a:2/1 1", "p>a:8/1 2"],
        &["a:4 swapped", "a:2 held", "a:8 held"],
    );
}

#[test]
fn each_of_several_receivers_gets_its_part() {
    // 10 for 21, of which 6 are tainted: 12 of 21, rounded down for each receiver.
    let found = check(
        TaintMethod::Fifo,
        "r>a:6@T | x>a:4@T | a>p:10@T p>c:5@U p>b:16@U | b>d:16@U c>d:5@U",
        &[
            "r>a:6/1 1",
            "a>p:6/1 2",
            "p>c:3/1 2",
            "p>b:9/1 2",
            "b>d:9/1 3",
            "c>d:3/1 3",
        ],
        &["a:6 swapped", "d:12 held"],
    );
    let amounts = found.swaps.iter().map(|it| {
        let whole = [widen(it.swap.given), widen(it.swap.got)];
        (
            testing::name(it.swap.to),
            whole,
            [it.tainted_given, it.tainted_got],
        )
    });
    let sums = |amounts: [u64; 2]| amounts.map(AmountSum::from);
    let expected = [("b", [7, 16], [4, 9]), ("c", [3, 5], [2, 3])];
    let expected = expected.map(|(to, whole, tainted)| (to.to_owned(), sums(whole), sums(tainted)));
    assert_eq!(amounts.collect::<Vec<_>>(), expected);
    let given = found
        .ends
        .iter()
        .find(|it| it.end == TaintEnd::Swapped)
        .unwrap();
    assert_eq!(given.transfers, 1, "one swap for both");
}

#[test]
fn a_root_that_swaps_has_what_it_got() {
    check(
        TaintMethod::Fifo,
        "r>p:4@T p>r:8@U",
        &["r>p:4/1 1", "p>r:8/1 1"],
        &["r:4 swapped", "r:8 returned"],
    );
}

#[test]
fn unresolved_swaps_are_counted_and_followed_to_the_receiver() {
    let text = "r>a:9@T | a>p:5@T a>p:3@V p>a:1@U";
    let found = check(
        TaintMethod::Fifo,
        text,
        &["r>a:9/1 1", "a>p:5/1 2"],
        &["p:5 hub", "a:4 held"],
    );
    assert_eq!(found.unresolved_swaps, 1);
    assert!(found.tables()[0].title.ends_with("not resolved: 1"));
}

#[test]
fn sources_are_of_the_named_tokens() {
    let transfers = testing::transactions("r>a:4@T | r>a:9@U | a>p:4@T p>a:2@V");
    let found = run(TaintMethod::Fifo, &transfers, only_t());
    assert_eq!(found.sources.len(), 1);
    assert_eq!(shown(&found).1, ["a:4 swapped", "a:2 held"]);
}

/// A root can swap a token of its sources. The other token is no source, so it is followed there.
#[test]
fn a_root_that_swaps_is_followed_in_the_other_token() {
    let transfers = testing::transactions("x>r:1@U | r>p:4@T p>r:8@U | r>b:6@U | b>r:1@T");
    let found = run(TaintMethod::Fifo, &transfers, only_t());
    let ends = ["r:4 swapped", "b:5 held", "r:3 held"];
    assert_eq!(shown(&found).1, ends, "r had 1 of U before");
    let found = run(TaintMethod::Fifo, &transfers, TokenFilter::All);
    let ends = ["r:4 swapped", "r:8 returned", "b:6 held"];
    assert_eq!(shown(&found).1, ends, "all tokens of the root are sources");
}

/// A vault has 100 tainted ones, and takes back shares of someone else for 50.
#[test]
fn what_a_vault_pays_for_its_shares_is_tainted_as_what_it_has() {
    use TaintMethod::Fifo;
    check(
        Fifo,
        "r>V:100@T | b>0:50@V V>b:50@T | b>c:50@T",
        &["r>V:100/1 1", "V>b:50/1 2", "b>c:50/1 3"],
        &["V:50 held", "c:50 held"],
    );
    // Shares of tainted tokens are tainted, and so is what the vault pays for them.
    check(
        Fifo,
        "r>a:10@T | a>V:10@T 0>a:10@V | a>0:10@V V>a:10@T",
        &[
            "r>a:10/1 1",
            "a>V:10/1 2",
            "0>a:10/1 2",
            "a>0:10/1 3",
            "V>a:10/1 3",
        ],
        &["a:10 held", "a:10 swapped", "a:10 swapped"],
    );
    // Wrapped coins are burned, and the coins that are paid for them were not read.
    let found = run(
        Fifo,
        &testing::transactions("r>a:10@T | a>p:10@T p>x:7@W x>0:7@W"),
        TokenFilter::All,
    );
    assert_eq!(shown(&found).1, ["a:10 swapped", "0:7 held"]);
}

/// Transactions of payments, and of swaps through routers, with what comes back, in any order.
fn some_transactions() -> impl Strategy<Value = Vec<Transfer>> {
    let address = || prop::sample::select(vec!["r", "a", "b", "c", "p"]);
    let token = || prop::sample::select(vec!["T", "U", "V"]);
    let payment = (address(), address(), token(), 1u64..9)
        .prop_map(|(from, to, token, value)| vec![format!("{from}>{to}:{value}@{token}")]);
    // Every third time, another address gets it; often, a third one gets a part.
    let ends = (address(), address(), address(), 0u8..3, 0u64..4);
    let swap = (ends, token(), token(), 1u64..9, 1u64..30, 0u64..4).prop_map(
        |((who, other, collector, which, fee), given, got, sent, value, back)| {
            let to = if which == 0 { other } else { who };
            let mut legs = vec![
                format!("{who}>x:{}@{given}", sent + back),
                format!("x>q:{sent}@{given}"),
                format!("q>{to}:{value}@{got}"),
            ];
            if fee > 0 {
                legs.push(format!("q>{collector}:{fee}@{got}"));
            }
            if back > 0 {
                legs.push(format!("x>{who}:{back}@{given}"));
            }
            legs
        },
    );
    let one = prop_oneof![2 => payment.boxed(), 3 => swap.boxed()];
    // Some transactions have two of them.
    let one = proptest::collection::vec(one, 1..3).prop_map(|all| all.concat());
    proptest::collection::vec(one.prop_shuffle(), 0..20).prop_map(|all| {
        let words: Vec<_> = all.iter().map(|legs| legs.join(" ")).collect();
        testing::transactions(&words.join(" | "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// For every token: what the roots sent and what was got for others is where the ends say.
    #[test]
    fn nothing_is_lost_in_swaps(
        transfers in some_transactions(),
        method in exact_methods(),
        tokens in prop::sample::select(vec![TokenFilter::All, only_t()]),
    ) {
        let found = run(method, &transfers, tokens);
        let mut sums: BTreeMap<Option<Address>, [AmountSum; 2]> = BTreeMap::new();
        for source in &found.sources {
            sums.entry(source.token_address).or_default()[0] += widen(source.value);
        }
        for it in &found.swaps {
            sums.entry(it.swap.got_token).or_default()[0] += it.tainted_got;
            prop_assert!(it.tainted_got <= widen(it.swap.got));
            // The share is the same, but for less than one unit.
            let is_same = |other: &&TaintedSwap| {
                let giver = |it: &TaintedSwap| (it.transaction_index, it.swap.address);
                giver(other) == giver(it)
            };
            let of_giver = || found.swaps.iter().filter(is_same);
            let whole: AmountSum = of_giver().map(|it| widen(it.swap.given)).sum();
            let given: AmountSum = of_giver().map(|it| it.tainted_given).sum();
            let exact = given.min(whole) * widen(it.swap.got) / whole;
            let part = given * widen(it.swap.given);
            prop_assert!(it.tainted_given >= part / whole);
            prop_assert!(it.tainted_given <= (part + whole) / whole);
            // Unless it is tainted anyway, as what a root sends.
            let own = found.rows.iter().filter(|row| {
                let transfer = &row.transfer;
                row.rule == TaintRule::Transfer
                    && transfer.transaction_index == it.transaction_index
                    && (transfer.to_address, transfer.token_address)
                        == (it.swap.to, it.swap.got_token)
            });
            let own: AmountSum = own.map(|row| widen(row.amount)).sum();
            prop_assert_eq!(it.tainted_got, exact.min(widen(it.swap.got) - own));
        }
        for end in &found.ends {
            sums.entry(end.token_address).or_default()[1] += end.amount;
        }
        for (token, [came, is]) in sums {
            prop_assert_eq!(came, is, "{:?} {:?}", token, shown(&found));
        }
        // What arrives at an address leaves it, or is held there.
        for end in found.ends.iter().filter(|end| end.end == TaintEnd::Held) {
            let sum = |arrives: bool| -> AmountSum {
                let of = |row: &&TaintRow| {
                    let it = &row.transfer;
                    let (address, other) = match arrives {
                        true => (it.to_address, TaintRule::Given),
                        false => (it.from_address, TaintRule::Got),
                    };
                    // What comes back was never at its sender.
                    let is_moved = arrives || row.rule != TaintRule::CameBack;
                    is_moved && row.rule != other
                        && (address, it.token_address) == (end.address, end.token_address)
                };
                found.rows.iter().filter(of).map(|row| widen(row.amount)).sum()
            };
            prop_assert_eq!(sum(true) - sum(false), end.amount);
        }
        // No transfer carries more than it moves: from its sender, and to its receiver.
        let leg = |row: &TaintRow| (row.transfer.position(), row.rule);
        for rows in found.rows.chunk_by(|a, b| leg(a) == leg(b)) {
            let tainted: AmountSum = rows.iter().map(|row| widen(row.amount)).sum();
            prop_assert!(tainted <= widen(rows[0].transfer.value));
        }
        prop_assert!(found.rows.is_sorted_by_key(|row| (leg(row), row.source)));
    }

    /// Without swaps, nothing changes.
    #[test]
    fn payments_are_followed_as_before(
        transfers in some_transactions(),
        method in prop::sample::select(vec![TaintMethod::Fifo, TaintMethod::Poison]),
    ) {
        // One transfer in each transaction.
        let mut transfers = transfers;
        for (index, transfer) in (0..).zip(&mut transfers) {
            transfer.transaction_index = index;
            transfer.log_index = Some(index);
        }
        let with = run(method, &transfers, TokenFilter::All);
        let without = follow(tracker(method), &transfers);
        let without = Taint { follows_swaps: true, ..without };
        prop_assert_eq!(with, without);
    }
}
