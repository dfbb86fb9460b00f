//! Closed loops: groups of addresses that tokens left and came back to. These are the
//! strongly connected components of two or more vertices, over transfers of any assets,
//! each with its subgraph and one short cycle as an example. No loop runs through the
//! zero address: what was burned does not come back as what is minted. O(V + E) except
//! for sorting the edges of each loop.

use crate::{CellKind, MeasureResult, Table, scc::strong_components, serial::decimal};
use alloy_primitives::Address;
use petgraph::graph::{EdgeIndex, NodeIndex};
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, Asset, SearchError, TransferGraph, VertexId, widen};

mod cycle;

/// The closed loops of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loops {
    /// The number of loops, listed or not.
    pub total: u64,
    /// The listed loops, by vertices, then transfers, largest first; then by lowest
    /// address.
    pub loops: Vec<Loop>,
    /// Transfers from an address to itself, by address and asset. They are part of no loop.
    pub self_loops: Vec<SelfLoop>,
}

/// A maximal set of addresses that all reach each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// Its addresses, ascending.
    pub vertices: Vec<Address>,
    /// Distinct (from, to) among them.
    pub pairs: u64,
    /// Transfers among them.
    pub transfers: u64,
    /// Transfers and amounts among them, by asset.
    pub assets: Vec<LoopAsset>,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
    /// A cycle in it: each address sends to the next and the last to the first, which is the
    /// lowest. A shortest cycle if it has two addresses or the loop at most 64, otherwise a
    /// shortest one through one of the 64 busiest addresses of the loop.
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
    /// The sum of their amounts. Tokens that go around twice count twice.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
}

/// Transfers from an address to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SelfLoop {
    /// The address.
    pub address: Address,
    /// The asset that it sent.
    #[serde(flatten)]
    pub asset: Asset,
    /// The number of transfers.
    pub transfers: u64,
    /// The sum of their amounts.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
}

/// Finds the closed loops of `graph`, and lists at most `limit` of them.
pub fn loops(graph: &TransferGraph, limit: Option<usize>) -> Loops {
    let zero = |id: VertexId| graph.graph[id].address.is_zero();
    let edges = graph.graph.edge_indices().filter(|edge| {
        let ends = graph.graph.edge_endpoints(*edge);
        ends.is_some_and(|(from, to)| from != to && !zero(from) && !zero(to))
    });
    let mut loops = find(graph, &edges.collect::<Vec<_>>());
    loops.sort_by_cached_key(|each| {
        (
            Reverse((each.vertices.len(), each.transfers)),
            each.vertices[0],
        )
    });
    let total = loops.len() as u64;
    loops.truncate(limit.unwrap_or(usize::MAX));
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

/// Marks a vertex without a number.
const NONE: u32 = u32::MAX;

/// Finds the loops that these edges form, in no order. None of the edges is a self-loop.
fn find(graph: &TransferGraph, edges: &[EdgeIndex]) -> Vec<Loop> {
    let vertices = graph.graph.node_count();
    // Vertices are numbered in `u32`.
    let number = |vertex: NodeIndex| u32::try_from(vertex.index()).unwrap_or(NONE);
    let ends: Vec<_> = edges
        .iter()
        .filter_map(|edge| graph.graph.edge_endpoints(*edge))
        .map(|(from, to)| (number(from), number(to)))
        .collect();
    let (component, components) = strong_components(vertices, &ends);

    let mut members = vec![Vec::new(); components as usize];
    for (vertex, component) in graph.graph.node_indices().zip(&component) {
        members[*component as usize].push(vertex);
    }
    let mut inside = vec![Vec::new(); components as usize];
    for (edge, (from, to)) in edges.iter().zip(ends) {
        let of = component[from as usize];
        if of == component[to as usize] {
            inside[of as usize].push(*edge);
        }
    }
    // One table for all loops, so that each costs only what it touches.
    let mut numbers = vec![NONE; vertices];
    members
        .into_iter()
        .zip(inside)
        .filter(|(members, _)| members.len() > 1)
        .map(|(members, edges)| describe(graph, members, edges, &mut numbers))
        .collect()
}

/// Describes the loop of these vertices and edges. `numbers` has [`NONE`] for every vertex,
/// before and after.
fn describe(
    transfers: &TransferGraph,
    mut members: Vec<NodeIndex>,
    edges: Vec<EdgeIndex>,
    numbers: &mut [u32],
) -> Loop {
    let graph = &transfers.graph;
    let ends: Vec<_> = edges
        .iter()
        .filter_map(|edge| graph.edge_endpoints(*edge))
        .collect();
    // Busiest first, because the example starts from those.
    for end in ends.iter().flat_map(|(from, to)| [from, to]) {
        let count = &mut numbers[end.index()];
        *count = count.wrapping_add(1);
    }
    // NONE plus the count, so one less than it: the order is the same.
    members.sort_unstable_by_key(|id| (Reverse(numbers[id.index()]), graph[*id].address));
    for (rank, member) in (0..).zip(&members) {
        numbers[member.index()] = rank;
    }
    let mut pairs: Vec<_> = ends
        .iter()
        .map(|(from, to)| (numbers[from.index()], numbers[to.index()]))
        .collect();
    for member in &members {
        numbers[member.index()] = NONE;
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

impl Loop {
    /// Returns the transfers of this loop as a graph, to draw or export. Every vertex has hop
    /// 0, and there are no roots. Labels are kept. `graph` is the graph of the loop.
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

impl MeasureResult for Loops {
    /// Loops, what they moved, their addresses, an example of each, and self-transfers.
    /// Loops are numbered from 1.
    fn tables(&self) -> Vec<Table> {
        vec![
            self.overview(),
            self.moved(),
            self.members(),
            self.examples(),
            self.to_self(),
        ]
    }
}

impl Loops {
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
            "closed-loops",
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
            // Many loops move a single asset, which is then shown.
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
            "moved-within-loops",
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
        let mut table = Table::new("addresses-in-loops", "Addresses in loops", &columns);
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
        let mut table = Table::new(
            "an-example-cycle-of-each-loop",
            "An example cycle of each loop",
            &columns,
        );
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
            "self-transfers",
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
