//! Findings on random graphs, compared with plain searches.

use super::{
    PatternFinder, Patterns, SpenderApproval, TransactionEnds,
    drainers::Spenders,
    finding::{Found, Pattern},
    history::History,
    plain::{List, Plain},
};
use alloy_primitives::U256;
use proptest::{prelude::*, strategy::ValueTree};
use std::collections::BTreeMap;
use txgraph_graph::{SearchError, testing};
use txgraph_transfers::{Kind, Position, Transfer};

/// A transfer by numbers of addresses: block, whether it is in the transaction before, ends, amount.
type Row = (u64, bool, usize, usize, u64);

/// The addresses of random graphs: one is the contract of a token, and the last ones look alike.
const NAMES: [&str; 22] = [
    "0", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "T", "r",
    "xx1", "xx2", "xx3",
];

fn finish(finder: PatternFinder) -> Patterns {
    finder.finish(None, || Ok::<_, SearchError>(())).unwrap()
}

/// The way over c arrives at d earlier, and comes back no earlier.
#[test]
fn a_round_trip_has_the_fewest_transfers() {
    let moved = "a>b:95@T b>c:95@T c>d:95@T b>d:95@T d>a:95@T";
    let transfers = testing::transfers(moved);
    let history = history(&transfers);
    let trips = super::round_trips::trips(&history);
    assert_eq!(trips, [[0, 3, 4]]);
    List(&transfers).check_round_trips(trips);
}

/// Every rule asks whether to go on.
#[test]
fn an_interrupted_search_ends() {
    let asked = std::cell::Cell::new(0);
    let proceed = || {
        asked.set(asked.get() + 1);
        match asked.get() < 5 {
            true => Ok(()),
            false => Err(SearchError::TooLarge { what: "test" }),
        }
    };
    let found = PatternFinder::default().finish(None, proceed);
    assert!(found.is_err());
    assert_eq!(asked.get(), 5);
}

/// Transfers that nearly are a pattern, from a block on: the amounts and times may break a rule.
fn shape() -> impl Strategy<Value = Vec<Row>> {
    let start = 100u64..3000;
    let step = prop::sample::select(vec![1u64, 1, 1, 10, 400, 1700, 3300, 7300]);
    let part = prop::sample::select(vec![85u64, 90, 95, 100, 100, 100, 101]);
    (0..7usize, 1..8usize, 2..14usize, start, step, part).prop_map(
        |(kind, first, count, start, step, part)| {
            let at = |number: usize| start + step * number as u64;
            let name = |number: usize| 1 + (first + number) % 18;
            let row = |number: usize, from: usize, to: usize, value: u64| {
                (at(number), false, from, to, value)
            };
            let each = 0..count;
            match kind {
                // A chain that peels off the rest of each part.
                0 => (each.scan(10_000_000u64, |amount, hop| {
                    let rest = *amount / 100 * part.min(95);
                    let peeled = *amount / 100 * 5;
                    *amount = rest;
                    Some([
                        row(hop, hop % 9 + 1, 18, peeled),
                        row(hop, hop % 9 + 1, hop % 9 + 2, rest),
                    ])
                }))
                .flatten()
                .collect(),
                // Around a circle.
                1 => each
                    .map(|hop| row(hop, name(hop % 5), name((hop + 1) % 5), part))
                    .collect(),
                // Through addresses in between.
                2 => each
                    .flat_map(|it| {
                        [
                            row(it, name(0), name(it + 1), 100),
                            row(it + 1, name(it + 1), 18, part),
                        ]
                    })
                    .collect(),
                // Into deposit addresses, which are emptied.
                3 => each
                    .flat_map(|it| {
                        let address = 10 + it % 4;
                        [
                            row(it, name(it), address, 100),
                            row(it + 1, address, first, part),
                        ]
                    })
                    .collect(),
                // In and out in equal amounts.
                4 => (each.clone().map(|it| row(it, name(it), 18, 100)))
                    .chain(each.map(|it| row(it + 2, 18, name(it + 9), part)))
                    .collect(),
                // Many receivers in one transaction.
                5 => each
                    .map(|it| (at(0), it > 0, first, name(it), 100))
                    .collect(),
                // From an address to others that look alike.
                _ => each
                    .map(|it| {
                        let value = [100, 100, 0, 100, 1, 50][(it + first) % 6];
                        let ends = (first, 19 + (it * it + first) % 3);
                        match it % 4 {
                            3 => row(it, ends.1, ends.0, value),
                            _ => row(it, ends.0, ends.1, value),
                        }
                    })
                    .collect(),
            }
        },
    )
}

