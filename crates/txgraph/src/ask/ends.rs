//! Where the trails of a search end.

use alloy_primitives::Address;
use txgraph_graph::{Expansion, TransferGraph, Vertex};
use txgraph_transfers::Direction;

/// The vertices at which a search ended, for reasons that are not limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrailEnds {
    /// Roots without a transfer in the graph.
    pub silent_roots: Vec<Address>,
    /// Addresses that were expanded and lead nowhere: no transfer that matches leaves them, or
    /// reaches them in a search with direction `In`. Roots are not among them. Empty for a
    /// search in both directions, where every vertex has the transfer that led to it.
    pub without_transfers: Vec<Address>,
    /// Addresses at the last hop, which were not expanded.
    pub last_hop: Vec<Address>,
}

impl TrailEnds {
    /// The ends of the trails of a graph, in the order of its vertices.
    pub fn of(graph: &TransferGraph) -> Self {
        let leads_nowhere = |vertex: &Vertex| match graph.direction {
            Direction::Out => vertex.out_degree == 0,
            Direction::In => vertex.in_degree == 0,
            Direction::Both => false,
        };
        let mut ends = Self::default();
        for vertex in graph.graph.node_weights() {
            if vertex.hop == 0 {
                if vertex.blocks.is_none() {
                    ends.silent_roots.push(vertex.address);
                }
            } else if vertex.expansion == Expansion::LastHop {
                ends.last_hop.push(vertex.address);
            } else if vertex.expansion == Expansion::Expanded && leads_nowhere(vertex) {
                ends.without_transfers.push(vertex.address);
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_graph::{
        SearchRequest, search,
        testing::{MemorySource, address, transfers},
    };

    fn ends(direction: Direction, hops: Option<u32>) -> TrailEnds {
        let source = MemorySource::new(transfers("a>b:1 b>c:2 b>d:3 e>a:4"));
        let blocks = source.available.clone();
        let roots = vec![address("a"), address("x")];
        let request = SearchRequest {
            direction,
            hops,
            ..SearchRequest::new(roots, blocks)
        };
        TrailEnds::of(&search(&source, &request).unwrap())
    }

    #[test]
    fn trails_end_without_transfers_and_at_the_last_hop() {
        let mut nowhere = [address("c"), address("d")];
        nowhere.sort_unstable();
        let all = ends(Direction::Out, None);
        assert_eq!(all.silent_roots, [address("x")]);
        assert_eq!(all.without_transfers, nowhere);
        assert!(all.last_hop.is_empty());
        let one = ends(Direction::Out, Some(1));
        assert_eq!(one.last_hop, [address("b")]);
        assert!(one.without_transfers.is_empty());
        let before = ends(Direction::In, None);
        assert_eq!(before.without_transfers, [address("e")]);
    }
}
