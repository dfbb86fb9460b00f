//! Merges parallel edges: count, sum, first and last per (source, target, asset).

use crate::{Asset, MergedEdge, MergedGraph, TransferGraph, VertexId};
use alloy_primitives::map::HashSet;
use txgraph_work::{Threads, ThreadsError};

impl TransferGraph {
    /// Merges the transfers of one asset between two addresses into one edge each, ordered
    /// by (source, target, asset).
    ///
    /// # Errors
    ///
    /// If the threads cannot be started.
    pub fn merged(&self, threads: &Threads) -> Result<Vec<MergedEdge>, ThreadsError> {
        let merged = threads.install(|| MergedGraph::of(self))?;
        let edges = merged.edges().map(|edge| MergedEdge {
            source: VertexId::new(edge.from as usize),
            target: VertexId::new(edge.to as usize),
            asset: merged.asset(edge.asset),
            count: edge.count,
            sum: edge.sum,
            hop: edge.hop,
            first: merged.block(edge.first),
            last: merged.block(edge.last),
        });
        Ok(edges.collect())
    }

    /// Returns the assets of all transfers: the native coin first, then by contract.
    pub fn assets(&self) -> Vec<Asset> {
        // A hash set first: a few assets have most of the transfers.
        let distinct: HashSet<_> = self
            .graph
            .edge_weights()
            .map(|edge| Asset::of(&edge.transfer))
            .collect();
        let mut assets: Vec<_> = distinct.into_iter().collect();
        assets.sort_unstable();
        assets
    }
}

#[cfg(test)]
mod tests {
    use crate::{AmountSum, VertexId, testing};
    use alloy_primitives::U256;

    #[test]
    fn merges_by_source_target_and_asset() {
        let mut transfers = testing::transfers("a>b:5 b>a:1 a>b:7 a>b:2@T c>c:3");
        transfers[0].value = U256::MAX;
        transfers[2].value = U256::MAX;
        let graph = testing::graph(transfers);
        let name = |id: VertexId| testing::name(graph.graph[id].address);
        let merged = testing::merged(&graph);
        let rows: Vec<_> = merged
            .iter()
            .map(|m| {
                format!(
                    "{}>{} x{} {}..{}",
                    name(m.source),
                    name(m.target),
                    m.count,
                    m.first.0,
                    m.last.0
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                "a>b x1 103..103",
                "a>b x2 100..102",
                "b>a x1 101..101",
                "c>c x1 104..104"
            ]
        );
        let sums: Vec<_> = merged.iter().map(|m| m.sum).collect();
        let max = AmountSum::from_limbs_slice(U256::MAX.as_limbs());
        assert_eq!(
            sums,
            [
                AmountSum::from(2),
                max + max,
                AmountSum::from(1),
                AmountSum::from(3)
            ]
        );
        assert_eq!(graph.assets().len(), 2);
        assert!(graph.assets()[0].token_address < graph.assets()[1].token_address);
    }
}
