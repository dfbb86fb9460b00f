//! The counterparties and transfers of vertices.

use crate::{ColumnType, MeasureResult, Table, ratio::share_of_count};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::MergedGraph;

/// The bounds of [`Degrees::at_least`].
const AT_LEAST: [u64; 11] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000];

/// The degrees of a graph. The zero address is a vertex like others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Degrees {
    /// Addresses.
    pub vertices: u64,
    /// One entry for each of `in_degree`, `out_degree` (distinct senders and receivers),
    /// `in_transfers`, `out_transfers` and `transfers` (received, sent, and either; a
    /// self-transfer counts once). Empty if there are no vertices.
    pub stats: Vec<DegreeStats>,
    /// The number of vertices by degree, ascending.
    pub distribution: Vec<DegreeBucket>,
    /// The number of vertices with at least N transfers, for each bound.
    pub at_least: Vec<AtLeast>,
    /// The vertices with the most senders and receivers together, then with the most transfers,
    /// then by address.
    pub hubs: Vec<HubDegree>,
}

/// The degrees of one vertex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubDegree {
    /// Its address.
    pub address: Address,
    /// Its label, if any.
    pub label: Option<String>,
    /// Distinct senders to it.
    pub in_degree: u64,
    /// Distinct receivers from it.
    pub out_degree: u64,
    /// Transfers received.
    pub in_transfers: u64,
    /// Transfers sent.
    pub out_transfers: u64,
    /// Transfers received or sent; a self-transfer counts once.
    pub transfers: u64,
}

/// Statistics of one number over all vertices. Percentiles are nearest-rank: the smallest
/// number that this percentage of the vertices does not exceed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DegreeStats {
    /// The name of the number.
    pub measure: &'static str,
    /// The smallest.
    pub min: u64,
    /// The mean.
    pub mean: f64,
    /// The 50th percentile.
    pub median: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// Vertices whose number is in `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DegreeBucket {
    /// The smallest number.
    pub first: u64,
    /// The largest number.
    pub last: u64,
    /// Vertices with this many distinct senders.
    pub by_in_degree: u64,
    /// Vertices with this many distinct receivers.
    pub by_out_degree: u64,
    /// Vertices with this many transfers.
    pub by_transfers: u64,
}

/// Vertices with many transfers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtLeast {
    /// The bound N.
    pub transfers: u64,
    /// Vertices with N or more transfers.
    pub vertices: u64,
    /// Part of all vertices; `None` if there are none.
    pub share: Option<f64>,
}

/// The names of the numbers of a vertex, in the order of [`VertexDegrees`].
const MEASURES: [&str; 5] = [
    "in_degree",
    "out_degree",
    "in_transfers",
    "out_transfers",
    "transfers",
];

/// Distinct senders and receivers of a vertex, and its transfers received, sent, and either.
/// Degrees in graphs without a common (sender, receiver) add up.
pub type VertexDegrees = [u64; MEASURES.len()];

/// Counts the degrees of each vertex of `graph`, by number.
pub fn vertex_degrees(graph: &MergedGraph) -> Vec<VertexDegrees> {
    let mut degrees = vec![VertexDegrees::default(); graph.addresses.len()];
    let mut last = None;
    for edge in graph.edges() {
        let pair = (edge.from, edge.to);
        let new = u64::from(last.replace(pair) != Some(pair));
        let from = &mut degrees[edge.from as usize];
        from[1] += new;
        from[3] += edge.count;
        from[4] += edge.count;
        let to = &mut degrees[edge.to as usize];
        to[0] += new;
        to[2] += edge.count;
        if edge.from != edge.to {
            to[4] += edge.count;
        }
    }
    degrees
}

/// Counts the degrees of `graph`, and names its largest `hubs_max` vertices. Sorts five numbers
/// per vertex, otherwise linear. Its memory is 48 bytes per vertex.
pub fn degrees(graph: &MergedGraph, hubs_max: usize) -> Degrees {
    DegreeCounts::of(&graph.addresses, &vertex_degrees(graph), hubs_max).finish()
}

/// The degrees of some vertices. Counts of distinct vertices are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DegreeCounts {
    /// The number of vertices.
    pub vertices: u64,
    numbers: [Numbers; MEASURES.len()],
    hubs: Vec<HubDegree>,
}

