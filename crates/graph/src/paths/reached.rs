//! The walk over transfers that finds routes.

use super::Route;
use crate::{Nettings, Swap};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::Transfer;

/// How a route goes on from a transfer: the transfers that may be the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Continuation {
    /// Transfers of the same token (and id). If the transfer pays for a [`Swap`], also the transfers that
    /// lead from it to what the swap pays out, all of one transaction. Transfers of zero tokens are left
    /// out.
    #[default]
    SameToken,
    /// Transfers of any token, in order: the route shows contacts, and not that an amount went on.
    AnyToken,
}

/// The transfers that a route may contain.
pub(super) struct Rows<'a> {
    /// In total order.
    pub(super) rows: &'a [Transfer],
    /// Whether a transfer leaves an address that routes pass through.
    pub(super) passable: &'a dyn Fn(&Address) -> bool,
    /// The swaps that are known. In other transactions, any transfer may follow any other.
    pub(super) nettings: &'a Nettings,
    pub(super) in_time: bool,
    pub(super) continuation: Continuation,
}

/// The token that a route has to go on with; `None` if any will do.
type TokenKey = (Option<Address>, Option<U256>);

fn token(it: &Transfer) -> TokenKey {
    (it.token_address, it.token_id)
}

/// Transfers of a token that leave an address, in total order, of which those from `open` on are reached.
#[derive(Default)]
struct Leaving {
    rows: Vec<usize>,
    open: usize,
}

/// A row that the walk reaches: as part of a route, or inside of this swap of its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    row: usize,
    swap: Option<usize>,
}

/// The number of transfers until a state, with its own, and the state before it.
type Step = (u32, Option<State>);

/// The transfers that routes from an address reach, with the fewest transfers.
pub(super) struct Reached<'a> {
    given: Rows<'a>,
    rows: Vec<Option<Step>>,
    in_swaps: BTreeMap<State, Option<Step>>,
}

impl<'a> Reached<'a> {
    /// Walks from row to row, breadth first. Each state is reached once, so this takes as long as
    /// there are rows and swaps, whatever the number of routes.
    pub(super) fn of(given: Rows<'a>, from: Address, hops: Option<u32>) -> Self {
        let Rows {
            rows,
            nettings,
            in_time,
            ..
        } = given;
        let keeps_token = given.continuation == Continuation::SameToken;
        let asset = |it: &Transfer| keeps_token.then(|| token(it));
        let mut by_asset = BTreeMap::<_, Leaving>::new();
        let mut by_transaction = BTreeMap::<_, Vec<usize>>::new();
        for (row, it) in rows.iter().enumerate() {
            if (given.passable)(&it.from_address) {
                let leaving = by_asset.entry((it.from_address, asset(it))).or_default();
                leaving.rows.push(row);
                leaving.open = leaving.rows.len();
                if keeps_token {
                    let place = (it.from_address, it.transaction());
                    by_transaction.entry(place).or_default().push(row);
                }
            }
        }
        let mut reached = Self {
            rows: vec![None; rows.len()],
            in_swaps: BTreeMap::new(),
            given,
        };
        let mut level = Vec::new();
        // Everything that leaves the start.
        for (row, it) in rows.iter().enumerate() {
            if it.from_address == from && hops != Some(0) {
                reached.enter(State { row, swap: None }, (1, None), &mut level);
            }
        }
        let mut passed = BTreeSet::new();
        let mut hop = 1;
        while hops.is_none_or(|hops| hop < hops) && !level.is_empty() {
            hop += 1;
            let mut next = Vec::new();
            level.sort_unstable();
            for state in level {
                let it = &rows[state.row];
                let place = (it.to_address, it.transaction());
                let step = (hop, Some(state));
                let in_transaction = by_transaction.get(&place).into_iter().flatten();
                if state.swap.is_some() {
                    if passed.insert((place, state.swap)) {
                        for row in in_transaction {
                            let state = State { row: *row, ..state };
                            reached.enter(state, step, &mut next);
                        }
                    }
                    continue;
                }
                let mut enter = |row: &usize| {
                    let state = State {
                        row: *row,
                        swap: None,
                    };
                    reached.enter(state, step, &mut next);
                };
                if let Some(leaving) = by_asset.get_mut(&(it.to_address, asset(it))) {
                    let first = match in_time {
                        true => leaving.rows.partition_point(|later| *later <= state.row),
                        false => 0,
                    };
                    let rows = leaving.rows.get(first..leaving.open);
                    rows.unwrap_or_default().iter().for_each(&mut enter);
                    leaving.open = leaving.open.min(first);
                }
                if !nettings.contains_key(&place.1) && passed.insert((place, None)) {
                    in_transaction.for_each(enter);
                }
            }
            level = next;
        }
        reached
    }

