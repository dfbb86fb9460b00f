//! The tokens of a graph: transfers, sums, addresses, and how concentrated they are.

use crate::ratio::share;
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, MergedGraph};

/// Counts of a token, of all standards. Counts of graphs without a common (sender, receiver) add up,
/// except for what is of addresses: that is counted by [`TokenCounts::add_end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// The contract; `None` for the native coin.
    pub token: Option<Address>,
    /// Its transfers.
    pub transfers: u64,
    /// The sum of their amounts.
    pub amount: AmountSum,
    /// Distinct (from, to).
    pub edges: u64,
    /// Its senders and receivers.
    pub addresses: u64,
    /// The highest number of counterparties of one of them.
    pub counterparties_max: u64,
    /// The squares of the ends of transfers at each address.
    pub squares: AmountSum,
}

impl TokenCounts {
    /// No transfers.
    pub const fn none(token: Option<Address>) -> Self {
        Self {
            token,
            transfers: 0,
            amount: AmountSum::ZERO,
            edges: 0,
            addresses: 0,
            counterparties_max: 0,
            squares: AmountSum::ZERO,
        }
    }

    /// Adds other transfers, or other addresses.
    pub fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.amount += other.amount;
        self.edges += other.edges;
        self.addresses += other.addresses;
        self.counterparties_max = self.counterparties_max.max(other.counterparties_max);
        self.squares += other.squares;
    }

    /// Adds an address.
    pub fn add_end(&mut self, counterparties: u64, ends: u64) {
        self.addresses += 1;
        self.counterparties_max = self.counterparties_max.max(counterparties);
        self.squares += AmountSum::from(u128::from(ends) * u128::from(ends));
    }

    /// The Herfindahl index of the ends of transfers: 1 if all are at one address. `None` if there
    /// are no transfers.
    pub fn concentration(&self) -> Option<f64> {
        let ends = 2 * u128::from(self.transfers);
        share(self.squares, AmountSum::from(ends * ends))
    }
}

/// Puts tokens in order: most transfers first, then by contract, the native coin last.
pub fn rank_tokens(tokens: &mut [TokenCounts]) {
    tokens.sort_unstable_by_key(|counts| {
        (
            Reverse(counts.transfers),
            counts.token.is_none(),
            counts.token,
        )
    });
}

/// An address and a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEnd {
    /// The contract; `None` for the native coin.
    pub token: Option<Address>,
    /// The address.
    pub address: Address,
    /// Addresses from which it received the token, or to which it sent it.
    pub counterparties: u64,
    /// Transfers sent and transfers received.
    pub ends: u64,
}

/// Counts the tokens of `graph`, and their addresses. Counts of an address and a token in several
/// graphs add up, if all edges between two addresses are in one of them.
pub fn tokens(graph: &MergedGraph) -> (Vec<TokenCounts>, Vec<TokenEnd>) {
    let mut numbers: BTreeMap<_, u32> = BTreeMap::new();
    for asset in &graph.assets {
        numbers.insert(asset.token_address, 0);
    }
    let mut counts = Vec::new();
    for ((token, number), next) in numbers.iter_mut().zip(0..) {
        *number = next;
        counts.push(TokenCounts::none(*token));
    }
    let of = graph
        .assets
        .iter()
        .map(|asset| numbers[&asset.token_address]);
    let of: Vec<_> = of.collect();

    // By token and vertex: counterparties and ends.
    let mut ends = Vec::new();
    let mut edges = Vec::with_capacity(graph.edge_count());
    for edge in graph.edges() {
        let token = of[edge.asset as usize];
        let counts = &mut counts[token as usize];
        counts.transfers += edge.count;
        counts.amount += edge.sum;
        edges.push((token, edge.from, edge.to));
        ends.extend([edge.from, edge.to].map(|vertex| ((token, vertex), [0, edge.count])));
    }
    edges.sort_unstable();
    // Of one contract with two standards.
    edges.dedup();
    for (token, from, to) in &mut edges {
        counts[*token as usize].edges += 1;
        (*from, *to) = (*from.min(to), *from.max(to));
    }
    edges.sort_unstable();
    edges.dedup();
    for (token, low, high) in edges {
        ends.push(((token, low), [1, 0]));
        if low != high {
            ends.push(((token, high), [1, 0]));
        }
    }
    ends.sort_unstable();
    let ends = ends.chunk_by(|a, b| a.0 == b.0).map(|same| {
        let (token, vertex) = same[0].0;
        TokenEnd {
            token: counts[token as usize].token,
            address: graph.address(vertex),
            counterparties: same.iter().map(|(_, [more, _])| more).sum(),
            ends: same.iter().map(|(_, [_, more])| more).sum(),
        }
    });
    let ends = ends.collect();
    (counts, ends)
}

/// Counts of motifs. Loops and two-cycles of graphs without common pairs add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MotifCounts {
    /// Addresses with ten or more senders.
    pub fan_in: u64,
    /// Addresses with ten or more receivers.
    pub fan_out: u64,
    /// Addresses that sent to themselves.
    pub loops: u64,
    /// Pairs that sent to each other.
    pub two_cycles: u64,
}

/// Counterparties of an address with many.
const FAN: u64 = 10;

