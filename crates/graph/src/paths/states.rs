//! The states of routes: transfers, and the swaps that they are a part of.

use super::Route;
use crate::{Nettings, Swap};
use alloy_primitives::{Address, U256, map::HashMap};
use std::collections::BTreeMap;
use txgraph_transfers::{AddressSet, Transfer};

/// How a route goes on from a transfer: the transfers that may be the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Continuation {
    /// Transfers of the same token (and id). If the transfer pays for a [`Swap`], also the transfers that
    /// lead from it to what the swap pays out, all of one transaction. Transfers of zero tokens are left
    /// out. The contract of a wrapped coin holds the coins of all its users, so a route passes it only within
    /// one transaction.
    #[default]
    SameToken,
    /// Transfers of any token, in order: the route shows contacts, and not that an amount went on.
    AnyToken,
}

/// Where a route goes on: an address, the token, if it has to stay the same, and the transaction, if it
/// cannot leave that.
type GroupKey = (Address, Option<TokenKey>, Option<(u64, u32)>);

/// The token that a route has to go on with; `None` if any will do.
type TokenKey = (Option<Address>, Option<U256>);

fn token(it: &Transfer) -> TokenKey {
    (it.token_address, it.token_id)
}

/// The transfers that a route may contain.
pub(super) struct Rows<'a> {
    /// In total order.
    rows: &'a [Transfer],
    /// The rows that leave the start, in total order.
    starts: Vec<usize>,
    /// The transactions with several tokens: a swap moves two.
    mixed: HashMap<(u64, u32), &'a [Transfer]>,
    /// The rows that leave an address that routes pass through, by asset, in total order. None goes back
    /// to the start.
    groups: HashMap<GroupKey, usize>,
    leaving: Vec<Vec<usize>>,
    /// The rows that leave such an address, by transaction with several tokens.
    by_transaction: HashMap<(Address, (u64, u32)), Vec<usize>>,
    wrappers: &'a AddressSet,
    continuation: Continuation,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        rows: &'a [Transfer],
        from: Address,
        passable: impl Fn(&Address) -> bool,
        wrappers: &'a AddressSet,
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
            starts: Vec::new(),
            mixed: mixed.map(|all| (all[0].transaction(), all)).collect(),
            groups: HashMap::default(),
            leaving: Vec::new(),
            by_transaction: HashMap::default(),
            wrappers,
            continuation,
        };
        for (row, transfer) in rows.iter().enumerate() {
            let (sender, place) = (transfer.from_address, transfer.transaction());
            if sender == from {
                it.starts.push(row);
            }
            if passable(&sender) && transfer.to_address != from {
                let key = it.group(sender, transfer);
                let group = *it.groups.entry(key).or_insert(it.leaving.len());
                it.leaving
                    .resize_with(it.leaving.len().max(group + 1), Vec::new);
                it.leaving[group].push(row);
                if it.mixed.contains_key(&place) {
                    it.by_transaction
                        .entry((sender, place))
                        .or_default()
                        .push(row);
                }
            }
        }
        it
    }

    pub(super) const fn all(&self) -> &'a [Transfer] {
        self.rows
    }

    /// The rows that leave the start.
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The rows that leave the receiver of a transfer and can go on from it with its asset, with the number of
    /// their group.
    pub(super) fn leaving(&self, it: &Transfer) -> Option<(usize, &[usize])> {
        let group = *self.groups.get(&self.group(it.to_address, it))?;
        Some((group, &self.leaving[group]))
    }

    /// The rows that leave the receiver of a transfer in its transaction, if that has several tokens.
    pub(super) fn leaving_together(&self, it: &Transfer) -> &[usize] {
        let found = self.by_transaction.get(&(it.to_address, it.transaction()));
        found.map_or(&[], Vec::as_slice)
    }

    /// The transfers of all transactions with several tokens.
    pub(super) fn mixed(&self) -> impl Iterator<Item = &'a Transfer> {
        self.mixed.values().copied().flatten()
    }

    /// The group of a transfer at one of its ends.
    fn group(&self, at: Address, it: &Transfer) -> GroupKey {
        let asset = self.asset(it);
        let stays = asset.is_some() && self.wrappers.contains(&at);
        (at, asset, stays.then(|| it.transaction()))
    }

    fn asset(&self, it: &Transfer) -> Option<TokenKey> {
        (self.continuation == Continuation::SameToken).then(|| token(it))
    }
}

