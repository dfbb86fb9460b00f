//! The ways of transfers from one address to another.

mod flow;
mod ranked;
mod reached;
mod route;
mod states;

pub use flow::Flow;
pub use route::{Leg, Route};
pub use states::Continuation;

use crate::{
    Expansion, HUB_COUNTERPARTIES, LimitHit, Nettings, SearchError, SearchRequest, TransferGraph,
    hubs::counterparty_counts, plan::scan_request, read_nettings, search, search::same_chain,
};
use alloy_primitives::Address;
use ranked::{Ranked, ranked};
use reached::Order;
use states::{Query, Rows};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::{
    AddressSet, BlockRange, Direction, Kind, ScanReport, Transfer, TransferSource, WrappedNative,
};

/// The number of times that the swaps of routes are read, before the swaps of all transfers are.
const ROUNDS_MAX: u32 = 3;

/// The largest number of routes that a search finds.
pub const ROUTES_MAX: usize = 100;

/// How transfers lead from one address to another.
#[derive(Clone, Debug)]
pub struct TransferPaths {
    /// The routes with the fewest transfers, the shortest first. Of those with as many, the ones that
    /// arrive first. Empty: there is no route in these blocks and hops.
    pub shortest: Vec<Route>,
    /// The routes that arrive first. Of those with the same last transfer, the shortest. Only of a
    /// time-respecting request.
    pub earliest: Vec<Route>,
    /// Why there are, or can be, other routes than these. `None` if these are all, or if one was asked
    /// for.
    pub cut: Option<RoutesCut>,
    /// Limits of both searches that were reached. With any, there may be other routes.
    pub limits: Vec<LimitHit>,
    /// Whether transfers inside of transactions were read. Without them, coins can be missing in swaps.
    pub internal: bool,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

/// The reason for which routes were left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutesCut {
    /// There are more than were asked for.
    Count,
    /// The search for more of them takes too long.
    Work,
}

/// Finds up to `routes` routes from the root of `request` to `to`, in either order.
///
/// No two of them have the same transfers. A route has each transfer once, and does not come back to its
/// start, or to another address with the same asset, or within one swap. It can pass an address again with
/// another token, as it does where it swaps.
///
/// A route goes on with the same token, or with another one through a [`Swap`](crate::Swap): see
/// [`Continuation`]. The transfers of a swap may be in any order within the transaction, also in a
/// time-respecting request, because pools pay out before they are paid.
///
/// `request.hops` bounds the transfers of a route. A bounded request is answered by one search
/// from either end, each with half of the hops. If the source answers by frontier, as an index
/// does, the bound is raised step by step until there is a route, unless `request.max_degree` ends
/// searches at hubs: which addresses are hubs depends on the blocks. `request.direction` is not
/// used. The zero address and the addresses of `stop_at` are not passed through.
///
/// # Errors
///
/// As for [`search`]. [`SearchError::Request`] if there is not exactly one root, if it equals `to`, or
/// if no hop, no route or more than [`ROUTES_MAX`] are allowed.
pub fn transfer_paths(
    source: &dyn TransferSource,
    request: &SearchRequest,
    to: Address,
    continuation: Continuation,
    routes: usize,
) -> Result<TransferPaths, SearchError> {
    if !(1..=ROUTES_MAX).contains(&routes) {
        let problem = format!("a search finds 1 to {ROUTES_MAX} routes, not {routes}");
        return Err(SearchError::Request(problem));
    }
    let mut walk = Walk::new(source, request, to, continuation)?;
    // One more says whether there are more.
    walk.count = if routes > 1 { routes + 1 } else { 1 };
    let mut found = match request.hops {
        Some(hops)
            if hops > 2
                && request.max_degree.is_none()
                && source.by_frontier(&scan_request(request, None))?.is_some() =>
        {
            walk.deepened(hops)?
        }
        _ => walk.within(request)?,
    };
    for all in [&mut found.shortest, &mut found.earliest] {
        if all.len() > routes {
            all.truncate(routes);
            found.cut = Some(RoutesCut::Count);
        }
    }
    // Routes pass no hub if addresses with as many counterparties were dropped.
    if request
        .max_degree
        .is_none_or(|most| most > HUB_COUNTERPARTIES)
    {
        found.find_hubs(source, request)?;
    }
    Ok(found)
}

