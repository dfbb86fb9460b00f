//! Counts of a graph: size, hops, kinds, assets, and the most active addresses.

use crate::{Side, concentration::Participant, ratio::share_of_count, serial::decimal};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use txgraph_graph::{AmountSum, Asset, Csr, EdgeSum, Expansion, MergedGraph};
use txgraph_transfers::Kind;

mod tables;

/// Options of a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SummarySettings {
    /// Length of the lists of top addresses. Default 10.
    pub top: usize,
    /// How many assets to list, those with most transfers first. Default 50.
    pub assets: usize,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self {
            top: 10,
            assets: 50,
        }
    }
}

/// The summary of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Addresses.
    pub vertices: u64,
    /// Addresses from which the search started.
    pub roots: u64,
    /// Transfers, each of which is an edge.
    pub transfers: u64,
    /// Distinct (from, to).
    pub pairs: u64,
    /// Distinct (from, to, asset): the edges of the merged graph.
    pub merged_edges: u64,
    /// Transfers of amount zero, which anyone can emit in any name.
    pub zero_value_transfers: u64,
    /// Transfers from an address to itself.
    pub self_transfers: u64,
    /// Block of the first transfer.
    pub first_block: Option<u64>,
    /// Block of the last transfer.
    pub last_block: Option<u64>,
    /// By hop, ascending.
    pub hops: Vec<HopCount>,
    /// Vertices by expansion, for those that occur.
    pub expansions: Vec<ExpansionCount>,
    /// Transfers by kind; kinds that occur, in the order of [`Kind::ALL`].
    pub kinds: Vec<KindCount>,
    /// The number of assets, listed or not.
    pub asset_count: u64,
    /// The listed assets, those with most transfers first, then by address.
    pub assets: Vec<AssetSummary>,
    /// Addresses with most transfers sent, of any asset.
    pub top_senders: Vec<BusyAddress>,
    /// Addresses with most transfers received, of any asset.
    pub top_receivers: Vec<BusyAddress>,
}

/// Counts of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HopCount {
    /// Distance from the roots.
    pub hop: u32,
    /// Addresses at this hop.
    pub vertices: u64,
    /// Transfers found at this hop.
    pub transfers: u64,
}

/// The vertices with one expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExpansionCount {
    /// Whether they were expanded, or why not.
    pub expansion: Expansion,
    /// The number of vertices.
    pub vertices: u64,
}

/// The transfers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: Kind,
    /// The number of transfers.
    pub transfers: u64,
}

/// The summary of one asset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AssetSummary {
    /// The asset.
    #[serde(flatten)]
    pub asset: Asset,
    /// Its transfers.
    pub transfers: u64,
    /// The sum of their amounts.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Distinct (from, to).
    pub pairs: u64,
    /// The sum sent by the zero address: minted, wrapped or withdrawn from the beacon chain.
    #[serde(serialize_with = "decimal")]
    pub minted: AmountSum,
    /// The sum received by the zero address.
    #[serde(serialize_with = "decimal")]
    pub burned: AmountSum,
    /// Transfers of amount zero.
    pub zero_value_transfers: u64,
    /// Transfers from an address to itself.
    pub self_transfers: u64,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
    /// Its senders.
    pub senders: Side,
    /// Its receivers.
    pub receivers: Side,
}

/// An address with many transfers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyAddress {
    /// The address.
    pub address: Address,
    /// Its label, if any.
    pub label: Option<String>,
    /// Transfers that it sent (or received).
    pub transfers: u64,
    /// Part of all transfers of the graph.
    pub share: Option<f64>,
    /// Distinct receivers (or senders).
    pub counterparties: u64,
}

