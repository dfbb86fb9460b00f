//! Fans: equal amounts of a token from many senders, or to many receivers.

use super::{
    finding::{Found, Pattern, WINDOW, are_close, counted},
    history::History,
};
use alloy_primitives::U256;
use std::collections::BTreeSet;
use txgraph_graph::widen;

/// The fewest counterparties.
const COUNTERPARTIES: usize = 4;

pub(super) fn rule(to: &str, what: &str) -> String {
    format!(
        "equal amounts of a token {to} at least {COUNTERPARTIES} {what} within {WINDOW} blocks, in \
         more than one transaction; more transfers of the amount belong to it if at most {WINDOW} \
         blocks are between one and the next"
    )
}

pub(super) fn find(history: &History) -> Vec<Found> {
    let mut all = Vec::new();
    let mut sides: [Vec<(U256, u32)>; 2] = Default::default();
    for account in history.accounts() {
        let transfers = history.of(account);
        if transfers.len() < COUNTERPARTIES {
            continue;
        }
        sides.iter_mut().for_each(Vec::clear);
        for number in transfers {
            let movement = history.get(*number);
            if !history.is_zero(history.other(*number, account)) {
                let side = &mut sides[usize::from(movement.from == account)];
                side.push((movement.value, *number));
            }
        }
        for (pattern, side) in [Pattern::FanIn, Pattern::FanOut]
            .into_iter()
            .zip(&mut sides)
        {
            side.sort_unstable();
            let block = |item: &(U256, u32)| history.get(item.1).block();
            let runs = side.chunk_by(|a, b| a.0 == b.0 && block(b) - block(a) <= WINDOW);
            all.extend(runs.filter_map(|run| found(history, account, pattern, run)));
        }
    }
    all
}

/// A fan of these transfers of equal amounts, if there are enough counterparties.
fn found(history: &History, account: u32, pattern: Pattern, run: &[(U256, u32)]) -> Option<Found> {
    if run.len() < COUNTERPARTIES {
        return None;
    }
    let numbers = || run.iter().map(|(_, number)| *number);
    let others: BTreeSet<u32> = numbers().map(|it| history.other(it, account)).collect();
    let transactions = |at: u32| history.get(at).transaction();
    let is_one = transactions(run[0].1) == transactions(run[run.len() - 1].1);
    let of_block = |it: u32| (history.get(it).block(), history.other(it, account));
    let of_blocks: Vec<(u64, u32)> = numbers().map(of_block).collect();
    if is_one || !are_close(&of_blocks, COUNTERPARTIES) {
        return None;
    }
    let (address, asset) = history.address_and_asset(account);
    let (role, what) = match pattern {
        Pattern::FanIn => ("in", "senders"),
        _ => ("out", "receivers"),
    };
    Some(Found {
        pattern,
        address,
        other: None,
        asset,
        amount: numbers().map(|it| widen(history.get(it).value)).sum(),
        note: format!(
            "{}, {}",
            counted(others.len(), what),
            counted(run.len(), "equal amounts")
        ),
        evidence: numbers().map(|number| (number, role)).collect(),
    })
}
