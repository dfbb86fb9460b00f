//! Cycles: groups of addresses that tokens left and came back to. These are the
//! strongly connected components of two or more vertices, over transfers of any assets,
//! each with its subgraph and one short cycle as an example. No cycle runs through the
//! zero address: what was burned does not come back as what is minted. O(V + E) except
//! for sorting the pairs of each cycle.

use crate::{ColumnType, MeasureResult, Table, scc::strong_components, serial::decimal};
use alloy_primitives::Address;
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::{AmountSum, Asset, Csr, MergedGraph, SearchError, TransferGraph};

mod shortest;

/// The cycles of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cycles {
    /// The number of cycles, listed or not.
    pub total: u64,
    /// The listed cycles, by vertices, then transfers, largest first; then by lowest
    /// address.
    pub cycles: Vec<CycleGroup>,
    /// Transfers from an address to itself, by address and asset. They are part of no cycle.
    pub self_loops: Vec<SelfLoop>,
}

/// A maximal set of addresses that all reach each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CycleGroup {
    /// Its addresses, ascending.
    pub vertices: Vec<Address>,
    /// Distinct (from, to) among them.
    pub pairs: u64,
    /// Transfers among them.
    pub transfers: u64,
    /// Transfers and amounts among them, by asset.
    pub assets: Vec<CycleAsset>,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
    /// An example: each address sends to the next and the last to the first, which is the lowest.
    /// A shortest cycle if it has two addresses or the group at most 64, otherwise a shortest one
    /// through one of the 64 busiest addresses of the group.
    pub cycle: Vec<Address>,
}

/// One asset in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CycleAsset {
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

/// Finds the cycles of `graph`, and lists at most `limit` of them.
pub fn cycles(graph: &MergedGraph, limit: Option<usize>) -> Cycles {
    let mut cycles = find(graph);
    cycles.sort_by_cached_key(|each| {
        (
            Reverse((each.vertices.len(), each.transfers)),
            each.vertices[0],
        )
    });
    let total = cycles.len() as u64;
    cycles.truncate(limit.unwrap_or(usize::MAX));
    Cycles {
        total,
        cycles,
        self_loops: self_loops(graph),
    }
}

fn self_loops(graph: &MergedGraph) -> Vec<SelfLoop> {
    let mut self_loops: Vec<_> = graph
        .edges()
        .filter(|edge| edge.from == edge.to)
        .map(|edge| SelfLoop {
            address: graph.address(edge.from),
            asset: graph.asset(edge.asset),
            transfers: edge.count,
            amount: edge.sum,
            first_block: graph.block(edge.first).0,
            last_block: graph.block(edge.last).0,
        })
        .collect();
    self_loops.sort_unstable_by_key(|each| (each.address, each.asset));
    self_loops
}

/// Marks what has no number.
const NONE: u32 = u32::MAX;

/// The transfers within a cycle.
#[derive(Default)]
struct Moved {
    /// Transfers and amount, by number of the asset.
    assets: BTreeMap<u32, (u64, AmountSum)>,
    transfers: u64,
    /// First and last block.
    blocks: Option<(u64, u64)>,
}

