//! The walk over transfers that finds a route.

use super::states::{Place, Query, State};
use alloy_primitives::{
    Address,
    map::{HashMap, HashSet},
};
use std::collections::BTreeSet;

/// The routes that come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The routes with the fewest transfers, and of these the ones that arrive first.
    Shortest,
    /// The routes that arrive first, and of these the ones with the fewest transfers.
    Earliest,
}

/// The place of a route in an order.
type Rank = (u64, u64);

impl Order {
    /// The rank of a route with this many transfers, by its last row.
    fn rank(self, hops: u32, row: usize) -> Rank {
        let (hops, row) = (u64::from(hops), row as u64);
        match self {
            Self::Shortest => (hops, row),
            Self::Earliest => (row, hops),
        }
    }
}

/// The rank of a route, and the route.
pub(super) type Found = (Rank, Vec<State>);

/// The first route in an order that begins with `root`, with none of `banned` after it. `steps` counts
/// the transfers that are looked at. It can have a transfer twice, as a part of two swaps.
pub(super) fn first(
    asked: Query<'_>,
    order: Order,
    root: &[State],
    banned: &[State],
    steps: &mut u64,
) -> Option<Found> {
    let mut reached = Reached::new(asked, order, root);
    reached.walk(root, banned);
    *steps += reached.steps;
    let rank = |(hops, row): &(u32, usize)| order.rank(*hops, *row);
    let last = reached.arrivals.iter().copied().min_by_key(rank)?;
    let state = State {
        row: last.1,
        swap: None,
    };
    let mut states = reached.states(state);
    states.splice(0..0, root.iter().copied());
    Some((rank(&last), states))
}

/// The number of transfers until a state, with its own, and the state before it.
type Step = (u32, Option<State>);

/// A walk over states, breadth first. Each is reached once, with the fewest transfers, so this takes as long
/// as there are rows and swaps, whatever the number of routes.
struct Reached<'a> {
    asked: Query<'a>,
    order: Order,
    reached: HashMap<State, Step>,
    /// The states that were arrived at, before their turns.
    entered: HashSet<State>,
    /// The places of the route so far, with the first row that arrived at each, and its rows.
    closed: HashMap<Place, usize>,
    root: BTreeSet<usize>,
    /// The rows from here on were entered, of each group.
    open: HashMap<usize, usize>,
    /// The addresses from which all rows of a transaction were entered, and the swap that they are inside
    /// of.
    passed: BTreeSet<(Address, (u64, u32), Option<usize>)>,
    /// The arrivals at the end: their numbers of transfers, and rows.
    arrivals: Vec<(u32, usize)>,
    /// Later rows are of no use.
    last_row: usize,
    steps: u64,
}

impl<'a> Reached<'a> {
    fn new(asked: Query<'a>, order: Order, root: &[State]) -> Self {
        let mut closed = HashMap::default();
        for state in root {
            if let Some(place) = asked.place(*state) {
                let first = closed.entry(place).or_insert(state.row);
                *first = state.row.min(*first);
            }
        }
        Self {
            asked,
            order,
            reached: HashMap::default(),
            entered: HashSet::default(),
            closed,
            root: root.iter().map(|state| state.row).collect(),
            open: HashMap::default(),
            passed: BTreeSet::new(),
            arrivals: Vec::new(),
            last_row: usize::MAX,
            steps: 0,
        }
    }

    fn walk(&mut self, root: &[State], banned: &[State]) {
        let Query { given, hops, .. } = self.asked;
        let is_too_long = |hop: u32| hops.is_some_and(|hops| hop > hops);
        let length = u32::try_from(root.len()).unwrap_or(u32::MAX);
        let mut hop = length.saturating_add(1);
        let mut level = Vec::new();
        if !is_too_long(hop) {
            let first = match root.last() {
                None => (given.starts().iter())
                    .map(|row| State {
                        row: *row,
                        swap: None,
                    })
                    .collect(),
                Some(last) => self.after(*last),
            };
            for state in first {
                self.enter(state, (hop, None), banned, &mut level);
            }
            if !banned.is_empty() {
                // What is banned here may be reached in another way.
                self.open.clear();
                self.passed.clear();
                self.entered.clear();
            }
        }
        while !level.is_empty() && !self.is_done() && !is_too_long(hop.saturating_add(1)) {
            hop += 1;
            let mut next = Vec::new();
            level.sort_unstable();
            for state in level {
                for after in self.after(state) {
                    self.enter(after, (hop, Some(state)), &[], &mut next);
                }
            }
            level = next;
        }
    }

    /// Whether all other routes are longer.
    fn is_done(&self) -> bool {
        self.order == Order::Shortest && !self.arrivals.is_empty()
    }

    /// The states that can follow a state, before their turns. Without those that followed another state
    /// that they can follow as well.
    fn after(&mut self, State { row, swap }: State) -> Vec<State> {
        let Query { given, in_time, .. } = self.asked;
        let it = &given.all()[row];
        let mut rows = Vec::new();
        if swap.is_none()
            && let Some((group, leaving)) = given.leaving(it)
        {
            let first = match in_time {
                true => leaving.partition_point(|later| *later <= row),
                false => 0,
            };
            let end = self.open.entry(group).or_insert(leaving.len());
            rows.extend(leaving.get(first..*end).unwrap_or_default());
            *end = first.min(*end);
        }
        let passed = (it.to_address, it.transaction(), swap);
        let is_together = swap.is_some() || self.asked.is_unread(it);
        if is_together && self.passed.insert(passed) {
            rows.extend(given.leaving_together(it));
        }
        rows.into_iter().map(|row| State { row, swap }).collect()
    }

    /// Takes a state if it is new, and those that begin or end a swap with the same row.
    fn enter(&mut self, state: State, step: Step, banned: &[State], level: &mut Vec<State>) {
        self.steps += 1;
        if state.row > self.last_row || !self.entered.insert(state) {
            return;
        }
        let asked = self.asked;
        if !banned.contains(&state) && !self.is_closed(state) && !self.reached.contains_key(&state)
        {
            self.reached.insert(state, step);
            level.push(state);
            if state.swap.is_none() && asked.given.all()[state.row].to_address == asked.to {
                self.arrive(step.0, state.row);
            }
        }
        for turn in asked.turns(state) {
            self.enter(turn, step, banned, level);
        }
    }

    /// Whether the route so far was at the place of a state, or has its transfer.
    fn is_closed(&self, state: State) -> bool {
        let asked = &self.asked;
        if self.root.contains(&state.row) {
            return true;
        }
        let place = asked.place(state);
        let first = place.and_then(|place| self.closed.get(&place));
        first.is_some_and(|first| asked.is_back(*first, state.row))
    }

    fn arrive(&mut self, hops: u32, row: usize) {
        self.arrivals.push((hops, row));
        if self.order == Order::Earliest {
            // Rows of the same transaction can lead to an earlier one through a swap.
            let rows = self.asked.given.all();
            let place = rows[row].transaction();
            let last = rows.partition_point(|it| it.transaction() <= place);
            self.last_row = self.last_row.min(last - 1);
        }
    }

    /// The states that lead to one, with its own.
    fn states(&self, state: State) -> Vec<State> {
        let mut states = Vec::new();
        let mut next = Some(state);
        while let Some(state) = next {
            states.push(state);
            next = self.reached.get(&state).and_then(|(_, before)| *before);
        }
        states.reverse();
        states
    }
}