/// A transfer that a route contains, by its row, and how the route goes on from it: inside of this swap of
/// its transaction, or after or without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct State {
    pub(super) row: usize,
    pub(super) swap: Option<usize>,
}

/// A place that a route does not come back to: an address with an asset that it goes on with, or an address
/// inside of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    With(Address, Option<TokenKey>),
    Inside(Address, (u64, u32), usize),
}

/// The query for routes, and what is known of swaps. In transactions with several tokens whose swaps
/// are not known, any transfer may follow any other.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) given: &'a Rows<'a>,
    pub(super) nettings: &'a Nettings,
    pub(super) to: Address,
    /// The largest number of transfers of a route.
    pub(super) hops: Option<u32>,
    pub(super) in_time: bool,
}

impl<'a> Query<'a> {
    /// The swaps that are known in the transaction of a row.
    fn swaps(&self, it: &Transfer) -> &'a [Swap] {
        let known = match self.given.continuation {
            Continuation::SameToken => self.nettings.get(&it.transaction()),
            Continuation::AnyToken => None,
        };
        known.map_or(&[], |netting| &netting.swaps)
    }

    /// Whether the swaps in the transaction of a row are not known yet, and matter.
    pub(super) fn is_unread(&self, it: &Transfer) -> bool {
        let place = it.transaction();
        self.given.mixed.contains_key(&place) && !self.nettings.contains_key(&place)
    }

    /// The swaps that a row pays for; or the row itself, if it is inside of a swap that pays it out.
    pub(super) fn turns(&self, State { row, swap }: State) -> Vec<State> {
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

    /// The place of a state. `None` in a transaction whose swaps are not known: the route may be inside of
    /// one.
    pub(super) fn place(&self, state: State) -> Option<Place> {
        let it = &self.given.rows[state.row];
        match state.swap {
            Some(swap) => Some(Place::Inside(it.to_address, it.transaction(), swap)),
            None if self.is_unread(it) => None,
            None => Some(Place::With(it.to_address, self.given.asset(it))),
        }
    }

    /// Whether a route that was at a place with the row `first` comes back to it with `row`. In time, a swap
    /// can lead back within its transaction: what was too late there goes on.
    pub(super) const fn is_back(&self, first: usize, row: usize) -> bool {
        !self.in_time || first <= row
    }

    /// The rows of a route of which it depends on swaps that are not known whether they are a part of it:
    /// those that follow another one only through a swap, and those that lead back to an address, unless
    /// that is inside of a swap.
    pub(super) fn unread(&self, states: &[State]) -> Vec<usize> {
        let rows = self.given.rows;
        let pairs = states.windows(2).map(|pair| (pair[0].row, pair[1].row));
        let is_unread = |(before, after): &(usize, usize)| {
            let (one, other) = (&rows[*before], &rows[*after]);
            let is_plain = token(one) == token(other) && (!self.in_time || before <= after);
            self.is_unread(one) && !is_plain && one.transaction() == other.transaction()
        };
        let mut unread: Vec<_> = pairs.filter(is_unread).map(|(_, after)| after).collect();
        let mut arrived: BTreeMap<(Address, Option<TokenKey>), usize> = BTreeMap::new();
        for state in states.iter().filter(|state| state.swap.is_none()) {
            let it = &rows[state.row];
            let key = (it.to_address, self.given.asset(it));
            let first = *arrived.entry(key).or_insert(state.row);
            let both = [first, state.row]
                .into_iter()
                .filter(|_| first != state.row);
            unread.extend(both.filter(|row| self.is_unread(&rows[*row])));
        }
        unread
    }

    /// The route of these states.
    pub(super) fn route(&self, states: &[State]) -> Route {
        // A row that pays for a swap, or is paid out by one, is also there without it.
        let mut all = Vec::new();
        let mut before = None;
        for state in states {
            let entry = State {
                swap: before,
                ..*state
            };
            let between = State {
                swap: None,
                ..*state
            };
            all.extend([entry, between, *state]);
            if entry.swap == state.swap {
                all.truncate(all.len() - 2);
            } else if entry == between || *state == between {
                all.remove(all.len() - 2);
            }
            before = state.swap;
        }
        Route::of(all.into_iter().map(|state| {
            let it = &self.given.rows[state.row];
            (it, state.swap.map(|number| &self.swaps(it)[number]))
        }))
    }
}