/// Transfers of two tokens and the coin: shapes, and others between them.
fn some_transfers() -> impl Strategy<Value = Vec<Transfer>> {
    let value = prop::sample::select(vec![0u64, 1, 5, 90, 95, 99, 100, 100, 101, 1000]);
    let end = || 0..NAMES.len();
    let noise = (100u64..9000, prop::bool::weighted(0.2), end(), end(), value);
    let token = || prop::sample::select(vec!["eth", "T", "T", "T", "U"]);
    let shapes = proptest::collection::vec((shape(), token()), 0..4);
    let noise = proptest::collection::vec((noise, token()), 0..20);
    (shapes, noise).prop_map(|(shapes, noise)| {
        let shapes = (shapes.into_iter())
            .flat_map(|(rows, token)| rows.into_iter().map(move |row| (row, token)));
        let mut all: Vec<_> = shapes.chain(noise).collect();
        all.sort_by_key(|(row, _)| row.0);
        let mut index = 0;
        let transfers = all
            .into_iter()
            .map(|((block, is_same, from, to, value), token)| {
                index += u32::from(!is_same);
                let [from, to] = [from, to].map(|number| testing::address(NAMES[number]));
                testing::transfer((block, index), token, from, to, U256::from(value))
            });
        numbered(transfers.collect())
    })
}

/// Who signed each transaction, and what it calls.
type Ends = BTreeMap<(u64, u32), TransactionEnds>;

/// Transfers with approvals by some of their owners for the two addresses that sign many of the
/// transactions, or are called in them.
fn some_approvals() -> impl Strategy<Value = (Vec<Transfer>, Vec<SpenderApproval>, Ends)> {
    let approval = (
        0..5usize,
        0..4usize,
        prop::sample::select(vec![0u64, 5, 5, 5]),
    );
    let ends = (0..6usize, 0..6usize);
    let each = proptest::collection::vec((approval, ends), 100);
    (some_transfers(), each).prop_map(|(transfers, each)| {
        let name = |number: usize| testing::address(["y", "z", "a", "b", "0", "r"][number]);
        let mut approvals: Vec<SpenderApproval> = Vec::new();
        let mut all_ends = Ends::new();
        for (it, ((place, spender, amount), (signer, called))) in transfers.iter().zip(each) {
            all_ends.insert(
                it.transaction(),
                TransactionEnds {
                    signer: name(signer),
                    called: Some(name(called)).filter(|called| !called.is_zero()),
                },
            );
            let Some(token) = it.token_address.filter(|_| place > 0) else {
                continue;
            };
            let own = it.position();
            let log = own.log.unwrap();
            let (block, log) = match place {
                1 => (own.block, log - 1),
                2 => (own.block, log + 1),
                3 => (own.block + 10, log),
                _ => (own.block - 50, log),
            };
            approvals.push(SpenderApproval {
                position: Position {
                    block,
                    log: Some(log),
                    ..own
                },
                token,
                owner: it.from_address,
                spender: name(spender),
                amount: U256::from(amount),
            });
        }
        (transfers, approvals, all_ends)
    })
}

/// Gives transfers of one transaction logs of their own.
fn numbered(mut transfers: Vec<Transfer>) -> Vec<Transfer> {
    // There is room for logs of approvals between them.
    for (log, transfer) in (1..).step_by(2).zip(&mut transfers) {
        match transfer.token_address {
            Some(_) => transfer.log_index = Some(log),
            None => (transfer.sub_index, transfer.kind) = (log, Kind::Internal),
        }
    }
    transfers.sort_by_key(Transfer::position);
    transfers
}

