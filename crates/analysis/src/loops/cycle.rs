//! A short cycle in a strongly connected graph.

use super::NONE;
use txgraph_graph::Csr;

/// How many vertices to start from. With a bound the work stays linear in the
/// loop; exact for loops up to this size, which are those that one looks at.
const STARTS_MAX: usize = 64;

/// A shortest cycle among those of length two and those through one of the first
/// [`STARTS_MAX`] vertices. `edges` are distinct, ascending, without self-loops, and
/// connect `vertices >= 2` strongly.
pub(super) fn short(vertices: usize, edges: &[(u32, u32)]) -> Vec<u32> {
    if let Some(&(from, to)) = edges
        .iter()
        .find(|(from, to)| edges.binary_search(&(*to, *from)).is_ok())
    {
        return vec![from, to];
    }
    let graph = Csr::group(vertices, || edges.iter().copied());
    let mut search = Search {
        graph: &graph,
        parent: vec![NONE; vertices],
        reached: Vec::new(),
        best: Vec::new(),
    };
    for start in (0..).take(vertices.min(STARTS_MAX)) {
        search.from(start);
    }
    search.best
}

struct Search<'g> {
    graph: &'g Csr,
    /// Where a vertex was reached from, if it was.
    parent: Vec<u32>,
    /// Vertices in the order in which they were reached.
    reached: Vec<u32>,
    best: Vec<u32>,
}

impl Search<'_> {
    /// Breadth first from `start` until an edge leads back to it; keeps the cycle
    /// if it is the shortest yet.
    fn from(&mut self, start: u32) {
        self.reached.clear();
        self.reached.push(start);
        self.parent[start as usize] = start;
        // Where the vertices at distance `hop` end, among those reached.
        let (mut hop, mut hop_end, mut next) = (0, 1, 0);
        'search: while next < self.reached.len() {
            if next == hop_end {
                (hop, hop_end) = (hop + 1, self.reached.len());
            }
            if !self.best.is_empty() && hop + 1 >= self.best.len() {
                break;
            }
            let vertex = self.reached[next];
            next += 1;
            for &target in self.graph.of(vertex) {
                if target == start {
                    self.best = self.way_back(vertex);
                    break 'search;
                }
                if self.parent[target as usize] == NONE {
                    self.parent[target as usize] = vertex;
                    self.reached.push(target);
                }
            }
        }
        for vertex in &self.reached {
            self.parent[*vertex as usize] = NONE;
        }
    }

    /// From the start to `vertex`.
    fn way_back(&self, mut vertex: u32) -> Vec<u32> {
        let mut way = vec![vertex];
        while self.parent[vertex as usize] != vertex {
            vertex = self.parent[vertex as usize];
            way.push(vertex);
        }
        way.reverse();
        way
    }
}
