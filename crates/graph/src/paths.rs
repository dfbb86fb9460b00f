//! The ways of transfers from one address to another.

use crate::{
    Asset, Expansion, LimitHit, SearchError, SearchRequest, TransferGraph, plan::scan_request,
    search, search::same_chain,
};
use alloy_primitives::{Address, U256};
use std::{collections::BTreeMap, ops::Range};
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

/// Transfers of a route that follow each other and move the same token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The asset that they move.
    pub asset: Asset,
    /// The id of the token, of ERC-721 and ERC-1155.
    pub token_id: Option<U256>,
    /// Positions in the route.
    pub transfers: Range<usize>,
    /// The smallest of their amounts: no more can have gone all the way.
    pub at_most: U256,
    /// Whether it begins in the transaction in which the leg before it ends, as after a swap.
    /// Otherwise nothing shows that the amount went on.
    pub is_swapped: bool,
}

/// Divides a route where its token changes.
pub fn legs(route: &[Transfer]) -> Vec<Leg> {
    let mut legs: Vec<Leg> = Vec::new();
    for (position, it) in route.iter().enumerate() {
        match legs.last_mut() {
            Some(leg) if (leg.asset, leg.token_id) == (Asset::of(it), it.token_id) => {
                leg.transfers.end = position + 1;
                leg.at_most = leg.at_most.min(it.value);
            }
            _ => {
                let before = position.checked_sub(1).map(|before| &route[before]);
                legs.push(Leg {
                    asset: Asset::of(it),
                    token_id: it.token_id,
                    transfers: position..position + 1,
                    at_most: it.value,
                    is_swapped: before
                        .is_some_and(|before| before.transaction() == it.transaction()),
                });
            }
        }
    }
    legs
}

/// Finds the routes from the root of `request` to `to`.
///
/// A route goes on with the same token, or with another one of the same transaction: see
/// [`Continuation`]. Such a change of the token may be in any order within the transaction, also in a
/// time-respecting request, because pools pay out before they are paid.
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
    continuation: Continuation,
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
        Some(hops) if is_deepened(hops)? => {
            deepened(source, request, (from, to), continuation, hops)
        }
        _ => within(source, request, (from, to), continuation),
    }
}

/// Finds the routes within one more hop from either end at a time. Reads few addresses if the
/// shortest route is short.
fn deepened(
    source: &dyn TransferSource,
    request: &SearchRequest,
    ends: (Address, Address),
    continuation: Continuation,
    hops_max: u32,
) -> Result<TransferPaths, SearchError> {
    let with = |hops: u32| SearchRequest {
        hops: Some(hops),
        ..request.clone()
    };
    let mut hops = 2;
    let mut found = within(source, &with(hops), ends, continuation)?;
    while found.shortest.is_none() && hops < hops_max {
        hops = (hops + 2).min(hops_max);
        let next = within(source, &with(hops), ends, continuation)?;
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
        let earlier = within(source, &earlier, ends, continuation)?;
        // The blocks differ from those before, so the chain is compared by one more search.
        same_chain(
            &found.scan,
            &within(source, &with(1), ends, continuation)?.scan,
        )?;
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
    continuation: Continuation,
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
    let rows = followed(found, passable, continuation);
    let in_time = request.time_respecting;
    let reached = Reached::of(&rows, from, request.hops, in_time, continuation);
    let shortest = reached.arrivals(to).min();
    let earliest = reached.arrivals(to).map(|(_, row)| row).min();
    Ok(TransferPaths {
        shortest: shortest.map(|(_, row)| reached.route(row)),
        earliest: earliest.filter(|_| in_time).map(|row| reached.route(row)),
        limits,
        scan,
    })
}

/// The vertices that the stop list ended, but for these.
fn stopped(graph: &TransferGraph, ends: [Address; 2]) -> u64 {
    let vertices = graph.graph.node_weights();
    let stopped = vertices.filter(|it| it.expansion == Expansion::StopList);
    stopped.filter(|it| !ends.contains(&it.address)).count() as u64
}

/// The transfers that a route may contain, in total order. Anyone can make transfers of zero tokens
/// between any two addresses: they carry no amount.
fn followed(
    found: BTreeMap<Position, Transfer>,
    passable: impl Fn(&Address) -> bool,
    continuation: Continuation,
) -> Vec<Transfer> {
    let carries = |it: &Transfer| continuation == Continuation::AnyToken || !it.value.is_zero();
    let moves = |it: &Transfer| it.from_address != it.to_address && carries(it);
    found
        .into_values()
        .filter(|it| moves(it) && passable(&it.from_address))
        .collect()
}

/// How a route goes on from a transfer: the transfers that may be the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Continuation {
    /// Transfers of the same token (and id), and of other tokens in the same transaction, as a swap
    /// makes them. Transfers of zero tokens are left out.
    #[default]
    SameToken,
    /// Transfers of any token, in order: the route shows contacts, and not that an amount went on.
    AnyToken,
}