impl DegreeCounts {
    /// Counts the vertices with these addresses.
    pub fn of(addresses: &[Address], degrees: &[VertexDegrees], hubs_max: usize) -> Self {
        let key = |place: &usize| {
            let [senders, receivers, .., transfers] = degrees[*place];
            let degree = Reverse(senders + receivers);
            (degree, Reverse(transfers), addresses[*place])
        };
        let mut top: Vec<usize> = (0..addresses.len()).collect();
        if hubs_max < top.len() {
            top.select_nth_unstable_by_key(hubs_max, key);
            top.truncate(hubs_max);
        }
        top.sort_unstable_by_key(key);
        let hub = |place: usize| {
            let [
                in_degree,
                out_degree,
                in_transfers,
                out_transfers,
                transfers,
            ] = degrees[place];
            HubDegree {
                address: addresses[place],
                label: None,
                in_degree,
                out_degree,
                in_transfers,
                out_transfers,
                transfers,
            }
        };
        Self {
            vertices: addresses.len() as u64,
            numbers: std::array::from_fn(|at| {
                Numbers::of(degrees.iter().map(|degrees| degrees[at]).collect())
            }),
            hubs: top.into_iter().map(hub).collect(),
        }
    }

    /// Adds the counts of other vertices. Keeps `hubs_max` hubs.
    pub fn merge(&mut self, other: Self, hubs_max: usize) {
        self.vertices += other.vertices;
        for (ours, theirs) in self.numbers.iter_mut().zip(other.numbers) {
            ours.merge(theirs);
        }
        self.hubs.extend(other.hubs);
        self.hubs.sort_unstable_by_key(|hub| {
            let degree = hub.in_degree + hub.out_degree;
            (Reverse(degree), Reverse(hub.transfers), hub.address)
        });
        self.hubs.truncate(hubs_max);
    }

    /// Returns the degrees.
    pub fn finish(self) -> Degrees {
        let Self {
            vertices,
            numbers,
            hubs,
        } = self;
        let ranks = numbers.map(Ranks::of);
        let [in_degree, out_degree, .., transfers] = &ranks;
        let at_least = AT_LEAST.map(|least| {
            let with_more = vertices - transfers.below(least);
            AtLeast {
                transfers: least,
                vertices: with_more,
                share: share_of_count(with_more, vertices),
            }
        });
        let distribution = distribution([in_degree, out_degree, transfers]);
        let stats = ranks.iter().zip(MEASURES);
        Degrees {
            vertices,
            stats: stats
                .filter_map(|(ranks, measure)| ranks.stats(measure))
                .collect(),
            distribution,
            at_least: at_least.into(),
            hubs,
        }
    }
}

/// One number of some vertices: the distinct ones, ascending, each with the number of vertices that
/// have it. Few numbers differ, however many vertices there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Numbers(Vec<(u64, u64)>);

impl Numbers {
    /// Sorts the numbers of all vertices.
    fn of(mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        let groups = numbers.chunk_by(|a, b| a == b);
        Self(groups.map(|group| (group[0], group.len() as u64)).collect())
    }

    fn merge(&mut self, other: Self) {
        let mut counts: BTreeMap<u64, u64> = self.0.drain(..).collect();
        for (number, vertices) in other.0 {
            *counts.entry(number).or_default() += vertices;
        }
        self.0 = counts.into_iter().collect();
    }
}

/// The distinct numbers, ascending, each with the number of vertices that have it or a smaller one.
struct Ranks {
    ranks: Vec<(u64, u64)>,
    sum: u64,
}

impl Ranks {
    fn of(numbers: Numbers) -> Self {
        let sum = numbers.0.iter().map(|(number, vertices)| number * vertices);
        let sum = sum.sum();
        let mut ranks = numbers.0;
        let mut up_to = 0;
        for (_, vertices) in &mut ranks {
            up_to += *vertices;
            *vertices = up_to;
        }
        Self { ranks, sum }
    }

    /// Returns the statistics; `None` if there are no vertices.
    fn stats(&self, measure: &'static str) -> Option<DegreeStats> {
        let (min, (max, vertices)) = (self.ranks.first()?.0, *self.ranks.last()?);
        let percentile = |percent: u64| {
            // Of 2^32 vertices at most.
            let rank = (vertices * percent).div_ceil(100);
            self.ranks[self.ranks.partition_point(|(_, up_to)| *up_to < rank)].0
        };
        Some(DegreeStats {
            measure,
            min,
            mean: share_of_count(self.sum, vertices)?,
            median: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max,
        })
    }

