//! Several routes, compared with all routes that do not come back.

use crate::{
    paths::{ALL, Rules, State, from_a, grouped, swapping},
    reading::Unreported,
};
use alloy_primitives::{Address, U256};
use proptest::prelude::*;
use std::collections::BTreeSet;
use txgraph_graph::{
    Continuation, ROUTES_MAX, Route, RoutesCut, TransferPaths,
    testing::{self, MemorySource, address, name},
    transfer_paths,
};
use txgraph_transfers::{Position, Transfer};

/// The place that a state arrives at: with an asset, or inside of a swap of a transaction.
type Place = (
    Address,
    Result<(Option<Address>, Option<U256>), ((u64, u32), usize)>,
);

impl Rules<'_> {
    fn place(&self, (row, swap): State) -> Place {
        let it = &self.all[row];
        let asset = match self.continuation {
            Continuation::SameToken => (it.token_address, it.token_id),
            Continuation::AnyToken => (None, None),
        };
        let at = swap.map_or(Ok(asset), |swap| Err((it.transaction(), swap)));
        (it.to_address, at)
    }

    /// Whether a state comes back to where the route was: at once, or later in time.
    fn is_back(&self, route: &[State], state: State) -> bool {
        let place = self.place(state);
        let is_before = |earlier: &&State| !self.in_time || earlier.0 <= state.0;
        let mut route = route.iter().filter(is_before);
        route.any(|earlier| self.place(*earlier) == place)
    }

    /// All routes that do not come back, by their rows.
    fn loopless(&self, hops: usize) -> BTreeSet<Vec<usize>> {
        let mut found = BTreeSet::new();
        for row in 0..self.all.len() {
            if self.all[row].from_address == address("a") && self.moves(row) {
                for state in self.with_turns((row, None)) {
                    self.extend(&mut Vec::new(), state, hops, &mut found);
                }
            }
        }
        found
    }

    fn extend(
        &self,
        route: &mut Vec<State>,
        state: State,
        hops: usize,
        found: &mut BTreeSet<Vec<usize>>,
    ) {
        let is_used = route.iter().any(|(row, _)| *row == state.0);
        if route.len() >= hops || is_used || self.is_back(route, state) {
            return;
        }
        route.push(state);
        if state.1.is_none() && self.all[state.0].to_address == self.to {
            found.insert(route.iter().map(|(row, _)| *row).collect());
        }
        for after in 0..self.all.len() {
            for next in self.after(state, after) {
                self.extend(route, next, hops, found);
            }
        }
        route.pop();
    }

    fn rows(&self, route: &Route) -> Vec<usize> {
        let row = |it: &Transfer| self.all.iter().position(|other| other == it).unwrap();
        route.transfers.iter().map(row).collect()
    }

    /// The length and the arrival of some rows.
    fn rank(&self, rows: &[usize]) -> (usize, Position) {
        (rows.len(), self.all[rows[rows.len() - 1]].position())
    }
}

fn ask(text: &str, to: &str, routes: usize) -> TransferPaths {
    let source = MemorySource::new(testing::transfers(text));
    let request = from_a(&source, Some(6), true);
    transfer_paths(
        &source,
        &request,
        address(to),
        Continuation::SameToken,
        routes,
    )
    .unwrap()
}

fn text(routes: &[Route]) -> Vec<String> {
    let words = |route: &Route| {
        let names = |it: &Transfer| format!("{}{}", name(it.from_address), name(it.to_address));
        let names: Vec<_> = route.transfers.iter().map(names).collect();
        names.join(" ")
    };
    routes.iter().map(words).collect()
}

#[test]
fn several_routes_are_in_either_order() {
    // Two equal transfers are two routes; b and c are not passed twice.
    let all = "a>b b>c c>b b>d a>d a>c c>d b>d";
    let found = ask(all, "d", 10);
    assert_eq!(
        text(&found.shortest),
        ["ad", "ab bd", "ac cd", "ab bd", "ab bc cd"]
    );
    assert_eq!(
        text(&found.earliest),
        ["ab bd", "ad", "ac cd", "ab bc cd", "ab bd"]
    );
    assert_eq!(found.cut, None);
    let few = ask(all, "d", 2);
    assert_eq!(few.shortest, found.shortest[..2]);
    assert_eq!(few.earliest, found.earliest[..2]);
    assert_eq!(few.cut, Some(RoutesCut::Count));
    // For a single route, others are not looked for.
    assert_eq!(ask(all, "d", 1).cut, None);
    assert_eq!(ask(all, "d", 5).cut, None);
}

#[test]
fn the_number_of_routes_is_bounded() {
    let source = MemorySource::new(testing::transfers("a>b"));
    let request = from_a(&source, Some(6), true);
    let ask = |routes| {
        let same = Continuation::SameToken;
        transfer_paths(&source, &request, address("b"), same, routes)
    };
    assert!(ask(0).is_err() && ask(ROUTES_MAX + 1).is_err());
    assert_eq!(ask(ROUTES_MAX).unwrap().shortest.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn several_routes_are_the_first_of_all(
        all in prop_oneof![grouped(), swapping()],
        hops in 1u32..6,
        in_time: bool,
        continuation in proptest::sample::select(&ALL),
        routes in 1usize..12,
    ) {
        let rules = Rules::new(&all, address("e"), in_time, continuation);
        let loopless = rules.loopless(hops as usize);
        let mut shortest: Vec<_> = loopless.iter().map(|rows| rules.rank(rows)).collect();
        let mut earliest = shortest.clone();
        shortest.sort_unstable();
        earliest.sort_unstable_by_key(|(length, arrival)| (*arrival, *length));
        if !in_time {
            earliest.clear();
        }
        let is_cut = routes > 1 && loopless.len() > routes;
        let source = MemorySource::new(all.clone());
        let request = from_a(&source, Some(hops), in_time);
        let whole = transfer_paths(&source, &request, rules.to, continuation, routes).unwrap();
        // A source that answers by frontier is asked for more and more hops.
        let source = Unreported(source);
        let by_frontier = transfer_paths(&source, &request, rules.to, continuation, routes).unwrap();
        for found in [whole, by_frontier] {
            for (found, expected) in [(&found.shortest, &shortest), (&found.earliest, &earliest)] {
                let rows: Vec<_> = found.iter().map(|route| rules.rows(route)).collect();
                let ranks: Vec<_> = rows.iter().map(|rows| rules.rank(rows)).collect();
                prop_assert_eq!(&ranks[..], &expected[..expected.len().min(routes)]);
                prop_assert!(rows.iter().all(|rows| loopless.contains(rows)));
                prop_assert_eq!(rows.iter().collect::<BTreeSet<_>>().len(), rows.len());
                for route in found {
                    rules.checked(route);
                }
            }
            prop_assert_eq!(found.cut, is_cut.then_some(RoutesCut::Count));
        }
    }
}