/// The token that a route has to go on with; `None` if any will do.
type TokenKey = (Option<Address>, Option<U256>);

/// Transfers of a token that leave an address, in total order, of which those from `open` on are reached.
struct Leaving {
    rows: Vec<usize>,
    open: usize,
}

/// The transfers that leave an address in a transaction, by token. Each token is reached once.
type InTransaction = BTreeMap<TokenKey, Vec<usize>>;

/// The transfers that routes from an address reach, with the fewest transfers.
struct Reached<'a> {
    rows: &'a [Transfer],
    /// For each row, the number of transfers until it, itself included, and the row before it.
    steps: Vec<Option<(u32, Option<usize>)>>,
}

impl<'a> Reached<'a> {
    /// Walks from row to row, breadth first. Each row is reached once, so this takes as long as
    /// there are rows, whatever the number of routes.
    fn of(
        rows: &'a [Transfer],
        from: Address,
        hops: Option<u32>,
        in_time: bool,
        continuation: Continuation,
    ) -> Self {
        let keeps_token = continuation == Continuation::SameToken;
        let token = |it: &Transfer| -> TokenKey { (it.token_address, it.token_id) };
        let asset = |it: &Transfer| keeps_token.then(|| token(it));
        let mut by_asset = BTreeMap::new();
        let mut by_transaction = BTreeMap::<_, InTransaction>::new();
        for (row, it) in rows.iter().enumerate() {
            let leaving =
                (by_asset.entry((it.from_address, asset(it)))).or_insert_with(|| Leaving {
                    rows: Vec::new(),
                    open: 0,
                });
            leaving.rows.push(row);
            leaving.open = leaving.rows.len();
            if keeps_token {
                let place = (it.from_address, it.transaction());
                let tokens = by_transaction.entry(place).or_default();
                tokens.entry(token(it)).or_default().push(row);
            }
        }
        let mut steps = vec![None; rows.len()];
        // Everything that leaves the start.
        let mut level: Vec<usize> = (0..rows.len())
            .filter(|row| rows[*row].from_address == from && hops != Some(0))
            .collect();
        for row in &level {
            steps[*row] = Some((1, None));
        }
        let mut hop = 1;
        while hops.is_none_or(|hops| hop < hops) && !level.is_empty() {
            hop += 1;
            let mut next = Vec::new();
            let mut reach = |reached: &[usize], before: usize| {
                for row in reached {
                    if steps[*row].is_none() {
                        steps[*row] = Some((hop, Some(before)));
                        next.push(*row);
                    }
                }
            };
            for row in level {
                let it = &rows[row];
                if let Some(leaving) = by_asset.get_mut(&(it.to_address, asset(it))) {
                    let first = match in_time {
                        true => leaving.rows.partition_point(|later| *later <= row),
                        false => 0,
                    };
                    reach(
                        leaving.rows.get(first..leaving.open).unwrap_or_default(),
                        row,
                    );
                    leaving.open = leaving.open.min(first);
                }
                if let Some(tokens) = by_transaction.get_mut(&(it.to_address, it.transaction())) {
                    tokens.retain(|other, leaving| {
                        let is_same = *other == token(it);
                        if !is_same {
                            reach(leaving, row);
                        }
                        is_same
                    });
                }
            }
            next.sort_unstable();
            level = next;
        }
        Self { rows, steps }
    }

    /// The rows that arrive at `to`, each after this many transfers.
    fn arrivals(&self, to: Address) -> impl Iterator<Item = (u32, usize)> {
        let steps = self.steps.iter().zip(self.rows).enumerate();
        let arrived = steps.filter(move |(_, (_, it))| it.to_address == to);
        arrived.filter_map(|(row, (step, _))| step.map(|(hop, _)| (hop, row)))
    }

    /// The transfers that lead to a row, with it.
    fn route(&self, row: usize) -> Vec<Transfer> {
        let mut route = Vec::new();
        let mut next = Some(row);
        while let Some(row) = next {
            route.push(self.rows[row].clone());
            next = self.steps[row].and_then(|(_, before)| before);
        }
        route.reverse();
        route
    }
}
