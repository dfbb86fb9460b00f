//! The swaps that a search follows: which transfers pay for them, which ones carry them, and which ones
//! deliver what was got.

use crate::{
    SearchError, SearchRequest, Swap,
    netting::{netting, parties},
    rows::{Interned, RowStore, TokenKey},
    transactions::read_transactions,
};
use alloy_primitives::{
    Address,
    map::{Entry, HashMap, HashSet},
};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::{Direction, Position, Transfer, TransferSource};

/// A transaction: its block, and its index there.
type Place = (u64, u32);

/// The swaps of the transactions that were read.
#[derive(Debug, Default)]
pub(crate) struct Swaps {
    read: HashSet<Place>,
    forward: OneWay,
    backward: OneWay,
    /// Transfers that bring back a part of what paid for a swap.
    returned: HashSet<Position>,
    /// The transfers of swaps.
    pub(crate) rows: RowStore,
}

/// The swaps that a search comes to in one direction.
#[derive(Debug, Default)]
struct OneWay {
    /// By the transfers that lead to them: those that pay, and backward those that deliver.
    legs: HashMap<Position, Legs>,
    /// Transfers of addresses of which it is not known what they got for what they gave.
    unresolved: HashSet<Position>,
}

/// Where a swap leads from one of its transfers. A transfer that pays for what several addresses get leads
/// to all of it.
#[derive(Clone, Debug)]
pub(crate) struct Legs {
    /// The transaction, and the address that gives.
    pub(crate) swap: (Place, Address),
    /// Whether the search comes from what was got.
    pub(crate) is_backward: bool,
    /// Rows that carry the swap, of any token: they lie between those that pay and those that deliver.
    pub(crate) carried: Vec<u32>,
    /// Rows that deliver what was got; backward, rows that pay for it.
    pub(crate) last: Vec<u32>,
}

impl Legs {
    /// Adds where another swap leads from the same transfer.
    fn add(&mut self, other: Self) {
        for (rows, others) in [
            (&mut self.carried, other.carried),
            (&mut self.last, other.last),
        ] {
            rows.extend(others);
            rows.sort_unstable();
            rows.dedup();
        }
    }
}

impl Swaps {
    /// Reads the transactions of rows, but for those that were read before.
    pub(crate) fn read(
        &mut self,
        source: &dyn TransferSource,
        request: &SearchRequest,
        (numbers, rows): (&[u32], &RowStore),
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        let transfers = numbers.iter().map(|row| rows.transfer(*row, interned));
        let unread: Vec<_> = transfers
            .filter(|it| !self.read.contains(&it.transaction()))
            .collect();
        read_transactions(source, request, &unread, |place, transfers| {
            self.add(place, transfers, request.direction, interned)
        })
    }

