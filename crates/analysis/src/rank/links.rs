//! The transfers of each vertex, as mass goes along them.

use super::Chip;
use alloy_primitives::{Address, U256};
use petgraph::graph::EdgeIndex;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{Nettings, Swap, TransferGraph};
use txgraph_transfers::{TokenStandard, Transfer};

/// Forward or backward in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Along transfers that an address sent, after the mass arrived.
    Out,
    /// Along transfers that it received, before.
    In,
}

/// A way for mass from a vertex.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The token that the vertex sends or receives, and when.
    chip: Chip,
    /// The vertex at the other end.
    to: usize,
    /// The token and time with which mass arrives there.
    arrival: Chip,
    weight: f64,
    /// The sum of the weights of this link and those after it, of the same token.
    remaining: f64,
}

/// The links of all vertices.
pub(super) struct Links {
    /// By number of a token: its contract; `None`: the native coin.
    contracts: Vec<Option<Address>>,
    /// By vertex: ascending by token, then time.
    out: Vec<Vec<Link>>,
    /// By vertex: ascending by token, then descending by time.
    r#in: Vec<Vec<Link>>,
}

/// One kind of token: the contract, and the id for standards with ids.
type Token = (Option<Address>, TokenStandard, Option<U256>);

impl Links {
    /// The links of a graph. A transfer of the graph is one of its sender and one of its receiver, except
    /// where they swap.
    pub(super) fn of(graph: &TransferGraph, swaps: &Nettings) -> Self {
        let edges = || graph.graph.edge_indices();
        let transfer = |edge: EdgeIndex<u32>| &graph.graph[edge].transfer;
        let tokens = edges().map(|edge| token_of(transfer(edge)));
        let swapped = swaps.values().flat_map(|netting| &netting.swaps);
        let swapped = swapped.flat_map(|swap| [swap.given_token, swap.got_token].map(fungible));
        let tokens: BTreeSet<Token> = tokens.chain(swapped).collect();
        let numbers: BTreeMap<Token, u32> = tokens.iter().copied().zip(0..).collect();
        let vertices = graph.graph.node_indices();
        let vertices: BTreeMap<_, _> = vertices
            .map(|vertex| (graph.graph[vertex].address, vertex.index()))
            .collect();
        let mut links = Self {
            contracts: tokens.iter().map(|(contract, ..)| *contract).collect(),
            out: vec![Vec::new(); vertices.len()],
            r#in: vec![Vec::new(); vertices.len()],
        };
        // The number of the last transfer of each transaction with swaps that has any in the graph.
        let mut ends = BTreeMap::new();
        for (edge, at) in edges().zip(1u32..) {
            let moved = transfer(edge);
            let Some((from, to)) = graph.graph.edge_endpoints(edge) else {
                continue;
            };
            let netting = swaps.get(&moved.transaction());
            if netting.is_some() {
                ends.insert(moved.transaction(), at);
            }
            if from == to || moved.value.is_zero() {
                continue;
            }
            let swaps = netting.map_or(&[][..], |netting| &netting.swaps);
            let known = swaps.iter().filter(|it| vertices.contains_key(&it.to));
            let known: Vec<_> = known
                .filter(|_| token_of(moved) == fungible(moved.token_address))
                .collect();
            let chip = (numbers[&token_of(moved)], at);
            let link = |to| Link {
                chip,
                to,
                arrival: chip,
                weight: f64::from(moved.value),
                remaining: 0.0,
            };
            let (sender, receiver) = (moved.from_address, moved.to_address);
            let gives = |swap: &&Swap| {
                swap.address == sender
                    && swap.given_token == moved.token_address
                    && !swap.paid.contains(&receiver)
            };
            let gets = |swap: &&Swap| swap.to == receiver && swap.got_token == moved.token_address;
            if !known.iter().any(gives) {
                links.out[from.index()].push(link(to.index()));
            }
            if !known.iter().any(gets) {
                links.r#in[to.index()].push(link(from.index()));
            }
        }
        for (transaction, at) in ends {
            for swap in &swaps[&transaction].swaps {
                let ends = (vertices.get(&swap.address), vertices.get(&swap.to));
                let (Some(&from), Some(&to)) = ends else {
                    continue;
                };
                let given = (numbers[&fungible(swap.given_token)], at);
                let got = (numbers[&fungible(swap.got_token)], at);
                let link = |chip, to, arrival, amount: U256| Link {
                    chip,
                    to,
                    arrival,
                    weight: f64::from(amount),
                    remaining: 0.0,
                };
                links.out[from].push(link(given, to, got, swap.given));
                links.r#in[to].push(link(got, from, given, swap.got));
            }
        }
        for links in &mut links.out {
            links.sort_by_key(|link| link.chip);
            sum(links);
        }
        for links in &mut links.r#in {
            links.sort_by_key(|link| (link.chip.0, std::cmp::Reverse(link.chip.1)));
            sum(links);
        }
        links
    }

    /// The tokens that a vertex sent, if any part `beta` goes on from there, or received, if the rest goes
    /// back; ascending, with their contracts.
    pub(super) fn tokens(
        &self,
        vertex: usize,
        beta: f64,
    ) -> impl Iterator<Item = (u32, Option<Address>)> + '_ {
        let sent = self.out[vertex].iter().filter(move |_| beta > 0.0);
        let received = self.r#in[vertex].iter().filter(move |_| beta < 1.0);
        let links = sent.chain(received);
        let tokens: BTreeSet<_> = links.map(|link| link.chip.0).collect();
        let contract = move |token: u32| self.contracts[token as usize];
        tokens.into_iter().map(move |it| (it, contract(it)))
    }

    /// Divides chips of one token, ascending by time, among the links of a vertex, in proportion to their
    /// weights. Calls `arrive` with the vertex, the chip and the mass. Chips without a link arrive where
    /// they are.
    pub(super) fn divide(
        &self,
        vertex: usize,
        side: Side,
        chips: &[(Chip, f64)],
        mut arrive: impl FnMut(usize, Chip, f64),
    ) {
        let Some(((token, _), _)) = chips.first() else {
            return;
        };
        let links = match side {
            Side::Out => &self.out[vertex],
            Side::In => &self.r#in[vertex],
        };
        let first = links.partition_point(|link| link.chip.0 < *token);
        let links = links[first..].iter();
        let links = links.take_while(|link| link.chip.0 == *token);
        // In the order of the links.
        let mut chips: Vec<_> = chips.to_vec();
        if side == Side::In {
            chips.reverse();
        }
        let mut chips = chips.into_iter().peekable();
        let mut per_weight = 0.0;
        for link in links {
            let reaches = |chip: &(Chip, f64)| match side {
                Side::Out => chip.0.1 < link.chip.1,
                Side::In => chip.0.1 > link.chip.1,
            };
            while let Some((_, mass)) = chips.next_if(reaches) {
                per_weight += mass / link.remaining;
            }
            if per_weight > 0.0 {
                arrive(link.to, link.arrival, link.weight * per_weight);
            }
        }
        for (chip, mass) in chips.filter(|(_, mass)| *mass > 0.0) {
            arrive(vertex, chip, mass);
        }
    }
}

const fn token_of(transfer: &Transfer) -> Token {
    (
        transfer.token_address,
        transfer.token_standard,
        transfer.token_id,
    )
}

/// The token of a swap.
const fn fungible(contract: Option<Address>) -> Token {
    let standard = TokenStandard::of_fungible(contract);
    (contract, standard, None)
}

/// Sums the weights of links of one token from the end.
fn sum(links: &mut [Link]) {
    for links in links.chunk_by_mut(|a, b| a.chip.0 == b.chip.0) {
        let mut remaining = 0.0;
        for link in links.iter_mut().rev() {
            remaining += link.weight;
            link.remaining = remaining;
        }
    }
}