fn history(transfers: &[Transfer]) -> History {
    let mut history = History::default();
    transfers.iter().for_each(|it| history.add(it).unwrap());
    history.sort();
    history
}

fn plain(history: &History, found: Vec<Found>) -> Vec<Plain> {
    let plain = found.into_iter().map(|it| {
        let name = |number| history.addresses.value(number);
        let mut evidence: Vec<_> = (it.evidence.iter())
            .map(|(number, role)| (*number as usize, *role))
            .collect();
        evidence.sort_unstable();
        (it.pattern, name(it.address), it.other.map(name), evidence)
    });
    let mut plain: Vec<_> = plain.collect();
    plain.sort();
    plain
}

proptest! {
    #[test]
    fn findings_are_those_of_plain_searches(transfers in some_transfers()) {
        let list = List(&transfers);
        let history = history(&transfers);
        let of = |find: fn(&History) -> Vec<Found>| plain(&history, find(&history));
        prop_assert_eq!(of(super::peel_chains::find), list.peel_chains());
        prop_assert_eq!(of(super::fans::find), list.fans());
        prop_assert_eq!(of(super::sweeps::find), list.sweeps());
        prop_assert_eq!(of(super::scatter_gather::find), list.scatter_gather(&history));
        prop_assert_eq!(of(super::airdrops::find), list.airdrops());
        prop_assert_eq!(of(super::mixers::find), list.mixers());
        prop_assert_eq!(of(super::poisoning::find), list.poisoning());
        list.check_round_trips(super::round_trips::trips(&history));
    }

    #[test]
    fn drainers_are_those_of_a_plain_search((transfers, approvals, ends) in some_approvals()) {
        let mut history = history(&transfers);
        let mut spenders = Spenders::default();
        for approval in &approvals {
            spenders.add(&history, approval).unwrap();
        }
        // Only the wanted transactions are known.
        let wanted = spenders.sort(&history);
        let known = ends.iter().filter(|(place, _)| wanted.contains(place));
        spenders.set_transactions(known.map(|(place, ends)| (*place, *ends)).collect());
        let found = super::drainers::find(&mut history, &spenders).unwrap();
        for it in &found {
            let used = spenders.evidence(&history, it);
            prop_assert!(!used.is_empty());
            prop_assert!(used.iter().all(|it| !it.transfer.value.is_zero()));
        }
        prop_assert_eq!(plain(&history, found), List(&transfers).drainers(&approvals, &ends));
    }

    #[test]
    fn findings_do_not_depend_on_the_order_of_reading(
        transfers in some_transfers(),
        seed in any::<u64>(),
    ) {
        let found = |transfers: &[Transfer]| {
            let mut finder = PatternFinder::default();
            finder.add(transfers).unwrap();
            finish(finder)
        };
        let mut other = transfers.clone();
        let count = other.len().max(1) as u64;
        for at in 1..other.len() {
            let to = usize::try_from(seed.wrapping_mul(at as u64) % count).unwrap();
            other.swap(at, to);
        }
        prop_assert_eq!(found(&transfers), found(&other));
    }
}

/// Random graphs without findings would show nothing.
#[test]
fn random_graphs_have_every_pattern() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut found: BTreeMap<Pattern, usize> = BTreeMap::new();
    for _ in 0..800 {
        let (transfers, approvals, ends) =
            some_approvals().new_tree(&mut runner).unwrap().current();
        let mut finder = PatternFinder::default();
        finder.add(&transfers).unwrap();
        for approval in &approvals {
            finder.add_approval(approval).unwrap();
        }
        finder.wanted_transactions();
        finder.set_transactions(ends);
        for finding in finish(finder).findings {
            *found.entry(finding.pattern).or_default() += 1;
        }
    }
    for pattern in Pattern::ALL {
        let count = found.get(pattern).copied().unwrap_or(0);
        assert!(count >= 10, "{pattern}: {count} of {found:?}");
    }
}