    /// Returns how many vertices have a number below `bound`.
    fn below(&self, bound: u64) -> u64 {
        match self.ranks.partition_point(|(number, _)| *number < bound) {
            0 => 0,
            place => self.ranks[place - 1].1,
        }
    }
}

fn distribution(numbers: [&Ranks; 3]) -> Vec<DegreeBucket> {
    let largest = numbers.iter().filter_map(|numbers| numbers.ranks.last());
    let Some(max) = largest.map(|(number, _)| *number).max() else {
        return Vec::new();
    };
    // Of doubling width: 0, 1, 2, 3..=4, 5..=8, …
    let doubling = std::iter::successors(Some((1u64, 1u64)), |(_, last)| {
        Some((last + 1, last.checked_mul(2)?))
    });
    let bounds = std::iter::once((0, 0)).chain(doubling.take_while(|(first, _)| *first <= max));
    let bucket = |(first, last): (u64, u64)| {
        let within = |numbers: &Ranks| numbers.below(last + 1) - numbers.below(first);
        let [by_in_degree, by_out_degree, by_transfers] = numbers.map(within);
        DegreeBucket {
            first,
            last,
            by_in_degree,
            by_out_degree,
            by_transfers,
        }
    };
    bounds.map(bucket).collect()
}

impl MeasureResult for Degrees {
    /// Statistics, vertices with at least N transfers, distribution, hubs.
    fn tables(&self) -> Vec<Table> {
        use ColumnType::{F64, Text, U64};
        let stats = Table::of(
            "degrees",
            "Degrees",
            &self.stats,
            &[
                ("measure", Text, |line| line.measure.into()),
                ("min", U64, |line| line.min.into()),
                ("mean", F64, |line| line.mean.into()),
                ("median", U64, |line| line.median.into()),
                ("p90", U64, |line| line.p90.into()),
                ("p99", U64, |line| line.p99.into()),
                ("max", U64, |line| line.max.into()),
            ],
        );
        let at_least = Table::of(
            "vertices-with-at-least-n-transfers",
            "Vertices with at least N transfers",
            &self.at_least,
            &[
                ("transfers", U64, |line| line.transfers.into()),
                ("vertices", U64, |line| line.vertices.into()),
                ("share", F64, |line| line.share.into()),
            ],
        );
        let distribution = Table::of(
            "distribution-of-degrees",
            "Distribution of degrees",
            &self.distribution,
            &[
                ("first", U64, |bucket| bucket.first.into()),
                ("last", U64, |bucket| bucket.last.into()),
                ("by_in_degree", U64, |bucket| bucket.by_in_degree.into()),
                ("by_out_degree", U64, |bucket| bucket.by_out_degree.into()),
                ("by_transfers", U64, |bucket| bucket.by_transfers.into()),
            ],
        );
        vec![stats, at_least, distribution, self.hub_table()]
    }
}

impl Degrees {
    /// Gives the hubs their labels.
    pub fn label(&mut self, name: &dyn Fn(Address) -> Option<String>) {
        for hub in &mut self.hubs {
            hub.label = name(hub.address);
        }
    }

