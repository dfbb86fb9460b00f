//! Round trips: an amount that comes back to its sender in time order, through at most eight
//! addresses.
//!
//! For each transfer, a search by number of transfers keeps the earliest arrival at each address.
//! An earlier arrival can do all that a later one can, so this finds the earliest return among
//! all routes, and of those the one with the fewest transfers. Only transfers inside of a
//! strongly connected component, without hubs, can be part of one. Transfers of a trade cannot: pools and
//! their users pay each other all the time.

use super::{
    finding::{Found, Pattern, REST_PERCENT, WINDOW, counted, is_rest},
    history::History,
};
use crate::scc::strong_components;
use alloy_primitives::map::HashMap;
use std::collections::BTreeMap;
use txgraph_graph::widen;

/// The most transfers of a round trip.
const TRANSFERS: usize = 8;

pub(super) fn rule() -> String {
    format!(
        "2 to {TRANSFERS} transfers of a token in later and later transactions, within {WINDOW} \
         blocks, the last to the sender of the first; each is {REST_PERCENT} to 100 % of the \
         first. Not through trades or hubs. A transfer is part of one round trip at most: of the first sender's earliest \
         return. Rounds through the same addresses are one finding"
    )
}

pub(super) fn find(history: &History) -> Vec<Found> {
    // By the accounts of a round trip, the lowest first: its rounds.
    let mut found: BTreeMap<Vec<u32>, Vec<Vec<u32>>> = BTreeMap::new();
    for trip in trips(history) {
        let mut accounts: Vec<u32> = trip.iter().map(|it| history.get(*it).from).collect();
        let lowest = accounts.iter().min().copied();
        let at = accounts.iter().position(|it| Some(*it) == lowest);
        accounts.rotate_left(at.unwrap_or(0));
        found.entry(accounts).or_default().push(trip);
    }
    let found = found.into_values();
    found.map(|trips| round_trip(history, &trips)).collect()
}

/// All round trips, by their first transfer.
pub(super) fn trips(history: &History) -> Vec<Vec<u32>> {
    let mut is_free = parts(history);
    let mut trips = Vec::new();
    for first in (0u32..).take(is_free.len()) {
        if !is_free[first as usize] {
            continue;
        }
        let free = |number: u32| is_free[number as usize];
        if let Some(trip) = earliest_return(history, first, free) {
            (trip.iter()).for_each(|number| is_free[*number as usize] = false);
            trips.push(trip);
        }
    }
    trips
}

/// By transfer: whether it can be part of a round trip.
fn parts(history: &History) -> Vec<bool> {
    let moved = history.movements().iter();
    let can_be = |from: u32, to: u32| {
        from != to
            && ![from, to]
                .iter()
                .any(|it| history.is_zero(*it) || history.is_hub(*it))
    };
    let pairs: Vec<(u32, u32)> = moved
        .clone()
        .filter(|it| can_be(it.from, it.to))
        .map(|it| (it.from, it.to))
        .collect();
    let (component, _) = strong_components(history.account_count(), &pairs);
    (0u32..)
        .zip(moved)
        .map(|(number, it)| {
            let [from, to] = [it.from, it.to].map(|account| component[account as usize]);
            let is_move = !it.value.is_zero() && can_be(it.from, it.to);
            from == to && is_move && !history.is_trade(number)
        })
        .collect()
}

/// The earliest return of a transfer to its sender: the numbers of its transfers.
fn earliest_return(history: &History, first: u32, free: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
    let start = history.get(first);
    let last = start.block() + WINDOW;
    // By account, the transfer that arrived first; and the one before it.
    let mut arrivals: HashMap<u32, u32> = HashMap::default();
    let mut before: HashMap<u32, u32> = HashMap::default();
    let mut best: Option<u32> = None;
    arrivals.insert(start.to, first);
    let mut reached = vec![first];
    for _ in 1..TRANSFERS {
        let mut next = Vec::new();
        for arrived in reached {
            let at = history.get(arrived);
            for number in history.after(at.to, arrived, last) {
                if best.is_some_and(|best| best <= number) {
                    break;
                }
                let movement = history.get(number);
                let goes_on = movement.from == at.to
                    && free(number)
                    && movement.transaction() > at.transaction()
                    && is_rest(movement.value, start.value);
                if !goes_on {
                    continue;
                }
                if movement.to == start.from {
                    best = Some(number);
                    before.insert(number, arrived);
                    break;
                }
                let known = arrivals.get(&movement.to);
                if known.is_none_or(|known| number < *known) {
                    arrivals.insert(movement.to, number);
                    before.insert(number, arrived);
                    next.push(number);
                }
            }
        }
        // The earliest of those that arrived with this number of transfers. An arrival that one more
        // transfer finds may be earlier, and does not replace it.
        next.retain(|number| arrivals.get(&history.get(*number).to) == Some(number));
        reached = next;
    }
    let mut trip: Vec<u32> = std::iter::successors(best, |it| before.get(it).copied()).collect();
    trip.reverse();
    (!trip.is_empty()).then_some(trip)
}

/// The rounds through the same accounts.
fn round_trip(history: &History, trips: &[Vec<u32>]) -> Found {
    let first = history.get(trips[0][0]);
    let (address, asset) = history.address_and_asset(first.from);
    let mut evidence = Vec::new();
    for trip in trips {
        let back = trip.len() - 1;
        let role = |at| if at == back { "back" } else { "out" };
        evidence.extend((0..).zip(trip).map(|(at, number)| (*number, role(at))));
    }
    Found {
        pattern: Pattern::RoundTrip,
        address,
        other: None,
        asset,
        amount: trips
            .iter()
            .map(|trip| widen(history.get(trip[0]).value))
            .sum(),
        note: format!(
            "{} of {} transfers",
            counted(trips.len(), "rounds"),
            trips[0].len()
        ),
        evidence,
    }
}
