//! Closed loops: addresses that money left and came back to. These are the strongly
//! connected components of two or more vertices, each with its subgraph and one
//! short cycle as an example. O(V + E) but for the sorting of each loop's edges.

use crate::{
    CellKind, Table,
    scc::{Csr, NONE, strong_components},
    serial::decimal,
};
use alloy_primitives::Address;
use petgraph::graph::{EdgeIndex, NodeIndex};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, Asset, SearchError, TransferGraph, VertexId, widen};

mod cycle;

/// What may form a loop together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopScope {
    /// Transfers of any assets: also finds who buys with one and sells for another.
    #[default]
    AnyAsset,
    /// Transfers of one asset at a time: the same token comes back.
    SameAsset,
}

/// How to find loops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopSettings {
    /// What may form a loop together. Default: any assets.
    pub scope: LoopScope,
    /// Loops of fewer vertices are left out. Default 2, and not less.
    pub vertices_min: u64,
    /// Whether loops may run through the zero address. Default no: what was burned
    /// does not come back as what is minted.
    pub through_zero: bool,
    /// How many loops to list, the largest first. Default: all.
    pub limit: Option<usize>,
}

impl Default for LoopSettings {
    fn default() -> Self {
        Self {
            scope: LoopScope::AnyAsset,
            vertices_min: 2,
            through_zero: false,
            limit: None,
        }
    }
}

/// The loops of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loops {
    /// How many loops there are, listed or not.
    pub total: u64,
    /// Those listed: by vertices, then transfers, largest first; then by lowest
    /// address and asset.
    pub loops: Vec<Loop>,
    /// Who sent to themselves, by address and asset. Self-transfers are part of no loop.
    pub self_loops: Vec<SelfLoop>,
}

/// A set of addresses each of which reaches each other, as large as possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// The asset, when loops are of one asset.
    pub asset: Option<Asset>,
    /// Its addresses, ascending.
    pub vertices: Vec<Address>,
    /// Distinct (from, to) among them.
    pub pairs: u64,
    /// Transfers among them.
    pub transfers: u64,
    /// What was moved among them, by asset.
    pub assets: Vec<LoopAsset>,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
    /// A cycle in it: each sends to the next, the last to the first, which is the
    /// lowest. A shortest one if it has two addresses or the loop at most 64; else
    /// a shortest through one of the loop's 64 busiest addresses.
    pub cycle: Vec<Address>,
    /// Its edges in the graph, in order.
    #[serde(skip)]
    pub edges: Vec<EdgeIndex<u32>>,
}

/// One asset in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoopAsset {
    /// The asset.
    #[serde(flatten)]
    pub asset: Asset,
    /// Its transfers.
    pub transfers: u64,
    /// The sum of their amounts. What goes around twice counts twice.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
}

/// Transfers from an address to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SelfLoop {
    /// The address.
    pub address: Address,
    /// What it sent.
    #[serde(flatten)]
    pub asset: Asset,
    /// How often.
    pub transfers: u64,
    /// How much.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Block of the first.
    pub first_block: u64,
    /// Block of the last.
    pub last_block: u64,
}

/// Finds the closed loops of `graph`.
pub fn loops(graph: &TransferGraph, settings: &LoopSettings) -> Loops {
    let zero = |id: VertexId| !settings.through_zero && graph.graph[id].address.is_zero();
    let edges = graph.graph.edge_indices().filter(|edge| {
        let ends = graph.graph.edge_endpoints(*edge);
        ends.is_some_and(|(from, to)| from != to && !zero(from) && !zero(to))
    });
    let mut finder = Finder {
        graph,
        vertices_min: usize::try_from(settings.vertices_min.max(2)).unwrap_or(usize::MAX),
        numbers: vec![NONE; graph.graph.node_count()],
        found: Vec::new(),
    };
    match settings.scope {
        LoopScope::AnyAsset => finder.search(&edges.collect::<Vec<_>>(), None),
        LoopScope::SameAsset => {
            let mut by_asset: BTreeMap<Asset, Vec<EdgeIndex>> = BTreeMap::new();
            for edge in edges {
                by_asset
                    .entry(Asset::of(&graph.graph[edge].transfer))
                    .or_default()
                    .push(edge);
            }
            for (asset, edges) in by_asset {
                finder.search(&edges, Some(asset));
            }
        }
    }
    let mut loops = finder.found;
    loops.sort_by_cached_key(|each| {
        (
            Reverse((each.vertices.len(), each.transfers)),
            each.vertices[0],
            each.asset,
        )
    });
    let total = loops.len() as u64;
    loops.truncate(settings.limit.unwrap_or(usize::MAX));
    Loops {
        total,
        loops,
        self_loops: self_loops(graph),
    }
}

