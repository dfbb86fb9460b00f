//! Routes and shared counterparties, by hand and against walks over all transfers.

use crate::{property, reading::Unreported};
use alloy_primitives::Address;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{
    Continuation, SearchRequest, TransferCounts, TransferPaths, common_counterparties,
    testing::{self, MemorySource, address, name},
    transfer_paths,
};
use txgraph_transfers::{Position, Transfer};

const ALL: [Continuation; 2] = [Continuation::SameToken, Continuation::AnyToken];

fn ask(transfers: &[Transfer], to: &str, hops: Option<u32>, in_time: bool) -> TransferPaths {
    ask_with(transfers, to, hops, in_time, Continuation::SameToken)
}

fn ask_with(
    transfers: &[Transfer],
    to: &str,
    hops: Option<u32>,
    in_time: bool,
    continuation: Continuation,
) -> TransferPaths {
    let source = MemorySource::new(transfers.to_vec());
    let request = SearchRequest {
        hops,
        time_respecting: in_time,
        ..SearchRequest::new(vec![address("a")], source.available.clone())
    };
    transfer_paths(&source, &request, address(to), continuation).unwrap()
}

fn text(route: Option<&Vec<Transfer>>) -> Option<String> {
    let names = |it: &Transfer| format!("{}{}", name(it.from_address), name(it.to_address));
    Some(route?.iter().map(names).collect::<Vec<_>>().join(" "))
}

#[test]
fn the_shortest_route_need_not_be_the_earliest() {
    let all = testing::transfers("a>b>c>d a>d");
    let found = ask(&all, "d", Some(3), true);
    assert_eq!(text(found.shortest.as_ref()).unwrap(), "ad");
    assert_eq!(text(found.earliest.as_ref()).unwrap(), "ab bc cd");
    assert!(found.limits.is_empty());
    let found = ask(&all, "d", Some(3), false);
    assert_eq!(text(found.shortest.as_ref()).unwrap(), "ad");
    assert!(found.earliest.is_none());
}

#[test]
fn a_route_follows_time_only_if_asked() {
    let all = testing::transfers("b>c a>b");
    let plain = ask(&all, "c", Some(2), false);
    assert_eq!(text(plain.shortest.as_ref()).unwrap(), "ab bc");
    assert!(ask(&all, "c", Some(2), true).shortest.is_none());
    assert!(ask(&all, "c", Some(1), false).shortest.is_none());
}

#[test]
fn a_route_keeps_its_token_or_swaps_it_in_one_transaction() {
    let route = |text: &str, to: &str, continuation| {
        let all = testing::transfers(text);
        let found = ask_with(&all, to, Some(6), true, continuation);
        self::text(found.shortest.as_ref())
    };
    let [same, any] = ALL;
    // Two transactions, two tokens.
    let apart = "a>b b>c@U";
    assert_eq!(route(apart, "c", same), None);
    assert_eq!(route(apart, "c", any).unwrap(), "ab bc");
    // One of the same token leaves later.
    assert_eq!(route("a>b b>c@U b>d b>c", "c", same).unwrap(), "ab bc");
    // A pool pays out before it is paid, in one transaction.
    let mut swap = testing::transfers("a>r p>r@U#101 r>p#101 r>b@U#101 b>c@U");
    for transfer in &mut swap {
        if transfer.block_number == 101 {
            transfer.log_index = Some(transfer.transaction_index);
            transfer.transaction_index = 0;
        }
    }
    let found = ask(&swap, "c", Some(6), true);
    assert_eq!(text(found.shortest.as_ref()).unwrap(), "ar rp pr rb bc");
    assert_eq!(ask(&swap, "c", Some(4), true).shortest, None);
    // One token goes forward in time, also within a transaction.
    let mut batch = testing::transfers("x>c#101 a>x#101");
    for transfer in &mut batch {
        transfer.log_index = Some(transfer.transaction_index);
        transfer.transaction_index = 0;
    }
    assert_eq!(ask(&batch, "c", Some(6), true).shortest, None);
    let found = ask(&batch, "c", Some(6), false);
    assert_eq!(text(found.shortest.as_ref()).unwrap(), "ax xc");
    // Transfers of nothing show contacts only.
    assert_eq!(route("a>b:0 b>c", "c", same), None);
    assert_eq!(route("a>b:0 b>c", "c", any).unwrap(), "ab bc");
}

#[test]
fn no_route_passes_through_the_zero_address() {
    let all = testing::transfers("a>0>c");
    assert!(ask(&all, "c", Some(4), false).shortest.is_none());
    assert!(ask(&all, "0", Some(4), false).shortest.is_some());
}

#[test]
fn refuses_a_route_from_an_address_to_itself() {
    let source = MemorySource::new(testing::transfers("a>b"));
    let request = SearchRequest::new(vec![address("a")], source.available.clone());
    assert!(transfer_paths(&source, &request, address("a"), Continuation::SameToken).is_err());
    assert!(common_counterparties(&source, &request).is_err());
}

/// Whether a route may go on with `after`.
fn follows(before: &Transfer, after: &Transfer, in_time: bool, continuation: Continuation) -> bool {
    let is_later = !in_time || before.position() < after.position();
    let is_same = (before.token_address, before.token_id) == (after.token_address, after.token_id);
    before.to_address == after.from_address
        && match continuation {
            Continuation::AnyToken => is_later,
            Continuation::SameToken => match is_same {
                true => is_later,
                false => before.transaction() == after.transaction(),
            },
        }
}

