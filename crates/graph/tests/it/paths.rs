//! Routes and shared counterparties, by hand and against walks over all transfers.

use crate::{property, reading::Unreported};
use alloy_primitives::Address;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{
    SearchRequest, TransferCounts, TransferPaths, common_counterparties,
    testing::{self, MemorySource, address, name},
    transfer_paths,
};
use txgraph_transfers::{Position, Transfer};

fn ask(transfers: &[Transfer], to: &str, hops: Option<u32>, in_time: bool) -> TransferPaths {
    let source = MemorySource::new(transfers.to_vec());
    let request = SearchRequest {
        hops,
        time_respecting: in_time,
        ..SearchRequest::new(vec![address("a")], source.available.clone())
    };
    transfer_paths(&source, &request, address(to)).unwrap()
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
fn no_route_passes_through_the_zero_address() {
    let all = testing::transfers("a>0>c");
    assert!(ask(&all, "c", Some(4), false).shortest.is_none());
    assert!(ask(&all, "0", Some(4), false).shortest.is_some());
}

#[test]
fn refuses_a_route_from_an_address_to_itself() {
    let source = MemorySource::new(testing::transfers("a>b"));
    let request = SearchRequest::new(vec![address("a")], source.available.clone());
    assert!(transfer_paths(&source, &request, address("a")).is_err());
    assert!(common_counterparties(&source, &request).is_err());
}

/// The ends of all walks from `from` to `to`: their lengths and last transfers.
fn walks(
    all: &[Transfer],
    (from, to): (Address, Address),
    hops: u32,
    in_time: bool,
) -> BTreeSet<(u32, Position)> {
    let mut ends = BTreeSet::new();
    let mut open: BTreeSet<(Address, Option<Position>)> = BTreeSet::from([(from, None)]);
    for length in 1..=hops {
        let mut next = BTreeSet::new();
        for (at, arrived) in open {
            let leaves = |it: &&Transfer| {
                it.from_address == at && (!in_time || arrived.is_none_or(|a| a < it.position()))
            };
            for transfer in all.iter().filter(leaves) {
                match transfer.to_address {
                    end if end == to => _ = ends.insert((length, transfer.position())),
                    Address::ZERO => {}
                    other => _ = next.insert((other, Some(transfer.position()))),
                }
            }
        }
        open = next;
    }
    ends
}

/// Checks that a route is one, and returns its length and last transfer.
fn checked(route: &[Transfer], to: Address, in_time: bool) -> (u32, Position) {
    assert_eq!(route[0].from_address, address("a"));
    for pair in route.windows(2) {
        assert_eq!(pair[0].to_address, pair[1].from_address);
        assert!(!in_time || pair[0].position() < pair[1].position());
    }
    let last = route.last().unwrap();
    assert_eq!(last.to_address, to);
    (route.len() as u32, last.position())
}

proptest! {
    #[test]
    fn routes_are_those_of_all_walks(
        all in property::transfers("a b c d e 0", 24),
        hops in 1u32..6,
        in_time: bool,
    ) {
        let to = address("e");
        let ends = walks(&all, (address("a"), to), hops, in_time);
        let found = ask(&all, "e", Some(hops), in_time);
        let shortest = found.shortest.map(|route| checked(&route, to, in_time));
        prop_assert_eq!(shortest, ends.first().copied());
        let earliest = found.earliest.map(|route| checked(&route, to, in_time));
        let first = ends.iter().map(|(_, position)| *position).min();
        prop_assert_eq!(earliest.map(|(_, position)| position), first.filter(|_| in_time));
        // A source that answers by frontier is asked for more and more hops.
        let prepared = Unreported(MemorySource::new(all.clone()));
        let request = SearchRequest {
            hops: Some(hops),
            time_respecting: in_time,
            ..SearchRequest::new(vec![address("a")], prepared.0.available.clone())
        };
        let by_frontier = transfer_paths(&prepared, &request, to).unwrap();
        let ends_of = |route: &Option<Vec<Transfer>>| -> Option<(u32, Position)> {
            route.as_ref().map(|route| checked(route, to, in_time))
        };
        prop_assert_eq!(ends_of(&by_frontier.shortest), shortest);
        let by_frontier = ends_of(&by_frontier.earliest);
        prop_assert_eq!(by_frontier.map(|(_, it)| it), earliest.map(|(_, it)| it));
        // Without a bound, the routes of as many hops as there are addresses and transfers.
        let unbounded = ask(&all, "e", None, in_time);
        let ends = walks(&all, (address("a"), to), 24, in_time);
        let shortest = unbounded.shortest.map(|route| checked(&route, to, in_time));
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
