//! Positions in the plane of Pathfinder. Addresses have the columns and the order of [`cells`].
//! The transactions between an address and those nearer to a root are beside it, on the side of
//! the root, in rows that no other address uses. So nothing overlaps.

use crate::picture::{Cell, cells};
use std::collections::BTreeMap;
use txgraph_graph::{MergedEdge, TransferGraph, VertexId};

/// The distance that Pathfinder leaves between an address and a transaction beside it.
const STEP: f64 = 4.0;

/// The distance that Pathfinder leaves between two rows.
const ROW: f64 = 2.5;

/// The height of each further line of a label.
const LINE: f64 = 1.5;

/// Characters of a line of a label.
const LINE_CHARS: usize = 12;

/// How often all columns move next to their neighbors. More changes little.
const SWEEPS: usize = 4;

/// A place in the plane: to the right, and downwards.
pub(super) type Point = (f64, f64);

#[derive(Debug)]
pub(super) struct Places {
    /// By number of the vertex.
    pub(super) addresses: Vec<Point>,
    /// By number of the transaction.
    pub(super) transactions: Vec<Point>,
}

/// Returns the places of the vertices, and of transactions that are given by their two ends.
/// `labels` has the label of each vertex.
pub(super) fn places(
    graph: &TransferGraph,
    edges: &[MergedEdge],
    transactions: &[(VertexId, VertexId)],
    labels: &[Option<String>],
) -> Places {
    let cells = cells(graph, edges);
    // The transactions beside each vertex.
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); cells.len()];
    for (number, (source, target)) in transactions.iter().enumerate() {
        let distance = |end: &VertexId| (cells[end.index()].column.abs(), end.index());
        let (_, farther) = distance(source).max(distance(target));
        beside[farther].push(number);
    }
    let each = cells.iter().zip(&beside).zip(labels);
    let heights: Vec<f64> = each
        .map(|((cell, beside), label)| height(cell, beside.len(), label.as_deref()))
        .collect();
    let centers = centers(&cells, edges, &heights);
    let mut addresses = Vec::with_capacity(cells.len());
    let mut points = vec![(0.0, 0.0); transactions.len()];
    for ((cell, center), beside) in cells.iter().zip(centers).zip(&beside) {
        let x = 2.0 * STEP * cell.column as f64;
        let half = beside.len() as f64 * ROW / 2.0;
        let side = cell.column.signum() as f64;
        // Above a root, beside which no column is nearer; else beside the address.
        let (y, first) = match cell.column {
            0 => (center + half, center - half),
            _ => (center, center - half + ROW / 2.0),
        };
        addresses.push((x, hundredths(y)));
        for (row, number) in beside.iter().enumerate() {
            points[*number] = (x - side * STEP, hundredths(first + row as f64 * ROW));
        }
    }
    Places {
        addresses,
        transactions: points,
    }
}

/// Returns the height that an address takes with the transactions beside it. It has as much room
/// above as below, and its label is below.
fn height(cell: &Cell, beside: usize, label: Option<&str>) -> f64 {
    let lines = label.map_or(0, |label| label.chars().count().div_ceil(LINE_CHARS));
    let own = ROW + 2.0 * LINE * lines.saturating_sub(1) as f64;
    let rows = beside as f64 * ROW;
    match cell.column {
        0 => own + rows,
        _ => own.max(rows),
    }
}

/// Returns the middle of each vertex: near its neighbors in other columns, in the order of the rows.
fn centers(cells: &[Cell], edges: &[MergedEdge], heights: &[f64]) -> Vec<f64> {
    let mut columns: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (vertex, cell) in cells.iter().enumerate() {
        columns.entry(cell.column).or_default().push(vertex);
    }
    let mut columns: Vec<_> = columns.into_values().collect();
    for members in &mut columns {
        members.sort_by_key(|vertex| cells[*vertex].row);
    }
    let mut neighbors: Vec<Vec<usize>> = vec![Vec::new(); cells.len()];
    for edge in edges {
        let (source, target) = (edge.source.index(), edge.target.index());
        if cells[source].column != cells[target].column {
            neighbors[source].push(target);
            neighbors[target].push(source);
        }
    }
    let mut centers = vec![0.0; cells.len()];
    let place = |members: &[usize], centers: &mut [f64]| {
        let wanted = members.iter().map(|vertex| match &neighbors[*vertex][..] {
            [] => centers[*vertex],
            others => others.iter().map(|it| centers[*it]).sum::<f64>() / others.len() as f64,
        });
        let rows: Vec<_> = wanted.zip(members.iter().map(|it| heights[*it])).collect();
        for (vertex, center) in members.iter().zip(spread(&rows)) {
            centers[*vertex] = center;
        }
    };
    for _ in 0..SWEEPS {
        for members in &columns {
            place(members, &mut centers);
        }
        columns.reverse();
    }
    centers
}

