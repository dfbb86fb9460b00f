//! A short cycle in a strongly connected graph.

use super::NONE;
use txgraph_graph::Csr;

/// The number of vertices to start from. It keeps the work linear in the cycle, and the
/// result exact for cycles up to this size, which are small enough to look at.
const STARTS_MAX: usize = 64;

/// Returns a shortest cycle among the cycles of length two and the cycles through one of the first
/// [`STARTS_MAX`] vertices. `edges` are distinct, ascending, without self-loops, and strongly
/// connect at least two `vertices`.
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
    /// The vertex from which each vertex was reached, if it was.
    parent: Vec<u32>,
    /// Vertices, in the order in which they were reached.
    reached: Vec<u32>,
    best: Vec<u32>,
}

impl Search<'_> {
    /// Searches breadth-first from `start` until an edge leads back to it. Keeps the cycle if
    /// it is the shortest so far.
    fn from(&mut self, start: u32) {
        self.reached.clear();
        self.reached.push(start);
        self.parent[start as usize] = start;
        // `hop_end`: where the vertices at distance `hop` end in `reached`.
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
                    self.best = self.path_to(vertex);
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

    /// Returns the path from the start to `vertex`.
    fn path_to(&self, mut vertex: u32) -> Vec<u32> {
        let mut path = vec![vertex];
        while self.parent[vertex as usize] != vertex {
            vertex = self.parent[vertex as usize];
            path.push(vertex);
        }
        path.reverse();
        path
    }
}