impl MotifCounts {
    /// Counts the loops and two-cycles of `graph`. Returns them with the numbers of senders and
    /// receivers of each vertex, except for itself, by number.
    pub fn of_edges(graph: &MergedGraph) -> (Self, Vec<[u64; 2]>) {
        let mut counts = Self::default();
        let mut fans = vec![[0; 2]; graph.addresses.len()];
        let pairs: Vec<_> = graph.pairs().collect();
        for (from, to) in &pairs {
            if from == to {
                counts.loops += 1;
                continue;
            }
            fans[*to as usize][0] += 1;
            fans[*from as usize][1] += 1;
            if from < to && pairs.binary_search(&(*to, *from)).is_ok() {
                counts.two_cycles += 1;
            }
        }
        (counts, fans)
    }

    /// Counts the addresses with many senders or receivers.
    pub fn of_fans(fans: impl Iterator<Item = [u64; 2]>) -> Self {
        let mut counts = Self::default();
        for [senders, receivers] in fans {
            counts.fan_in += u64::from(senders >= FAN);
            counts.fan_out += u64::from(receivers >= FAN);
        }
        counts
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.fan_in += other.fan_in;
        self.fan_out += other.fan_out;
        self.loops += other.loops;
        self.two_cycles += other.two_cycles;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use txgraph_graph::{testing, widen};

    fn graph_of(transfers: &[txgraph_transfers::Transfer]) -> MergedGraph {
        MergedGraph::of(&testing::graph(transfers.to_vec()))
    }

    proptest! {
        /// By definition, from graphs of some pairs of addresses.
        #[test]
        fn tokens_agree_with_counting(transfers in crate::oracle::some_transfers(), parts in 1usize..4) {
            let part_of = |from: Address, to: Address| {
                from.iter().chain(to.iter()).map(|byte| usize::from(*byte)).sum::<usize>() % parts
            };
            let (mut counts, mut ends) = (BTreeMap::new(), BTreeMap::new());
            for part in 0..parts {
                let mut some = transfers.clone();
                some.retain(|t| part_of(t.from_address, t.to_address) == part);
                let (tokens, token_ends) = tokens(&graph_of(&some));
                for one in tokens {
                    counts.entry(one.token).or_insert(TokenCounts::none(one.token)).add(&one);
                }
                for one in token_ends {
                    let known = ends.entry((one.token, one.address)).or_insert((0, 0));
                    *known = (known.0 + one.counterparties, known.1 + one.ends);
                }
            }
            for ((token, _), (counterparties, ends)) in ends {
                counts.get_mut(&token).unwrap().add_end(counterparties, ends);
            }
            let tokens: BTreeSet<_> = transfers.iter().map(|t| t.token_address).collect();
            prop_assert_eq!(counts.keys().copied().collect::<BTreeSet<_>>(), tokens);
            for (token, found) in counts {
                let of: Vec<_> = transfers.iter().filter(|t| t.token_address == token).collect();
                let edges: BTreeSet<_> = of.iter().map(|t| (t.from_address, t.to_address)).collect();
                let addresses: BTreeSet<_> = edges.iter().flat_map(|(a, b)| [*a, *b]).collect();
                let mut expected = TokenCounts {
                    transfers: of.len() as u64,
                    amount: of.iter().fold(AmountSum::ZERO, |sum, t| sum + widen(t.value)),
                    edges: edges.len() as u64,
                    ..TokenCounts::none(token)
                };
                for address in addresses {
                    let others = edges.iter().filter(|(a, b)| *a == address || *b == address);
                    let others: BTreeSet<_> = others.map(|(a, b)| if *a == address { *b } else { *a }).collect();
                    let ends = of.iter().flat_map(|t| [t.from_address, t.to_address]);
                    let ends = ends.filter(|end| *end == address).count() as u64;
                    expected.add_end(others.len() as u64, ends);
                }
                prop_assert_eq!(found, expected);
                prop_assert!(found.concentration().is_some_and(|part| part > 0.0 && part <= 1.0));
            }
        }

        #[test]
        fn motifs_agree_with_counting(transfers in crate::oracle::some_transfers()) {
            let pairs: BTreeSet<_> = transfers.iter().map(|t| (t.from_address, t.to_address)).collect();
            let graph = graph_of(&transfers);
            let (found, fans) = MotifCounts::of_edges(&graph);
            let loops = pairs.iter().filter(|(a, b)| a == b).count() as u64;
            let cycles = pairs.iter().filter(|(a, b)| a < b && pairs.contains(&(*b, *a))).count() as u64;
            prop_assert_eq!((found.loops, found.two_cycles), (loops, cycles));
            for (address, fans) in graph.addresses.iter().zip(&fans) {
                let senders = pairs.iter().filter(|(a, b)| b == address && a != b).count() as u64;
                let receivers = pairs.iter().filter(|(a, b)| a == address && a != b).count() as u64;
                prop_assert_eq!(*fans, [senders, receivers]);
            }
        }
    }

    #[test]
    fn ten_counterparties_are_a_fan() {
        let fans = [[9, 10], [10, 0], [11, 9]];
        let counts = MotifCounts::of_fans(fans.into_iter());
        assert_eq!((counts.fan_in, counts.fan_out), (2, 1));
    }
}