fn self_loops(graph: &TransferGraph) -> Vec<SelfLoop> {
    let mut self_loops: Vec<_> = graph
        .merged()
        .into_iter()
        .filter(|edge| edge.source == edge.target)
        .map(|edge| SelfLoop {
            address: graph.graph[edge.source].address,
            asset: edge.asset,
            transfers: edge.count,
            amount: edge.sum,
            first_block: edge.first.0,
            last_block: edge.last.0,
        })
        .collect();
    self_loops.sort_unstable_by_key(|each| (each.address, each.asset));
    self_loops
}

struct Finder<'g> {
    graph: &'g TransferGraph,
    vertices_min: usize,
    /// Vertex of the graph to vertex of the current search; kept between searches,
    /// so that each costs only what it touches.
    numbers: Vec<u32>,
    found: Vec<Loop>,
}

impl Finder<'_> {
    /// Finds the loops that these edges form. None of them is a self-loop.
    fn search(&mut self, edges: &[EdgeIndex], asset: Option<Asset>) {
        let mut vertices: Vec<NodeIndex> = Vec::new();
        let mut ends = Vec::with_capacity(edges.len());
        for edge in edges {
            let Some((from, to)) = self.graph.graph.edge_endpoints(*edge) else {
                continue;
            };
            ends.push((
                self.number(from, &mut vertices),
                self.number(to, &mut vertices),
            ));
        }
        let (component, components) = strong_components(&Csr::new(vertices.len(), &ends));

        let mut members = vec![Vec::new(); components as usize];
        for (vertex, component) in vertices.iter().zip(&component) {
            self.numbers[vertex.index()] = NONE;
            members[*component as usize].push(*vertex);
        }
        let mut inside = vec![Vec::new(); components as usize];
        for (edge, (from, to)) in edges.iter().zip(ends) {
            let home = component[from as usize];
            if home == component[to as usize] {
                inside[home as usize].push(*edge);
            }
        }
        for (members, edges) in members.into_iter().zip(inside) {
            if members.len() >= self.vertices_min {
                let found = self.describe(members, edges, asset);
                self.found.push(found);
            }
        }
    }

    /// The number of a vertex in this search, a new one if it was not met before.
    fn number(&mut self, vertex: NodeIndex, vertices: &mut Vec<NodeIndex>) -> u32 {
        let number = &mut self.numbers[vertex.index()];
        if *number == NONE {
            // Fewer than the vertices of the graph, which are numbered in u32.
            *number = u32::try_from(vertices.len()).unwrap_or(NONE);
            vertices.push(vertex);
        }
        *number
    }

    fn describe(
        &mut self,
        mut members: Vec<NodeIndex>,
        edges: Vec<EdgeIndex>,
        asset: Option<Asset>,
    ) -> Loop {
        let graph = &self.graph.graph;
        let ends: Vec<_> = edges
            .iter()
            .filter_map(|edge| graph.edge_endpoints(*edge))
            .collect();
        // Busiest first, which is how the example is chosen.
        for end in ends.iter().flat_map(|(from, to)| [from, to]) {
            let count = &mut self.numbers[end.index()];
            *count = count.wrapping_add(1);
        }
        // NONE plus the count, so one less than it: the order is the same.
        members.sort_unstable_by_key(|id| (Reverse(self.numbers[id.index()]), graph[*id].address));
        for (rank, member) in (0..).zip(&members) {
            self.numbers[member.index()] = rank;
        }
        let mut pairs: Vec<_> = ends
            .iter()
            .map(|(from, to)| (self.numbers[from.index()], self.numbers[to.index()]))
            .collect();
        for member in &members {
            self.numbers[member.index()] = NONE;
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut cycle: Vec<_> = cycle::short(members.len(), &pairs)
            .into_iter()
            .map(|rank| graph[members[rank as usize]].address)
            .collect();
        if let Some(lowest) = (0..cycle.len()).min_by_key(|place| cycle[*place]) {
            cycle.rotate_left(lowest);
        }

        let mut assets: BTreeMap<Asset, LoopAsset> = BTreeMap::new();
        let (mut first_block, mut last_block) = (u64::MAX, 0);
        for edge in &edges {
            let transfer = &graph[*edge].transfer;
            first_block = first_block.min(transfer.block_number);
            last_block = last_block.max(transfer.block_number);
            let asset = Asset::of(transfer);
            let total = LoopAsset {
                asset,
                transfers: 0,
                amount: AmountSum::ZERO,
            };
            let total = assets.entry(asset).or_insert(total);
            total.transfers += 1;
            total.amount += widen(transfer.value);
        }
        let mut vertices: Vec<_> = members.iter().map(|id| graph[*id].address).collect();
        vertices.sort_unstable();
        Loop {
            asset,
            vertices,
            pairs: pairs.len() as u64,
            transfers: edges.len() as u64,
            assets: assets.into_values().collect(),
            first_block,
            last_block,
            cycle,
            edges,
        }
    }
}

