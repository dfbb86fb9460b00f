//! Hop after hop: which vertices to expand, and what their transfers lead to.
//!
//! A walk knows addresses by their numbers and sees rows that somebody fetched. Its
//! result is the vertices it met and the rows it kept, which become edges.

use crate::{
    Expansion, LimitHit, SearchRequest,
    csr::Csr,
    interner::NONE,
    rows::Names,
    scan::Fetched,
    timing::{Moment, Timing},
};
use txgraph_transfers::{Direction, Position};

/// A search under way.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    request: &'a SearchRequest,
    timing: Timing,
    /// How many of `met` are roots: the first ones.
    roots: usize,
    /// Vertices in the order in which they were met. A place is an index of this.
    met: Vec<Met>,
    /// Place by number of the address.
    places: Vec<u32>,
    /// Places of vertices that are new, or were reached at a better moment.
    fresh: Vec<u32>,
    edges: u64,
    left_out: LeftOut,
    /// By number of an address: whose counterparty it was last counted as.
    counted_for: Vec<u32>,
}

/// A vertex that was met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    /// Number of its address.
    pub(crate) address: u32,
    pub(crate) hop: u32,
    /// Absent until it is decided.
    pub(crate) expansion: Option<Expansion>,
    /// The best moment at which it was reached.
    reached: Moment,
    /// The moment from which its transfers were followed, if they were.
    followed: Option<Moment>,
}

/// A vertex about to be expanded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    place: u32,
    /// Number of its address.
    pub(crate) address: u32,
    /// The moment from which its transfers are to be followed. What this hop finds out
    /// counts at the next.
    from: Moment,
}

/// Transfers left out, by the limit that bit.
#[derive(Clone, Copy, Debug, Default)]
struct LeftOut {
    vertices: u64,
    edges: u64,
}

/// A row that becomes an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kept {
    pub(crate) row: u32,
    pub(crate) hop: u32,
}

impl<'a> Walk<'a> {
    /// A walk that has met its roots, whose addresses have the numbers `0..roots`.
    pub(crate) fn new(request: &'a SearchRequest, roots: usize) -> Self {
        let mut walk = Self {
            request,
            timing: Timing::new(request.time_respecting, request.direction),
            roots,
            met: Vec::new(),
            places: Vec::new(),
            fresh: Vec::new(),
            edges: 0,
            left_out: LeftOut::default(),
            counted_for: Vec::new(),
        };
        (0..).take(roots).for_each(|root| walk.meet(root, 0, None));
        walk
    }

    /// The vertices to expand at this hop, in the order of their addresses. For the
    /// other new ones, decides why not.
    pub(crate) fn frontier(&mut self, hop: u32, names: &Names) -> Vec<Front> {
        let fresh = std::mem::take(&mut self.fresh);
        let address = |place: u32| names.addresses.value(self.met[place as usize].address);
        let mut fresh: Vec<_> = fresh
            .into_iter()
            .map(|place| (address(place), place))
            .collect();
        fresh.sort_unstable();
        fresh.dedup();

        let last_hop = self.request.hops == Some(hop);
        let mut frontier = Vec::new();
        for (address, place) in fresh {
            let root = (place as usize) < self.roots;
            let met = &mut self.met[place as usize];
            if last_hop {
                // Others were decided before, and are only reached sooner.
                if met.hop == hop {
                    met.expansion = Some(Expansion::LastHop);
                }
            } else if !root && self.request.stop_at.contains_key(&address) {
                met.expansion = Some(Expansion::StopList);
            } else if !root && address.is_zero() && !self.request.expand_zero {
                met.expansion = Some(Expansion::ZeroAddress);
            } else if met.expansion == Some(Expansion::Hub) {
                // However soon it is reached.
            } else if self.left_out.edges > 0 {
                met.expansion = Some(Expansion::Limit);
            } else {
                let (address, from) = (met.address, met.reached);
                frontier.push(Front {
                    place,
                    address,
                    from,
                });
            }
        }
        frontier
    }

