//! Counts of a graph: size, hops, kinds, assets, and the most active addresses.

use crate::{Side, concentration::Participant, ratio::share_of_count, serial::decimal};
use alloy_primitives::Address;
use petgraph::visit::EdgeRef;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, Asset, Expansion, TransferGraph, Vertex, VertexId, widen};
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

/// Sums up `graph`. Sorts once, otherwise linear in vertices and transfers.
pub fn summary(graph: &TransferGraph, settings: &SummarySettings) -> Summary {
    let mut hops = BTreeMap::new();
    let mut expansions = Expansions::default();
    for vertex in graph.graph.node_weights() {
        at_hop(&mut hops, vertex.hop).vertices += 1;
        expansions.count(vertex.expansion);
    }

    let assets = graph.assets();
    let mut totals = vec![Totals::default(); assets.len()];
    let mut kinds: Vec<_> = Kind::ALL
        .iter()
        .map(|&kind| KindCount { kind, transfers: 0 })
        .collect();
    for edge in graph.graph.edge_references() {
        let transfer = &edge.weight().transfer;
        at_hop(&mut hops, edge.weight().hop).transfers += 1;
        kinds[transfer.kind as usize].transfers += 1;
        let rank = assets.partition_point(|asset| *asset < Asset::of(transfer));
        totals[rank].count(transfer, edge.source() == edge.target());
    }
    kinds.retain(|kind| kind.transfers > 0);
    let merged = graph.merged();
    for edge in &merged {
        totals[assets.partition_point(|asset| *asset < edge.asset)].pairs += 1;
    }
    let pairs = merged
        .chunk_by(|a, b| (a.source, a.target) == (b.source, b.target))
        .count();

    let mut listed: Vec<usize> = (0..assets.len()).collect();
    listed.sort_by_key(|&rank| (Reverse(totals[rank].transfers), rank));
    listed.truncate(settings.assets);
    let transfers = graph.graph.edge_count() as u64;
    let top = |side| busiest(graph, settings, side, transfers);
    let (top_senders, top_receivers) = (top(Sends), top(Receives));

    let sum = |field: fn(&Totals) -> u64| totals.iter().map(field).sum();
    Summary {
        vertices: graph.graph.node_count() as u64,
        roots: graph.roots.len() as u64,
        transfers,
        pairs: pairs as u64,
        merged_edges: merged.len() as u64,
        zero_value_transfers: sum(|asset| asset.zero_value),
        self_transfers: sum(|asset| asset.to_self),
        first_block: totals.iter().map(|asset| asset.first_block).min(),
        last_block: totals.iter().map(|asset| asset.last_block).max(),
        hops: hops.into_values().collect(),
        expansions: expansions.0,
        kinds,
        asset_count: assets.len() as u64,
        assets: summarise_assets(graph, settings, &assets, &totals, &listed),
        top_senders,
        top_receivers,
    }
}

fn at_hop(hops: &mut BTreeMap<u32, HopCount>, hop: u32) -> &mut HopCount {
    hops.entry(hop).or_insert(HopCount {
        hop,
        vertices: 0,
        transfers: 0,
    })
}

/// Expansions, in the order of their first vertices.
#[derive(Default)]
struct Expansions(Vec<ExpansionCount>);

impl Expansions {
    fn count(&mut self, expansion: Expansion) {
        match self.0.iter_mut().find(|count| count.expansion == expansion) {
            Some(count) => count.vertices += 1,
            None => self.0.push(ExpansionCount {
                expansion,
                vertices: 1,
            }),
        }
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
    zero_value: u64,
    to_self: u64,
    first_block: u64,
    last_block: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            transfers: 0,
            amount: AmountSum::ZERO,
            pairs: 0,
            minted: AmountSum::ZERO,
            burned: AmountSum::ZERO,
            zero_value: 0,
            to_self: 0,
            first_block: u64::MAX,
            last_block: 0,
        }
    }
}

