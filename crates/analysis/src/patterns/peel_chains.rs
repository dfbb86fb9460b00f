//! Peel chains: an amount passes through addresses, and each sends a small part elsewhere.

use super::{
    finding::{Found, Pattern, WINDOW, is_share},
    history::History,
};
use std::collections::BTreeSet;
use txgraph_graph::{AmountSum, widen};

/// The larger part is at least this share of what arrived.
const REST_PERCENT: u64 = 70;

/// Both parts together are at least this share of what arrived. The rest is gas.
const SPENT_PERCENT: u64 = 98;

/// The shortest chain. Who begins it often has more than it passes on, and is not counted.
const PEELS: usize = 3;

/// Smaller transfers are not part of the chain.
const DUST_PERCENT: u64 = 1;

/// The next transfers of an address that are looked at.
const NEXT: usize = 8;

pub(super) fn rule() -> String {
    format!(
        "at least {PEELS} addresses in a row: after an amount arrived, the next two transfers of \
         the address in the token leave it, to two addresses and within {WINDOW} blocks; the \
         larger is at least {REST_PERCENT} % of what arrived and goes on; both are at least \
         {SPENT_PERCENT} %. Transfers of less than {DUST_PERCENT} % of the amount are passed over"
    )
}

/// An amount that arrived, and how it was spent. All are numbers of transfers.
#[derive(Clone, Copy)]
struct Peel {
    paid: u32,
    rest: u32,
    peeled: u32,
}

pub(super) fn find(history: &History) -> Vec<Found> {
    let mut peels: Vec<Peel> = Vec::new();
    for account in history.accounts() {
        let paid = history.of(account).iter();
        let paid = paid.filter(|number| history.get(**number).to == account);
        peels.extend(paid.filter_map(|number| after(history, account, *number)));
    }
    peels.sort_unstable_by_key(|peel| peel.paid);
    let by = |paid: u32| {
        let at = peels.binary_search_by_key(&paid, |peel| peel.paid);
        at.ok().map(|at| peels[at])
    };
    let continued: BTreeSet<u32> = peels.iter().map(|peel| peel.rest).collect();
    let starts = peels.iter().filter(|peel| !continued.contains(&peel.paid));
    let chains = starts
        .map(|first| std::iter::successors(Some(*first), |peel| by(peel.rest)).collect::<Vec<_>>());
    chains
        .filter(|chain| chain.len() >= PEELS)
        .map(|chain| found(history, &chain))
        .collect()
}

/// The two transfers by which an address spends an amount that arrived, if it is a peel.
fn after(history: &History, account: u32, paid: u32) -> Option<Peel> {
    let arrived = history.get(paid);
    let amount = widen(arrived.value);
    let mut next = history
        .after(account, paid, arrived.block() + WINDOW)
        .take(NEXT)
        .filter(|number| is_share(widen(history.get(*number).value), amount, DUST_PERCENT));
    let parts = [next.next()?, next.next()?];
    let [one, two] = parts.map(|number| history.get(number));
    let leave = one.from == account && two.from == account && one.to != two.to;
    if !leave || history.is_zero(one.to) || history.is_zero(two.to) {
        return None;
    }
    let (rest, peeled) = match one.value >= two.value {
        true => (parts[0], parts[1]),
        false => (parts[1], parts[0]),
    };
    let sum = widen(one.value) + widen(two.value);
    let is_peel = sum <= amount
        && is_share(sum, amount, SPENT_PERCENT)
        && is_share(widen(history.get(rest).value), amount, REST_PERCENT);
    is_peel.then_some(Peel { paid, rest, peeled })
}

fn found(history: &History, chain: &[Peel]) -> Found {
    let (first, last) = (chain[0], chain[chain.len() - 1]);
    let paid = history.get(first.paid);
    let (address, asset) = history.address_and_asset(paid.to);
    let (end, _) = history.address_and_asset(history.get(last.rest).to);
    let peeled = chain
        .iter()
        .map(|peel| widen(history.get(peel.peeled).value));
    let peeled: AmountSum = peeled.sum();
    let percent = peeled * AmountSum::from(100) / widen(paid.value);
    let mut evidence = vec![(first.paid, "paid")];
    for peel in chain {
        evidence.extend([(peel.peeled, "peeled"), (peel.rest, "rest")]);
    }
    Found {
        pattern: Pattern::PeelChain,
        address,
        other: Some(end),
        asset,
        amount: widen(paid.value),
        note: format!(
            "{} peels, {percent} % of the amount peeled off",
            chain.len()
        ),
        evidence,
    }
}
