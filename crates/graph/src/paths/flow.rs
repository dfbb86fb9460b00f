//! The largest amount that transfers can carry from one address to another, over all routes together.
//!
//! Transfers are the edges of a network, and their amounts are the capacities. In time order, an
//! address is a chain of nodes: what arrived can leave later, not earlier. The maximum flow is found by
//! Dinic's algorithm (Soviet Math. Doklady 11, 1970). The transfers of a minimum cut add up to it: no
//! more can have gone, whatever the routes.

use crate::{AmountSum, Asset, widen};
use alloy_primitives::{Address, U256, map::HashMap};
use std::collections::{BTreeMap, VecDeque};
use txgraph_transfers::{AddressSet, Transfer};

/// The largest amount of one token that can have gone from one address to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The token.
    pub asset: Asset,
    /// Its id, of ERC-721 and ERC-1155.
    pub token_id: Option<U256>,
    /// The amount, in the smallest unit.
    pub amount: AmountSum,
    /// Transfers that add up to the amount, and without which nothing can have gone: a minimum cut. Of
    /// several cuts, the one nearest to the start. In total order.
    pub cut: Vec<Transfer>,
    /// The transfers that carry the amount in one of the ways in which it can have gone, each with its
    /// part. In total order.
    pub parts: Vec<(Transfer, U256)>,
}

/// The flows between two addresses, by token: the tokens of which something can have gone.
///
/// `rows`: in total order. `passable`: whether an address other than the two passes on what it gets.
/// `in_time`: whether tokens can leave an address only after they arrived. `wrappers`: addresses that pass
/// on what they get only within its transaction.
pub(super) fn flows(
    rows: &[Transfer],
    (from, to): (Address, Address),
    passable: impl Fn(&Address) -> bool,
    wrappers: &AddressSet,
    in_time: bool,
) -> Vec<Flow> {
    let mut by_token: BTreeMap<(Asset, Option<U256>), Vec<&Transfer>> = BTreeMap::new();
    for row in rows {
        let token = (Asset::of(row), row.token_id);
        by_token.entry(token).or_default().push(row);
    }
    let flows = by_token
        .into_iter()
        .filter_map(|((asset, token_id), rows)| {
            let mut network = Network::default();
            let edges = network.build(&rows, (from, to), &passable, wrappers, in_time);
            let amount = network.maximize();
            if amount.is_zero() {
                return None;
            }
            let side = network.side_of_source();
            let mut flow = Flow {
                asset,
                token_id,
                amount,
                cut: Vec::new(),
                parts: Vec::new(),
            };
            for (row, edge) in rows.into_iter().zip(edges) {
                let Some(edge) = edge else { continue };
                // The capacity of the edge back is what flows.
                let part = network.edges[edge ^ 1].room.saturating_to::<U256>();
                if !part.is_zero() {
                    flow.parts.push((row.clone(), part));
                }
                if side[network.edges[edge ^ 1].to] && !side[network.edges[edge].to] {
                    flow.cut.push(row.clone());
                }
            }
            Some(flow)
        });
    flows.collect()
}

const SOURCE: usize = 0;
const SINK: usize = 1;

/// A residual network. Edge `2i + 1` is the way back of edge `2i`.
#[derive(Default)]
struct Network {
    edges: Vec<Residual>,
    /// The edges that leave each node.
    leaving: Vec<Vec<usize>>,
}

struct Residual {
    to: usize,
    /// How much more it can carry.
    room: AmountSum,
}

/// The newest node of an address, and whether something left it.
struct Newest {
    node: usize,
    has_left: bool,
}

impl Network {
    fn node(&mut self) -> usize {
        self.leaving.push(Vec::new());
        self.leaving.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, room: AmountSum) -> usize {
        let edge = self.edges.len();
        self.edges.push(Residual { to, room });
        self.edges.push(Residual {
            to: from,
            room: AmountSum::ZERO,
        });
        self.leaving[from].push(edge);
        self.leaving[to].push(edge + 1);
        edge
    }