impl TransferPaths {
    /// Finds the hubs that the routes pass.
    fn find_hubs(
        &mut self,
        source: &dyn TransferSource,
        request: &SearchRequest,
    ) -> Result<(), SearchError> {
        let routes = self.shortest.iter().chain(&self.earliest);
        let passed: BTreeSet<_> = routes.flat_map(Route::passed).collect();
        let passed: Vec<_> = passed.into_iter().collect();
        let counts = counterparty_counts(source, request, &passed, HUB_COUNTERPARTIES, &self.scan)?;
        for route in self.shortest.iter_mut().chain(&mut self.earliest) {
            let mut hubs: Vec<_> = route.passed().collect();
            hubs.retain(|address| !counts.contains_key(address));
            hubs.dedup();
            route.hubs = hubs;
        }
        Ok(())
    }
}

/// The largest amounts that can have gone from one address to another.
#[derive(Clone, Debug)]
pub struct TransferFlows {
    /// By token, over all routes together. A token of which nothing can have gone has none.
    pub flows: Vec<Flow>,
    /// Limits of the searches that were reached. With any, more can have gone.
    pub limits: Vec<LimitHit>,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

/// Finds how much can have gone from the root of `request` to `to`, of each token: the maximum flow
/// over the transfers of all routes. Swaps are not followed.
///
/// It reads the same transfers as [`transfer_paths`] with the same request. A bound on the hops of a
/// route bounds which transfers are read; the flow may combine them to longer routes.
///
/// # Errors
///
/// As for [`transfer_paths`].
pub fn transfer_flows(
    source: &dyn TransferSource,
    request: &SearchRequest,
    to: Address,
) -> Result<TransferFlows, SearchError> {
    let walk = Walk::new(source, request, to, Continuation::SameToken)?;
    let Read { rows, limits, scan } = walk.read(request)?;
    let passable = |address: &Address| walk.passes(request, address);
    let wrappers = walk.wrappers(&rows);
    let flows = flow::flows(
        &rows,
        walk.ends,
        passable,
        &wrappers,
        request.time_respecting,
    );
    Ok(TransferFlows {
        flows,
        limits,
        scan,
    })
}

/// A query for routes, and the swaps that were read for it.
struct Walk<'a> {
    source: &'a dyn TransferSource,
    request: &'a SearchRequest,
    ends: (Address, Address),
    continuation: Continuation,
    /// The number of routes to find.
    count: usize,
    nettings: Nettings,
}

/// The transfers that routes may contain.
struct Read {
    /// In total order.
    rows: Vec<Transfer>,
    limits: Vec<LimitHit>,
    scan: ScanReport,
}

impl<'a> Walk<'a> {
    fn new(
        source: &'a dyn TransferSource,
        request: &'a SearchRequest,
        to: Address,
        continuation: Continuation,
    ) -> Result<Self, SearchError> {
        let [from] = *request.checked_roots()? else {
            return Err(SearchError::Request("a path has one start".into()));
        };
        if from == to {
            let problem = format!("a path leads to another address, not from {from} to itself");
            return Err(SearchError::Request(problem));
        }
        if request.hops == Some(0) {
            let problem = "a path needs at least one transfer, so at least one hop";
            return Err(SearchError::Request(problem.into()));
        }
        Ok(Self {
            source,
            request,
            ends: (from, to),
            continuation,
            count: 1,
            nettings: Nettings::new(),
        })
    }

    /// The contracts of wrapped coins: those that are known on the chain or named, and those that these
    /// transfers show.
    fn wrappers(&self, rows: &[Transfer]) -> AddressSet {
        let chain_id = self.source.chain().chain_id;
        let known = match self.request.wrapped_native.resolved(chain_id) {
            WrappedNative::Only(known) => known,
            WrappedNative::Auto | WrappedNative::Any | WrappedNative::None => Vec::new(),
        };
        let wraps = rows
            .iter()
            .filter(|it| matches!(it.kind, Kind::Wrap | Kind::Unwrap));
        wraps
            .filter_map(|it| it.token_address)
            .chain(known)
            .collect()
    }

