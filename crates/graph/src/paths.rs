//! The ways of transfers from one address to another.

use crate::{
    LimitHit, SearchError, SearchRequest, TransferGraph, plan::scan_request, search,
    search::same_chain,
};
use alloy_primitives::Address;
use std::collections::BTreeMap;
use txgraph_transfers::{BlockRange, Direction, Position, ScanReport, Transfer, TransferSource};

/// How transfers lead from one address to another.
#[derive(Clone, Debug)]
pub struct TransferPaths {
    /// The route with the fewest transfers, in the order in which they are followed. Among
    /// those the one that arrives first. `None`: there is no route in these blocks and hops.
    pub shortest: Option<Vec<Transfer>>,
    /// The route that arrives first. Only of a time-respecting request.
    pub earliest: Option<Vec<Transfer>>,
    /// Limits of both searches that were reached. With any, there may be other routes.
    pub limits: Vec<LimitHit>,
    /// The report of the scan, with gaps.
    pub scan: ScanReport,
}

/// Finds the routes from the root of `request` to `to`.
///
/// `request.hops` bounds the transfers of a route. A bounded request is answered by one search
/// from either end, each with half of the hops. If the source answers by frontier, as an index
/// does, the bound is raised step by step until there is a route. `request.direction` is not
/// used. The zero address and the addresses of `stop_at` are not passed through.
///
/// # Errors
///
/// As for [`search`]. [`SearchError::Request`] if there is not exactly one root, or if it
/// equals `to`.
pub fn transfer_paths(
    source: &dyn TransferSource,
    request: &SearchRequest,
    to: Address,
) -> Result<TransferPaths, SearchError> {
    let [from] = *request.checked_roots()? else {
        return Err(SearchError::Request("a path has one start".into()));
    };
    if from == to {
        let problem = format!("a path leads to another address, not from {from} to itself");
        return Err(SearchError::Request(problem));
    }
    let is_deepened = |hops: u32| -> Result<bool, SearchError> {
        Ok(hops > 2 && source.by_frontier(&scan_request(request, None))?.is_some())
    };
    match request.hops {
        Some(hops) if is_deepened(hops)? => deepened(source, request, (from, to), hops),
        _ => within(source, request, (from, to)),
    }
}

/// Finds the routes within one more hop from either end at a time. Reads few addresses if the
/// shortest route is short.
fn deepened(
    source: &dyn TransferSource,
    request: &SearchRequest,
    ends: (Address, Address),
    hops_max: u32,
) -> Result<TransferPaths, SearchError> {
    let with = |hops: u32| SearchRequest {
        hops: Some(hops),
        ..request.clone()
    };
    let mut hops = 2;
    let mut found = within(source, &with(hops), ends)?;
    while found.shortest.is_none() && hops < hops_max {
        hops = (hops + 2).min(hops_max);
        let next = within(source, &with(hops), ends)?;
        same_chain(&found.scan, &next.scan)?;
        found = next;
    }
    let last = found.earliest.as_ref().and_then(|route| route.last());
    if let Some(last) = last
        && hops < hops_max
    {
        // A route with more transfers can only arrive earlier within the blocks until then.
        let until = BlockRange::up_to(last.block_number);
        let earlier = SearchRequest {
            blocks: request.blocks.intersect(&until.into()),
            ..with(hops_max)
        };
        let earlier = within(source, &earlier, ends)?;
        // The blocks differ from those before, so the chain is compared by one more search.
        same_chain(&found.scan, &within(source, &with(1), ends)?.scan)?;
        // `None` only if a limit was reached.
        found.earliest = earlier.earliest.or(found.earliest);
        let new = earlier.limits.into_iter();
        let new: Vec<_> = new.filter(|hit| !found.limits.contains(hit)).collect();
        found.limits.extend(new);
    }
    Ok(found)
}

