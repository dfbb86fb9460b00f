//! The definition of the search, as loops over all transfers, with every limit. The naive
//! search of the test kit has no limits and runs on fixtures.

use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{Expansion, LimitHit, SearchRequest};
use txgraph_transfers::{Direction, Position, Transfer};

/// The result of a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) vertices: BTreeMap<Address, (u32, Expansion)>,
    pub(crate) edges: BTreeMap<Position, u32>,
    pub(crate) limits: Vec<LimitHit>,
}

/// Returns the end from which a transfer is followed and the end that it leads to; for `Both`
/// in both orders.
fn ends(transfer: &Transfer, direction: Direction) -> Vec<(Address, Address)> {
    let (from, to) = (transfer.from_address, transfer.to_address);
    match direction {
        Direction::Out => vec![(from, to)],
        Direction::In => vec![(to, from)],
        Direction::Both => vec![(from, to), (to, from)],
    }
}

/// Returns the transfers that can be followed from `start`, with their other ends.
fn of<'a>(
    transfers: &'a [Transfer],
    request: &'a SearchRequest,
    start: Address,
) -> impl Iterator<Item = (&'a Transfer, Address)> {
    transfers
        .iter()
        .filter(|t| request.filter.matches(t))
        .flat_map(move |t| {
            let ends = ends(t, request.direction)
                .into_iter()
                .filter(move |ends| ends.0 == start);
            ends.map(move |ends| (t, ends.1))
        })
}

/// Searches `transfers`, which are in total order.
pub(crate) fn search(transfers: &[Transfer], request: &SearchRequest) -> Answer {
    let roots: BTreeSet<_> = request.roots.iter().copied().collect();
    let is_hub = |address| {
        let others: BTreeSet<_> = of(transfers, request, address)
            .map(|(_, end)| end)
            .filter(|end| *end != address)
            .collect();
        request
            .max_degree
            .is_some_and(|max| others.len() > max as usize)
    };
    let why_not = |address: Address, hop| {
        if request.hops == Some(hop) {
            Some(Expansion::LastHop)
        } else if roots.contains(&address) {
            None
        } else if request.stop_at.contains(&address) {
            Some(Expansion::StopList)
        } else if address.is_zero() && !request.expand_zero {
            Some(Expansion::ZeroAddress)
        } else {
            is_hub(address).then_some(Expansion::Hub)
        }
    };

    let mut hops: BTreeMap<_, _> = roots.iter().map(|root| (*root, 0)).collect();
    // The best arrival by paths of this many hops; roots have none.
    let mut arrivals: BTreeMap<Address, Position> = BTreeMap::new();
    let mut edges = BTreeMap::new();
    let (mut no_vertex, mut no_edge) = (BTreeSet::new(), BTreeSet::new());
    let mut left_out_of: BTreeSet<Address> = BTreeSet::new();
    let mut below_top = BTreeSet::new();
    let (mut cut_by_top, mut followed) = (BTreeSet::new(), BTreeSet::new());
    let mut pending: BTreeSet<Address> = BTreeSet::new();

    let sooner = |a: Position, b: Position| match request.direction {
        Direction::In => a > b,
        _ => a < b,
    };
    let mut hop = 0;
    while request.hops.is_none_or(|max| hop < max) && no_edge.is_empty() {
        let (known, arrived) = (hops.clone(), arrivals.clone());
        let sizes = (edges.len(), no_vertex.len());
        pending.clear();
        for (&start, &start_hop) in &known {
            if why_not(start, start_hop).is_some() {
                continue;
            }
            for (transfer, end) in of(transfers, request, start) {
                let at = transfer.position();
                let too_early = arrived
                    .get(&start)
                    .is_some_and(|arrival| !sooner(*arrival, at));
                let seen =
                    edges.contains_key(&at) || no_vertex.contains(&at) || no_edge.contains(&at);
                if seen || below_top.contains(&at) || request.time_respecting && too_early {
                    continue;
                }
                if !is_among_top(transfers, request, start, transfer.token_address, end) {
                    below_top.insert(at);
                    cut_by_top.insert(start);
                    continue;
                }
                if !hops.contains_key(&end)
                    && request
                        .max_vertices
                        .is_some_and(|max| hops.len() as u64 >= max)
                {
                    no_vertex.insert(at);
                    left_out_of.insert(start);
                    continue;
                }
                if request
                    .max_edges
                    .is_some_and(|max| edges.len() as u64 >= max)
                {
                    no_edge.insert(at);
                    left_out_of.insert(start);
                    if request.direction == Direction::Both {
                        left_out_of.insert(end);
                    }
                    continue;
                }
                edges.insert(at, hop + 1);
                followed.insert(start);
                hops.entry(end).or_insert(hop + 1);
                if !roots.contains(&end) {
                    let arrival = arrivals.entry(end).or_insert(at);
                    if sooner(at, *arrival) {
                        *arrival = at;
                        if request.time_respecting {
                            pending.insert(end);
                        }
                    }
                }
            }
        }
        hop += 1;
        if (edges.len(), no_vertex.len()) == sizes {
            break;
        }
    }

    let cut = !no_edge.is_empty();
    let vertices: BTreeMap<_, _> = hops
        .iter()
        .map(|(&address, &at)| {
            // After the edge limit, vertices just reached are not examined, not even whether
            // they are hubs.
            let unseen = cut && at == hop;
            let expansion = match why_not(address, at) {
                Some(Expansion::Hub) if unseen => Expansion::Limit,
                Some(reason) => reason,
                None if unseen || left_out_of.contains(&address) => Expansion::Limit,
                // Reached earlier by the last hop, with no hop left to follow.
                None if cut && pending.contains(&address) && request.hops != Some(hop) => {
                    Expansion::Limit
                }
                // All its transfers were left out.
                None if request.direction != Direction::Both
                    && cut_by_top.contains(&address)
                    && !followed.contains(&address) =>
                {
                    Expansion::Limit
                }
                None => Expansion::Expanded,
            };
            (address, (at, expansion))
        })
        .collect();

    let count = |expansion| vertices.values().filter(|v| v.1 == expansion).count() as u64;
    let mut limits = Vec::new();
    if count(Expansion::Hub) > 0 {
        let (limit, vertices) = (request.max_degree.unwrap(), count(Expansion::Hub));
        limits.push(LimitHit::MaxDegree { limit, vertices });
    }
    if count(Expansion::StopList) > 0 {
        limits.push(LimitHit::StopList {
            vertices: count(Expansion::StopList),
        });
    }
    if count(Expansion::ZeroAddress) > 0 {
        limits.push(LimitHit::ZeroAddress);
    }
    if !below_top.is_empty() {
        limits.push(LimitHit::Top {
            limit: request.top.unwrap(),
            transfers_left_out: below_top.len() as u64,
        });
    }
    if !no_vertex.is_empty() {
        let limit = request.max_vertices.unwrap();
        limits.push(LimitHit::MaxVertices {
            limit,
            transfers_left_out: no_vertex.len() as u64,
        });
    }
    if cut {
        let limit = request.max_edges.unwrap();
        limits.push(LimitHit::MaxEdges {
            limit,
            transfers_left_out: no_edge.len() as u64,
        });
    }
    Answer {
        vertices,
        edges,
        limits,
    }
}