    /// Whether routes go on from an address.
    fn passes(&self, request: &SearchRequest, address: &Address) -> bool {
        let (from, to) = self.ends;
        *address == from
            || (*address != to
                && !request.stop_at.contains(address)
                && (request.expand_zero || !address.is_zero()))
    }

    /// Finds the routes within one more hop from either end at a time. Reads few addresses if the
    /// shortest routes are short.
    fn deepened(&mut self, hops_max: u32) -> Result<TransferPaths, SearchError> {
        let request = self.request;
        let with = |hops: u32| SearchRequest {
            hops: Some(hops),
            ..request.clone()
        };
        let mut hops = 2;
        let mut found = self.within(&with(hops))?;
        while found.shortest.len() < self.count && found.cut.is_none() && hops < hops_max {
            hops = (hops + 2).min(hops_max);
            let next = self.within(&with(hops))?;
            same_chain(&found.scan, &next.scan)?;
            found = next;
        }
        let last = found.earliest.last();
        let last = last.and_then(|route| route.transfers.last());
        if let Some(last) = last
            && hops < hops_max
        {
            // A route with more transfers can only arrive earlier within the blocks until then.
            let until = BlockRange::up_to(last.block_number);
            let earlier = SearchRequest {
                blocks: request.blocks.intersect(&until.into()),
                ..with(hops_max)
            };
            let earlier = self.within(&earlier)?;
            // The blocks differ from those before, so the chain is compared by one more search.
            same_chain(&found.scan, &self.within(&with(1))?.scan)?;
            // There are fewer only if a limit was reached.
            if earlier.earliest.len() >= found.earliest.len() {
                found.earliest = earlier.earliest;
            }
            found.cut = found.cut.or(earlier.cut);
            let new = earlier.limits.into_iter();
            let new: Vec<_> = new.filter(|hit| !found.limits.contains(hit)).collect();
            found.limits.extend(new);
        }
        Ok(found)
    }

    /// Finds the routes with one search from either end.
    fn within(&mut self, request: &SearchRequest) -> Result<TransferPaths, SearchError> {
        let Read { rows, limits, scan } = self.read(request)?;
        let ([shortest, earliest], cut) = self.routes(request, &rows)?;
        Ok(TransferPaths {
            shortest,
            earliest,
            cut,
            limits,
            internal: request.filter.internal,
            scan,
        })
    }

    /// Reads the transfers of routes with one search from either end.
    fn read(&self, request: &SearchRequest) -> Result<Read, SearchError> {
        let (from, to) = self.ends;
        let half = |root, end, direction, hops| -> Result<TransferGraph, SearchError> {
            let mut request = SearchRequest {
                roots: vec![root],
                direction,
                hops,
                // A shorter route may be found by the other half, so time is judged afterwards.
                time_respecting: false,
                // So are swaps.
                through_swaps: false,
                ..request.clone()
            };
            request.stop_at.insert(end);
            search(self.source, &request)
        };
        let forward = half(
            from,
            to,
            Direction::Out,
            request.hops.map(|it| it.div_ceil(2)),
        )?;
        let backward = match request.hops {
            Some(hops @ 2..) => Some(half(to, from, Direction::In, Some(hops / 2))?),
            _ => None,
        };
        let mut rows = BTreeMap::new();
        let mut limits = Vec::new();
        let scan = forward.scan.clone();
        for graph in [Some(forward), backward].into_iter().flatten() {
            same_chain(&scan, &graph.scan)?;
            for hit in &graph.limits {
                let hit = match hit {
                    // Each half stops at the end of the other: this does not count as a limit.
                    LimitHit::StopList { .. } => LimitHit::StopList {
                        vertices: stopped(&graph, [from, to]),
                    },
                    hit => hit.clone(),
                };
                if hit != (LimitHit::StopList { vertices: 0 }) && !limits.contains(&hit) {
                    limits.push(hit);
                }
            }
            let edges = graph.graph.raw_edges().iter();
            let transfers = edges.map(|edge| &edge.weight.transfer);
            let moving = transfers.filter(|it| self.moves(it));
            rows.extend(moving.map(|it| (it.position(), it.clone())));
        }
        let mut read = Read {
            rows: rows.into_values().collect(),
            limits,
            scan,
        };
        if let Some(limit) = request.max_degree {
            self.drop_hubs(request, limit, &mut read)?;
        }
        Ok(read)
    }