/// A transfer in a block of its own, or in a transaction that has several.
fn moved(block: u64, log: u32, from: &str, to: &str, value: u64) -> Transfer {
    let [from, to] = [from, to].map(testing::address);
    let mut transfer = testing::transfer((block, 0), "T", from, to, U256::from(value));
    transfer.log_index = Some(log);
    transfer
}

/// Four owners approve a contract in blocks 1 to 4. A key calls it in blocks 11 to 14: it takes 10
/// from each and sends 8 to one address and 2 to another.
fn drained() -> (PatternFinder, Ends) {
    let mut finder = PatternFinder::default();
    let mut ends = Ends::new();
    let owners = ["a", "b", "c", "d"];
    for (block, owner) in (11..).zip(owners) {
        let taken = moved(block, 3, owner, "contract", 10);
        let shares = [(4, "affiliate", 8), (5, "operator", 2)];
        let shares = shares.map(|(log, to, value)| moved(block, log, "contract", to, value));
        finder.add(&[taken]).unwrap();
        finder.add(&shares).unwrap();
        let signer = testing::address("key");
        let called = Some(testing::address("contract"));
        ends.insert((block, 0), TransactionEnds { signer, called });
    }
    for (block, owner) in (1..).zip(owners) {
        let position = Position {
            block,
            tx: 0,
            log: Some(0),
            sub: 0,
        };
        let approval = SpenderApproval {
            position,
            token: testing::address("T"),
            owner: testing::address(owner),
            spender: testing::address("contract"),
            amount: U256::MAX,
        };
        finder.add_approval(&approval).unwrap();
    }
    (finder, ends)
}

#[test]
fn a_drainer_has_its_split_and_its_approvals() {
    let (mut finder, ends) = drained();
    assert_eq!(finder.wanted_transactions(), ends.keys().copied().collect());
    finder.set_transactions(ends);
    let found = finish(finder);
    let is_drainer = |it: &&super::Finding| it.pattern == Pattern::Drainer;
    let drainers: Vec<_> = found.findings.iter().filter(is_drainer).collect();
    let [it] = drainers[..] else {
        panic!("{drainers:?}")
    };
    assert_eq!(it.address, testing::address("contract"));
    let [affiliate, operator] = ["affiliate", "operator"].map(testing::address);
    assert_eq!(it.other_address, Some(affiliate));
    assert_eq!(it.amount.to_string(), "40");
    assert_eq!(
        it.note,
        format!(
            "4 victims, 4 transfers; split in 4 of 4 transactions: 80 % to {affiliate}, \
             20 % to {operator}"
        )
    );
    assert_eq!(it.evidence.len(), 12);
    let blocks: Vec<u64> = it
        .approvals
        .iter()
        .map(|it| it.transfer.block_number)
        .collect();
    assert_eq!(blocks, [1, 2, 3, 4]);
}

/// A spender takes tokens of four owners, each of another token, to an address that the owner names: the
/// main token has one owner and one receiver.
#[test]
fn spenders_that_pay_whom_their_users_name_are_no_drainers() {
    let found = |receivers: [&str; 4]| {
        let mut finder = PatternFinder::default();
        let mut ends = Ends::new();
        let pulls = ["a", "b", "c", "d"].into_iter().zip(receivers);
        for (block, (owner, receiver)) in (11..).zip(pulls) {
            let token = format!("T{block}");
            let mut pulled = moved(block, 3, owner, receiver, 10);
            pulled.token_address = Some(testing::address(&token));
            finder.add(&[pulled.clone()]).unwrap();
            finder
                .add_approval(&SpenderApproval {
                    position: Position {
                        block: 1,
                        ..pulled.position()
                    },
                    token: testing::address(&token),
                    owner: testing::address(owner),
                    spender: testing::address("contract"),
                    amount: U256::MAX,
                })
                .unwrap();
            let signer = testing::address("key");
            let called = Some(testing::address("contract"));
            ends.insert((block, 0), TransactionEnds { signer, called });
        }
        finder.wanted_transactions();
        finder.set_transactions(ends);
        let found = finish(finder).findings.into_iter();
        found.filter(|it| it.pattern == Pattern::Drainer).count()
    };
    assert_eq!(found(["e", "f", "g", "h"]), 0);
    assert_eq!(found(["e", "e", "g", "h"]), 1);
}