/// Returns the length of the shortest time-respecting path to each vertex, by trying every
/// path. Without limits.
pub(crate) fn shortest_paths(
    transfers: &[Transfer],
    request: &SearchRequest,
) -> BTreeMap<Address, u32> {
    fn go(
        transfers: &[Transfer],
        request: &SearchRequest,
        at: (Address, u32, Option<Position>),
        found: &mut BTreeMap<Address, u32>,
    ) {
        let (address, hop, moment) = at;
        let best = found.entry(address).or_insert(hop);
        *best = hop.min(*best);
        if request.hops == Some(hop) || address.is_zero() {
            return;
        }
        for (transfer, end) in of(transfers, request, address) {
            let next = transfer.position();
            let later = match (request.direction, moment) {
                (_, None) => true,
                (Direction::In, Some(moment)) => next < moment,
                (_, Some(moment)) => next > moment,
            };
            if later {
                go(transfers, request, (end, hop + 1, Some(next)), found);
            }
        }
    }
    let mut found = BTreeMap::new();
    for root in &request.roots {
        go(transfers, request, (*root, 0, None), &mut found);
    }
    found
}

/// Whether fewer than `top` counterparties of an address have larger sums of a token.
fn is_among_top(
    transfers: &[Transfer],
    request: &SearchRequest,
    start: Address,
    token: Option<Address>,
    end: Address,
) -> bool {
    let Some(top) = request.top else {
        return true;
    };
    let mut sums: BTreeMap<Address, U256> = BTreeMap::new();
    // `of` returns a transfer to itself twice.
    let mut seen = BTreeSet::new();
    for (transfer, end) in of(transfers, request, start) {
        if transfer.token_address == token && seen.insert(transfer.position()) {
            *sums.entry(end).or_default() += transfer.value;
        }
    }
    let own = sums[&end];
    let larger = |other: &Address, sum: &U256| *sum > own || *sum == own && *other < end;
    sums.iter()
        .filter(|(other, sum)| larger(other, sum))
        .count()
        < top as usize
}