/// Sums up `graph`. Sorts the participants of one asset at a time, otherwise linear in
/// vertices and edges.
pub fn summary(graph: &MergedGraph, settings: &SummarySettings) -> Summary {
    let mut totals = vec![Totals::default(); graph.assets.len()];
    let mut sent = vec![0u64; graph.addresses.len()];
    let mut received = sent.clone();
    let mut pairs = 0;
    let mut last = None;
    for edge in graph.edges() {
        totals[edge.asset as usize].count(graph, &edge);
        sent[edge.from as usize] += edge.count;
        received[edge.to as usize] += edge.count;
        let ends = (edge.from, edge.to);
        pairs += u64::from(last.replace(ends) != Some(ends));
    }
    let top = [
        busiest(graph, settings, &sent),
        busiest(graph, settings, &received),
    ];
    drop((sent, received));
    let [top_senders, top_receivers] = with_counterparties(graph, top);

    let mut listed: Vec<u32> = (0..).take(graph.assets.len()).collect();
    listed.sort_unstable_by_key(|&asset| {
        (
            Reverse(totals[asset as usize].transfers),
            graph.asset(asset),
        )
    });
    listed.truncate(settings.assets);
    let sum = |field: fn(&Totals) -> u64| totals.iter().map(field).sum();
    let hops = graph.hops.iter();
    let kinds = Kind::ALL.iter().zip(graph.kinds);
    Summary {
        vertices: graph.addresses.len() as u64,
        roots: graph.roots,
        transfers: graph.transfers,
        pairs,
        merged_edges: graph.edge_count() as u64,
        zero_value_transfers: graph.zero_values.iter().sum(),
        self_transfers: sum(|asset| asset.to_self),
        first_block: totals
            .iter()
            .map(|asset| asset.first)
            .min()
            .map(|first| graph.block(first).0),
        last_block: totals
            .iter()
            .map(|asset| asset.last)
            .max()
            .map(|last| graph.block(last).0),
        hops: hops
            .map(|(&hop, &(vertices, transfers))| HopCount {
                hop,
                vertices,
                transfers,
            })
            .collect(),
        expansions: graph
            .expansions
            .iter()
            .map(|&(expansion, vertices)| ExpansionCount {
                expansion,
                vertices,
            })
            .collect(),
        kinds: kinds
            .map(|(&kind, transfers)| KindCount { kind, transfers })
            .filter(|count| count.transfers > 0)
            .collect(),
        asset_count: graph.assets.len() as u64,
        assets: summarize_assets(graph, settings, &totals, &listed),
        top_senders,
        top_receivers,
    }
}

/// Totals of all transfers of one asset.
#[derive(Clone)]
struct Totals {
    transfers: u64,
    amount: AmountSum,
    pairs: u64,
    minted: AmountSum,
    burned: AmountSum,
    to_self: u64,
    /// First and last block, by number.
    first: u32,
    last: u32,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            transfers: 0,
            amount: AmountSum::ZERO,
            pairs: 0,
            minted: AmountSum::ZERO,
            burned: AmountSum::ZERO,
            to_self: 0,
            first: u32::MAX,
            last: 0,
        }
    }
}

impl Totals {
    fn count(&mut self, graph: &MergedGraph, edge: &EdgeSum) {
        self.transfers += edge.count;
        self.amount += edge.sum;
        self.pairs += 1;
        if graph.zero == Some(edge.from) {
            self.minted += edge.sum;
        }
        if graph.zero == Some(edge.to) {
            self.burned += edge.sum;
        }
        if edge.from == edge.to {
            self.to_self += edge.count;
        }
        self.first = self.first.min(edge.first);
        self.last = self.last.max(edge.last);
    }
}

/// Returns the addresses with most transfers, without their counterparties, each with its
/// number. `counts` has the transfers of each address. The zero address is not among them: what
/// it sends is minted, and what it receives is burned.
fn busiest(
    graph: &MergedGraph,
    settings: &SummarySettings,
    counts: &[u64],
) -> Vec<(u32, BusyAddress)> {
    let key = |&(count, vertex): &(u64, u32)| (Reverse(count), graph.address(vertex));
    let numbered = counts.iter().copied().zip(0u32..);
    let mut busy: Vec<_> = numbered
        .filter(|(count, vertex)| *count > 0 && graph.zero != Some(*vertex))
        .collect();
    if busy.len() > settings.top {
        busy.select_nth_unstable_by_key(settings.top, key);
        busy.truncate(settings.top);
    }
    busy.sort_unstable_by_key(key);
    busy.into_iter()
        .map(|(count, vertex)| {
            let busy = BusyAddress {
                address: graph.address(vertex),
                label: graph.label_of(vertex),
                transfers: count,
                share: share_of_count(count, graph.transfers),
                counterparties: 0,
            };
            (vertex, busy)
        })
        .collect()
}

