//! Counts of a graph: size, hops, kinds, assets, and the most active addresses.

use crate::{
    Participant, Side, SideCounts, VertexDegrees, ratio::share_of_count, serial::decimal,
    vertex_degrees,
};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, Asset, Csr, Expansion, MergedGraph};
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
    /// The sum that the zero address received of others.
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
    let mut counts = SummaryCounts {
        transfers: graph.transfers,
        kinds: graph.kinds,
        ..SummaryCounts::of_vertices(&graph.addresses, &vertex_degrees(graph), settings)
    };
    counts.merge(
        SummaryCounts::of_assets(asset_counts(graph), settings),
        settings,
    );
    let listed: Vec<_> = counts.listed().collect();
    counts.merge(SummaryCounts::of_edges(graph, &[]), settings);
    each_side(graph, &listed, |asset, side, participants| {
        counts.add_side(asset, side, participants, settings);
    });
    counts.finish(graph.roots, &graph.hops, &graph.expansions, settings)
}

/// All transfers of one asset. Counts of graphs without a common (sender, receiver) add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetCounts {
    /// The asset.
    pub asset: Asset,
    /// Its transfers.
    pub transfers: u64,
    /// The sum of their amounts.
    pub amount: AmountSum,
    /// Distinct (from, to).
    pub pairs: u64,
    /// The sum sent by the zero address.
    pub minted: AmountSum,
    /// The sum that the zero address received of others.
    pub burned: AmountSum,
    /// Transfers of amount zero.
    pub zero_values: u64,
    /// Transfers from an address to itself.
    pub to_self: u64,
    /// Block of the first transfer; the largest number if there is none.
    pub first_block: u64,
    /// Block of the last transfer; 0 if there is none.
    pub last_block: u64,
}

impl AssetCounts {
    /// No transfers.
    pub const fn none(asset: Asset) -> Self {
        Self {
            asset,
            transfers: 0,
            amount: AmountSum::ZERO,
            pairs: 0,
            minted: AmountSum::ZERO,
            burned: AmountSum::ZERO,
            zero_values: 0,
            to_self: 0,
            first_block: u64::MAX,
            last_block: 0,
        }
    }

    /// Adds other transfers of the asset.
    pub fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.amount += other.amount;
        self.pairs += other.pairs;
        self.minted += other.minted;
        self.burned += other.burned;
        self.zero_values += other.zero_values;
        self.to_self += other.to_self;
        self.first_block = self.first_block.min(other.first_block);
        self.last_block = self.last_block.max(other.last_block);
    }
}

/// Counts the transfers of each asset of `graph`, by number.
pub fn asset_counts(graph: &MergedGraph) -> Vec<AssetCounts> {
    let assets = graph.assets.iter().zip(&graph.zero_values);
    let none = |(asset, zero_values): (&Asset, &u64)| AssetCounts {
        zero_values: *zero_values,
        ..AssetCounts::none(*asset)
    };
    let mut counts: Vec<_> = assets.map(none).collect();
    for edge in graph.edges() {
        let asset = &mut counts[edge.asset as usize];
        let part = |counts: bool| if counts { edge.sum } else { AmountSum::ZERO };
        asset.transfers += edge.count;
        asset.amount += edge.sum;
        asset.pairs += 1;
        asset.minted += part(graph.zero == Some(edge.from));
        // Minted to the zero address, it is out of reach and not burned.
        asset.burned += part(graph.zero == Some(edge.to) && edge.from != edge.to);
        asset.to_self += if edge.from == edge.to { edge.count } else { 0 };
        // By number, which is in the cache.
        asset.first_block = asset.first_block.min(edge.first.into());
        asset.last_block = asset.last_block.max(edge.last.into());
    }
    let block = |number: u64| graph.block(u32::try_from(number).unwrap_or(u32::MAX)).0;
    for asset in counts.iter_mut().filter(|asset| asset.transfers > 0) {
        asset.first_block = block(asset.first_block);
        asset.last_block = block(asset.last_block);
    }
    counts
}

/// A side of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Senders.
    From,
    /// Receivers.
    To,
}

/// Counts of some vertices, some edges, some assets, or some sides of the listed assets. They are
/// merged if nothing is in two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryCounts {
    /// The number of vertices.
    pub vertices: u64,
    /// The number of transfers.
    pub transfers: u64,
    /// Transfers by kind, in the order of [`Kind::ALL`].
    pub kinds: [u64; Kind::ALL.len()],
    pairs: u64,
    merged_edges: u64,
    asset_count: u64,
    zero_values: u64,
    to_self: u64,
    blocks: Option<(u64, u64)>,
    assets: Vec<AssetCounts>,
    senders: Vec<Busy>,
    receivers: Vec<Busy>,
    sides: Vec<(Asset, [SideCounts; 2])>,
}

/// A vertex, its transfers on one side, and its counterparties there.
type Busy = (Address, u64, u64);

