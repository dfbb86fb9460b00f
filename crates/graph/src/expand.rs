//! Expansion hop by hop: which vertices to expand, and where their transfers lead.
//!
//! An [`Expander`] works on interned addresses and on rows that were fetched for it. Its
//! result is the visited vertices and the rows that become edges.

use crate::{
    Expansion, LimitHit, SearchRequest,
    interner::NONE,
    rows::Interned,
    scan::Fetched,
    timing::{Arrival, Timing},
    top_counterparties::TopCounterparties,
};
use txgraph_transfers::{Csr, Direction, Position};

/// The state of a search.
#[derive(Debug)]
pub(crate) struct Expander<'a> {
    request: &'a SearchRequest,
    timing: Timing,
    /// The number of roots, which come first in `visited`.
    roots: usize,
    /// Vertices in the order in which they were reached. A vertex number is an index of
    /// this list.
    visited: Vec<Visited>,
    /// Vertex number by address number, [`NONE`] if the address is not visited.
    vertices: Vec<u32>,
    /// Numbers of vertices that are new, or were reached at a better position.
    pending: Vec<u32>,
    edges: u64,
    omitted: Omitted,
    /// By address number: the address for which it was last counted as a counterparty.
    counted_for: Vec<u32>,
}

/// A vertex that was reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visited {
    /// Number of its address.
    pub(crate) address: u32,
    pub(crate) hop: u32,
    /// `None` until it is decided.
    pub(crate) expansion: Option<Expansion>,
    /// The best arrival so far.
    arrival: Arrival,
    /// The arrival from which its transfers were followed, if they were.
    followed: Option<Arrival>,
    /// Whether a transfer was followed from it.
    has_edges: bool,
    /// Whether a transfer was left out, because other counterparties have larger amounts.
    is_below_top: bool,
}

/// A vertex about to be expanded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrontierVertex {
    /// Vertex number.
    number: u32,
    /// Number of its address.
    pub(crate) address: u32,
    /// The arrival from which to follow its transfers. Better arrivals that this hop finds
    /// count at the next hop.
    from: Arrival,
}

/// Transfers left out because of a limit.
#[derive(Clone, Copy, Debug, Default)]
struct Omitted {
    by_vertices: u64,
    by_edges: u64,
    by_top: u64,
}

/// A row that becomes an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EdgeRow {
    pub(crate) row: u32,
    pub(crate) hop: u32,
}

impl<'a> Expander<'a> {
    /// An expander that has visited the roots, whose addresses have the numbers
    /// `0..roots`.
    pub(crate) fn new(request: &'a SearchRequest, roots: usize) -> Self {
        let mut expander = Self {
            request,
            timing: Timing::new(request.time_respecting, request.direction),
            roots,
            visited: Vec::new(),
            vertices: Vec::new(),
            pending: Vec::new(),
            edges: 0,
            omitted: Omitted::default(),
            counted_for: Vec::new(),
        };
        (0..)
            .take(roots)
            .for_each(|root| expander.visit(root, 0, None));
        expander
    }

    /// Returns the vertices to expand at this hop, ordered by address. For the other
    /// pending vertices, decides why they are not expanded.
    pub(crate) fn frontier(&mut self, hop: u32, interned: &Interned) -> Vec<FrontierVertex> {
        let pending = std::mem::take(&mut self.pending);
        let address = |number: u32| {
            interned
                .addresses
                .value(self.visited[number as usize].address)
        };
        let mut pending: Vec<_> = pending
            .into_iter()
            .map(|number| (address(number), number))
            .collect();
        pending.sort_unstable();
        pending.dedup();

        let last_hop = self.request.hops == Some(hop);
        let mut frontier = Vec::new();
        for (address, number) in pending {
            let root = (number as usize) < self.roots;
            let visited = &mut self.visited[number as usize];
            if last_hop {
                // Vertices of earlier hops keep their decision; they were reached again by
                // an earlier transfer.
                if visited.hop == hop {
                    visited.expansion = Some(Expansion::LastHop);
                }
            } else if !root && self.request.stop_at.contains(&address) {
                visited.expansion = Some(Expansion::StopList);
            } else if !root && address.is_zero() && !self.request.expand_zero {
                visited.expansion = Some(Expansion::ZeroAddress);
            } else if visited.expansion == Some(Expansion::Hub) {
                // A hub stays one, however early it is reached.
            } else if self.omitted.by_edges > 0 {
                visited.expansion = Some(Expansion::Limit);
            } else {
                let (address, from) = (visited.address, visited.arrival);
                frontier.push(FrontierVertex {
                    number,
                    address,
                    from,
                });
            }
        }
        frontier
    }

