//! Vertices and edges in, finished graph out: numbering, degrees and totals.

use crate::{
    AmountSum, Asset, AssetTotals, Edge, Expansion, SearchError, TransferGraph, Vertex, widen,
};
use alloy_primitives::Address;
use petgraph::{
    Directed, Direction,
    graph::{DiGraph, NodeIndex},
    visit::EdgeRef,
};
use std::collections::BTreeMap;
use txgraph_transfers::{BlockRanges, ChainInfo, Direction as Follow, ScanReport, Transfer};

/// The petgraph graph of a [`TransferGraph`].
type Graph = petgraph::Graph<Vertex, Edge, Directed, u32>;

impl Vertex {
    /// A vertex whose degrees and totals are still to be counted.
    pub(crate) fn new(address: Address, hop: u32, expansion: Expansion) -> Self {
        Self {
            address,
            hop,
            expansion,
            label: None,
            in_degree: 0,
            out_degree: 0,
            totals: Vec::new(),
            blocks: None,
        }
    }
}

impl TransferGraph {
    /// The graph of all `transfers`, without a search: as if every address were a
    /// root that was expanded once, but with no vertex marked as root. Every vertex
    /// has hop 0, every edge hop 1. The transfers are sorted first.
    pub fn from_transfers(
        chain: ChainInfo,
        blocks: BlockRanges,
        scan: ScanReport,
        mut transfers: Vec<Transfer>,
    ) -> Result<Self, SearchError> {
        transfers.sort_unstable_by_key(Transfer::position);
        let mut addresses: Vec<_> = transfers
            .iter()
            .flat_map(|t| [t.from_address, t.to_address])
            .collect();
        addresses.sort_unstable();
        addresses.dedup();

        let mut graph = DiGraph::with_capacity(addresses.len(), transfers.len());
        for &address in &addresses {
            add_vertex(&mut graph, Vertex::new(address, 0, Expansion::Expanded))?;
        }
        // Every end is in the sorted list, and its place is its vertex number.
        let vertex = |address| NodeIndex::new(addresses.partition_point(|other| *other < address));
        for transfer in transfers {
            let (source, target) = (vertex(transfer.from_address), vertex(transfer.to_address));
            add_edge(&mut graph, source, target, Edge { transfer, hop: 1 })?;
        }
        count_totals(&mut graph);
        Ok(Self {
            graph,
            roots: Vec::new(),
            chain,
            blocks,
            hops: Some(1),
            direction: Follow::Both,
            min_value: Default::default(),
            limits: Vec::new(),
            scan,
        })
    }
}

/// Adds a vertex; petgraph would panic at 2^32 - 1 of them.
pub(crate) fn add_vertex(graph: &mut Graph, vertex: Vertex) -> Result<NodeIndex, SearchError> {
    graph
        .try_add_node(vertex)
        .map_err(|_| SearchError::TooLarge { what: "vertices" })
}

/// Adds an edge; petgraph would panic at 2^32 - 1 of them.
pub(crate) fn add_edge(
    graph: &mut Graph,
    source: NodeIndex,
    target: NodeIndex,
    edge: Edge,
) -> Result<(), SearchError> {
    match graph.try_add_edge(source, target, edge) {
        Ok(_) => Ok(()),
        Err(_) => Err(SearchError::TooLarge { what: "edges" }),
    }
}

/// Fills in what a vertex knows of its edges.
pub(crate) fn count_totals(graph: &mut Graph) {
    let mut counterparties = Vec::new();
    for id in graph.node_indices() {
        let mut totals = BTreeMap::new();
        let mut blocks = None;
        let mut degree = |direction| {
            counterparties.clear();
            for edge in graph.edges_directed(id, direction) {
                let transfer = &edge.weight().transfer;
                count(&mut totals, transfer, direction);
                let (first, last) = blocks.get_or_insert((u64::MAX, 0));
                *first = transfer.block_number.min(*first);
                *last = transfer.block_number.max(*last);
                counterparties.push(match direction {
                    Direction::Incoming => edge.source(),
                    Direction::Outgoing => edge.target(),
                });
            }
            counterparties.sort_unstable();
            counterparties.dedup();
            // As many as there are vertices at most, and those are numbered in u32.
            u32::try_from(counterparties.len()).unwrap_or(u32::MAX)
        };
        let (in_degree, out_degree) = (degree(Direction::Incoming), degree(Direction::Outgoing));
        let vertex = &mut graph[id];
        (vertex.in_degree, vertex.out_degree) = (in_degree, out_degree);
        vertex.totals = totals.into_values().collect();
        vertex.blocks = blocks;
    }
}

/// Counts one transfer at one of its ends.
fn count(totals: &mut BTreeMap<Asset, AssetTotals>, transfer: &Transfer, direction: Direction) {
    let asset = Asset::of(transfer);
    let totals = totals.entry(asset).or_insert(AssetTotals {
        asset,
        in_transfers: 0,
        in_amount: AmountSum::ZERO,
        out_transfers: 0,
        out_amount: AmountSum::ZERO,
    });
    match direction {
        Direction::Incoming => {
            totals.in_transfers += 1;
            totals.in_amount += widen(transfer.value);
        }
        Direction::Outgoing => {
            totals.out_transfers += 1;
            totals.out_amount += widen(transfer.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AmountSum, testing};

    #[test]
    fn counts_degrees_totals_and_blocks() {
        let graph = testing::graph(testing::transfers("a>b:5 a>b:7 b>b:1 c>b:1@T a>c:0"));
        let of = |name| {
            let address = testing::address(name);
            graph
                .graph
                .node_weights()
                .find(|v| v.address == address)
                .unwrap()
        };
        let (a, b) = (of("a"), of("b"));
        assert_eq!(
            (a.in_degree, a.out_degree, a.blocks),
            (0, 2, Some((100, 104)))
        );
        assert_eq!(
            (b.in_degree, b.out_degree, b.blocks),
            (3, 1, Some((100, 103)))
        );
        let [t, token] = &b.totals[..] else {
            panic!("{:?}", b.totals)
        };
        assert_eq!((t.in_transfers, t.out_transfers), (1, 0));
        assert_eq!((token.in_transfers, token.out_transfers), (3, 1));
        assert_eq!(token.in_amount, AmountSum::from(13));
        assert_eq!(token.out_amount, AmountSum::from(1));
    }
}