impl Totals {
    fn count(&mut self, transfer: &txgraph_transfers::Transfer, to_self: bool) {
        let amount = widen(transfer.value);
        self.transfers += 1;
        self.amount += amount;
        if transfer.from_address.is_zero() {
            self.minted += amount;
        }
        if transfer.to_address.is_zero() {
            self.burned += amount;
        }
        self.zero_value += u64::from(transfer.value.is_zero());
        self.to_self += u64::from(to_self);
        self.first_block = self.first_block.min(transfer.block_number);
        self.last_block = self.last_block.max(transfer.block_number);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Activity {
    Sends,
    Receives,
}
use Activity::{Receives, Sends};

/// Whether a vertex counts among senders and receivers. What the zero address sends is
/// minted, and what it receives is burned.
fn counts(vertex: &Vertex) -> bool {
    !vertex.address.is_zero()
}

fn busiest(
    graph: &TransferGraph,
    settings: &SummarySettings,
    activity: Activity,
    transfers: u64,
) -> Vec<BusyAddress> {
    let mut busy: Vec<(u64, Reverse<Address>, VertexId)> = graph
        .graph
        .node_indices()
        .map(|id| (id, &graph.graph[id]))
        .filter(|(_, vertex)| counts(vertex))
        .map(|(id, vertex)| {
            let count = vertex.totals.iter().map(|totals| match activity {
                Sends => totals.out_transfers,
                Receives => totals.in_transfers,
            });
            (count.sum(), Reverse(vertex.address), id)
        })
        .filter(|(count, ..)| *count > 0)
        .collect();
    busy.sort_unstable_by(|a, b| b.cmp(a));
    busy.truncate(settings.top);
    busy.into_iter()
        .map(|(count, Reverse(address), id)| {
            let vertex = &graph.graph[id];
            let counterparties = match activity {
                Sends => vertex.out_degree,
                Receives => vertex.in_degree,
            };
            BusyAddress {
                address,
                label: vertex.label.clone(),
                transfers: count,
                share: share_of_count(count, transfers),
                counterparties: counterparties.into(),
            }
        })
        .collect()
}

fn summarise_assets(
    graph: &TransferGraph,
    settings: &SummarySettings,
    assets: &[Asset],
    totals: &[Totals],
    listed: &[usize],
) -> Vec<AssetSummary> {
    // Only participants of the listed assets: there may be many more.
    let mut place = vec![None; assets.len()];
    for (index, &rank) in listed.iter().enumerate() {
        place[rank] = Some(index);
    }
    let mut sides = vec![(Vec::new(), Vec::new()); listed.len()];
    for vertex in graph.graph.node_indices() {
        if !counts(&graph.graph[vertex]) {
            continue;
        }
        for total in &graph.graph[vertex].totals {
            let rank = assets.partition_point(|asset| *asset < total.asset);
            let Some(index) = place.get(rank).copied().flatten() else {
                continue;
            };
            let (senders, receivers) = &mut sides[index];
            let add = |side: &mut Vec<Participant>, transfers, amount| {
                if transfers > 0 {
                    side.push(Participant {
                        vertex,
                        transfers,
                        amount,
                    });
                }
            };
            add(senders, total.out_transfers, total.out_amount);
            add(receivers, total.in_transfers, total.in_amount);
        }
    }
    let side = |participants| Side::new(graph, participants, settings.top);
    listed
        .iter()
        .zip(sides)
        .map(|(&rank, (senders, receivers))| {
            let totals = &totals[rank];
            AssetSummary {
                asset: assets[rank],
                transfers: totals.transfers,
                amount: totals.amount,
                pairs: totals.pairs,
                minted: totals.minted,
                burned: totals.burned,
                zero_value_transfers: totals.zero_value,
                self_transfers: totals.to_self,
                first_block: totals.first_block,
                last_block: totals.last_block,
                senders: side(senders),
                receivers: side(receivers),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
