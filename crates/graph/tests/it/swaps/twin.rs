//! The definition of a search through swaps, over all transfers.

use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{Expansion, Netting, SearchRequest, Swap, SwapCounts, TransferGraph, netting};
use txgraph_transfers::{Direction, Position, Transfer};

type Token = (Option<Address>, Option<U256>);

fn token(it: &Transfer) -> Token {
    (it.token_address, it.token_id)
}

/// The definition.
pub(super) struct Twin<'a> {
    pub(super) all: &'a [Transfer],
    pub(super) request: &'a SearchRequest,
}

/// Where a trail is: an address, what it holds there (`None`: what is asked of a root), and since when.
type State = (Address, Option<Token>, Option<Position>);

impl Twin<'_> {
    fn of(&self, place: (u64, u32)) -> Vec<&Transfer> {
        let all = self.all.iter();
        all.filter(|it| it.transaction() == place).collect()
    }

    fn netting(&self, it: &Transfer) -> Netting {
        netting(
            &self
                .of(it.transaction())
                .into_iter()
                .cloned()
                .collect::<Vec<_>>(),
        )
    }

    /// The swaps that a transfer leads to, and whether there are some that are not clear.
    fn swaps(&self, it: &Transfer, side: Side) -> (Vec<Swap>, bool) {
        let found = self.netting(it);
        let mut unclear = found.unresolved;
        if side == Side::Backward {
            unclear.extend(found.unresolved_receivers);
        }
        let mut swaps = found.swaps;
        swaps.retain(|swap| match side {
            Side::Forward => pays(it, swap),
            Side::Backward => delivers(it, swap),
        });
        (swaps, moves(it) && unclear.contains(&side.start(it)))
    }

    /// Whether a transfer brings back a part of a payment: the sender got the token on the way.
    fn is_returned(&self, it: &Transfer) -> bool {
        let all = self.of(it.transaction());
        self.netting(it).swaps.iter().any(|swap| {
            let mut holders = BTreeSet::new();
            for _ in 0..=all.len() {
                for other in all.iter().filter(|other| moves(other)) {
                    let (from, to) = parties(other);
                    let is_given = other.token_address == swap.given_token;
                    let goes_on = ![swap.address, swap.to].contains(&from)
                        && holders.contains(&from)
                        && is_given;
                    if ![swap.address, swap.to].contains(&to) && (pays(other, swap) || goes_on) {
                        holders.insert(to);
                    }
                }
            }
            let (from, to) = parties(it);
            moves(it)
                && (to, it.token_address) == (swap.address, swap.given_token)
                && holders.contains(&from)
        })
    }

    /// The transfers that carry a swap from or to this one, and those at its other side.
    fn legs(&self, one: &Transfer, swap: &Swap, side: Side) -> (Vec<&Transfer>, Vec<&Transfer>) {
        let mut all = self.of(one.transaction());
        all.retain(|it| moves(it));
        let only = |it: &Transfer, of: Side| side != of || it.position() == one.position();
        let payments: Vec<_> = (all.iter().copied())
            .filter(|it| pays(it, swap) && only(it, Side::Forward))
            .collect();
        let got: Vec<_> = (all.iter().copied())
            .filter(|it| delivers(it, swap) && only(it, Side::Backward))
            .collect();
        let ends = [swap.address, swap.to];
        all.retain(|it| !ends.contains(&parties(it).0) && !ends.contains(&parties(it).1));
        let mut forth = BTreeSet::new();
        let mut back = BTreeSet::new();
        for _ in 0..=all.len() {
            for it in &all {
                let (from, to) = parties(it);
                let follows = |other: &&&Transfer| parties(other).1 == from;
                let known = |other: &&&Transfer| forth.contains(&other.position());
                if payments.iter().any(|it| parties(it).1 == from)
                    || all.iter().filter(follows).any(|it| known(&it))
                {
                    forth.insert(it.position());
                }
                let leads = |other: &&&Transfer| parties(other).0 == to;
                let known = |other: &&&Transfer| back.contains(&other.position());
                if got.iter().any(|it| parties(it).0 == to)
                    || all.iter().filter(leads).any(|it| known(&it))
                {
                    back.insert(it.position());
                }
            }
        }
        all.retain(|it| forth.contains(&it.position()) && back.contains(&it.position()));
        match side {
            Side::Forward => (all, got),
            Side::Backward => (all, payments),
        }
    }

    fn sides(&self) -> &'static [Side] {
        match self.request.direction {
            Direction::Out => &[Side::Forward],
            Direction::In => &[Side::Backward],
            Direction::Both => &[Side::Forward, Side::Backward],
        }
    }

    fn is_hub(&self, address: Address) -> bool {
        let sides = self.sides().iter();
        let ends = sides.flat_map(|side| {
            let of = self.all.iter().filter(|it| side.start(it) == address);
            of.map(|it| side.end(it))
        });
        let others: BTreeSet<_> = ends.filter(|end| *end != address).collect();
        self.request
            .max_degree
            .is_some_and(|max| others.len() > max as usize)
    }

    /// Why nothing is followed from an address that is reached after this many hops.
    fn why_not(&self, address: Address, hop: u32) -> Option<Expansion> {
        let request = self.request;
        match () {
            () if request.hops == Some(hop) => Some(Expansion::LastHop),
            () if request.roots.contains(&address) => None,
            () if request.stop_at.contains(&address) => Some(Expansion::StopList),
            () if address.is_zero() && !request.expand_zero => Some(Expansion::ZeroAddress),
            () => self.is_hub(address).then_some(Expansion::Hub),
        }
    }

    fn holds(&self, state: &State, it: &Transfer, side: Side) -> bool {
        let held = match state.1 {
            None => self
                .request
                .filter
                .tokens
                .matches(it.token_address.as_ref()),
            Some(held) => held == token(it),
        };
        let is_in_time = state.2.is_none_or(|since| match side {
            Side::Forward => since < it.position(),
            Side::Backward => since > it.position(),
        });
        side.start(it) == state.0 && held && (is_in_time || !self.request.time_respecting)
    }

    /// An address that a transfer leads to.
    fn arrived(&self, it: &Transfer, side: Side) -> State {
        let end = side.end(it);
        let asked = self
            .request
            .filter
            .tokens
            .matches(it.token_address.as_ref());
        match asked && self.request.roots.contains(&end) {
            true => (end, None, None),
            false => (end, Some(token(it)), Some(it.position())),
        }
    }

    pub(super) fn answer(&self) -> Answer {
        let mut answer = Answer::default();
        let mut reached = BTreeMap::<State, u32>::new();
        let mut level: Vec<State> = self
            .request
            .roots
            .iter()
            .map(|it| (*it, None, None))
            .collect();
        let mut carriers = BTreeMap::new();
        let (mut followed, mut unresolved) = (BTreeSet::new(), BTreeSet::new());
        let mut hop = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for state in level {
                if reached.contains_key(&state) {
                    continue;
                }
                reached.insert(state, hop);
                // Of an address that was expanded before, what arrived sooner is followed.
                if self.why_not(state.0, hop).is_some() {
                    continue;
                }
                let sides = self.sides().iter();
                let followed_ones = sides.flat_map(|side| self.all.iter().map(|it| (it, *side)));
                for (it, side) in followed_ones {
                    let is_returned = side == Side::Backward && self.is_returned(it);
                    if !self.holds(&state, it, side) || is_returned {
                        continue;
                    }
                    answer.edges.entry(it.position()).or_insert(hop + 1);
                    let (swaps, is_unresolved) = self.swaps(it, side);
                    if is_unresolved {
                        unresolved.insert((it.transaction(), state.0));
                    }
                    if swaps.is_empty() {
                        next.push(self.arrived(it, side));
                    }
                    for swap in swaps {
                        followed.insert((it.transaction(), swap.address));
                        let (carried, last) = self.legs(it, &swap, side);
                        for leg in carried.iter().chain(&last) {
                            answer.edges.entry(leg.position()).or_insert(hop + 1);
                        }
                        let ends = carried
                            .iter()
                            .flat_map(|it| [it.from_address, it.to_address]);
                        let ends = ends.chain(last.iter().map(|it| side.start(it)));
                        for end in ends.chain([side.end(it)]) {
                            carriers.entry(end).or_insert(hop + 1);
                        }
                        next.extend(last.into_iter().map(|it| self.arrived(it, side)));
                    }
                }
            }
            level = next;
            hop += 1;
        }
        let mut held = BTreeMap::<(Address, Option<Token>), u32>::new();
        for ((address, token, _), hop) in reached {
            let first = held.entry((address, token)).or_insert(hop);
            *first = hop.min(*first);
        }
        let mut vertices = BTreeMap::<Address, (u32, Vec<Expansion>)>::new();
        for ((address, _), hop) in held {
            let vertex = vertices.entry(address).or_insert((hop, Vec::new()));
            vertex.0 = hop.min(vertex.0);
            vertex
                .1
                .push(self.why_not(address, hop).unwrap_or(Expansion::Expanded));
        }
        for (address, hop) in carriers {
            let vertex = vertices.entry(address).or_insert((hop, Vec::new()));
            vertex.0 = hop.min(vertex.0);
        }
        let reason = |all: &[Expansion]| {
            let first = [Expansion::Hub, Expansion::StopList, Expansion::ZeroAddress];
            let then = [Expansion::LastHop, Expansion::Expanded];
            let mut ranked = first.into_iter().chain(then);
            ranked
                .find(|it| all.contains(it))
                .unwrap_or(Expansion::Swap)
        };
        answer.vertices = vertices
            .into_iter()
            .map(|(address, (hop, all))| (address, (hop, reason(&all))))
            .collect();
        answer.swaps = SwapCounts {
            followed: followed.len() as u64,
            unresolved: unresolved.len() as u64,
        };
        answer
    }
}