impl SummaryCounts {
    /// Finds the vertices with most transfers. The zero address is not among them: what it sends is
    /// minted, and what it receives is burned.
    pub fn of_vertices(
        addresses: &[Address],
        degrees: &[VertexDegrees],
        settings: &SummarySettings,
    ) -> Self {
        let busiest = |counts: fn(&VertexDegrees) -> (u64, u64)| {
            let all = addresses.iter().zip(degrees);
            let all = all.map(|(address, degrees)| {
                let (transfers, counterparties) = counts(degrees);
                (*address, transfers, counterparties)
            });
            let busy = all.filter(|(address, transfers, _)| *transfers > 0 && !address.is_zero());
            let mut busy: Vec<_> = busy.collect();
            if busy.len() > settings.top {
                busy.select_nth_unstable_by_key(settings.top, busy_first);
                busy.truncate(settings.top);
            }
            busy.sort_unstable_by_key(busy_first);
            busy
        };
        Self {
            vertices: addresses.len() as u64,
            senders: busiest(|[_, receivers, _, sent, _]| (*sent, *receivers)),
            receivers: busiest(|[senders, _, received, ..]| (*received, *senders)),
            ..Self::default()
        }
    }

    /// Counts assets, and lists those with most transfers.
    pub fn of_assets(assets: Vec<AssetCounts>, settings: &SummarySettings) -> Self {
        let mut counts = Self {
            asset_count: assets.len() as u64,
            zero_values: assets.iter().map(|asset| asset.zero_values).sum(),
            to_self: assets.iter().map(|asset| asset.to_self).sum(),
            blocks: (assets.iter().map(|asset| asset.first_block).min())
                .zip(assets.iter().map(|asset| asset.last_block).max()),
            assets,
            ..Self::default()
        };
        counts.list(settings);
        counts
    }

    /// Counts the edges of `graph`, and the pairs of assets that were counted without them.
    pub fn of_edges(graph: &MergedGraph, assets: &[Asset]) -> Self {
        let mut pairs = vec![0; graph.assets.len()];
        for edge in graph.edges() {
            pairs[edge.asset as usize] += 1;
        }
        let counts = graph.assets.iter().zip(pairs);
        let counts = counts.filter(|(asset, _)| assets.contains(asset));
        let counts = counts.map(|(asset, pairs)| AssetCounts {
            pairs,
            ..AssetCounts::none(*asset)
        });
        Self {
            pairs: graph.pairs().count() as u64,
            merged_edges: graph.edge_count() as u64,
            assets: counts.collect(),
            ..Self::default()
        }
    }

    /// Adds participants of a side of a listed asset.
    pub fn add_side(
        &mut self,
        asset: Asset,
        end: End,
        participants: Vec<Participant>,
        settings: &SummarySettings,
    ) {
        let mut sides: [SideCounts; 2] = Default::default();
        sides[end as usize] = SideCounts::of(participants, settings.top);
        self.merge_sides(asset, sides, settings);
    }

    fn merge_sides(&mut self, asset: Asset, sides: [SideCounts; 2], settings: &SummarySettings) {
        match self.sides.iter_mut().find(|(known, _)| *known == asset) {
            Some((_, known)) => {
                for (known, side) in known.iter_mut().zip(sides) {
                    known.merge(side, settings.top);
                }
            }
            None => self.sides.push((asset, sides)),
        }
    }

    /// The listed assets.
    pub fn listed(&self) -> impl Iterator<Item = Asset> {
        self.assets.iter().map(|counts| counts.asset)
    }

    fn list(&mut self, settings: &SummarySettings) {
        (self.assets).sort_unstable_by_key(|counts| (Reverse(counts.transfers), counts.asset));
        self.assets.truncate(settings.assets);
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: Self, settings: &SummarySettings) {
        self.vertices += other.vertices;
        self.transfers += other.transfers;
        for (ours, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            *ours += theirs;
        }
        self.pairs += other.pairs;
        self.merged_edges += other.merged_edges;
        self.asset_count += other.asset_count;
        self.zero_values += other.zero_values;
        self.to_self += other.to_self;
        self.blocks = match (self.blocks, other.blocks) {
            (Some(ours), Some(theirs)) => Some((ours.0.min(theirs.0), ours.1.max(theirs.1))),
            (ours, theirs) => ours.or(theirs),
        };
        for counts in other.assets {
            match (self.assets.iter_mut()).find(|known| known.asset == counts.asset) {
                Some(known) => known.add(&counts),
                None => self.assets.push(counts),
            }
        }
        self.list(settings);
        let lists = [
            (&mut self.senders, other.senders),
            (&mut self.receivers, other.receivers),
        ];
        for (ours, theirs) in lists {
            ours.extend(theirs);
            ours.sort_unstable_by_key(busy_first);
            ours.truncate(settings.top);
        }
        for (asset, sides) in other.sides {
            self.merge_sides(asset, sides, settings);
        }
    }

