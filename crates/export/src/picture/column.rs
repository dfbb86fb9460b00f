//! Columns: the hop of each vertex. When both directions were followed, senders are to the
//! left of the roots and receivers to the right.

use txgraph_graph::TransferGraph;
use txgraph_transfers::Direction;

/// Returns the column of each node whose hop is given. `arrows` are the numbers of source and target.
pub(super) fn columns(
    graph: &TransferGraph,
    hops: &[u32],
    arrows: impl Iterator<Item = (usize, usize)>,
) -> Vec<i64> {
    let side = match graph.direction {
        Direction::Out => return hops.iter().map(|hop| i64::from(*hop)).collect(),
        Direction::In => return hops.iter().map(|hop| -i64::from(*hop)).collect(),
        Direction::Both => sides(hops, arrows),
    };
    let column = |(hop, side): (&u32, i64)| {
        if side < 0 {
            -i64::from(*hop)
        } else {
            i64::from(*hop)
        }
    };
    hops.iter().zip(side).map(column).collect()
}

/// The side of each node, by its neighbors that are nearer to a root.
fn sides(hops: &[u32], arrows: impl Iterator<Item = (usize, usize)>) -> Vec<i64> {
    // Each node with its nearer neighbors: 1 if it receives from the neighbor.
    let mut nearer: Vec<Vec<(usize, i64)>> = vec![Vec::new(); hops.len()];
    for (source, target) in arrows {
        match hops[source].cmp(&hops[target]) {
            std::cmp::Ordering::Less => nearer[target].push((source, 1)),
            std::cmp::Ordering::Greater => nearer[source].push((target, -1)),
            std::cmp::Ordering::Equal => {}
        }
    }
    let mut order: Vec<usize> = (0..hops.len()).collect();
    order.sort_by_key(|node| hops[*node]);
    let mut sides = vec![0i64; hops.len()];
    for node in order {
        let vote = |(other, receives): &(usize, i64)| match hops[*other] {
            0 => *receives,
            _ => sides[*other],
        };
        let votes: i64 = nearer[node].iter().map(vote).sum();
        sides[node] = if votes < 0 { -1 } else { 1 };
    }
    sides
}
