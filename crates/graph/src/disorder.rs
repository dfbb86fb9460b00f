//! Transfers of a graph that are not in the order of the trail.

use crate::{TransferGraph, VertexId};
use alloy_primitives::{Address, map::HashSet};
use txgraph_transfers::{Direction, TokenFilter};

impl TransferGraph {
    /// The number of transfers that left their sender before any other transfer of the graph arrived
    /// there, so that they cannot pass on what the roots sent. With [`Direction::In`], those that
    /// arrived at their receiver after everything had left. Zero in both directions, where no order is
    /// expected.
    ///
    /// Roots begin with all tokens. In a search that follows each token for itself, arrivals count by
    /// token, and roots begin with `by_token`. Transfers of one transaction are in order.
    pub fn out_of_order(&self, by_token: Option<&TokenFilter>) -> u64 {
        let mut edges: Vec<_> = self.graph.raw_edges().iter().collect();
        match self.direction {
            Direction::Out => {}
            Direction::In => edges.reverse(),
            Direction::Both => return 0,
        }
        let ends = |edge: &petgraph::graph::Edge<crate::Edge, u32>| match self.direction {
            Direction::In => (edge.target(), edge.source()),
            _ => (edge.source(), edge.target()),
        };
        let roots: HashSet<VertexId> = self.roots.iter().copied().collect();
        let begins = |vertex: VertexId, token: Option<&Address>| {
            roots.contains(&vertex) && by_token.is_none_or(|tokens| tokens.matches(token))
        };
        let mut arrived = HashSet::<(VertexId, Option<Address>)>::default();
        let mut count = 0;
        for moves in edges.chunk_by(|one, other| {
            one.weight.transfer.transaction() == other.weight.transfer.transaction()
        }) {
            let here: HashSet<VertexId> = moves.iter().map(|edge| ends(edge).1).collect();
            for edge in moves {
                let (near, far) = ends(edge);
                let token = edge.weight.transfer.token_address;
                let counted = token.filter(|_| by_token.is_some());
                let is_in_order = begins(near, token.as_ref())
                    || here.contains(&near)
                    || arrived.contains(&(near, counted));
                count += u64::from(!is_in_order);
                arrived.insert((far, counted));
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SearchRequest, search, testing};

    fn disorder(text: &str, direction: Direction, is_by_token: bool) -> u64 {
        let source = testing::MemorySource::new(testing::transfers(text));
        let request = SearchRequest {
            hops: None,
            direction,
            ..SearchRequest::new(vec![testing::address("a")], source.available.clone())
        };
        let tokens = TokenFilter::only([testing::address("T")]);
        search(&source, &request)
            .unwrap()
            .out_of_order(is_by_token.then_some(&tokens))
    }

    #[test]
    fn transfers_before_the_first_arrival_are_counted() {
        let text = "b>c:1@T a>b:5@T b>d:2@T";
        assert_eq!(disorder(text, Direction::Out, false), 1);
        assert_eq!(disorder("c>b:1@T b>a:5@T d>b:2@T", Direction::In, false), 1);
        assert_eq!(disorder(text, Direction::Both, false), 0);
        assert_eq!(disorder("a>b:5@T b>d:2@T", Direction::Out, false), 0);
        // A root begins with one token only.
        assert_eq!(disorder("a>b:5@U a>b:5@T", Direction::Out, true), 1);
    }
}
