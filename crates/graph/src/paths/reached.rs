//! The walk over transfers that finds routes.

use super::Route;
use crate::{Nettings, Swap};
use alloy_primitives::{Address, U256, map::HashMap};
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

/// The token that a route has to go on with; `None` if any will do.
type TokenKey = (Option<Address>, Option<U256>);

fn token(it: &Transfer) -> TokenKey {
    (it.token_address, it.token_id)
}

/// The transfers that a route may contain.
pub(super) struct Rows<'a> {
    /// In total order.
    rows: &'a [Transfer],
    /// The transactions with several tokens: a swap moves two.
    mixed: HashMap<(u64, u32), &'a [Transfer]>,
    /// The rows that leave an address that routes pass through, by asset, in total order.
    by_asset: HashMap<(Address, Option<TokenKey>), usize>,
    leaving: Vec<Vec<usize>>,
    /// The rows that leave such an address, by transaction with several tokens.
    by_transaction: HashMap<(Address, (u64, u32)), Vec<usize>>,
    continuation: Continuation,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        rows: &'a [Transfer],
        passable: impl Fn(&Address) -> bool,
        continuation: Continuation,
    ) -> Self {
        let keeps_token = continuation == Continuation::SameToken;
        let transactions = rows.chunk_by(|one, other| one.transaction() == other.transaction());
        let mixed = transactions.filter(|all| {
            let mut all = all.iter().map(token);
            let first = all.next();
            keeps_token && all.any(|it| Some(it) != first)
        });
        let mut it = Self {
            rows,
            mixed: mixed.map(|all| (all[0].transaction(), all)).collect(),
            by_asset: HashMap::default(),
            leaving: Vec::new(),
            by_transaction: HashMap::default(),
            continuation,
        };
        for (row, transfer) in rows.iter().enumerate() {
            let (from, place) = (transfer.from_address, transfer.transaction());
            if passable(&from) {
                let key = (from, it.asset(transfer));
                let group = *it.by_asset.entry(key).or_insert(it.leaving.len());
                it.leaving
                    .resize_with(it.leaving.len().max(group + 1), Vec::new);
                it.leaving[group].push(row);
                if it.mixed.contains_key(&place) {
                    it.by_transaction
                        .entry((from, place))
                        .or_default()
                        .push(row);
                }
            }
        }
        it
    }

    /// The transfers of all transactions with several tokens.
    pub(super) fn mixed(&self) -> impl Iterator<Item = &'a Transfer> {
        self.mixed.values().copied().flatten()
    }

    fn asset(&self, it: &Transfer) -> Option<TokenKey> {
        (self.continuation == Continuation::SameToken).then(|| token(it))
    }
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
    given: &'a Rows<'a>,
    nettings: &'a Nettings,
    in_time: bool,
    rows: Vec<Option<Step>>,
    in_swaps: BTreeMap<State, Option<Step>>,
}

impl<'a> Reached<'a> {
    /// Walks from row to row, breadth first. Each state is reached once, so this takes as long as
    /// there are rows and swaps, whatever the number of routes. `nettings`: the swaps that are known. In
    /// other transactions with several tokens, any transfer may follow any other.
    pub(super) fn of(
        given: &'a Rows<'a>,
        nettings: &'a Nettings,
        from: Address,
        hops: Option<u32>,
        in_time: bool,
    ) -> Self {
        let rows = given.rows;
        let mut reached = Self {
            given,
            nettings,
            in_time,
            rows: vec![None; rows.len()],
            in_swaps: BTreeMap::new(),
        };
        // Of each group, the rows from here on are reached.
        let mut open: Vec<_> = given.leaving.iter().map(Vec::len).collect();
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
                let in_transaction = given.by_transaction.get(&place).into_iter().flatten();
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
                if let Some(group) = given.by_asset.get(&(it.to_address, given.asset(it))) {
                    let leaving = &given.leaving[*group];
                    let first = match in_time {
                        true => leaving.partition_point(|later| *later <= state.row),
                        false => 0,
                    };
                    let rows = leaving.get(first..open[*group]);
                    rows.unwrap_or_default().iter().for_each(&mut enter);
                    open[*group] = open[*group].min(first);
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
            Continuation::SameToken => self.nettings.get(&it.transaction()),
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
        let Rows { rows, mixed, .. } = self.given;
        let states = self.states(row);
        let pairs = states.windows(2).map(|pair| (pair[0].row, pair[1].row));
        let is_unread = |(before, after): &(usize, usize)| {
            let (one, other) = (&rows[*before], &rows[*after]);
            let is_plain = token(one) == token(other) && (!self.in_time || before <= after);
            let place = one.transaction();
            let is_unknown = mixed.contains_key(&place) && !self.nettings.contains_key(&place);
            is_unknown && !is_plain && place == other.transaction()
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