/// The ends of all walks from `from` to `to`: their lengths and last transfers.
fn walks(
    all: &[Transfer],
    (from, to): (Address, Address),
    hops: u32,
    in_time: bool,
    continuation: Continuation,
) -> BTreeSet<(u32, Position)> {
    let mut ends = BTreeSet::new();
    let carries = |it: &Transfer| continuation == Continuation::AnyToken || !it.value.is_zero();
    let moves = |it: &&Transfer| it.from_address != it.to_address && carries(it);
    let all: Vec<_> = all.iter().filter(moves).collect();
    let mut open: BTreeSet<usize> = (0..all.len())
        .filter(|row| all[*row].from_address == from)
        .collect();
    for length in 1..=hops {
        let mut next = BTreeSet::new();
        for row in open {
            match all[row].to_address {
                end if end == to => _ = ends.insert((length, all[row].position())),
                Address::ZERO => {}
                _ => next.extend(
                    (0..all.len())
                        .filter(|after| follows(all[row], all[*after], in_time, continuation)),
                ),
            }
        }
        open = next;
    }
    ends
}

/// Checks that a route is one, and returns its length and last transfer.
fn checked(
    route: &[Transfer],
    to: Address,
    in_time: bool,
    continuation: Continuation,
) -> (u32, Position) {
    assert_eq!(route[0].from_address, address("a"));
    for pair in route.windows(2) {
        assert!(follows(&pair[0], &pair[1], in_time, continuation));
    }
    let last = route.last().unwrap();
    assert_eq!(last.to_address, to);
    (route.len() as u32, last.position())
}

/// Moves the transfers of each block into transactions of `size`, so that some of them swap.
fn grouped(mut all: Vec<Transfer>, size: u32) -> Vec<Transfer> {
    for transfer in &mut all {
        if size > 1 && transfer.log_index.is_some() {
            transfer.log_index = Some(transfer.transaction_index);
            transfer.transaction_index /= size;
        }
    }
    all.sort_by_key(Transfer::position);
    all.dedup_by_key(|it| it.position());
    all
}

proptest! {
    #[test]
    fn routes_are_those_of_all_walks(
        all in property::transfers("a b c d e 0", 24),
        size in 1u32..4,
        hops in 1u32..6,
        in_time: bool,
        continuation in proptest::sample::select(&ALL),
    ) {
        let all = grouped(all, size);
        let to = address("e");
        let checked = |route: &[Transfer]| checked(route, to, in_time, continuation);
        let ends = walks(&all, (address("a"), to), hops, in_time, continuation);
        let found = ask_with(&all, "e", Some(hops), in_time, continuation);
        let shortest = found.shortest.map(|route| checked(&route));
        prop_assert_eq!(shortest, ends.first().copied());
        let earliest = found.earliest.map(|route| checked(&route));
        let first = ends.iter().map(|(_, position)| *position).min();
        prop_assert_eq!(earliest.map(|(_, position)| position), first.filter(|_| in_time));
        // A source that answers by frontier is asked for more and more hops.
        let prepared = Unreported(MemorySource::new(all.clone()));
        let request = SearchRequest {
            hops: Some(hops),
            time_respecting: in_time,
            ..SearchRequest::new(vec![address("a")], prepared.0.available.clone())
        };
        let by_frontier = transfer_paths(&prepared, &request, to, continuation).unwrap();
        let ends_of = |route: &Option<Vec<Transfer>>| -> Option<(u32, Position)> {
            route.as_ref().map(|route| checked(route))
        };
        prop_assert_eq!(ends_of(&by_frontier.shortest), shortest);
        let by_frontier = ends_of(&by_frontier.earliest);
        prop_assert_eq!(by_frontier.map(|(_, it)| it), earliest.map(|(_, it)| it));
        // Without a bound, the routes of as many hops as there are addresses and transfers.
        let unbounded = ask_with(&all, "e", None, in_time, continuation);
        let ends = walks(&all, (address("a"), to), 24, in_time, continuation);
        let shortest = unbounded.shortest.map(|route| checked(&route));
        prop_assert_eq!(shortest, ends.first().copied());
    }

    #[test]
    fn shared_counterparties_are_those_of_all_transfers(
        all in property::transfers("a b c d 0", 24),
    ) {
        let source = MemorySource::new(all.clone());
        let roots = [address("a"), address("b")];
        let request = SearchRequest::new(roots.to_vec(), source.available.clone());
        let found = common_counterparties(&source, &request).unwrap().counterparties;
        let count = |from: Address, to: Address| {
            let between = |it: &&Transfer| (it.from_address, it.to_address) == (from, to);
            all.iter().filter(between).count() as u64
        };
        let mut naive = BTreeMap::new();
        for other in ["a", "b", "c", "d"].map(address) {
            let with: BTreeMap<_, _> = roots
                .into_iter()
                .filter(|root| *root != other)
                .map(|root| (root, TransferCounts {
                    sent: count(root, other),
                    received: count(other, root),
                }))
                .filter(|(_, it)| it.sent + it.received > 0)
                .collect();
            if with.len() == roots.len() {
                naive.insert(other, with);
            }
        }
        let total = |with: &BTreeMap<Address, TransferCounts>| -> u64 {
            with.values().map(|it| it.sent + it.received).sum()
        };
        prop_assert!(found.is_sorted_by_key(|it| (std::cmp::Reverse(total(&it.with)), it.address)));
        let found: BTreeMap<_, _> = found.into_iter().map(|it| (it.address, it.with)).collect();
        prop_assert_eq!(found, naive);
    }
}
