//! Places for the vertices of a graph without Graphviz: columns as in a picture, and rows in them.

use super::column::columns;
use std::collections::BTreeMap;
use txgraph_graph::{MergedEdge, TransferGraph};

/// How often the rows of all columns are ordered, to the right and back. More changes little.
const SWEEPS: usize = 6;

/// The place of a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The hop, negative for senders to the left of a root.
    pub column: i64,
    /// Its place in the column, from 0.
    pub row: u32,
}

/// Returns the place of each vertex. A vertex is near the mean row of its neighbors in the columns
/// beside it (the barycenter heuristic), so that few edges cross. Equal graphs have equal places.
pub fn cells(graph: &TransferGraph, edges: &[MergedEdge]) -> Vec<Cell> {
    let vertices = graph.graph.raw_nodes();
    let hops: Vec<_> = vertices.iter().map(|node| node.weight.hop).collect();
    let ends = || {
        edges
            .iter()
            .map(|edge| (edge.source.index(), edge.target.index()))
    };
    let column = columns(graph, &hops, ends());
    let mut order: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (vertex, column) in column.iter().enumerate() {
        order.entry(*column).or_default().push(vertex);
    }
    let mut neighbors: Vec<Vec<usize>> = vec![Vec::new(); vertices.len()];
    for (source, target) in ends().filter(|(source, target)| source != target) {
        neighbors[source].push(target);
        neighbors[target].push(source);
    }
    let mut rows = vec![0_u32; vertices.len()];
    let place = |members: &[usize], rows: &mut [u32]| {
        (0..)
            .zip(members)
            .for_each(|(row, vertex)| rows[*vertex] = row);
    };
    for members in order.values() {
        place(members, &mut rows);
    }
    let mut sorted: Vec<i64> = order.keys().copied().collect();
    for _ in 0..SWEEPS {
        for (at, number) in sorted.iter().enumerate().skip(1) {
            // The column that was ordered before this one.
            let beside = sorted[at - 1];
            let Some(members) = order.get_mut(number) else {
                continue;
            };
            let mean = |vertex: &usize| {
                let others = neighbors[*vertex].iter();
                let others = others.filter(|other| column[**other] == beside);
                let (sum, count) = others.fold((0.0, 0.0), |(sum, count), other| {
                    (sum + f64::from(rows[*other]), count + 1.0)
                });
                // Without a neighbor there, it stays where it is.
                match count > 0.0 {
                    true => sum / count,
                    false => f64::from(rows[*vertex]),
                }
            };
            let mut means: Vec<_> = members.iter().map(|it| (mean(it), *it)).collect();
            means.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            *members = means.into_iter().map(|(_, vertex)| vertex).collect();
            place(members, &mut rows);
        }
        sorted.reverse();
    }
    let cell = |(column, row): (i64, u32)| Cell { column, row };
    column.into_iter().zip(rows).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_graph::{
        SearchRequest, search,
        testing::{MemorySource, address, transfers},
    };
    use txgraph_work::Threads;

    fn found(text: &str) -> TransferGraph {
        let source = MemorySource::new(transfers(text));
        let roots = vec![address("a")];
        let request = SearchRequest {
            hops: Some(3),
            ..SearchRequest::new(roots, source.available.clone())
        };
        search(&source, &request).unwrap()
    }

    #[test]
    fn every_vertex_has_a_place_of_its_own() {
        let graph = found("a>b:1 a>c:1 a>d:1 b>e:1 c>e:1 d>f:1 f>a:1");
        let edges = graph.merged(&Threads::default()).unwrap();
        let cells = cells(&graph, &edges);
        assert_eq!(cells.len(), graph.graph.node_count());
        let mut places: Vec<_> = cells.iter().map(|cell| (cell.column, cell.row)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), cells.len());
    }

    /// Two chains that cross in the order of their addresses do not cross in their rows.
    #[test]
    fn rows_follow_their_neighbors() {
        let graph = found("a>b:1 a>c:1 b>e:1 c>d:1");
        let edges = graph.merged(&Threads::default()).unwrap();
        let cells = cells(&graph, &edges);
        for edge in &edges {
            let [from, to] = [edge.source, edge.target].map(|it| cells[it.index()]);
            if from.column == 1 {
                assert_eq!((to.column, to.row), (2, from.row));
            }
        }
    }
}
