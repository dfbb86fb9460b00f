//! The vertex with the most mass.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// Mass by vertex, with the heaviest vertex at hand.
pub(super) struct Heaviest {
    /// Mass that no vertex may keep.
    epsilon: f64,
    masses: Vec<f64>,
    /// A vertex has an entry for each mass above `epsilon` that it had. Only the latest one counts.
    heap: BinaryHeap<Entry>,
}

struct Entry {
    mass: f64,
    vertex: usize,
}

impl Ord for Entry {
    /// By mass, of equals the lower vertex last.
    fn cmp(&self, other: &Self) -> Ordering {
        self.mass
            .total_cmp(&other.mass)
            .then_with(|| Reverse(self.vertex).cmp(&Reverse(other.vertex)))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl Heaviest {
    /// Vertices without mass.
    pub(super) fn new(vertices: usize, epsilon: f64) -> Self {
        Self {
            epsilon,
            masses: vec![0.0; vertices],
            heap: BinaryHeap::new(),
        }
    }

    /// Adds mass to a vertex.
    pub(super) fn add(&mut self, vertex: usize, mass: f64) {
        let sum = &mut self.masses[vertex];
        *sum += mass;
        if *sum > self.epsilon {
            self.heap.push(Entry { mass: *sum, vertex });
        }
    }

    /// Takes the heaviest vertex, if it has more than epsilon.
    pub(super) fn pop(&mut self) -> Option<usize> {
        while let Some(Entry { mass, vertex }) = self.heap.pop() {
            let now = &mut self.masses[vertex];
            if mass.total_cmp(now).is_eq() {
                *now = 0.0;
                return Some(vertex);
            }
        }
        None
    }
}