/// Finds the cycles of `graph`, in no order.
fn find(graph: &MergedGraph) -> Vec<CycleGroup> {
    let vertices = graph.addresses.len();
    // A transfer of an address to itself does not belong to a cycle of others.
    let is_part =
        |&(from, to): &(u32, u32)| from != to && graph.zero != Some(from) && graph.zero != Some(to);
    let mut pairs: Vec<(u32, u32)> = graph.pairs().filter(is_part).collect();
    let (mut place, count) = strong_components(vertices, &pairs);

    // Most components are single vertices. The others are numbered, and are the cycles.
    let mut sizes = vec![0u32; count as usize];
    place.iter().for_each(|of| sizes[*of as usize] += 1);
    let mut cycles = 0;
    let numbers = sizes.into_iter().map(|size| {
        let number = if size > 1 { cycles } else { NONE };
        cycles += u32::from(size > 1);
        number
    });
    let numbers: Vec<u32> = numbers.collect();
    place.iter_mut().for_each(|of| *of = numbers[*of as usize]);
    drop(numbers);
    let common = |from: u32, to: u32| {
        let of = place[from as usize];
        (of != NONE && of == place[to as usize]).then_some(of)
    };

    let mut moved: Vec<Moved> = (0..cycles).map(|_| Moved::default()).collect();
    // Transfers of each vertex within its group.
    let mut busy = vec![0u64; vertices];
    for edge in graph.edges().filter(|edge| edge.from != edge.to) {
        let Some(of) = common(edge.from, edge.to) else {
            continue;
        };
        busy[edge.from as usize] += edge.count;
        busy[edge.to as usize] += edge.count;
        let moved = &mut moved[of as usize];
        let asset = moved.assets.entry(edge.asset).or_default();
        asset.0 += edge.count;
        asset.1 += edge.sum;
        moved.transfers += edge.count;
        let (first, last) = (graph.block(edge.first).0, graph.block(edge.last).0);
        let (known_first, known_last) = moved.blocks.unwrap_or((first, last));
        moved.blocks = Some((first.min(known_first), last.max(known_last)));
    }

    pairs.retain(|(from, to)| common(*from, *to).is_some());
    let members = Csr::group(cycles as usize, || {
        let members = (0u32..).zip(&place).filter(|(_, of)| **of != NONE);
        members.map(|(vertex, of)| (*of, vertex))
    });
    let inside = Csr::group(cycles as usize, || {
        let of = |(from, _): &(u32, u32)| place[*from as usize];
        (0u32..).zip(&pairs).map(move |(at, pair)| (of(pair), at))
    });
    // One table for all cycles, so that each costs only what it touches.
    let mut ranks = vec![NONE; vertices];
    (0..cycles)
        .zip(moved)
        .map(|(of, moved)| {
            let mut members = members.of(of).to_vec();
            // Busiest first, because the example starts from those.
            members.sort_unstable_by_key(|vertex| {
                (Reverse(busy[*vertex as usize]), graph.address(*vertex))
            });
            let inside = inside.of(of).iter().map(|at| pairs[*at as usize]);
            describe(graph, &members, inside.collect(), moved, &mut ranks)
        })
        .collect()
}

/// Describes the group of these vertices and pairs. `ranks` is a buffer.
fn describe(
    graph: &MergedGraph,
    members: &[u32],
    mut pairs: Vec<(u32, u32)>,
    moved: Moved,
    ranks: &mut [u32],
) -> CycleGroup {
    for (rank, member) in (0..).zip(members) {
        ranks[*member as usize] = rank;
    }
    for (from, to) in &mut pairs {
        (*from, *to) = (ranks[*from as usize], ranks[*to as usize]);
    }
    pairs.sort_unstable();
    let mut cycle: Vec<_> = shortest::short(members.len(), &pairs)
        .into_iter()
        .map(|rank| graph.address(members[rank as usize]))
        .collect();
    if let Some(lowest) = (0..cycle.len()).min_by_key(|place| cycle[*place]) {
        cycle.rotate_left(lowest);
    }

    let asset = |(asset, (transfers, amount))| CycleAsset {
        asset: graph.asset(asset),
        transfers,
        amount,
    };
    let mut assets: Vec<_> = moved.assets.into_iter().map(asset).collect();
    assets.sort_unstable_by_key(|each| each.asset);
    let mut vertices: Vec<_> = members.iter().map(|id| graph.address(*id)).collect();
    vertices.sort_unstable();
    let (first_block, last_block) = moved.blocks.unwrap_or_default();
    CycleGroup {
        vertices,
        pairs: pairs.len() as u64,
        transfers: moved.transfers,
        assets,
        first_block,
        last_block,
        cycle,
    }
}

impl CycleGroup {
    /// Returns the transfers of this cycle as a graph, to draw or export. Every vertex has hop
    /// 0, and there are no roots. Labels are kept. `graph` is the graph of the cycle.
    pub fn subgraph(&self, graph: &TransferGraph) -> Result<TransferGraph, SearchError> {
        let is_member = |address: &Address| self.vertices.binary_search(address).is_ok();
        let transfers = graph
            .graph
            .edge_weights()
            .map(|edge| &edge.transfer)
            .filter(|transfer| {
                let (from, to) = (&transfer.from_address, &transfer.to_address);
                from != to && is_member(from) && is_member(to)
            });
        let mut part = TransferGraph::from_transfers(
            graph.chain.clone(),
            graph.blocks.clone(),
            graph.scan.clone(),
            transfers.cloned().collect(),
        )?;
        let labels: BTreeMap<_, _> = graph
            .graph
            .node_weights()
            .map(|vertex| (vertex.address, &vertex.labels))
            .collect();
        for vertex in part.graph.node_weights_mut() {
            let known = labels.get(&vertex.address);
            vertex.labels = known.map(|known| (*known).clone()).unwrap_or_default();
        }
        Ok(part)
    }
}