/// The way in which a transfer is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Forward,
    Backward,
}

impl Side {
    fn start(self, it: &Transfer) -> Address {
        match self {
            Self::Forward => it.from_address,
            Self::Backward => it.to_address,
        }
    }

    fn end(self, it: &Transfer) -> Address {
        match self {
            Self::Forward => it.to_address,
            Self::Backward => it.from_address,
        }
    }
}

fn moves(it: &Transfer) -> bool {
    parties(it).0 != parties(it).1 && !it.value.is_zero()
}

fn pays(it: &Transfer, swap: &Swap) -> bool {
    let (from, to) = parties(it);
    (from, it.token_address) == (swap.address, swap.given_token)
        && !swap.paid.contains(&to)
        && moves(it)
}

fn delivers(it: &Transfer, swap: &Swap) -> bool {
    (parties(it).1, it.token_address) == (swap.to, swap.got_token) && moves(it)
}

/// Who gives and who gets.
fn parties(it: &Transfer) -> (Address, Address) {
    let party = |end: Address| match end.is_zero() {
        true => it.token_address.unwrap_or(end),
        false => end,
    };
    (party(it.from_address), party(it.to_address))
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) vertices: BTreeMap<Address, (u32, Expansion)>,
    pub(super) edges: BTreeMap<Position, u32>,
    swaps: SwapCounts,
}

pub(super) fn answer(graph: &TransferGraph) -> Answer {
    let vertices = graph.graph.node_weights();
    let edges = graph.graph.edge_weights();
    Answer {
        vertices: vertices
            .map(|it| (it.address, (it.hop, it.expansion)))
            .collect(),
        edges: edges.map(|it| (it.transfer.position(), it.hop)).collect(),
        swaps: graph.swaps,
    }
}
