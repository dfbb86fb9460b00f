//! Putting graphs together: adding vertices and edges, and graphs without a search.

use crate::{Edge, Expansion, SearchError, TransferGraph, Vertex, totals::count_totals};
use alloy_primitives::{Address, U256};
use petgraph::{Directed, graph::NodeIndex};
use txgraph_transfers::{BlockRanges, ChainInfo, Direction, ScanReport, Transfer};

/// The petgraph graph of a [`TransferGraph`].
pub(crate) type Graph = petgraph::Graph<Vertex, Edge, Directed, u32>;

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

        let mut graph = Graph::with_capacity(addresses.len(), transfers.len());
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
            direction: Direction::Both,
            min_value: U256::ZERO,
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
