//! Routes and shared counterparties, by hand and against walks over all transfers.

use crate::{property, reading::Unreported};
use alloy_primitives::Address;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{
    Asset, Continuation, HUB_COUNTERPARTIES, LimitHit, Nettings, Route, SearchRequest,
    TransferCounts, TransferPaths, common_counterparties,
    testing::{self, MemorySource, address, name},
    transfer_flows, transfer_paths,
};
use txgraph_transfers::{Position, Transfer, TransferSource, WrappedNative};

pub(crate) const ALL: [Continuation; 2] = [Continuation::SameToken, Continuation::AnyToken];

/// A request for what leads on from `a`.
pub(crate) fn from_a(source: &MemorySource, hops: Option<u32>, in_time: bool) -> SearchRequest {
    SearchRequest {
        hops,
        time_respecting: in_time,
        ..SearchRequest::new(vec![address("a")], source.available.clone())
    }
}

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
    let request = from_a(&source, hops, in_time);
    transfer_paths(&source, &request, address(to), continuation, 1).unwrap()
}

fn text(route: Option<&Route>) -> Option<String> {
    let names = |it: &Transfer| format!("{}{}", name(it.from_address), name(it.to_address));
    Some(
        (route?.transfers.iter().map(names))
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// One user's wrap is not another one's unwrap.
#[test]
fn wrapped_coins_are_passed_within_one_transaction() {
    for (text, is_one) in [
        ("a>w:5@eth w>b:5@eth", false),
        ("|a>w:5@eth w>b:5@eth", true),
    ] {
        let source = MemorySource::new(batches(text));
        for (wrapped, continuation, in_time) in [
            (true, Continuation::SameToken, true),
            (true, Continuation::SameToken, false),
            (true, Continuation::AnyToken, true),
            (false, Continuation::SameToken, true),
        ] {
            let mut request = from_a(&source, None, in_time);
            request.wrapped_native = match wrapped {
                true => WrappedNative::Only(vec![address("w")]),
                false => WrappedNative::None,
            };
            let passes = is_one || !wrapped || continuation == Continuation::AnyToken;
            let found = transfer_paths(&source, &request, address("b"), continuation, 1).unwrap();
            assert_eq!(
                found.shortest.len(),
                usize::from(passes),
                "{text} {wrapped}"
            );
            if continuation == Continuation::SameToken {
                let found = transfer_flows(&source, &request, address("b")).unwrap();
                assert_eq!(found.flows.len(), usize::from(passes), "{text} {wrapped}");
            }
        }
    }
}

/// The transfers in order, in transactions of their own. Those between `|` are in one transaction.
fn batches(text: &str) -> Vec<Transfer> {
    let mut all = Vec::new();
    for (index, part) in (0..).zip(text.split('|')) {
        let mut part = match index % 2 {
            0 => testing::transfers(part),
            _ => testing::transactions(part),
        };
        for transfer in &mut part {
            transfer.block_number += 1000 * index;
        }
        all.extend(part);
    }
    all
}

#[test]
fn the_shortest_route_need_not_be_the_earliest() {
    let all = testing::transfers("a>b>c>d a>d");
    let found = ask(&all, "d", Some(3), true);
    assert_eq!(text(found.shortest.first()).unwrap(), "ad");
    assert_eq!(text(found.earliest.first()).unwrap(), "ab bc cd");
    assert!(found.limits.is_empty());
    let found = ask(&all, "d", Some(3), false);
    assert_eq!(text(found.shortest.first()).unwrap(), "ad");
    assert!(found.earliest.is_empty());
}

#[test]
fn a_route_follows_time_only_if_asked() {
    let all = testing::transfers("b>c a>b");
    let plain = ask(&all, "c", Some(2), false);
    assert_eq!(text(plain.shortest.first()).unwrap(), "ab bc");
    assert!(ask(&all, "c", Some(2), true).shortest.is_empty());
    assert!(ask(&all, "c", Some(1), false).shortest.is_empty());
}

#[test]
fn a_route_keeps_its_token_or_swaps_it_in_one_transaction() {
    let route = |text: &str, to: &str, continuation| {
        let all = testing::transfers(text);
        let found = ask_with(&all, to, Some(6), true, continuation);
        self::text(found.shortest.first())
    };
    let [same, any] = ALL;
    // Two transactions, two tokens.
    let apart = "a>b b>c@U";
    assert_eq!(route(apart, "c", same), None);
    assert_eq!(route(apart, "c", any).unwrap(), "ab bc");
    // One of the same token leaves later.
    assert_eq!(route("a>b b>c@U b>d b>c", "c", same).unwrap(), "ab bc");
    // A pool pays out before it is paid, in one transaction.
    let swap = batches("a>r | p>r@U r>p | r>b@U b>c@U");
    let found = ask(&swap, "c", Some(6), true);
    assert_eq!(text(found.shortest.first()).unwrap(), "ar rp pr rb bc");
    assert!(ask(&swap, "c", Some(4), true).shortest.is_empty());
    // It pays another address.
    let found = ask(&batches("a>r | p>b@U r>p | b>c@U"), "c", Some(6), true);
    assert_eq!(text(found.shortest.first()).unwrap(), "ar rp pb bc");
    // One token goes forward in time, also within a transaction.
    let batch = testing::transactions("x>c a>x");
    assert!(ask(&batch, "c", Some(6), true).shortest.is_empty());
    let found = ask(&batch, "c", Some(6), false);
    assert_eq!(text(found.shortest.first()).unwrap(), "ax xc");
    // Transfers of nothing show contacts only.
    assert_eq!(route("a>b:0 b>c", "c", same), None);
    assert_eq!(route("a>b:0 b>c", "c", any).unwrap(), "ab bc");
}

#[test]
fn a_swap_is_of_one_amount() {
    // Two addresses swap in one transaction, and each gets what it paid for.
    let pool = "s>p:5@T c>p:6@T p>s:7@U p>c:8@U";
    let all = batches(&format!("a>s:9@T | {pool} | s>b:4@U c>d:4@U"));
    let route = |to, continuation| {
        let found = ask_with(&all, to, Some(6), true, continuation);
        text(found.shortest.first())
    };
    let [same, any] = ALL;
    assert_eq!(route("d", same), None);
    assert_eq!(route("d", any).unwrap(), "as sp pc cd");
    assert_eq!(route("b", same).unwrap(), "as sp ps sb");
    // What was paid in several transfers counts as a whole.
    let all = batches("a>s:9@T | s>p:2@T s>q:3@T p>s:4@U q>s:5@U | s>b:8@U");
    let found = ask(&all, "b", Some(6), true).shortest.remove(0);
    let most = found.legs.iter().map(|leg| leg.at_most.to::<u64>());
    assert_eq!(most.collect::<Vec<_>>(), [5, 8]);
    let swap = found.legs[1].swap.as_ref().unwrap();
    assert_eq!((swap.given.to::<u64>(), swap.got.to::<u64>()), (5, 9));
    assert_eq!(text(Some(&found)).unwrap(), "as sp ps sb");
}

#[test]
fn no_route_passes_through_the_zero_address() {
    let all = testing::transfers("a>0>c");
    assert!(ask(&all, "c", Some(4), false).shortest.is_empty());
    assert!(!ask(&all, "0", Some(4), false).shortest.is_empty());
}

/// `hub` pays `users` addresses, and then `a` pays `b` through it.
fn through_a_hub(users: u32) -> Vec<Transfer> {
    let paid = (0..users).map(|user| format!("hub>u{user}"));
    let paid: Vec<_> = paid
        .chain(["a>hub".to_owned(), "hub>b".to_owned()])
        .collect();
    testing::transfers(&paid.join(" "))
}

#[test]
fn hubs_are_named() {
    for (users, is_hub) in [
        (HUB_COUNTERPARTIES - 2, false),
        (HUB_COUNTERPARTIES - 1, true),
    ] {
        let transfers = through_a_hub(users);
        let hubs = if is_hub {
            vec![address("hub")]
        } else {
            Vec::new()
        };
        for hops in [Some(2), None] {
            let found = ask(&transfers, "b", hops, true);
            assert_eq!(
                [&found.shortest[0].hubs, &found.earliest[0].hubs],
                [&hubs; 2]
            );
        }
        let source = MemorySource::new(transfers);
        let roots = ["a", "b"].map(address).to_vec();
        let request = SearchRequest::new(roots, source.available.clone());
        let common = common_counterparties(&source, &request).unwrap();
        let own = (!is_hub).then_some(u64::from(users) + 2);
        assert_eq!(common.counterparties[0].counterparties, own);
    }
}

/// A source that answers by frontier counts them in the same blocks as any other.
#[test]
fn no_route_passes_through_a_hub_of_later_blocks() {
    let source = Unreported(MemorySource::new(testing::transfers(
        "a>h>x>y>b a>b h>u h>v",
    )));
    let mut request = from_a(&source.0, Some(4), true);
    for (max_degree, earliest) in [(3, "ab"), (4, "ah hx xy yb")] {
        request.max_degree = Some(max_degree);
        for source in [&source as &dyn TransferSource, &source.0] {
            let found =
                transfer_paths(source, &request, address("b"), Continuation::SameToken, 1).unwrap();
            assert_eq!(text(found.earliest.first()).unwrap(), earliest);
        }
    }
    // The halves of a search meet at the hub, and neither expands it.
    for (max_degree, is_found) in [(1, false), (2, true)] {
        let source = MemorySource::new(testing::transfers("a>h>b"));
        let mut request = from_a(&source, Some(2), true);
        request.max_degree = Some(max_degree);
        let to = address("b");
        let found = transfer_paths(&source, &request, to, Continuation::SameToken, 1).unwrap();
        assert_eq!(!found.shortest.is_empty(), is_found);
        let limit = LimitHit::MaxDegree {
            limit: 1,
            vertices: 1,
        };
        assert_eq!(found.limits.contains(&limit), !is_found);
    }
}

#[test]
fn refuses_a_route_from_an_address_to_itself() {
    let source = MemorySource::new(testing::transfers("a>b"));
    let request = SearchRequest::new(vec![address("a")], source.available.clone());
    assert!(transfer_paths(&source, &request, address("a"), Continuation::SameToken, 1).is_err());
    assert!(common_counterparties(&source, &request).is_err());
}

/// A transfer, as part of a route, or inside of this swap of its transaction.
pub(crate) type State = (usize, Option<usize>);

/// The rules by which routes go on, without regard to speed.
pub(crate) struct Rules<'a> {
    pub(crate) all: &'a [Transfer],
    nettings: Nettings,
    pub(crate) to: Address,
    pub(crate) in_time: bool,
    pub(crate) continuation: Continuation,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(
        all: &'a [Transfer],
        to: Address,
        in_time: bool,
        continuation: Continuation,
    ) -> Self {
        Self {
            all,
            nettings: testing::nettings(all),
            to,
            in_time,
            continuation,
        }
    }

    pub(crate) fn moves(&self, row: usize) -> bool {
        let it = &self.all[row];
        let carries = self.continuation == Continuation::AnyToken || !it.value.is_zero();
        it.from_address != it.to_address && carries
    }

    /// The state, and those that begin or end a swap with the same transfer.
    pub(crate) fn with_turns(&self, (row, swap): State) -> BTreeSet<State> {
        let mut states = BTreeSet::from([(row, swap)]);
        let it = &self.all[row];
        if self.continuation == Continuation::AnyToken || !it.token_standard.is_fungible() {
            return states;
        }
        let swaps = &self.nettings[&it.transaction()].swaps;
        if let Some(number) = swap
            && (swaps[number].to, swaps[number].got_token) == (it.to_address, it.token_address)
        {
            states.extend(self.with_turns((row, None)));
        }
        if swap.is_none() {
            states.extend((0..swaps.len()).filter_map(|number| {
                let swap = &swaps[number];
                let pays = (swap.address, swap.given_token) == (it.from_address, it.token_address);
                (pays && !swap.paid.contains(&it.to_address)).then_some((row, Some(number)))
            }));
        }
        states
    }

    /// The states of the row `after` that follow a state.
    pub(crate) fn after(&self, (row, swap): State, after: usize) -> BTreeSet<State> {
        let (before, next) = (&self.all[row], &self.all[after]);
        let here = before.to_address;
        let is_end = here == self.to || here == address("a") || here.is_zero();
        let is_passed = !is_end && here == next.from_address;
        let is_later = !self.in_time || before.position() < next.position();
        let token = |it: &Transfer| (it.token_address, it.token_id);
        let goes_on = match (swap, self.continuation) {
            (Some(_), _) => before.transaction() == next.transaction(),
            (None, Continuation::AnyToken) => is_later,
            (None, Continuation::SameToken) => is_later && token(before) == token(next),
        };
        match is_passed && goes_on && self.moves(after) {
            true => self.with_turns((after, swap)),
            false => BTreeSet::new(),
        }
    }

    /// The ends of all walks from `from`: their lengths and last transfers.
    fn walks(&self, from: Address, hops: u32) -> BTreeSet<(u32, Position)> {
        let mut ends = BTreeSet::new();
        let rows = 0..self.all.len();
        let starts = rows
            .clone()
            .filter(|row| self.all[*row].from_address == from && self.moves(*row));
        let mut open: BTreeSet<State> = starts
            .flat_map(|row| self.with_turns((row, None)))
            .collect();
        for length in 1..=hops {
            let arrived = open.iter().filter(|(_, swap)| swap.is_none());
            let arrived = arrived.map(|(row, _)| &self.all[*row]);
            let arrived = arrived.filter(|it| it.to_address == self.to);
            ends.extend(arrived.map(|it| (length, it.position())));
            let next = |state: &State| {
                let state = *state;
                rows.clone().flat_map(move |after| self.after(state, after))
            };
            open = open.iter().flat_map(next).collect();
        }
        ends
    }

    /// Checks that a route is one, and returns its length and last transfer.
    pub(crate) fn checked(&self, route: &Route) -> (u32, Position) {
        let rows = route.transfers.iter().map(|it| {
            let found = self
                .all
                .iter()
                .position(|other| other.position() == it.position());
            found.unwrap()
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(self.all[rows[0]].from_address, address("a"));
        let mut open = self.with_turns((rows[0], None));
        for after in &rows[1..] {
            let next = open.iter().flat_map(|state| self.after(*state, *after));
            open = next.collect();
        }
        let last = rows[rows.len() - 1];
        assert!(open.contains(&(last, None)), "{route:?}");
        self.check_legs(route);
        assert_eq!(self.all[last].to_address, self.to);
        (rows.len() as u32, self.all[last].position())
    }

    fn check_legs(&self, route: &Route) {
        let mut end = 0;
        for (number, leg) in route.legs.iter().enumerate() {
            let moved = &route.transfers[leg.transfers.clone()];
            let is_whole =
                |it: &Transfer| (Asset::of(it), it.token_id) == (leg.asset, leg.token_id);
            assert!(!moved.is_empty() && moved.iter().all(is_whole));
            match &leg.swap {
                Some(swap) => {
                    assert!(self.nettings[&moved[0].transaction()].swaps.contains(swap));
                    assert_eq!(
                        moved[0].transaction(),
                        route.transfers[end - 1].transaction()
                    );
                    assert!(leg.at_most <= swap.got);
                }
                None => assert_eq!(leg.transfers.start, end),
            }
            let most = moved.iter().map(|it| it.value).max().unwrap();
            // A swap can be paid, and pay out, in several transfers.
            let pays = (route.legs.get(number + 1)).is_some_and(|next| next.swap.is_some());
            assert!(leg.at_most <= most || leg.swap.is_some() || pays);
            end = leg.transfers.end;
        }
        assert_eq!(end, route.transfers.len());
    }
}

/// Transfers, of which one to three in a block are of one transaction.
pub(crate) fn grouped() -> impl Strategy<Value = Vec<Transfer>> {
    let all = property::transfers("a b c d e 0", 24);
    (all, 1u32..4).prop_map(|(mut all, size)| {
        for transfer in &mut all {
            if size > 1 && transfer.log_index.is_some() {
                transfer.log_index = Some(transfer.transaction_index);
                transfer.transaction_index /= size;
            }
        }
        all.sort_by_key(Transfer::position);
        all.dedup_by_key(|it| it.position());
        all
    })
}

/// Transfers in transactions, many of which are swaps.
pub(crate) fn swapping() -> impl Strategy<Value = Vec<Transfer>> {
    let name = || 0usize..5;
    let token = || 0usize..3;
    let single = (name(), name(), token(), 0u64..4);
    let single = proptest::collection::vec(single, 1..3);
    let swap = (name(), name(), name(), token(), token(), 1u64..4);
    let swap = (
        swap,
        any::<bool>(),
        proptest::option::weighted(0.3, name()),
        proptest::option::weighted(0.2, single.clone()),
    );
    let swap = swap.prop_map(
        |((from, pool, to, given, got, value), is_other, fee, beside)| {
            let to = if is_other { to } else { from };
            let mut all = vec![(pool, to, got, value), (from, pool, given, value + 1)];
            all.extend(fee.map(|collector| (pool, collector, got, 1)));
            all.extend(beside.into_iter().flatten());
            all
        },
    );
    let others = proptest::collection::vec(prop_oneof![1 => single, 2 => swap], 0..6);
    // Between others: b is paid by a, swaps with c or d, and pays e.
    let planted = (2usize..4, proptest::array::uniform3(0usize..6));
    (others, planted).prop_map(|(mut all, (pool, mut places))| {
        places.sort_unstable();
        let rows = [
            vec![(0, 1, 0, 3)],
            vec![(pool, 1, 1, 2), (1, pool, 0, 3)],
            vec![(1, 4, 1, 2)],
        ];
        for (place, rows) in places.into_iter().zip(rows).rev() {
            all.insert(place.min(all.len()), rows);
        }
        let words = all.iter().map(|rows| {
            let word = |(from, to, token, value): &(usize, usize, usize, u64)| {
                let name = |at: &usize| ["a", "b", "c", "d", "e"][*at];
                let token = ["T", "U", "eth"][*token];
                format!("{}>{}:{value}@{token}", name(from), name(to))
            };
            rows.iter().map(word).collect::<Vec<_>>().join(" ")
        });
        testing::transactions(&words.collect::<Vec<_>>().join("|"))
    })
}

proptest! {
    #[test]
    fn routes_are_those_of_all_walks(
        all in prop_oneof![grouped(), swapping()],
        hops in 1u32..6,
        in_time: bool,
        continuation in proptest::sample::select(&ALL),
    ) {
        let rules = Rules::new(&all, address("e"), in_time, continuation);
        let checked = |routes: &[Route]| routes.first().map(|route| rules.checked(route));
        let ends = rules.walks(address("a"), hops);
        let found = ask_with(&all, "e", Some(hops), in_time, continuation);
        let shortest = checked(&found.shortest);
        prop_assert_eq!(shortest, ends.first().copied());
        let earliest = checked(&found.earliest).map(|(_, position)| position);
        let first = ends.iter().map(|(_, position)| *position).min();
        prop_assert_eq!(earliest, first.filter(|_| in_time));
        // A source that answers by frontier is asked for more and more hops.
        let prepared = Unreported(MemorySource::new(all.clone()));
        let request = from_a(&prepared.0, Some(hops), in_time);
        let by_frontier = transfer_paths(&prepared, &request, rules.to, continuation, 1).unwrap();
        prop_assert_eq!(checked(&by_frontier.shortest), shortest);
        let by_frontier = checked(&by_frontier.earliest).map(|(_, position)| position);
        prop_assert_eq!(by_frontier, earliest);
        // Without a bound, the routes of as many hops as there are addresses and transfers.
        let unbounded = ask_with(&all, "e", None, in_time, continuation);
        let ends = rules.walks(address("a"), 48);
        prop_assert_eq!(checked(&unbounded.shortest), ends.first().copied());
    }

    #[test]
    fn shared_counterparties_are_those_of_all_transfers(
        all in property::transfers("a b c d 0", 24),
    ) {
        let source = MemorySource::new(all.clone());
        let roots = [address("a"), address("b")];
        let request = SearchRequest::new(roots.to_vec(), source.available.clone());
        let found = common_counterparties(&source, &request).unwrap().counterparties;
        let between = |from: Address, to: Address| -> Vec<u64> {
            let is_between = |it: &&Transfer| {
                (it.from_address, it.to_address) == (from, to) && !it.value.is_zero()
            };
            all.iter().filter(is_between).map(|it| it.block_number).collect()
        };
        let mut naive = BTreeMap::new();
        for other in ["a", "b", "c", "d"].map(address) {
            let with: BTreeMap<_, _> = roots
                .into_iter()
                .filter(|root| *root != other)
                .map(|root| {
                    let (sent, received) = (between(root, other), between(other, root));
                    let blocks = || sent.iter().chain(&received).copied();
                    let counts = TransferCounts {
                        sent: sent.len() as u64,
                        received: received.len() as u64,
                        first_block: blocks().min().unwrap_or_default(),
                        last_block: blocks().max().unwrap_or_default(),
                    };
                    (root, counts)
                })
                .filter(|(_, it)| it.sent + it.received > 0)
                .collect();
            if with.len() == roots.len() {
                naive.insert(other, with);
            }
        }
        for it in &found {
            let others: BTreeSet<_> = (all.iter())
                .flat_map(|row| [(row.from_address, row.to_address), (row.to_address, row.from_address)])
                .filter_map(|(own, other)| (own == it.address && own != other).then_some(other))
                .collect();
            prop_assert_eq!(it.counterparties, Some(others.len() as u64));
        }
        let total = |with: &BTreeMap<Address, TransferCounts>| -> u64 {
            with.values().map(|it| it.sent + it.received).sum()
        };
        prop_assert!(found.is_sorted_by_key(|it| (std::cmp::Reverse(total(&it.with)), it.address)));
        let found: BTreeMap<_, _> = found.into_iter().map(|it| (it.address, it.with)).collect();
        prop_assert_eq!(found, naive);
    }
}