    /// Follows the transfers of a frontier. Returns the rows that become edges, in the
    /// order in which they were followed.
    pub(crate) fn expand(
        &mut self,
        hop: u32,
        frontier: &[FrontierVertex],
        fetched: &Fetched,
        csr: &Csr,
        interned: &Interned,
    ) -> Vec<EdgeRow> {
        let mut edge_rows = Vec::new();
        for vertex in frontier {
            let at = vertex.number as usize;
            // A vertex that was expanded before and reached again is not a hub.
            let again = self.visited[at].followed.is_some();
            if !again && at >= self.roots && self.is_hub(vertex.address, fetched, csr) {
                self.visited[at].expansion = Some(Expansion::Hub);
                continue;
            }
            let done = self.visited[at].followed.replace(vertex.from);
            self.visited[at]
                .expansion
                .get_or_insert(Expansion::Expanded);
            let rows = csr.of(vertex.address);
            let (edges, left_out) = (edge_rows.len(), self.omitted.by_top);
            let largest = (self.request.top).map(|top| {
                TopCounterparties::of(top, vertex.address, rows, &fetched.rows, interned)
            });
            for &row in rows {
                let end = fetched.rows.row(row).other_end(vertex.address);
                let end_number = self.vertex_number(end);
                if self.request.direction == Direction::Both {
                    // If the other end was expanded before, it followed this transfer.
                    let visited = end_number.map(|number| self.visited[number as usize]);
                    if end != vertex.address && visited.is_some_and(|end| end.followed.is_some()) {
                        continue;
                    }
                }
                let position = fetched.rows.position(row);
                if !self.timing.follows(vertex.from, position)
                    || done.is_some_and(|done| self.timing.follows(done, position))
                {
                    continue;
                }
                if let Some(largest) = &largest
                    && !largest.contains(fetched.rows.token(row, interned), end)
                {
                    self.omitted.by_top += 1;
                    continue;
                }
                if self.admit(vertex.number, end_number) {
                    edge_rows.push(EdgeRow { row, hop: hop + 1 });
                    self.reach(end, end_number, hop + 1, position);
                }
            }
            self.visited[at].has_edges |= edge_rows.len() > edges;
            self.visited[at].is_below_top |= self.omitted.by_top > left_out;
        }
        edge_rows
    }

    /// Whether the limits leave room for a transfer from one vertex to another, which is
    /// `None` if it is new. Counts the transfer.
    fn admit(&mut self, start: u32, end: Option<u32>) -> bool {
        let full = |max: Option<u64>, now: u64| max.is_some_and(|max| now >= max);
        if end.is_none() && full(self.request.max_vertices, self.visited.len() as u64) {
            self.omitted.by_vertices += 1;
        } else if full(self.request.max_edges, self.edges) {
            self.omitted.by_edges += 1;
            // With `Both` the transfer belongs to its other end as well, which may be
            // expanded later and will not find it.
            if let Some(end) = end.filter(|_| self.request.direction == Direction::Both) {
                self.visited[end as usize]
                    .expansion
                    .get_or_insert(Expansion::Limit);
            }
        } else {
            self.edges += 1;
            return true;
        }
        self.visited[start as usize].expansion = Some(Expansion::Limit);
        false
    }

