//! Strongly connected components: Tarjan's algorithm (SIAM J. Comput. 1972) in
//! O(V + E), with a stack of its own, as a chain of a million hops would overflow
//! the thread's.

/// No number yet.
pub(crate) const NONE: u32 = u32::MAX;

/// A directed graph over the vertices `0..n`, as a list of targets per vertex.
#[derive(Debug)]
pub(crate) struct Csr {
    /// Where the targets of a vertex begin; one more than there are vertices.
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

impl Csr {
    /// The graph of these edges, whose ends are below `vertices`. Targets keep the
    /// order of the edges.
    pub(crate) fn new(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut offsets = vec![0; vertices + 1];
        for (source, _) in edges {
            offsets[*source as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; edges.len()];
        for (source, target) in edges {
            let place = &mut next[*source as usize];
            targets[*place as usize] = *target;
            *place += 1;
        }
        Self { offsets, targets }
    }

    pub(crate) fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn targets(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.targets[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }
}

/// The number of the component of each vertex, and how many components there are.
pub(crate) fn strong_components(graph: &Csr) -> (Vec<u32>, u32) {
    let mut search = Search {
        discovered: vec![NONE; graph.vertices()],
        low: vec![NONE; graph.vertices()],
        stack: Vec::new(),
        path: Vec::new(),
        count: 0,
    };
    let mut component = vec![NONE; graph.vertices()];
    let mut components = 0;
    for root in (0..).take(graph.vertices()) {
        if search.discovered[root as usize] == NONE {
            search.enter(root);
        }
        while let Some((vertex, next)) = search.path.last_mut() {
            let vertex = *vertex;
            let Some(&target) = graph.targets(vertex).get(*next) else {
                search.path.pop();
                let low = search.low[vertex as usize];
                if let Some((parent, _)) = search.path.last() {
                    let parent = &mut search.low[*parent as usize];
                    *parent = low.min(*parent);
                }
                if low == search.discovered[vertex as usize] {
                    while let Some(member) = search.stack.pop() {
                        component[member as usize] = components;
                        if member == vertex {
                            break;
                        }
                    }
                    components += 1;
                }
                continue;
            };
            *next += 1;
            let discovered = search.discovered[target as usize];
            if discovered == NONE {
                search.enter(target);
            } else if component[target as usize] == NONE {
                let low = &mut search.low[vertex as usize];
                *low = discovered.min(*low);
            }
        }
    }
    (component, components)
}

struct Search {
    /// When a vertex was first seen.
    discovered: Vec<u32>,
    /// The earliest vertex of its component that is known to be reachable.
    low: Vec<u32>,
    /// Seen vertices whose component is still open.
    stack: Vec<u32>,
    /// The way from the root to here, with the place of the next edge of each.
    path: Vec<(u32, usize)>,
    count: u32,
}

impl Search {
    fn enter(&mut self, vertex: u32) {
        self.discovered[vertex as usize] = self.count;
        self.low[vertex as usize] = self.count;
        self.count += 1;
        self.stack.push(vertex);
        self.path.push((vertex, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two vertices share a component when each reaches the other.
        #[test]
        fn agrees_with_the_reachability_matrix(
            n in 1usize..9,
            edges in proptest::collection::vec((0u32..9, 0u32..9), 0..24),
        ) {
            let bound = u32::try_from(n).unwrap();
            let edges: Vec<_> = edges.iter().map(|(a, b)| (a % bound, b % bound)).collect();
            let mut reaches = vec![vec![false; n]; n];
            for (a, b) in &edges {
                reaches[*a as usize][*b as usize] = true;
            }
            for k in 0..n {
                reaches[k][k] = true;
                for i in 0..n {
                    for j in 0..n {
                        reaches[i][j] |= reaches[i][k] && reaches[k][j];
                    }
                }
            }
            let (component, components) = strong_components(&Csr::new(n, &edges));
            for i in 0..n {
                prop_assert!(component[i] < components);
                for j in 0..n {
                    let same = reaches[i][j] && reaches[j][i];
                    prop_assert_eq!(component[i] == component[j], same, "{} {}", i, j);
                }
            }
            let mut used = component;
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(used.len(), components as usize);
        }
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let n = 1_000_000;
        let mut edges: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        assert_eq!(strong_components(&Csr::new(n as usize, &edges)).1, n);
        edges.push((n - 1, 0));
        assert_eq!(strong_components(&Csr::new(n as usize, &edges)).1, 1);
        assert_eq!(strong_components(&Csr::new(0, &[])).1, 0);
    }
}
