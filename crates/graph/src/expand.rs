//! Expansion hop by hop: which vertices to expand, and where their transfers lead.
//!
//! An [`Expander`] works on interned addresses and on rows that were fetched for it. Its
//! result is the visited vertices and the rows that become edges.

use crate::{
    Expansion, LimitHit, SearchError, SearchRequest, SwapCounts,
    request::NONE,
    rows::{Interned, RowStore, TokenKey},
    scan::Fetched,
    swaps::{ByToken, Legs},
    timing::{Arrival, Timing},
    top_counterparties::TopCounterparties,
};
use txgraph_transfers::{Csr, Direction, Position, TransferSource};

/// The state of a search.
#[derive(Debug)]
pub(crate) struct Expander<'a> {
    request: &'a SearchRequest,
    timing: Timing,
    /// The number of roots, which come first in `visited`.
    roots: usize,
    /// Vertices in the order in which they were reached. A vertex number is an index of
    /// this list. Of a search by token, an address has a vertex for each token that it holds.
    visited: Vec<Visited>,
    /// Number of the first vertex by address number, [`NONE`] if the address is not visited.
    vertices: Vec<u32>,
    /// The number of visited addresses.
    addresses: u64,
    /// The state of a search that follows each token for itself, and swaps.
    by_token: Option<ByToken>,
    /// Numbers of vertices that are new, or were reached at a better position.
    pending: Vec<u32>,
    edges: u64,
    omitted: Omitted,
    /// By address number: the count in which it was last a counterparty.
    counted_in: Vec<u32>,
    /// The number of counts so far.
    counts: u32,
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
            addresses: 0,
            by_token: request.through_swaps.then(ByToken::default),
            pending: Vec::new(),
            edges: 0,
            omitted: Omitted::default(),
            counted_in: Vec::new(),
            counts: 0,
        };
        (0..)
            .take(roots)
            .for_each(|root| expander.visit(root, 0, None, None));
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
            let root = self.is_root(self.visited[number as usize].address);
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

    /// Reads the swaps of the transfers of a frontier, if the search follows them.
    pub(crate) fn read_swaps(
        &mut self,
        source: &dyn TransferSource,
        frontier: &[FrontierVertex],
        (fetched, csr): (&Fetched, &Csr),
        interned: &mut Interned,
    ) -> Result<(), SearchError> {
        let mut wanted = Vec::new();
        let followed = self.by_token.is_some().then_some(frontier);
        for vertex in followed.unwrap_or_default() {
            let done = self.visited[vertex.number as usize].followed;
            if done.is_some() || !self.is_hub(vertex.address, fetched, csr) {
                let rows = csr.of(vertex.address).iter().copied();
                wanted.extend(rows.filter(|row| {
                    let token = fetched.rows.token_key(*row, interned);
                    self.holds(vertex, token)
                        && self.follows(vertex.from, done, fetched.rows.position(*row))
                }));
            }
        }
        let Some(ByToken { swaps, .. }) = &mut self.by_token else {
            return Ok(());
        };
        swaps.read(source, self.request, (&wanted, &fetched.rows), interned)
    }

    /// Whether a vertex of a search by token is the one that holds this token.
    fn holds(&self, vertex: &FrontierVertex, token: TokenKey) -> bool {
        self.vertex_number(vertex.address, Some(token)) == Some(vertex.number)
    }

    /// Whether a transfer at `position` is followed from a vertex that was reached at `from`, and was
    /// followed from `done`.
    fn follows(&self, from: Arrival, done: Option<Arrival>, position: Position) -> bool {
        self.timing.follows(from, position)
            && !done.is_some_and(|done| self.timing.follows(done, position))
    }

    /// Whether an address is a root.
    fn is_root(&self, address: u32) -> bool {
        (address as usize) < self.roots
    }

    /// Follows the transfers of a frontier. Returns the rows that become edges, in the
    /// order in which they were followed, and those that carry swaps, as rows of
    /// [`Self::swap_rows`].
    pub(crate) fn expand(
        &mut self,
        hop: u32,
        frontier: &[FrontierVertex],
        fetched: &Fetched,
        csr: &Csr,
        interned: &Interned,
    ) -> (Vec<EdgeRow>, Vec<EdgeRow>) {
        let (mut edge_rows, mut swap_rows) = (Vec::new(), Vec::new());
        for vertex in frontier {
            let at = vertex.number as usize;
            // A vertex that was expanded before and reached again is not a hub.
            let again = self.visited[at].followed.is_some();
            if !again && self.is_hub(vertex.address, fetched, csr) {
                self.visited[at].expansion = Some(Expansion::Hub);
                continue;
            }
            let done = self.visited[at].followed.replace(vertex.from);
            self.visited[at]
                .expansion
                .get_or_insert(Expansion::Expanded);
            let rows = csr.of(vertex.address);
            let left_out = self.omitted.by_top;
            let largest = (self.request.top).map(|top| {
                TopCounterparties::of(top, vertex.address, rows, &fetched.rows, interned)
            });
            for &row in rows {
                let ends = fetched.rows.row(row);
                let end = ends.other_end(vertex.address);
                let is_backward =
                    self.request.direction == Direction::In || ends.from != vertex.address;
                let by_token = self.by_token.is_some();
                let token = by_token.then(|| fetched.rows.token_key(row, interned));
                if token.is_some_and(|token| !self.holds(vertex, token)) {
                    continue;
                }
                let end_number = self.vertex_number(end, token);
                if self.request.direction == Direction::Both && !by_token {
                    // If the other end was expanded before, it followed this transfer. It can lead to
                    // a swap of one end only.
                    let visited = end_number.map(|number| self.visited[number as usize]);
                    if end != vertex.address && visited.is_some_and(|end| end.followed.is_some()) {
                        continue;
                    }
                }
                let position = fetched.rows.position(row);
                if !self.follows(vertex.from, done, position) {
                    continue;
                }
                if is_backward && self.is_returned(position) {
                    continue;
                }
                if let Some(largest) = &largest
                    && !largest.contains(fetched.rows.token(row, interned), end)
                {
                    self.omitted.by_top += 1;
                    continue;
                }
                let is_edge = self.is_edge(position);
                if !is_edge && !self.admit(vertex.number, &[end], position) {
                    continue;
                }
                let next = hop + 1;
                self.visited[at].has_edges = true;
                if !is_edge {
                    edge_rows.push(EdgeRow { row, hop: next });
                }
                match self.legs(vertex.address, position, is_backward, interned) {
                    None => self.reach((end, token), end_number, next, position),
                    Some(legs) => {
                        self.carry(end, next);
                        swap_rows.extend(self.swap(vertex.number, &legs, next, interned));
                    }
                }
            }
            self.visited[at].is_below_top |= self.omitted.by_top > left_out;
        }
        (edge_rows, swap_rows)
    }

    /// The transfers of swaps, if the search follows them.
    pub(crate) fn swap_rows(&self) -> Option<&RowStore> {
        self.by_token.as_ref().map(|it| &it.swaps.rows)
    }

    /// Whether a transfer is an edge already. Only a search by token finds one twice.
    fn is_edge(&self, position: Position) -> bool {
        (self.by_token.as_ref()).is_some_and(|it| it.edges.contains(&position))
    }

    /// Whether a transfer brings back a part of what its receiver paid for a swap: it came from there.
    fn is_returned(&self, position: Position) -> bool {
        (self.by_token.as_ref()).is_some_and(|it| it.swaps.is_returned(position))
    }

    /// The swap that a transfer of this address pays for; backward, the one that it delivers from. Counts it.
    fn legs(
        &mut self,
        address: u32,
        position: Position,
        is_backward: bool,
        interned: &Interned,
    ) -> Option<Legs> {
        let by_token = self.by_token.as_mut()?;
        if by_token.swaps.is_unresolved(position, is_backward) {
            let place = (position.block, position.tx);
            let party = (place, interned.addresses.value(address));
            by_token.unresolved.insert(party);
        }
        let legs = by_token.swaps.legs(position, is_backward)?.clone();
        by_token.followed.insert(legs.swap);
        Some(legs)
    }

    /// Follows a swap that a transfer of a vertex leads to. Returns the rows that become edges.
    fn swap(&mut self, start: u32, legs: &Legs, hop: u32, interned: &Interned) -> Vec<EdgeRow> {
        let mut edge_rows = Vec::new();
        let carried = legs.carried.iter().map(|row| (*row, false));
        let last = legs.last.iter().map(|row| (*row, true));
        for (row, is_last) in carried.chain(last) {
            let Some(rows) = self.swap_rows() else {
                continue;
            };
            let (ends, position) = (rows.row(row), rows.position(row));
            let token = Some(rows.token_key(row, interned));
            let is_edge = self.is_edge(position);
            if !is_edge && !self.admit(start, &[ends.from, ends.to], position) {
                continue;
            }
            if !is_edge {
                edge_rows.push(EdgeRow { row, hop });
            }
            let (near, far) = match legs.is_backward {
                false => (ends.from, ends.to),
                true => (ends.to, ends.from),
            };
            self.carry(near, hop);
            if is_last {
                let number = self.vertex_number(far, token);
                self.reach((far, token), number, hop, position);
            } else {
                self.carry(far, hop);
            }
        }
        edge_rows
    }

    /// Adds the vertex of an address that carries a swap, unless it has one.
    fn carry(&mut self, address: u32, hop: u32) {
        if self.first_vertex(address).is_none() {
            self.visit(address, hop, None, None);
            // It is not expanded for that.
            self.pending.pop();
            if let Some(visited) = self.visited.last_mut() {
                visited.expansion = Some(Expansion::Swap);
            }
        }
    }

    /// Whether the limits leave room for a transfer that a vertex leads to, with these ends. Counts the
    /// transfer.
    fn admit(&mut self, start: u32, ends: &[u32], position: Position) -> bool {
        let above = |max: Option<u64>, now: u64| max.is_some_and(|max| now > max);
        let vertices = ends.iter().map(|end| self.first_vertex(*end));
        let new = vertices.filter(Option::is_none).count() as u64;
        if new > 0 && above(self.request.max_vertices, self.addresses + new) {
            self.omitted.by_vertices += 1;
        } else if above(self.request.max_edges, self.edges + 1) {
            self.omitted.by_edges += 1;
            // With `Both` the transfer belongs to its other end as well, which may be
            // expanded later and will not find it.
            let both = self.request.direction == Direction::Both;
            for end in ends.iter().filter(|_| both) {
                let Some(end) = self.first_vertex(*end) else {
                    continue;
                };
                self.visited[end as usize]
                    .expansion
                    .get_or_insert(Expansion::Limit);
            }
        } else {
            self.edges += 1;
            if let Some(by_token) = &mut self.by_token {
                by_token.edges.insert(position);
            }
            return true;
        }
        self.visited[start as usize].expansion = Some(Expansion::Limit);
        false
    }

    /// Records that a transfer at `position` leads to an address, with a token if that matters.
    fn reach(
        &mut self,
        (address, token): (u32, Option<TokenKey>),
        number: Option<u32>,
        hop: u32,
        position: Position,
    ) {
        match number {
            None => self.visit(address, hop, Some(position), token),
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
    fn visit(&mut self, address: u32, hop: u32, arrival: Arrival, token: Option<TokenKey>) {
        let at = address as usize;
        if self.vertices.len() <= at {
            self.vertices.resize(at + 1, NONE);
        }
        // There are no more vertices than addresses, which are numbered in `u32`.
        let number = u32::try_from(self.visited.len()).unwrap_or(NONE);
        if self.vertices[at] == NONE {
            self.vertices[at] = number;
            self.addresses += 1;
        }
        if let Some(by_token) = &mut self.by_token {
            by_token.add(number, address, token);
        }
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

    /// The vertex of an address; of a search by token, the one that holds it.
    fn vertex_number(&self, address: u32, token: Option<TokenKey>) -> Option<u32> {
        let (Some(by_token), Some(token)) = (&self.by_token, token) else {
            return self.first_vertex(address);
        };
        let asked = &self.request.filter.tokens;
        match self.is_root(address) && asked.matches(token.0.as_ref()) {
            true => self.first_vertex(address),
            false => by_token.vertex(address, token),
        }
    }

    fn first_vertex(&self, address: u32) -> Option<u32> {
        self.vertices
            .get(address as usize)
            .copied()
            .filter(|number| *number != NONE)
    }

    /// Whether an address that is no root has more counterparties than `max_degree`.
    fn is_hub(&mut self, address: u32, fetched: &Fetched, csr: &Csr) -> bool {
        let Some(max) = self.request.max_degree.filter(|_| !self.is_root(address)) else {
            return false;
        };
        if fetched.hubs.contains(&address) {
            return true;
        }
        let count = self.counts;
        self.counts = count.wrapping_add(1);
        let mut degree = 0;
        for &row in csr.of(address) {
            let end = fetched.rows.row(row).other_end(address);
            if self.counted_in.len() <= end as usize {
                self.counted_in.resize(end as usize + 1, NONE);
            }
            let counted_in = &mut self.counted_in[end as usize];
            if end != address && *counted_in != count {
                *counted_in = count;
                degree += 1;
                if degree > max {
                    return true;
                }
            }
        }
        false
    }

    /// Returns the visited vertices, roots first, and the limits that were reached.
    pub(crate) fn finish(mut self) -> (Vec<Visited>, Vec<LimitHit>, SwapCounts) {
        if self.request.direction != Direction::Both {
            // They have transfers, but all of them were left out.
            let cut = |it: &&mut Visited| it.is_below_top && !it.has_edges;
            for visited in self.visited.iter_mut().filter(cut) {
                visited.expansion = Some(Expansion::Limit);
            }
        }
        let mut swaps = SwapCounts::default();
        if let Some(by_token) = &self.by_token {
            swaps.followed = by_token.followed.len() as u64;
            swaps.unresolved = by_token.unresolved.len() as u64;
            self.merge_tokens();
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
        (self.visited, limits, swaps)
    }

    /// Leaves one vertex of each address, with why the search ended for one of its tokens.
    fn merge_tokens(&mut self) {
        let rank = |visited: &Visited| {
            let ranked = [
                Expansion::Swap,
                Expansion::Expanded,
                Expansion::LastHop,
                Expansion::ZeroAddress,
                Expansion::StopList,
                Expansion::Hub,
                Expansion::Limit,
            ];
            ranked
                .into_iter()
                .position(|it| visited.expansion == Some(it))
        };
        for at in 0..self.visited.len() {
            let visited = self.visited[at];
            // The first one has the smallest hop.
            let first = self.vertices[visited.address as usize] as usize;
            if rank(&visited) > rank(&self.visited[first]) {
                self.visited[first].expansion = visited.expansion;
            }
        }
        let vertices = &self.vertices;
        let mut number = 0..;
        (self.visited).retain(|it| number.next() == Some(vertices[it.address as usize]));
    }
}