    /// Drops what addresses with more than `limit` counterparties sent. The halves count the addresses that they
    /// expand, in one direction; routes also pass the addresses where the halves meet.
    fn drop_hubs(
        &self,
        request: &SearchRequest,
        limit: u32,
        read: &mut Read,
    ) -> Result<(), SearchError> {
        let (from, _) = self.ends;
        let reached: BTreeSet<_> = read.rows.iter().map(|it| it.to_address).collect();
        let senders: BTreeSet<_> = read.rows.iter().map(|it| it.from_address).collect();
        let is_passed = |it: &Address| *it != from && self.passes(request, it);
        let passed = reached.intersection(&senders).copied();
        let passed: Vec<_> = passed.filter(is_passed).collect();
        let counts = counterparty_counts(self.source, request, &passed, limit, &read.scan)?;
        let hubs: AddressSet = (passed.into_iter())
            .filter(|it| !counts.contains_key(it))
            .collect();
        if !hubs.is_empty() {
            read.rows.retain(|it| !hubs.contains(&it.from_address));
            let vertices = hubs.len() as u64;
            read.limits.push(LimitHit::MaxDegree { limit, vertices });
        }
        Ok(())
    }

    /// Whether a route may contain the transfer. Anyone can make transfers of zero tokens between any two
    /// addresses: they carry no amount.
    fn moves(&self, it: &Transfer) -> bool {
        let carries = self.continuation == Continuation::AnyToken || !it.value.is_zero();
        carries && it.from_address != it.to_address
    }

    /// The shortest routes and the earliest ones over these transfers. Until the swaps of a transaction are
    /// read, a route may contain any of its transfers. So routes are the first ones if their own swaps are
    /// read, whatever others are.
    fn routes(
        &mut self,
        request: &SearchRequest,
        rows: &[Transfer],
    ) -> Result<([Vec<Route>; 2], Option<RoutesCut>), SearchError> {
        let (from, to) = self.ends;
        let passable = |address: &Address| self.passes(request, address);
        let wrappers = self.wrappers(rows);
        let given = Rows::new(rows, from, passable, &wrappers, self.continuation);
        let mut round = 0;
        loop {
            round += 1;
            let asked = Query {
                given: &given,
                nettings: &self.nettings,
                to,
                hops: request.hops,
                in_time: request.time_respecting,
            };
            let shortest = ranked(&asked, Order::Shortest, self.count);
            let earliest = match asked.in_time {
                true => ranked(&asked, Order::Earliest, self.count),
                false => Ranked::default(),
            };
            let found = [&shortest.routes, &earliest.routes].into_iter().flatten();
            let unread: Vec<_> = found.flat_map(|states| asked.unread(states)).collect();
            if unread.is_empty() {
                let cut = (shortest.is_cut || earliest.is_cut).then_some(RoutesCut::Work);
                let routes = |found: Ranked| {
                    let routes = found.routes.iter();
                    routes.map(|states| asked.route(states)).collect()
                };
                return Ok(([shortest, earliest].map(routes), cut));
            }
            let wanted: Vec<_> = match round > ROUNDS_MAX {
                true => given.mixed().collect(),
                false => unread.iter().map(|row| &rows[*row]).collect(),
            };
            read_nettings(self.source, self.request, wanted, &mut self.nettings)?;
        }
    }
}

/// The vertices that the stop list ended, but for these.
fn stopped(graph: &TransferGraph, ends: [Address; 2]) -> u64 {
    let vertices = graph.graph.node_weights();
    let stopped = vertices.filter(|it| it.expansion == Expansion::StopList);
    stopped.filter(|it| !ends.contains(&it.address)).count() as u64
}