/// Finds the routes with one search from either end.
fn within(
    source: &dyn TransferSource,
    request: &SearchRequest,
    (from, to): (Address, Address),
) -> Result<TransferPaths, SearchError> {
    let half = |root, end, direction, hops| -> Result<TransferGraph, SearchError> {
        let mut request = SearchRequest {
            roots: vec![root],
            direction,
            hops,
            // A shorter route may be found by the other half, so time is judged afterwards.
            time_respecting: false,
            ..request.clone()
        };
        request.stop_at.insert(end);
        search(source, &request)
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
    let mut found = BTreeMap::new();
    let mut limits = Vec::new();
    let scan = forward.scan.clone();
    for graph in [Some(forward), backward].into_iter().flatten() {
        same_chain(&scan, &graph.scan)?;
        for hit in &graph.limits {
            // Each half stops at the end of the other: this does not count as a limit.
            let is_end = request.stop_at.is_empty() && matches!(hit, LimitHit::StopList { .. });
            if !is_end && !limits.contains(hit) {
                limits.push(hit.clone());
            }
        }
        let edges = graph.graph.raw_edges().iter();
        found.extend(edges.map(|edge| {
            let transfer = &edge.weight.transfer;
            (transfer.position(), transfer.clone())
        }));
    }
    let passable = |address: &Address| {
        *address == from
            || (*address != to
                && !request.stop_at.contains(address)
                && (request.expand_zero || !address.is_zero()))
    };
    let rows = followed(found, passable);
    let arrivals = Arrivals::of(&rows, from, request.hops, request.time_respecting);
    let of_target = arrivals.0.get(&to).map(Vec::as_slice).unwrap_or_default();
    let route = |arrival: &Arrival| arrivals.route(&rows, *arrival);
    Ok(TransferPaths {
        shortest: of_target.first().map(route),
        earliest: of_target
            .last()
            .filter(|_| request.time_respecting)
            .map(route),
        limits,
        scan,
    })
}

/// The transfers that a route may contain, in total order.
fn followed(
    found: BTreeMap<Position, Transfer>,
    passable: impl Fn(&Address) -> bool,
) -> Vec<Transfer> {
    let moves = |it: &Transfer| it.from_address != it.to_address;
    found
        .into_values()
        .filter(|it| moves(it) && passable(&it.from_address))
        .collect()
}

/// An arrival at an address.
#[derive(Clone, Copy)]
struct Arrival {
    /// The number of transfers until here.
    hop: u32,
    /// The transfer that arrives.
    row: usize,
}

/// Arrivals at each address, by ascending hop. Each is earlier than those with fewer hops.
struct Arrivals(BTreeMap<Address, Vec<Arrival>>);

impl Arrivals {
    fn of(rows: &[Transfer], from: Address, hops: Option<u32>, in_time: bool) -> Self {
        let mut arrivals = Self(BTreeMap::new());
        let mut hop = 0;
        while hops.is_none_or(|hops| hop < hops) {
            hop += 1;
            let mut is_new = false;
            for (row, transfer) in rows.iter().enumerate() {
                if transfer.to_address == from {
                    continue;
                }
                let departs = match arrivals.before(&transfer.from_address, hop) {
                    Some(arrival) => arrival.hop == hop - 1 && (!in_time || arrival.row < row),
                    None => transfer.from_address == from && hop == 1,
                };
                if !departs {
                    continue;
                }
                let known = arrivals.0.entry(transfer.to_address).or_default();
                if known.last().is_none_or(|it| in_time && row < it.row) {
                    known.push(Arrival { hop, row });
                    is_new = true;
                }
            }
            if !is_new {
                break;
            }
        }
        arrivals
    }

    /// The last arrival with fewer hops, which is the earliest.
    fn before(&self, address: &Address, hop: u32) -> Option<&Arrival> {
        let known = self.0.get(address)?;
        known.iter().rev().find(|it| it.hop < hop)
    }

    /// The transfers that lead to an arrival.
    fn route(&self, rows: &[Transfer], arrival: Arrival) -> Vec<Transfer> {
        let mut route = Vec::new();
        let mut next = Some(&arrival);
        while let Some(arrival) = next {
            let Some(transfer) = rows.get(arrival.row) else {
                break;
            };
            route.push(transfer.clone());
            next = self.before(&transfer.from_address, arrival.hop);
        }
        route.reverse();
        route
    }
}
