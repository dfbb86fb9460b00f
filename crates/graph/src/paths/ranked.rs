//! The first routes in an order, one after the other.
//!
//! By J. Y. Yen, "Finding the k shortest loopless paths in a network", Management Science 17 (1971), as
//! E. L. Lawler generalized it (Management Science 18, 1972): the routes but the first one are divided by
//! the first transfer that differs from it, each part has a first route, and the first of these is the
//! next route.

use super::{
    reached::{Found, Order, first},
    states::{Query, State},
};
use std::collections::BTreeSet;

/// The transfers that a search for several routes looks at, at most: some seconds.
const STEPS_MAX: u64 = 100_000_000;

/// The transfers of the routes that it keeps, at most: some hundred megabytes. Long routes have many parts.
const KEPT_MAX: u64 = 10_000_000;

/// The first routes in an order.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    pub(super) routes: Vec<Vec<State>>,
    /// Whether the search was ended before all of the wanted routes were found.
    pub(super) is_cut: bool,
}

/// Routes that begin in the same way, by the first of them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    first: Found,
    /// How many states all of them have in common.
    root: usize,
    /// The states that none of them has after these.
    banned: Vec<State>,
}

/// Finds up to `count` routes, none with the same transfers as another one.
pub(super) fn ranked(asked: &Query<'_>, order: Order, count: usize) -> Ranked {
    let mut found = Ranked::default();
    let (mut steps, mut kept) = (0, 0);
    let mut parts = BTreeSet::new();
    let shortest = first(*asked, order, &[], &[], &mut steps);
    // A single route is searched to its end.
    steps = 0;
    parts.extend(shortest.map(|first| Part {
        first,
        root: 0,
        banned: Vec::new(),
    }));
    // States can differ and the transfers not: they are inside of a swap, or not.
    let mut known = BTreeSet::new();
    while let Some(Part {
        first: (_, states),
        root,
        mut banned,
    }) = parts.pop_first()
    {
        let rows: Vec<_> = states.iter().map(|state| state.row).collect();
        let once: BTreeSet<_> = rows.iter().collect();
        if once.len() == rows.len() && known.insert(rows) {
            found.routes.push(states.clone());
        }
        if found.routes.len() >= count {
            break;
        }
        for root in root..states.len() {
            if steps > STEPS_MAX || kept > KEPT_MAX {
                found.is_cut = true;
                return found;
            }
            banned.push(states[root]);
            let next = first(*asked, order, &states[..root], &banned, &mut steps);
            let banned = std::mem::take(&mut banned);
            kept += next.as_ref().map_or(0, |(_, states)| states.len() as u64);
            parts.extend(next.map(|first| Part {
                first,
                root,
                banned,
            }));
        }
    }
    found
}
