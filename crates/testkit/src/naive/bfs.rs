//! Breadth-first search over a list of transfers, directly by its definition: each hop
//! looks at all rows.
//!
//! A vertex has hop `k` if the shortest path to it has `k` transfers; roots have hop 0.
//! Searching `hops` hops expands the vertices of hop `0..hops`, so one hop expands only
//! the roots. Expanding a vertex finds every transfer at it in the search direction.
//! These are the edges of the result. Tests of `graph` compare it with the search, which has cases by hand.

use alloy_primitives::Address;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::{Direction, Position, Transfer};

/// The rules of a search.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The number of expansions; `None` until nothing new is found.
    pub hops: Option<u32>,
    /// The direction of the search.
    pub direction: Direction,
    /// Follow a transfer only if it comes after (for `In`: before) an arrival at its
    /// start with at most as many hops. Not with `Both`.
    pub time_respecting: bool,
    /// Expand the zero address even if it is not a root.
    pub expand_zero: bool,
    /// Addresses that are shown but not expanded, unless they are roots.
    pub stop_at: BTreeSet<Address>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Every vertex with its hop.
    pub hops: BTreeMap<Address, u32>,
    /// Every transfer found, with 1 + the hop of the expansion that found it first.
    pub edges: BTreeMap<Position, u32>,
}

/// The time of an arrival. Roots have no limit.
type Moment = Option<Position>;

/// Searches `transfers`, in any order, from `roots`.
pub fn bfs(transfers: &[Transfer], roots: &[Address], rules: &Rules) -> Reached {
    let mut reached = Reached::default();
    // Earliest (for `In`: latest) arrival at each vertex so far.
    let mut arrivals: BTreeMap<Address, Moment> = roots.iter().map(|&root| (root, None)).collect();
    reached.hops.extend(roots.iter().map(|&root| (root, 0)));

    let mut hop = 0;
    while rules.hops.is_none_or(|hops| hop < hops) {
        hop += 1;
        let mut next = arrivals.clone();
        let mut is_new = false;
        for transfer in transfers {
            let (from, to) = (transfer.from_address, transfer.to_address);
            let pairs: &[(Address, Address)] = match rules.direction {
                Direction::Out => &[(from, to)],
                Direction::In => &[(to, from)],
                Direction::Both => &[(from, to), (to, from)],
            };
            for &(start, end) in pairs {
                let Some(&arrival) = arrivals.get(&start) else {
                    continue;
                };
                if !expanded(start, roots, rules) {
                    continue;
                }
                let at = transfer.position();
                if rules.time_respecting
                    && arrival.is_some_and(|arrival| !after(at, arrival, rules))
                {
                    continue;
                }
                reached.edges.entry(at).or_insert(hop);
                match next.get(&end) {
                    None => {
                        reached.hops.insert(end, hop);
                        next.insert(end, Some(at));
                        is_new = true;
                    }
                    Some(Some(known)) if rules.time_respecting && after(*known, at, rules) => {
                        next.insert(end, Some(at));
                        is_new = true;
                    }
                    Some(_) => {}
                }
            }
        }
        arrivals = next;
        if !is_new {
            break;
        }
    }
    reached
}

fn expanded(vertex: Address, roots: &[Address], rules: &Rules) -> bool {
    roots.contains(&vertex)
        || ((rules.expand_zero || !vertex.is_zero()) && !rules.stop_at.contains(&vertex))
}

/// Returns whether `a` comes after `b` in the direction of the search.
fn after(a: Position, b: Position, rules: &Rules) -> bool {
    match rules.direction {
        Direction::In => a < b,
        _ => a > b,
    }
}