/// Counts the counterparties of the busiest senders and receivers.
fn with_counterparties(
    graph: &MergedGraph,
    top: [Vec<(u32, BusyAddress)>; 2],
) -> [Vec<BusyAddress>; 2] {
    let mut counts = vec![[0u32; 2]; graph.addresses.len()];
    for (from, to) in graph.pairs() {
        counts[from as usize][0] += 1;
        counts[to as usize][1] += 1;
    }
    let mut side = 0;
    top.map(|busy| {
        side += 1;
        let counted = busy.into_iter().map(|(vertex, busy)| BusyAddress {
            counterparties: counts[vertex as usize][side - 1].into(),
            ..busy
        });
        counted.collect()
    })
}

/// Summarizes the listed assets. Participants are collected for these only, for one
/// asset at a time: there may be many more.
fn summarize_assets(
    graph: &MergedGraph,
    settings: &SummarySettings,
    totals: &[Totals],
    listed: &[u32],
) -> Vec<AssetSummary> {
    let mut place = vec![u32::MAX; graph.assets.len()];
    for (&asset, at) in listed.iter().zip(0..) {
        place[asset as usize] = at;
    }
    let edges = Csr::group(listed.len(), || {
        let edges = graph.edges().zip(0u32..);
        edges
            .map(|(edge, number)| (place[edge.asset as usize], number))
            .filter(|(place, _)| *place != u32::MAX)
    });
    let mut sides = Sides::new(graph);
    listed
        .iter()
        .zip(0..)
        .map(|(&asset, place)| {
            let edges = || graph.edges_at(edges.of(place));
            let mut side = |end: fn(&EdgeSum) -> u32| {
                let participants = sides.participants(edges().map(|edge| (end(&edge), edge)));
                Side::new(graph, participants, settings.top)
            };
            let (senders, receivers) = (side(|edge| edge.from), side(|edge| edge.to));
            let totals = &totals[asset as usize];
            AssetSummary {
                asset: graph.asset(asset),
                transfers: totals.transfers,
                amount: totals.amount,
                pairs: totals.pairs,
                minted: totals.minted,
                burned: totals.burned,
                zero_value_transfers: graph.zero_values[asset as usize],
                self_transfers: totals.to_self,
                first_block: graph.block(totals.first).0,
                last_block: graph.block(totals.last).0,
                senders,
                receivers,
            }
        })
        .collect()
}

/// Collects the participants of one side of one asset.
struct Sides<'g> {
    graph: &'g MergedGraph,
    /// By number of an address: its place in the list of participants, or [`u32::MAX`].
    places: Vec<u32>,
}

impl<'g> Sides<'g> {
    fn new(graph: &'g MergedGraph) -> Self {
        let places = vec![u32::MAX; graph.addresses.len()];
        Self { graph, places }
    }

    /// Adds up edges by the address of the participant. The zero address is none.
    fn participants(&mut self, edges: impl Iterator<Item = (u32, EdgeSum)>) -> Vec<Participant> {
        let mut participants: Vec<Participant> = Vec::new();
        for (vertex, edge) in edges.filter(|(vertex, _)| self.graph.zero != Some(*vertex)) {
            let place = &mut self.places[vertex as usize];
            if *place == u32::MAX {
                // There are no more participants than addresses, which are numbered in `u32`.
                *place = u32::try_from(participants.len()).unwrap_or(u32::MAX);
                participants.push(Participant {
                    vertex,
                    transfers: 0,
                    amount: AmountSum::ZERO,
                });
            }
            let participant = &mut participants[*place as usize];
            participant.transfers += edge.count;
            participant.amount += edge.sum;
        }
        for participant in &participants {
            self.places[participant.vertex as usize] = u32::MAX;
        }
        participants
    }
}

#[cfg(test)]
mod tests;