    /// Records that a transfer at `position` leads to an address.
    fn reach(&mut self, address: u32, number: Option<u32>, hop: u32, position: Position) {
        match number {
            None => self.visit(address, hop, Some(position)),
            Some(number) => {
                let arrival = &mut self.visited[number as usize].arrival;
                if self.timing.improves(position, *arrival) {
                    *arrival = Some(position);
                    self.pending.push(number);
                }
            }
        }
    }

    /// Adds a vertex.
    fn visit(&mut self, address: u32, hop: u32, arrival: Arrival) {
        let at = address as usize;
        if self.vertices.len() <= at {
            self.vertices.resize(at + 1, NONE);
        }
        // There are no more vertices than addresses, which are numbered in `u32`.
        let number = u32::try_from(self.visited.len()).unwrap_or(NONE);
        self.vertices[at] = number;
        self.visited.push(Visited {
            address,
            hop,
            expansion: None,
            arrival,
            followed: None,
            has_edges: false,
            is_below_top: false,
        });
        self.pending.push(number);
    }

    fn vertex_number(&self, address: u32) -> Option<u32> {
        self.vertices
            .get(address as usize)
            .copied()
            .filter(|number| *number != NONE)
    }

    /// Whether an address has more counterparties than `max_degree`.
    fn is_hub(&mut self, address: u32, fetched: &Fetched, csr: &Csr) -> bool {
        let Some(max) = self.request.max_degree else {
            return false;
        };
        if fetched.hubs.contains(&address) {
            return true;
        }
        let mut degree = 0;
        for &row in csr.of(address) {
            let end = fetched.rows.row(row).other_end(address);
            if self.counted_for.len() <= end as usize {
                self.counted_for.resize(end as usize + 1, NONE);
            }
            let counted_for = &mut self.counted_for[end as usize];
            if end != address && *counted_for != address {
                *counted_for = address;
                degree += 1;
                if degree > max {
                    return true;
                }
            }
        }
        false
    }

    /// Returns the visited vertices, roots first, and the limits that were reached.
    pub(crate) fn finish(mut self) -> (Vec<Visited>, Vec<LimitHit>) {
        if self.request.direction != Direction::Both {
            // They have transfers, but all of them were left out.
            let cut = |it: &&mut Visited| it.is_below_top && !it.has_edges;
            for visited in self.visited.iter_mut().filter(cut) {
                visited.expansion = Some(Expansion::Limit);
            }
        }
        let count = |expansion| {
            self.visited
                .iter()
                .filter(|visited| visited.expansion == Some(expansion))
                .count() as u64
        };
        let mut limits = Vec::new();
        if let (Some(limit), vertices @ 1..) = (self.request.max_degree, count(Expansion::Hub)) {
            limits.push(LimitHit::MaxDegree { limit, vertices });
        }
        if let vertices @ 1.. = count(Expansion::StopList) {
            limits.push(LimitHit::StopList { vertices });
        }
        if count(Expansion::ZeroAddress) > 0 {
            limits.push(LimitHit::ZeroAddress);
        }
        if let (Some(limit), transfers_left_out @ 1..) = (self.request.top, self.omitted.by_top) {
            limits.push(LimitHit::Top {
                limit,
                transfers_left_out,
            });
        }
        if let (Some(limit), transfers_left_out @ 1..) =
            (self.request.max_vertices, self.omitted.by_vertices)
        {
            limits.push(LimitHit::MaxVertices {
                limit,
                transfers_left_out,
            });
        }
        if let (Some(limit), transfers_left_out @ 1..) =
            (self.request.max_edges, self.omitted.by_edges)
        {
            limits.push(LimitHit::MaxEdges {
                limit,
                transfers_left_out,
            });
        }
        (self.visited, limits)
    }
}