/// Returns places for rows, each given by the wanted place of its middle and its height. They
/// keep their order, do not overlap, and have the smallest sum of squared distances to the wanted
/// places: the isotonic regression, by pooling adjacent rows.
fn spread(rows: &[(f64, f64)]) -> Vec<f64> {
    // The middle of each row if all are stacked from 0.
    let mut end = 0.0;
    let stacked = rows.iter().map(|(_, height)| {
        end += height;
        end - height / 2.0
    });
    let stacked: Vec<f64> = stacked.collect();
    // Rows that touch each other: the sum of the shifts that they want, and their number.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    let mean = |(sum, count): (f64, usize)| sum / count as f64;
    for ((wanted, _), stacked) in rows.iter().zip(&stacked) {
        let mut pool = (wanted - stacked, 1);
        while let Some(above) = pools.pop_if(|above| mean(*above) >= mean(pool)) {
            pool = (above.0 + pool.0, above.1 + pool.1);
        }
        pools.push(pool);
    }
    let shifts = (pools.iter()).flat_map(|pool| std::iter::repeat_n(mean(*pool), pool.1));
    stacked.iter().zip(shifts).map(|(at, by)| at + by).collect()
}

/// Rounds to two digits: more only make the file larger.
fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use txgraph_graph::{
        SearchRequest, search,
        testing::{MemorySource, address, merged, transfers},
    };
    use txgraph_transfers::Direction;

    /// Searches around `a` in both directions, and places all transfers.
    fn placed(text: &str) -> (TransferGraph, Places) {
        let source = MemorySource::new(transfers(text));
        let request = SearchRequest {
            hops: None,
            direction: Direction::Both,
            ..SearchRequest::new(vec![address("a")], source.available.clone())
        };
        let graph = search(&source, &request).unwrap();
        let indices = graph.graph.edge_indices();
        let ends: Vec<_> = indices
            .filter_map(|it| graph.graph.edge_endpoints(it))
            .collect();
        let labels = vec![None; graph.graph.node_count()];
        let places = places(&graph, &merged(&graph), &ends, &labels);
        (graph, places)
    }

    #[test]
    fn chain_is_a_straight_line_from_left_to_right() {
        let (_, places) = placed("s>a>b>c");
        let mut all = [&places.addresses[..], &places.transactions[..]].concat();
        all.sort_by(|one, next| one.0.total_cmp(&next.0));
        let expected = [-8.0, -4.0, 0.0, 4.0, 8.0, 12.0, 16.0].map(|x| (x, 0.0));
        assert_eq!(all, expected);
    }

    #[test]
    fn transactions_of_a_pair_are_below_each_other() {
        let (_, places) = placed("a>b b>a a>b a>a");
        assert_eq!(places.addresses, [(0.0, 1.25), (8.0, 0.0)]);
        let expected = [(4.0, -2.5), (4.0, 0.0), (4.0, 2.5), (0.0, -1.25)];
        assert_eq!(places.transactions, expected);
    }

    #[test]
    fn rows_are_moved_only_apart() {
        let rows = |wanted: &[f64]| -> Vec<_> { wanted.iter().map(|it| (*it, 2.0)).collect() };
        assert_eq!(spread(&rows(&[0.0, 5.0])), [0.0, 5.0]);
        assert_eq!(spread(&rows(&[1.0, 1.0])), [0.0, 2.0]);
        assert_eq!(spread(&rows(&[3.0, 0.0, 9.0])), [0.5, 2.5, 9.0]);
        assert_eq!(spread(&[(0.0, 2.0), (0.0, 6.0)]), [-2.0, 2.0]);
    }

    #[test]
    fn long_labels_have_room() {
        let cell = Cell { column: 1, row: 0 };
        assert_eq!(height(&cell, 0, Some("twelve chars")), ROW);
        assert_eq!(height(&cell, 1, Some("thirteen chars")), ROW + 2.0 * LINE);
        assert_eq!(height(&cell, 9, Some("thirteen chars")), 9.0 * ROW);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_overlaps(pairs in proptest::collection::vec(("[a-f]", "[a-f]"), 1..30)) {
            let text: Vec<_> = pairs.iter().map(|(from, to)| format!("{from}>{to}")).collect();
            let (_, places) = placed(&format!("a>b {}", text.join(" ")));
            let all = [&places.addresses[..], &places.transactions[..]].concat();
            for (at, one) in all.iter().enumerate() {
                for other in &all[..at] {
                    // Half a hundredth of rounding on both sides.
                    let apart = one.0 != other.0 || (one.1 - other.1).abs() > ROW - 0.02;
                    prop_assert!(apart, "{one:?} {other:?} {places:?}");
                }
            }
        }
    }
}
