//! Graphs of all given transfers, without a search.

use crate::{
    Edge, Expansion, SearchError, SwapCounts, TransferGraph, Vertex,
    graph::{Graph, add_edge, add_vertex},
    totals::count_totals,
};
use petgraph::graph::NodeIndex;
use txgraph_transfers::{BlockRanges, ChainInfo, Direction, ScanReport, Transfer};

impl TransferGraph {
    /// Builds the graph of all `transfers`, without a search: as if every address were a
    /// root that was expanded once, but with no vertex marked as a root. Every vertex has
    /// hop 0 and every edge hop 1. Sorts the transfers first.
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
        // Both ends are in the sorted list, and an index of the list is a vertex number.
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
            limits: Vec::new(),
            swaps: SwapCounts::default(),
            scan,
        })
    }
}