impl MeasureResult for Cycles {
    /// Cycles, what they moved, their addresses, an example of each, and self-transfers.
    /// Cycles are numbered from 1.
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

impl Cycles {
    fn numbered(&self) -> impl Iterator<Item = (u64, &CycleGroup)> {
        (1..).zip(&self.cycles)
    }

    fn overview(&self) -> Table {
        use ColumnType::{Address, Text, U64};
        let title = match self.total - self.cycles.len() as u64 {
            0 => "Cycles".to_owned(),
            more => format!("Cycles (the largest; {more} more)"),
        };
        // Many cycles move a single asset, which is then shown.
        let single = |each: &CycleGroup| match &each.assets[..] {
            [only] => Some(only.asset),
            _ => None,
        };
        Table::of(
            "cycles",
            title,
            self.numbered()
                .map(|(number, each)| (number, each, single(each))),
            &[
                ("cycle", U64, |(number, ..)| number.into()),
                ("token_address", Address, |(.., single)| {
                    single.and_then(|asset| asset.token_address).into()
                }),
                ("token_standard", Text, |(.., single)| {
                    single.map(|asset| asset.token_standard).into()
                }),
                ("vertices", U64, |(_, each, _)| each.vertices.len().into()),
                ("pairs", U64, |(_, each, _)| each.pairs.into()),
                ("transfers", U64, |(_, each, _)| each.transfers.into()),
                ("assets", U64, |(_, each, _)| each.assets.len().into()),
                ("first_block", U64, |(_, each, _)| each.first_block.into()),
                ("last_block", U64, |(_, each, _)| each.last_block.into()),
                ("cycle_length", U64, |(_, each, _)| each.cycle.len().into()),
            ],
        )
    }

    fn moved(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        let rows = self
            .numbered()
            .flat_map(|(number, each)| each.assets.iter().map(move |it| (number, it)));
        Table::of(
            "moved-within-cycles",
            "Moved within cycles",
            rows,
            &[
                ("cycle", U64, |(number, _)| number.into()),
                ("token_address", Address, |(_, it)| {
                    it.asset.token_address.into()
                }),
                ("token_standard", Text, |(_, it)| {
                    it.asset.token_standard.into()
                }),
                ("transfers", U64, |(_, it)| it.transfers.into()),
                ("amount", Amount, |(_, it)| it.amount.into()),
            ],
        )
    }

    fn members(&self) -> Table {
        use ColumnType::{Address, U64};
        let rows = self
            .numbered()
            .flat_map(|(number, each)| each.vertices.iter().map(move |it| (number, *it)));
        Table::of(
            "addresses-in-cycles",
            "Addresses in cycles",
            rows,
            &[
                ("cycle", U64, |(number, _)| number.into()),
                ("address", Address, |(_, address)| address.into()),
            ],
        )
    }

    fn examples(&self) -> Table {
        use ColumnType::{Address, U64};
        let rows = self.numbered().flat_map(|(number, each)| {
            let next = each.cycle.iter().cycle().skip(1);
            let steps = (1u64..).zip(each.cycle.iter().zip(next));
            steps.map(move |(step, (from, to))| (number, step, *from, *to))
        });
        Table::of(
            "an-example-of-each-cycle",
            "An example of each cycle",
            rows,
            &[
                ("cycle", U64, |(number, ..)| number.into()),
                ("step", U64, |(_, step, ..)| step.into()),
                ("from_address", Address, |(_, _, from, _)| from.into()),
                ("to_address", Address, |(.., to)| to.into()),
            ],
        )
    }

    fn to_self(&self) -> Table {
        use ColumnType::{Address, Amount, Text, U64};
        Table::of(
            "self-transfers",
            "Self-transfers",
            &self.self_loops,
            &[
                ("address", Address, |it| it.address.into()),
                ("token_address", Address, |it| it.asset.token_address.into()),
                ("token_standard", Text, |it| it.asset.token_standard.into()),
                ("transfers", U64, |it| it.transfers.into()),
                ("amount", Amount, |it| it.amount.into()),
                ("first_block", U64, |it| it.first_block.into()),
                ("last_block", U64, |it| it.last_block.into()),
            ],
        )
    }
}

#[cfg(test)]
mod tests;