    fn add(
        &mut self,
        place: Place,
        transfers: &[Transfer],
        direction: Direction,
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        self.read.insert(place);
        let found = netting(transfers);
        // Transfers to oneself and of nothing are no part of what is not clear.
        for it in transfers.iter().filter(|it| parties(it).is_some()) {
            if found.unresolved.contains(&it.from_address) {
                self.forward.unresolved.insert(it.position());
            }
            let mut unclear = found.unresolved.iter().chain(&found.unresolved_receivers);
            if unclear.any(|address| *address == it.to_address) {
                self.backward.unresolved.insert(it.position());
            }
        }
        let mut numbers = vec![None; transfers.len()];
        let mut number = |legs: &[usize], rows: &mut RowStore| {
            let legs = legs.iter().map(|leg| {
                if let Some(row) = numbers[*leg] {
                    return Ok(row);
                }
                let row = rows.len();
                rows.push(&transfers[*leg], interned)?;
                let row = u32::try_from(row);
                let row = row.map_err(|_| SearchError::TooLarge { what: "transfers" })?;
                numbers[*leg] = Some(row);
                Ok(row)
            });
            legs.collect::<Result<Vec<_>, SearchError>>()
        };
        for swap in &found.swaps {
            let (pay, deliver) = (payments(transfers, swap), got(transfers, swap));
            let returned = returned(transfers, swap, &pay).into_iter();
            (self.returned).extend(returned.map(|at| transfers[at].position()));
            for is_backward in [false, true] {
                let (first, last, way) = match is_backward {
                    false if direction != Direction::In => (&pay, &deliver, &mut self.forward),
                    true if direction != Direction::Out => (&deliver, &pay, &mut self.backward),
                    _ => continue,
                };
                for at in first {
                    let (pay, deliver) = match is_backward {
                        false => (&[*at][..], &last[..]),
                        true => (&last[..], &[*at][..]),
                    };
                    let carried = carried(transfers, swap, pay, deliver);
                    let legs = Legs {
                        swap: (place, swap.address),
                        is_backward,
                        carried: number(&carried, &mut self.rows)?,
                        last: number(last, &mut self.rows)?,
                    };
                    match way.legs.entry(transfers[*at].position()) {
                        Entry::Occupied(mut known) => known.get_mut().add(legs),
                        Entry::Vacant(free) => {
                            free.insert(legs);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn way(&self, is_backward: bool) -> &OneWay {
        match is_backward {
            false => &self.forward,
            true => &self.backward,
        }
    }

    /// The swap that the transfer at a position pays for; backward, the one that it delivers from.
    pub(crate) fn legs(&self, position: Position, is_backward: bool) -> Option<&Legs> {
        self.way(is_backward).legs.get(&position)
    }

    /// Whether the transfer at a position leads to an address of which it is not known what it got for what
    /// it gave.
    pub(crate) fn is_unresolved(&self, position: Position, is_backward: bool) -> bool {
        self.way(is_backward).unresolved.contains(&position)
    }

    /// Whether the transfer at a position brings back a part of what its receiver paid for a swap.
    pub(crate) fn is_returned(&self, position: Position) -> bool {
        self.returned.contains(&position)
    }
}

/// The transfers that pay for a swap.
fn payments(transfers: &[Transfer], swap: &Swap) -> Vec<usize> {
    let pays = |it: &Transfer| {
        parties(it).is_some_and(|(from, to)| {
            from == swap.address && it.token_address == swap.given_token && !swap.paid.contains(&to)
        })
    };
    places(transfers, pays)
}

/// The transfers that deliver what was got.
fn got(transfers: &[Transfer], swap: &Swap) -> Vec<usize> {
    let delivers = |it: &Transfer| {
        parties(it).is_some_and(|(_, to)| to == swap.to && it.token_address == swap.got_token)
    };
    places(transfers, delivers)
}

fn places(transfers: &[Transfer], is_wanted: impl Fn(&Transfer) -> bool) -> Vec<usize> {
    let numbered = transfers.iter().enumerate();
    let wanted = numbered.filter(|(_, it)| is_wanted(it));
    wanted.map(|(at, _)| at).collect()
}

/// The transfers on the ways from some that pay to some that deliver, around the two that swap. They
/// can be in any order: pools pay out before they are paid.
fn carried(transfers: &[Transfer], swap: &Swap, pay: &[usize], deliver: &[usize]) -> Vec<usize> {
    let moves = between(transfers, swap);
    let forth = reachable(receivers(transfers, swap, pay), moves.iter().map(|it| it.1));
    let senders = deliver.iter().filter_map(|at| parties(&transfers[*at]));
    let senders = senders.map(|(from, _)| from);
    let senders = senders.filter(|from| is_between(from, swap));
    let back = reachable(senders, moves.iter().map(|(_, (from, to))| (*to, *from)));
    let is_on_way = |(from, to): (Address, Address)| forth.contains(&from) && back.contains(&to);
    let carried = moves.iter().filter(|(_, ends)| is_on_way(*ends));
    carried.map(|(at, _)| *at).collect()
}

/// The transfers that bring back a part of what some pay.
fn returned(transfers: &[Transfer], swap: &Swap, pay: &[usize]) -> Vec<usize> {
    let is_given = |it: &Transfer| it.token_address == swap.given_token;
    let moves = between(transfers, swap).into_iter();
    let moves = moves.filter(|(at, _)| is_given(&transfers[*at]));
    let forth = reachable(receivers(transfers, swap, pay), moves.map(|it| it.1));
    let returns = |(from, to): (Address, Address)| to == swap.address && forth.contains(&from);
    places(transfers, |it| {
        is_given(it) && parties(it).is_some_and(returns)
    })
}

/// Who gets these transfers, around the two that swap.
fn receivers(
    transfers: &[Transfer],
    swap: &Swap,
    places: &[usize],
) -> impl Iterator<Item = Address> {
    let parties = places.iter().filter_map(|at| parties(&transfers[*at]));
    let receivers = parties.map(|(_, to)| to);
    receivers.filter(|to| is_between(to, swap))
}

/// The transfers among others than the two that swap.
fn between(transfers: &[Transfer], swap: &Swap) -> Vec<(usize, (Address, Address))> {
    let moves = transfers.iter().enumerate();
    let moves = moves.filter_map(|(at, it)| Some((at, parties(it)?)));
    moves
        .filter(|(_, (from, to))| is_between(from, swap) && is_between(to, swap))
        .collect()
}

fn is_between(address: &Address, swap: &Swap) -> bool {
    *address != swap.address && *address != swap.to
}

/// Everything that arrows lead to from these addresses, with themselves.
fn reachable(
    from: impl Iterator<Item = Address>,
    arrows: impl Iterator<Item = (Address, Address)>,
) -> BTreeSet<Address> {
    let mut ends = BTreeMap::<_, Vec<_>>::new();
    for (from, to) in arrows {
        ends.entry(from).or_default().push(to);
    }
    let mut next: Vec<_> = from.collect();
    let mut reached = BTreeSet::new();
    while let Some(at) = next.pop() {
        if reached.insert(at) {
            next.extend(ends.remove(&at).unwrap_or_default());
        }
    }
    reached
}

/// The state of a search that follows each token for itself.
#[derive(Debug, Default)]
pub(crate) struct ByToken {
    pub(crate) swaps: Swaps,
    /// Number of the vertex of an address that holds a token, by number of the address.
    vertices: HashMap<(u32, TokenKey), u32>,
    /// The edges so far: a transfer can be followed, and carry a swap.
    pub(crate) edges: HashSet<Position>,
    /// The swaps that were followed, and those that are unresolved.
    pub(crate) followed: HashSet<(Place, Address)>,
    pub(crate) unresolved: HashSet<(Place, Address)>,
}

impl ByToken {
    /// The vertex of an address that holds a token.
    pub(crate) fn vertex(&self, address: u32, token: TokenKey) -> Option<u32> {
        self.vertices.get(&(address, token)).copied()
    }

    /// Adds the next vertex; without a token, one that is found by none.
    pub(crate) fn add(&mut self, number: u32, address: u32, token: Option<TokenKey>) {
        if let Some(token) = token {
            self.vertices.insert((address, token), number);
        }
    }
}