    /// The summary of a scan, whose vertices were all expanded once.
    pub fn finish_scan(self, settings: &SummarySettings) -> Summary {
        let (vertices, transfers) = (self.vertices, self.transfers);
        let (mut hops, mut expansions) = (BTreeMap::new(), Vec::new());
        if vertices > 0 {
            hops = [(0, (vertices, 0)), (1, (0, transfers))].into();
            expansions = vec![(Expansion::Expanded, vertices)];
        }
        self.finish(0, &hops, &expansions, settings)
    }

    fn finish(
        self,
        roots: u64,
        hops: &BTreeMap<u32, (u64, u64)>,
        expansions: &[(Expansion, u64)],
        settings: &SummarySettings,
    ) -> Summary {
        let transfers = self.transfers;
        let busy = |list: Vec<Busy>| {
            let busy = |(address, count, counterparties)| BusyAddress {
                address,
                label: None,
                transfers: count,
                share: share_of_count(count, transfers),
                counterparties,
            };
            list.into_iter().map(busy).collect()
        };
        let mut sides: BTreeMap<_, _> = self.sides.into_iter().collect();
        let mut asset = |counts: AssetCounts| {
            let sides = sides.remove(&counts.asset).unwrap_or_default();
            let [senders, receivers] = sides.map(|side| side.finish(settings.top));
            AssetSummary {
                asset: counts.asset,
                transfers: counts.transfers,
                amount: counts.amount,
                pairs: counts.pairs,
                minted: counts.minted,
                burned: counts.burned,
                zero_value_transfers: counts.zero_values,
                self_transfers: counts.to_self,
                first_block: counts.first_block,
                last_block: counts.last_block,
                senders,
                receivers,
            }
        };
        let kinds = Kind::ALL.iter().zip(self.kinds);
        Summary {
            vertices: self.vertices,
            roots,
            transfers,
            pairs: self.pairs,
            merged_edges: self.merged_edges,
            zero_value_transfers: self.zero_values,
            self_transfers: self.to_self,
            first_block: self.blocks.map(|(first, _)| first),
            last_block: self.blocks.map(|(_, last)| last),
            hops: hops
                .iter()
                .map(|(&hop, &(vertices, transfers))| HopCount {
                    hop,
                    vertices,
                    transfers,
                })
                .collect(),
            expansions: expansions
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
            asset_count: self.asset_count,
            assets: self.assets.into_iter().map(&mut asset).collect(),
            top_senders: busy(self.senders),
            top_receivers: busy(self.receivers),
        }
    }
}

/// The order of busy vertices.
fn busy_first((address, transfers, _): &Busy) -> (Reverse<u64>, Address) {
    (Reverse(*transfers), *address)
}

impl Summary {
    /// Gives the addresses their labels.
    pub fn label(&mut self, name: &dyn Fn(Address) -> Option<String>) {
        for busy in self.top_senders.iter_mut().chain(&mut self.top_receivers) {
            busy.label = name(busy.address);
        }
        for asset in &mut self.assets {
            for top in (asset.senders.top.iter_mut()).chain(&mut asset.receivers.top) {
                top.label = name(top.address);
            }
        }
    }
}

/// Collects the participants of both sides of some assets, one side of one asset at a time: there
/// may be many. The zero address is none.
pub fn each_side(
    graph: &MergedGraph,
    assets: &[Asset],
    mut each: impl FnMut(Asset, End, Vec<Participant>),
) {
    let places: BTreeMap<_, u32> = assets.iter().copied().zip(0..).collect();
    let places = graph.assets.iter().map(|asset| places.get(asset).copied());
    let places: Vec<_> = places.collect();
    let edges = Csr::group(assets.len(), || {
        let edges = graph.edges().zip(0u32..);
        edges.filter_map(|(edge, number)| Some((places[edge.asset as usize]?, number)))
    });
    // By number of an address: its place in the list of participants, or [`u32::MAX`].
    let mut places = vec![u32::MAX; graph.addresses.len()];
    for (asset, number) in assets.iter().zip(0..) {
        for end in [End::From, End::To] {
            let mut participants: Vec<Participant> = Vec::new();
            let mut vertices = Vec::new();
            for edge in graph.edges_at(edges.of(number)) {
                let vertex = match end {
                    End::From => edge.from,
                    End::To => edge.to,
                };
                if graph.zero == Some(vertex) {
                    continue;
                }
                let place = &mut places[vertex as usize];
                if *place == u32::MAX {
                    // There are no more participants than addresses, which are numbered in `u32`.
                    *place = u32::try_from(participants.len()).unwrap_or(u32::MAX);
                    vertices.push(vertex);
                    participants.push(Participant {
                        address: graph.address(vertex),
                        transfers: 0,
                        amount: AmountSum::ZERO,
                    });
                }
                let participant = &mut participants[*place as usize];
                participant.transfers += edge.count;
                participant.amount += edge.sum;
            }
            for vertex in vertices {
                places[vertex as usize] = u32::MAX;
            }
            each(*asset, end, participants);
        }
    }
}

#[cfg(test)]
mod tests;