    /// Adds the transfers of one token. Returns the edge of each; `None` for those that nothing can
    /// flow through.
    fn build(
        &mut self,
        rows: &[&Transfer],
        (from, to): (Address, Address),
        passable: impl Fn(&Address) -> bool,
        wrappers: &AddressSet,
        in_time: bool,
    ) -> Vec<Option<usize>> {
        let (source, sink) = (self.node(), self.node());
        debug_assert_eq!((source, sink), (SOURCE, SINK));
        let place = |at: Address, row: &Transfer| {
            let stays = wrappers.contains(&at);
            (at, stays.then(|| row.transaction()))
        };
        let mut newest: HashMap<(Address, Option<(u64, u32)>), Newest> = HashMap::default();
        if !in_time {
            // One node for each address, and for all times.
            for row in rows {
                for end in [row.from_address, row.to_address] {
                    newest.entry(place(end, row)).or_insert_with(|| Newest {
                        node: self.node(),
                        has_left: false,
                    });
                }
            }
        }
        let rows = rows.iter().map(|row| {
            let (sender, receiver) = (row.from_address, row.to_address);
            if sender == to || receiver == from || sender == receiver {
                return None;
            }
            let leaves = match sender == from {
                true => SOURCE,
                false => {
                    // Nothing that counts arrived here before.
                    let at = newest.get_mut(&place(sender, row));
                    let at = at.filter(|_| passable(&sender))?;
                    at.has_left = in_time;
                    at.node
                }
            };
            let arrives = match receiver == to {
                true => SINK,
                false if !passable(&receiver) => return None,
                false => self.arrival(newest.get(&place(receiver, row))),
            };
            if arrives != SINK {
                let has_left = false;
                let node = arrives;
                newest.insert(place(receiver, row), Newest { node, has_left });
            }
            Some(self.edge(leaves, arrives, widen(row.value)))
        });
        rows.collect()
    }

    /// The node for an arrival. After something left, it is a new one, to which the old one leads.
    fn arrival(&mut self, newest: Option<&Newest>) -> usize {
        match newest {
            Some(newest) if !newest.has_left => newest.node,
            newest => {
                let old = newest.map(|newest| newest.node);
                let node = self.node();
                if let Some(old) = old {
                    // The amounts of all transfers together are less than half of this.
                    self.edge(old, node, AmountSum::MAX >> 1);
                }
                node
            }
        }
    }

    /// Distances from the source over edges with room.
    fn levels(&self) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.leaving.len()];
        levels[SOURCE] = Some(0);
        let mut queue = VecDeque::from([(SOURCE, 0)]);
        while let Some((node, level)) = queue.pop_front() {
            for edge in &self.leaving[node] {
                let Residual { to, room } = &self.edges[*edge];
                if !room.is_zero() && levels[*to].is_none() {
                    levels[*to] = Some(level + 1);
                    queue.push_back((*to, level + 1));
                }
            }
        }
        levels
    }

    /// Fills the network. Returns the amount that flows.
    fn maximize(&mut self) -> AmountSum {
        let mut amount = AmountSum::ZERO;
        loop {
            let levels = self.levels();
            if levels[SINK].is_none() {
                return amount;
            }
            // The edges of each node that are still to be tried.
            let mut next = vec![0; self.leaving.len()];
            let mut path: Vec<usize> = Vec::new();
            loop {
                let node = path.last().map_or(SOURCE, |edge| self.edges[*edge].to);
                if node == SINK {
                    let rooms = path.iter().map(|edge| self.edges[*edge].room);
                    let least = rooms.min().unwrap_or_default();
                    for edge in &path {
                        self.edges[*edge].room -= least;
                        self.edges[*edge ^ 1].room += least;
                    }
                    amount += least;
                    // Back to the first edge that is full.
                    let full = path
                        .iter()
                        .position(|edge| self.edges[*edge].room.is_zero());
                    path.truncate(full.unwrap_or_default());
                    continue;
                }
                let leads = |edge: &usize| {
                    let Residual { to, room } = &self.edges[*edge];
                    !room.is_zero() && levels[*to] == levels[node].map(|level| level + 1)
                };
                let found = self.leaving[node][next[node]..].iter().position(leads);
                match (found, path.pop()) {
                    (Some(skipped), before) => {
                        next[node] += skipped;
                        path.extend(before);
                        path.push(self.leaving[node][next[node]]);
                    }
                    (None, Some(before)) => {
                        // A dead end.
                        next[self.edges[before ^ 1].to] += 1;
                    }
                    (None, None) => break,
                }
            }
        }
    }

    /// The nodes that the source reaches over edges with room, when the network is full.
    fn side_of_source(&self) -> Vec<bool> {
        self.levels().iter().map(Option::is_some).collect()
    }
}
