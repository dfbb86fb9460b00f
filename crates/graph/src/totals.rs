//! Degrees, totals and blocks of vertices, counted from their edges.

use crate::{AmountSum, Asset, AssetTotals, graph::Graph, widen};
use petgraph::{Direction, graph::NodeIndex};
use rayon::prelude::*;
use txgraph_transfers::{Csr, Transfer};

/// One end of an edge, at the vertex that is being counted, with the number of the edge.
/// Ordered by asset.
type End = (Asset, u32, Direction);

/// The numbers of edges by the number of their target and of their source.
///
/// The graph has linked lists of edges, in which each edge is read before the next is known.
/// From this list the processor reads many edges at once, each of which is a cache miss.
struct Edges {
    incoming: Csr,
    outgoing: Csr,
}

impl Edges {
    fn of(graph: &Graph) -> Self {
        // Vertices are numbered in `u32`.
        let number = |id: NodeIndex| u32::try_from(id.index()).unwrap_or_default();
        // The edges are far longer, so they are read once.
        let edges = graph.raw_edges().iter();
        let ends: Vec<_> = edges
            .map(|edge| [number(edge.target()), number(edge.source())])
            .collect();
        let group = |end: usize| {
            Csr::group(graph.node_count(), || {
                ends.iter().map(move |ends| ends[end]).zip(0..)
            })
        };
        let (incoming, outgoing) = rayon::join(|| group(0), || group(1));
        Self { incoming, outgoing }
    }
}

/// Vertices that one thread counts at a time.
const CHUNK: usize = 1 << 10;

/// The fields of a vertex that are counted.
struct Counted {
    in_degree: u32,
    out_degree: u32,
    totals: Vec<AssetTotals>,
    blocks: Option<(u64, u64)>,
}

/// Sets the degrees, totals and blocks of every vertex. Runs on the current rayon pool; each
/// vertex is counted independently.
pub(crate) fn count_totals(graph: &mut Graph) {
    let vertices: Vec<NodeIndex> = graph.node_indices().collect();
    let edges = &Edges::of(graph);
    let count = |chunk: &[NodeIndex]| -> Vec<Counted> {
        let (mut ends, mut others) = (Vec::new(), Vec::new());
        let counted = chunk
            .iter()
            .map(|id| count_vertex(graph, edges, *id, &mut ends, &mut others));
        counted.collect()
    };
    // Small graphs use one thread.
    let counted: Vec<Vec<Counted>> = match vertices.len() {
        ..=CHUNK => vec![count(&vertices)],
        _ => vertices.par_chunks(CHUNK).map(count).collect(),
    };
    for (id, counted) in vertices.into_iter().zip(counted.into_iter().flatten()) {
        let vertex = &mut graph[id];
        (vertex.in_degree, vertex.out_degree) = (counted.in_degree, counted.out_degree);
        vertex.totals = counted.totals;
        vertex.blocks = counted.blocks;
    }
}

/// Counts one vertex; `ends` and `others` are buffers.
fn count_vertex(
    graph: &Graph,
    edges: &Edges,
    id: NodeIndex,
    ends: &mut Vec<End>,
    others: &mut Vec<NodeIndex>,
) -> Counted {
    ends.clear();
    let in_degree = collect(graph, edges, id, Direction::Incoming, ends, others);
    let out_degree = collect(graph, edges, id, Direction::Outgoing, ends, others);
    ends.sort_unstable();
    // Edges were added in total order, so the lowest number is the earliest transfer.
    let block = |(_, edge, _): &End| transfer(graph, *edge).block_number;
    let first = ends.iter().min_by_key(|end| end.1).map(block);
    let last = ends.iter().max_by_key(|end| end.1).map(block);
    Counted {
        in_degree,
        out_degree,
        totals: totals(graph, ends),
        blocks: first.zip(last),
    }
}

/// Appends the ends of one direction at a vertex. Returns the number of counterparties.
fn collect(
    graph: &Graph,
    edges: &Edges,
    id: NodeIndex,
    direction: Direction,
    ends: &mut Vec<End>,
    others: &mut Vec<NodeIndex>,
) -> u32 {
    others.clear();
    let edges = match direction {
        Direction::Incoming => &edges.incoming,
        Direction::Outgoing => &edges.outgoing,
    };
    let vertex = u32::try_from(id.index()).unwrap_or_default();
    for &number in edges.of(vertex) {
        let edge = &graph.raw_edges()[number as usize];
        ends.push((Asset::of(&edge.weight.transfer), number, direction));
        others.push(match direction {
            Direction::Incoming => edge.source(),
            Direction::Outgoing => edge.target(),
        });
    }
    others.sort_unstable();
    others.dedup();
    // At most one per vertex, and vertices are numbered in `u32`.
    u32::try_from(others.len()).unwrap_or(u32::MAX)
}

/// Returns the transfer of an edge.
fn transfer(graph: &Graph, edge: u32) -> &Transfer {
    &graph.raw_edges()[edge as usize].weight.transfer
}

/// Sums up the ends of a vertex by asset.
fn totals(graph: &Graph, ends: &[End]) -> Vec<AssetTotals> {
    let groups = || ends.chunk_by(|a, b| a.0 == b.0);
    // The exact capacity: most vertices have one asset, and there may be millions of them.
    let mut totals = Vec::with_capacity(groups().count());
    for group in groups() {
        let mut sums = AssetTotals {
            asset: group[0].0,
            in_transfers: 0,
            in_amount: AmountSum::ZERO,
            out_transfers: 0,
            out_amount: AmountSum::ZERO,
        };
        for (_, edge, direction) in group {
            let amount = widen(transfer(graph, *edge).value);
            match direction {
                Direction::Incoming => {
                    sums.in_transfers += 1;
                    sums.in_amount += amount;
                }
                Direction::Outgoing => {
                    sums.out_transfers += 1;
                    sums.out_amount += amount;
                }
            }
        }
        totals.push(sums);
    }
    totals
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