    fn hub_table(&self) -> Table {
        use ColumnType::{Address, Text, U64};
        Table::of(
            "hubs",
            "Addresses with the most senders and receivers",
            (1u64..).zip(&self.hubs),
            &[
                ("rank", U64, |(rank, _)| rank.into()),
                ("address", Address, |(_, hub)| hub.address.into()),
                ("label", Text, |(_, hub)| hub.label.clone().into()),
                ("in_degree", U64, |(_, hub)| hub.in_degree.into()),
                ("out_degree", U64, |(_, hub)| hub.out_degree.into()),
                ("in_transfers", U64, |(_, hub)| hub.in_transfers.into()),
                ("out_transfers", U64, |(_, hub)| hub.out_transfers.into()),
                ("transfers", U64, |(_, hub)| hub.transfers.into()),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use txgraph_graph::testing;

    fn check(text: &str, stats: &[&str], distribution: &[&str]) {
        let graph = testing::graph(testing::transfers(text));
        let degrees = degrees(&MergedGraph::of(&graph), 10);
        let shown: Vec<_> = degrees
            .stats
            .iter()
            .map(|s| {
                let (measure, mean, median) = (s.measure, s.mean, s.median);
                let [min, p90, p99, max] = [s.min, s.p90, s.p99, s.max];
                format!("{measure} {min} {mean} {median} {p90} {p99} {max}")
            })
            .collect();
        assert_eq!(shown, stats);
        let shown: Vec<_> = degrees
            .distribution
            .iter()
            .map(|b| {
                let by = [b.by_in_degree, b.by_out_degree, b.by_transfers];
                format!("{}..={}: {} {} {}", b.first, b.last, by[0], by[1], by[2])
            })
            .collect();
        assert_eq!(shown, distribution);
        assert_eq!(degrees.tables().len(), 4);
    }

    #[test]
    fn counts_stars_and_self_transfers() {
        check("", &[], &[]);
        // Four vertices: a sends four transfers to three, and d sends one to itself.
        check(
            "a>b a>b a>c a>d d>d",
            &[
                "in_degree 0 1 1 2 2 2",
                "out_degree 0 1 0 3 3 3",
                "in_transfers 0 1.25 1 2 2 2",
                "out_transfers 0 1.25 0 4 4 4",
                "transfers 1 2.25 2 4 4 4",
            ],
            &[
                "0..=0: 1 2 0",
                "1..=1: 2 1 1",
                "2..=2: 1 0 2",
                "3..=4: 0 1 1",
            ],
        );
        let same = [
            "in_degree",
            "out_degree",
            "in_transfers",
            "out_transfers",
            "transfers",
        ]
        .map(|measure| format!("{measure} 1 1 1 1 1 1"));
        check(
            "a>a",
            &same.each_ref().map(String::as_str),
            &["0..=0: 0 0 0", "1..=1: 1 1 1"],
        );
    }

    proptest! {
        #[test]
        fn hubs_agree_with_counting(
            transfers in crate::oracle::some_transfers(),
            hubs_max in 0usize..9,
        ) {
            let graph = testing::graph(transfers.clone());
            let found = degrees(&MergedGraph::of(&graph), hubs_max).hubs;
            let mut expected: Vec<_> = graph.graph.node_weights().map(|vertex| {
                let address = vertex.address;
                let received = transfers.iter().filter(|t| t.to_address == address);
                let sent = transfers.iter().filter(|t| t.from_address == address);
                let own = sent.clone().filter(|t| t.to_address == address).count() as u64;
                let (in_transfers, out_transfers) =
                    (received.clone().count() as u64, sent.clone().count() as u64);
                HubDegree {
                    address,
                    label: None,
                    in_degree: received.map(|t| t.from_address).collect::<BTreeSet<_>>().len() as u64,
                    out_degree: sent.map(|t| t.to_address).collect::<BTreeSet<_>>().len() as u64,
                    in_transfers,
                    out_transfers,
                    transfers: in_transfers + out_transfers - own,
                }
            }).collect();
            expected.sort_by_key(|hub| {
                (Reverse((hub.in_degree + hub.out_degree, hub.transfers)), hub.address)
            });
            expected.truncate(hubs_max);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn degrees_agree_with_counting(transfers in crate::oracle::some_transfers()) {
            let graph = testing::graph(transfers.clone());
            let found = degrees(&MergedGraph::of(&graph), 0);
            let addresses: Vec<_> = graph.graph.node_weights().map(|v| v.address).collect();
            let touching = |address| {
                transfers.iter().filter(|t| t.from_address == address || t.to_address == address).count() as u64
            };
            let counts: Vec<u64> = addresses.iter().map(|a| touching(*a)).collect();
            for line in &found.at_least {
                let expected = counts.iter().filter(|count| **count >= line.transfers).count() as u64;
                prop_assert_eq!(line.vertices, expected);
            }
            for bucket in &found.distribution {
                let expected = counts.iter().filter(|c| (bucket.first..=bucket.last).contains(*c)).count() as u64;
                prop_assert_eq!(bucket.by_transfers, expected);
            }
            let whole: u64 = found.distribution.iter().map(|b| b.by_transfers).sum();
            prop_assert_eq!(whole, found.vertices);
            // Nearest rank, by its definition.
            if let Some(line) = found.stats.last() {
                for (percent, number) in [(50, line.median), (90, line.p90), (99, line.p99)] {
                    let covers = |number: u64| 100 * counts.iter().filter(|c| **c <= number).count() >= percent * counts.len();
                    prop_assert!(covers(number) && counts.contains(&number));
                    prop_assert!(counts.iter().all(|c| *c >= number || !covers(*c)));
                }
            }
        }
    }
}