    /// Takes a state if it is new, and those that begin or end a swap with the same row.
    fn enter(&mut self, state: State, step: Step, level: &mut Vec<State>) {
        let reached = match state.swap {
            None => &mut self.rows[state.row],
            Some(_) => self.in_swaps.entry(state).or_default(),
        };
        if reached.is_some() {
            return;
        }
        *reached = Some(step);
        level.push(state);
        for turn in self.turns(state) {
            self.enter(turn, (step.0, Some(state)), level);
        }
    }

    /// The swaps that a row pays for; or the row itself, if it is inside of a swap that pays it out.
    fn turns(&self, State { row, swap }: State) -> Vec<State> {
        let it = &self.given.rows[row];
        let swaps = match it.token_standard.is_fungible() {
            true => self.swaps(it),
            false => &[],
        };
        let is_turn = |(number, by): &(usize, &Swap)| match swap {
            Some(swap) => {
                *number == swap && (by.to, by.got_token) == (it.to_address, it.token_address)
            }
            None => {
                (by.address, by.given_token) == (it.from_address, it.token_address)
                    && !by.paid.contains(&it.to_address)
            }
        };
        let turns = swaps.iter().enumerate().filter(is_turn);
        let turns = turns.map(|(number, _)| State {
            row,
            swap: swap.is_none().then_some(number),
        });
        turns.collect()
    }

    /// The swaps that are known in the transaction of a row.
    fn swaps(&self, it: &Transfer) -> &'a [Swap] {
        let known = match self.given.continuation {
            Continuation::SameToken => self.given.nettings.get(&it.transaction()),
            Continuation::AnyToken => None,
        };
        known.map_or(&[], |netting| &netting.swaps)
    }

    /// The rows that arrive at `to`, each after this many transfers.
    pub(super) fn arrivals(&self, to: Address) -> impl Iterator<Item = (u32, usize)> {
        let steps = self.rows.iter().zip(self.given.rows).enumerate();
        let arrived = steps.filter(move |(_, (_, it))| it.to_address == to);
        arrived.filter_map(|(row, (step, _))| step.map(|(hop, _)| (hop, row)))
    }

    /// The states that lead to a row, with its own.
    fn states(&self, row: usize) -> Vec<State> {
        let mut states = Vec::new();
        let mut next = Some(State { row, swap: None });
        while let Some(state) = next {
            states.push(state);
            let step = match state.swap {
                None => self.rows[state.row],
                Some(_) => self.in_swaps.get(&state).copied().flatten(),
            };
            next = step.and_then(|(_, before)| before);
        }
        states.reverse();
        states
    }

    /// The rows on the way to a row that follow another one only if a swap that is not known yet leads from
    /// it to them.
    pub(super) fn unread(&self, row: usize) -> Vec<usize> {
        let Rows {
            rows,
            nettings,
            in_time,
            continuation,
            ..
        } = self.given;
        if continuation == Continuation::AnyToken {
            return Vec::new();
        }
        let states = self.states(row);
        let pairs = states.windows(2).map(|pair| (pair[0].row, pair[1].row));
        let is_unread = |(before, after): &(usize, usize)| {
            let (one, other) = (&rows[*before], &rows[*after]);
            let is_plain = token(one) == token(other) && (!in_time || before <= after);
            let place = one.transaction();
            !is_plain && place == other.transaction() && !nettings.contains_key(&place)
        };
        pairs.filter(is_unread).map(|(_, after)| after).collect()
    }

    /// The route to a row.
    pub(super) fn route(&self, row: usize) -> Route {
        let states = self.states(row);
        Route::of(states.into_iter().map(|state| {
            let it = &self.given.rows[state.row];
            (it, state.swap.map(|number| &self.swaps(it)[number]))
        }))
    }
}
