//! The swaps that a search follows: which transfers pay for them, and which ones carry them.

use crate::{
    SearchError, SearchRequest, Swap,
    netting::{netting, parties},
    rows::{Interned, RowStore, TokenKey},
    transactions::read_transactions,
};
use alloy_primitives::{
    Address,
    map::{HashMap, HashSet},
};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::{Position, Transfer, TransferSource};

/// A transaction: its block, and its index there.
type Place = (u64, u32);

/// The swaps of the transactions that were read.
#[derive(Debug, Default)]
pub(crate) struct Swaps {
    read: HashSet<Place>,
    payments: HashMap<Position, Payment>,
    unresolved: HashSet<(Place, Address)>,
    /// The transfers of swaps.
    pub(crate) rows: RowStore,
}

/// A transfer that pays for a swap.
#[derive(Clone, Debug)]
pub(crate) struct Payment {
    /// The transaction, and the address that gives.
    pub(crate) swap: (Place, Address),
    /// Rows that carry it, of any token: they lie between it and those that deliver.
    pub(crate) carried: Vec<u32>,
    /// Rows that deliver what was got.
    pub(crate) got: Vec<u32>,
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
            self.add(place, transfers, interned)
        })
    }

    fn add(
        &mut self,
        place: Place,
        transfers: &[Transfer],
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        self.read.insert(place);
        let found = netting(transfers);
        let unresolved = found.unresolved.into_iter();
        self.unresolved.extend(unresolved.map(|it| (place, it)));
        let mut numbers = vec![None; transfers.len()];
        for swap in &found.swaps {
            let got = got(transfers, swap);
            for at in payments(transfers, swap) {
                let carried = carried(transfers, swap, at, &got);
                let mut number = |legs: &[usize]| {
                    let legs = legs.iter().map(|leg| {
                        if let Some(row) = numbers[*leg] {
                            return Ok(row);
                        }
                        let row = self.rows.len();
                        self.rows.push(&transfers[*leg], interned)?;
                        let row = u32::try_from(row);
                        let row = row.map_err(|_| SearchError::TooLarge { what: "transfers" })?;
                        numbers[*leg] = Some(row);
                        Ok(row)
                    });
                    legs.collect::<Result<Vec<_>, SearchError>>()
                };
                let payment = Payment {
                    swap: (place, swap.address),
                    carried: number(&carried)?,
                    got: number(&got)?,
                };
                self.payments.insert(transfers[at].position(), payment);
            }
        }
        Ok(())
    }

    /// The swap that the transfer at a position pays for.
    pub(crate) fn payment(&self, position: Position) -> Option<&Payment> {
        self.payments.get(&position)
    }

    /// Whether it is not known what an address got for what it gave in a transaction.
    pub(crate) fn is_unresolved(&self, swap: &(Place, Address)) -> bool {
        self.unresolved.contains(swap)
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

/// The transfers on the ways from a payment to those that deliver, around the two that swap. They
/// can be in any order: pools pay out before they are paid.
fn carried(transfers: &[Transfer], swap: &Swap, payment: usize, got: &[usize]) -> Vec<usize> {
    let between = |end: &Address| *end != swap.address && *end != swap.to;
    let moves: Vec<_> = (transfers.iter().enumerate())
        .filter_map(|(at, it)| Some((at, parties(it)?)))
        .filter(|(_, (from, to))| between(from) && between(to))
        .collect();
    let receiver = parties(&transfers[payment]).map(|(_, to)| to);
    let outward = moves.iter().map(|(_, ends)| *ends);
    let forth = reachable(receiver.into_iter().filter(between), outward);
    let senders = got.iter().filter_map(|at| parties(&transfers[*at]));
    let senders = senders.map(|(from, _)| from).filter(between);
    let inward = moves.iter().map(|(_, (from, to))| (*to, *from));
    let back = reachable(senders, inward);
    let is_on_way = |(from, to): (Address, Address)| forth.contains(&from) && back.contains(&to);
    let carried = moves.iter().filter(|(_, ends)| is_on_way(*ends));
    carried.map(|(at, _)| *at).collect()
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