    /// Follows the transfers of a frontier. The rows that become edges, in the order
    /// in which they were followed.
    pub(crate) fn expand(
        &mut self,
        hop: u32,
        frontier: &[Front],
        fetched: &Fetched,
        csr: &Csr,
    ) -> Vec<Kept> {
        let mut kept = Vec::new();
        for front in frontier {
            let at = front.place as usize;
            // What was expanded before, and is only reached sooner, is no hub.
            let again = self.met[at].followed.is_some();
            if !again && at >= self.roots && self.is_hub(front.address, fetched, csr) {
                self.met[at].expansion = Some(Expansion::Hub);
                continue;
            }
            let done = self.met[at].followed.replace(front.from);
            self.met[at].expansion.get_or_insert(Expansion::Expanded);
            for &row in csr.of(front.address) {
                let end = fetched.rows.row(row).other_end(front.address);
                let place = self.place(end);
                if self.request.direction == Direction::Both {
                    // Its other end has had its turn, and this transfer with it.
                    let met = place.map(|place| self.met[place as usize]);
                    if end != front.address && met.is_some_and(|met| met.followed.is_some()) {
                        continue;
                    }
                }
                let position = fetched.rows.position(row);
                if !self.timing.follows(front.from, position)
                    || done.is_some_and(|done| self.timing.follows(done, position))
                {
                    continue;
                }
                if self.admit(front.place, place) {
                    kept.push(Kept { row, hop: hop + 1 });
                    self.reach(end, place, hop + 1, position);
                }
            }
        }
        kept
    }

    /// Whether the limits leave room for a transfer from one vertex to another, which
    /// may be new. Counts it.
    fn admit(&mut self, start: u32, end: Option<u32>) -> bool {
        let full = |max: Option<u64>, now: u64| max.is_some_and(|max| now >= max);
        if end.is_none() && full(self.request.max_vertices, self.met.len() as u64) {
            self.left_out.vertices += 1;
        } else if full(self.request.max_edges, self.edges) {
            self.left_out.edges += 1;
            // With `Both` it is a transfer of its other end as well, whose turn may be
            // yet to come and will not meet it again.
            if let Some(end) = end.filter(|_| self.request.direction == Direction::Both) {
                self.met[end as usize]
                    .expansion
                    .get_or_insert(Expansion::Limit);
            }
        } else {
            self.edges += 1;
            return true;
        }
        self.met[start as usize].expansion = Some(Expansion::Limit);
        false
    }

    /// Notes that a transfer at `position` leads to an address.
    fn reach(&mut self, address: u32, place: Option<u32>, hop: u32, position: Position) {
        match place {
            None => self.meet(address, hop, Some(position)),
            Some(place) => {
                let reached = &mut self.met[place as usize].reached;
                if self.timing.improves(position, *reached) {
                    *reached = Some(position);
                    self.fresh.push(place);
                }
            }
        }
    }

    /// Adds a vertex.
    fn meet(&mut self, address: u32, hop: u32, reached: Moment) {
        let at = address as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, NONE);
        }
        // Fewer vertices than numbers of addresses.
        let place = u32::try_from(self.met.len()).unwrap_or(NONE);
        self.places[at] = place;
        self.met.push(Met {
            address,
            hop,
            expansion: None,
            reached,
            followed: None,
        });
        self.fresh.push(place);
    }

    fn place(&self, address: u32) -> Option<u32> {
        self.places
            .get(address as usize)
            .copied()
            .filter(|place| *place != NONE)
    }

    /// Whether an address has more counterparties than may be followed.
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

    /// The vertices met, roots first, and the limits that bit.
    pub(crate) fn finish(self) -> (Vec<Met>, Vec<LimitHit>) {
        let count = |expansion| {
            self.met
                .iter()
                .filter(|met| met.expansion == Some(expansion))
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
        if let (Some(limit), transfers_left_out @ 1..) =
            (self.request.max_vertices, self.left_out.vertices)
        {
            limits.push(LimitHit::MaxVertices {
                limit,
                transfers_left_out,
            });
        }
        if let (Some(limit), transfers_left_out @ 1..) =
            (self.request.max_edges, self.left_out.edges)
        {
            limits.push(LimitHit::MaxEdges {
                limit,
                transfers_left_out,
            });
        }
        (self.met, limits)
    }
}