/// Transfers of a pool and its users come back all the time.
#[test]
fn trades_are_no_round_trips_and_no_airdrops() {
    let found = |is_traded: bool| {
        let mut finder = PatternFinder::default();
        let mut move_in = |block, log, from: &str, to: &str, token: &str| {
            let mut transfer = moved(block, log, from, to, 100);
            transfer.token_address = Some(testing::address(token));
            finder.add(&[transfer]).unwrap();
        };
        for (block, ends) in [(10, ["a", "pool"]), (11, ["pool", "a"])] {
            let [from, to] = ends;
            move_in(block, 1, from, to, "T");
            if is_traded {
                move_in(block, 2, to, from, "U");
            }
        }
        for receiver in 0..10 {
            let receiver = format!("r{receiver}");
            move_in(20, 10, "payer", &receiver, "T");
            if is_traded {
                move_in(20, 11, &receiver, "payer", "U");
            }
        }
        let found = finish(finder).findings.into_iter();
        found.map(|it| it.pattern).collect::<Vec<_>>()
    };
    assert_eq!(found(false), [Pattern::RoundTrip, Pattern::Airdrop]);
    assert_eq!(found(true), []);
}

/// Users wrap coins through a router, which keeps nothing, and unwrap them.
#[test]
fn wraps_are_no_round_trips() {
    let found = |is_wrap: bool| {
        let mut finder = PatternFinder::default();
        for (block, ends) in [(10, ["router", "T"]), (11, ["T", "router"])] {
            let [from, to] = ends;
            let mut coins = moved(block, 0, from, to, 100);
            (coins.token_address, coins.log_index, coins.kind) = (None, None, Kind::Internal);
            finder.add(&[coins]).unwrap();
            if is_wrap {
                let ends = if to == "T" {
                    ["0", "user"]
                } else {
                    ["user", "0"]
                };
                finder
                    .add(&[moved(block, 2, ends[0], ends[1], 100)])
                    .unwrap();
            }
        }
        finish(finder).findings.len()
    };
    assert_eq!((found(true), found(false)), (0, 1));
}

/// Withdrawals of validators are no transaction.
#[test]
fn withdrawals_are_no_airdrop() {
    let found = |kind: Kind| {
        let mut finder = PatternFinder::default();
        for (sub, receiver) in (0..16).zip("abcdefghijklmnop".chars()) {
            let mut paid = moved(10, 0, "0", &receiver.to_string(), 7);
            (paid.token_address, paid.log_index) = (None, None);
            (paid.kind, paid.sub_index) = (kind, sub);
            finder.add(&[paid]).unwrap();
        }
        finish(finder).findings.len()
    };
    assert_eq!((found(Kind::Withdrawal), found(Kind::Internal)), (0, 1));
}

/// An owner who signs moves its tokens itself.
#[test]
fn owners_who_sign_are_no_victims() {
    let (mut finder, mut ends) = drained();
    finder.wanted_transactions();
    for (owner, ends) in ["a", "b", "c", "d"].iter().zip(ends.values_mut()) {
        ends.signer = testing::address(owner);
    }
    finder.set_transactions(ends);
    let found = finish(finder);
    let rule = found.rules.iter().find(|it| it.pattern == Pattern::Drainer);
    assert_eq!(rule.unwrap().found, Some(0));
}

#[test]
fn a_result_says_what_it_did_not_look_for() {
    let (mut finder, _) = drained();
    finder.set_not_asked("the source is a list".to_owned());
    let found = finish(finder);
    for rule in &found.rules {
        let is_drainer = rule.pattern == Pattern::Drainer;
        assert_eq!(rule.found.is_none(), is_drainer, "{rule:?}");
        assert_eq!(rule.not_asked.is_some(), is_drainer, "{rule:?}");
    }
    let tables = crate::MeasureResult::tables(&found);
    assert!(
        tables[0]
            .title
            .contains("drainer not looked for: the source is a list")
    );
}
