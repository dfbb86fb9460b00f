//! Scatter and gather: an address pays another one through several between them.

use super::{
    finding::{Found, Pattern, REST_PERCENT, WINDOW, are_close, counted, is_rest},
    history::History,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use txgraph_graph::widen;

/// The fewest addresses in between.
const BETWEEN: usize = 4;

pub(super) fn rule() -> String {
    format!(
        "an address pays a token to at least {BETWEEN} others within {WINDOW} blocks, and each passes {REST_PERCENT} to \
         100 % of an amount on to one and the same receiver, by its first transfer of such an \
         amount, in a later transaction and as many blocks. Not through trades or hubs"
    )
}

pub(super) fn find(history: &History) -> Vec<Found> {
    // By sender and receiver: what was paid and passed on.
    let mut found: BTreeMap<(u32, u32), Vec<[u32; 2]>> = BTreeMap::new();
    let mut used: HashSet<u32> = HashSet::new();
    for between in history.accounts().filter(|it| !history.is_hub(*it)) {
        for paid in history.of(between) {
            let movement = history.get(*paid);
            let is_paid = movement.to == between && !history.is_trade(*paid);
            if !is_paid || history.is_zero(movement.from) {
                continue;
            }
            let Some(passed) = passed_on(history, between, *paid, &used) else {
                continue;
            };
            let receiver = history.get(passed).to;
            used.insert(passed);
            if receiver != movement.from && !history.is_zero(receiver) {
                let all = found.entry((movement.from, receiver)).or_default();
                all.push([*paid, passed]);
            }
        }
    }
    let found = found.into_iter();
    found
        .filter_map(|(ends, all)| scattered(history, ends, &all))
        .collect()
}

/// The first transfer by which an address passes an amount on.
fn passed_on(history: &History, between: u32, paid: u32, used: &HashSet<u32>) -> Option<u32> {
    let movement = history.get(paid);
    let mut next = history.after(between, paid, movement.block() + WINDOW);
    next.find(|number| {
        let it = history.get(*number);
        it.from == between
            && it.transaction() > movement.transaction()
            && is_rest(it.value, movement.value)
            && !history.is_trade(*number)
            && !used.contains(number)
    })
}

fn scattered(history: &History, (from, to): (u32, u32), all: &[[u32; 2]]) -> Option<Found> {
    let between: BTreeSet<u32> = all.iter().map(|[paid, _]| history.get(*paid).to).collect();
    let mut of_blocks: Vec<(u64, u32)> = (all.iter())
        .map(|[paid, _]| (history.get(*paid).block(), history.get(*paid).to))
        .collect();
    of_blocks.sort_unstable();
    if !are_close(&of_blocks, BETWEEN) {
        return None;
    }
    let (address, asset) = history.address_and_asset(from);
    let (other, _) = history.address_and_asset(to);
    let evidence = all.iter();
    let evidence =
        evidence.flat_map(|[paid, passed]| [(*paid, "scattered"), (*passed, "gathered")]);
    Some(Found {
        pattern: Pattern::ScatterGather,
        address,
        other: Some(other),
        asset,
        amount: all
            .iter()
            .map(|[_, passed]| widen(history.get(*passed).value))
            .sum(),
        note: format!("through {}", counted(between.len(), "addresses")),
        evidence: evidence.collect(),
    })
}