impl Loop {
    /// The transfers of this loop as a graph of their own, to draw or export. It
    /// comes from no search: every vertex has hop 0 and there are no roots. Labels
    /// are kept. `graph` is the one in which the loop was found.
    pub fn subgraph(&self, graph: &TransferGraph) -> Result<TransferGraph, SearchError> {
        let transfers = self
            .edges
            .iter()
            .map(|edge| graph.graph[*edge].transfer.clone())
            .collect();
        let mut part = TransferGraph::from_transfers(
            graph.chain.clone(),
            graph.blocks.clone(),
            graph.scan.clone(),
            transfers,
        )?;
        let labels: BTreeMap<_, _> = graph
            .graph
            .node_weights()
            .filter_map(|vertex| Some((vertex.address, vertex.label.as_ref()?)))
            .collect();
        for vertex in part.graph.node_weights_mut() {
            vertex.label = labels.get(&vertex.address).map(|label| (*label).clone());
        }
        Ok(part)
    }
}

impl Loops {
    /// As tables: loops, what they moved, who is in them, an example of each, and
    /// self-transfers. Loops are numbered from 1.
    pub fn tables(&self) -> Vec<Table> {
        vec![
            self.overview(),
            self.moved(),
            self.members(),
            self.examples(),
            self.to_self(),
        ]
    }

    fn numbered(&self) -> impl Iterator<Item = (u64, &Loop)> {
        (1..).zip(&self.loops)
    }

    fn overview(&self) -> Table {
        use CellKind::{Address, Integer, Text};
        let title = match self.total - self.loops.len() as u64 {
            0 => "Closed loops".to_owned(),
            more => format!("Closed loops (the largest; {more} more)"),
        };
        let mut table = Table::new(
            title,
            &[
                ("loop", Integer),
                ("token_address", Address),
                ("token_standard", Text),
                ("vertices", Integer),
                ("pairs", Integer),
                ("transfers", Integer),
                ("assets", Integer),
                ("first_block", Integer),
                ("last_block", Integer),
                ("cycle_length", Integer),
            ],
        );
        for (number, each) in self.numbered() {
            // Loops of any asset often hold just one: then that is worth telling.
            let single = match &each.assets[..] {
                [only] => Some(only.asset),
                _ => None,
            };
            table.push(vec![
                number.into(),
                single.and_then(|asset| asset.token_address).into(),
                single.map(|asset| asset.token_standard.as_str()).into(),
                each.vertices.len().into(),
                each.pairs.into(),
                each.transfers.into(),
                each.assets.len().into(),
                each.first_block.into(),
                each.last_block.into(),
                each.cycle.len().into(),
            ]);
        }
        table
    }

    fn moved(&self) -> Table {
        use CellKind::{Address, Amount, Integer, Text};
        let mut table = Table::new(
            "Moved within loops",
            &[
                ("loop", Integer),
                ("token_address", Address),
                ("token_standard", Text),
                ("transfers", Integer),
                ("amount", Amount),
            ],
        );
        for (number, each) in self.numbered() {
            for asset in &each.assets {
                table.push(vec![
                    number.into(),
                    asset.asset.token_address.into(),
                    asset.asset.token_standard.as_str().into(),
                    asset.transfers.into(),
                    asset.amount.into(),
                ]);
            }
        }
        table
    }

    fn members(&self) -> Table {
        let columns = [("loop", CellKind::Integer), ("address", CellKind::Address)];
        let mut table = Table::new("Addresses in loops", &columns);
        for (number, each) in self.numbered() {
            for address in &each.vertices {
                table.push(vec![number.into(), (*address).into()]);
            }
        }
        table
    }

    fn examples(&self) -> Table {
        use CellKind::{Address, Integer};
        let columns = [
            ("loop", Integer),
            ("step", Integer),
            ("from_address", Address),
            ("to_address", Address),
        ];
        let mut table = Table::new("An example cycle of each loop", &columns);
        for (number, each) in self.numbered() {
            let next = each.cycle.iter().cycle().skip(1);
            for (step, (from, to)) in (1u64..).zip(each.cycle.iter().zip(next)) {
                table.push(vec![
                    number.into(),
                    step.into(),
                    (*from).into(),
                    (*to).into(),
                ]);
            }
        }
        table
    }

    fn to_self(&self) -> Table {
        use CellKind::{Address, Amount, Integer, Text};
        let mut table = Table::new(
            "Self-transfers",
            &[
                ("address", Address),
                ("token_address", Address),
                ("token_standard", Text),
                ("transfers", Integer),
                ("amount", Amount),
                ("first_block", Integer),
                ("last_block", Integer),
            ],
        );
        for each in &self.self_loops {
            table.push(vec![
                each.address.into(),
                each.asset.token_address.into(),
                each.asset.token_standard.as_str().into(),
                each.transfers.into(),
                each.amount.into(),
                each.first_block.into(),
                each.last_block.into(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests;
