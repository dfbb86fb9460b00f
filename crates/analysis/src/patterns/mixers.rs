//! Mixers: equal amounts in from many, equal amounts out to many others.

use super::{
    finding::{Found, Pattern, counted},
    history::History,
};
use alloy_primitives::U256;
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::Kind;

/// The fewest depositors, and the fewest other receivers.
const SIDE: usize = 4;

/// The least share of the deposits and of the payouts that have the amount.
const EQUAL_PERCENT: usize = 90;

pub(super) fn rule() -> String {
    format!(
        "one amount of a token: at least {EQUAL_PERCENT} % of the transfers to an address have \
         it, from at least {SIDE} depositors, and at least {EQUAL_PERCENT} % of the transactions \
         in which the address pays, fees included, to at least {SIDE} receivers who are no \
         depositors; never more payouts than deposits. Payouts of a contract are seen in the \
         native coin with internal transfers only"
    )
}

pub(super) fn find(history: &History) -> Vec<Found> {
    let accounts = history.accounts();
    accounts
        .filter_map(|account| mixer(history, account))
        .collect()
}

/// A payout: the transfers of an address in one transaction.
struct Payout {
    numbers: Vec<u32>,
    sum: AmountSum,
}

fn mixer(history: &History, account: u32) -> Option<Found> {
    let all = history.of(account);
    if all.len() < 2 * SIDE {
        return None;
    }
    let is_in = |number: &&u32| history.get(**number).to == account;
    let amount = most_frequent(all.iter().filter(is_in).map(|it| history.get(*it).value))?;
    let mut depositors = BTreeSet::new();
    let mut receivers = BTreeSet::new();
    let (mut evidence, mut payouts) = (Vec::new(), 0usize);
    let (mut arrived, mut paid, mut waiting) = (0usize, 0usize, 0usize);
    let mut sizes: Option<(usize, usize)> = None;
    let mut has_internal = false;
    let transactions = all.chunk_by(|a, b| {
        let [a, b] = [a, b].map(|number| history.get(*number).transaction());
        a == b
    });
    for transaction in transactions {
        for number in transaction.iter().filter(is_in) {
            arrived += 1;
            let movement = history.get(*number);
            if movement.value == amount {
                waiting += 1;
                depositors.insert(movement.from);
                evidence.push((*number, "deposit"));
            }
        }
        let Some(payout) = Payout::of(history, account, transaction) else {
            continue;
        };
        paid += 1;
        if payout.sum != widen(amount) {
            continue;
        }
        let size = waiting;
        waiting = waiting.checked_sub(1)?;
        sizes = Some(sizes.map_or((size, size), |(min, max)| (min.min(size), max.max(size))));
        payouts += 1;
        let value = |number: &&u32| history.get(**number).value;
        let largest = *payout.numbers.iter().rev().max_by_key(value)?;
        receivers.insert(history.get(largest).to);
        for number in payout.numbers {
            let is_largest = number == largest;
            has_internal |= history.get(number).kind == Kind::Internal;
            evidence.push((number, if is_largest { "payout" } else { "fee" }));
        }
    }
    let deposits = waiting + payouts;
    let others = receivers.difference(&depositors).count();
    let is_mixer = depositors.len() >= SIDE
        && others >= SIDE
        && deposits * 100 >= arrived * EQUAL_PERCENT
        && payouts * 100 >= paid * EQUAL_PERCENT;
    let (min, max) = sizes.filter(|_| is_mixer)?;
    let (address, asset) = history.address_and_asset(account);
    let mut note = format!(
        "{} of {}, {} to {}; at each payout, {min} to {max} deposits were not paid out",
        counted(deposits, "deposits"),
        counted(depositors.len(), "depositors"),
        counted(payouts, "payouts"),
        counted(receivers.len(), "receivers"),
    );
    if has_internal {
        note += "; a contract pays";
    }
    Some(Found {
        pattern: Pattern::Mixer,
        address,
        other: None,
        asset,
        amount: widen(amount) * AmountSum::from(payouts as u64),
        note,
        evidence,
    })
}

impl Payout {
    /// The payout of an account in a transaction; `None` if it pays nothing.
    fn of(history: &History, account: u32, transaction: &[u32]) -> Option<Self> {
        let is_out = |number: &&u32| history.get(**number).from == account;
        let numbers: Vec<u32> = transaction.iter().filter(is_out).copied().collect();
        let sum = numbers.iter().map(|it| widen(history.get(*it).value)).sum();
        (!numbers.is_empty()).then_some(Self { numbers, sum })
    }
}

/// The most frequent amount, the largest of several.
fn most_frequent(amounts: impl Iterator<Item = U256>) -> Option<U256> {
    let mut counts: BTreeMap<U256, usize> = BTreeMap::new();
    amounts.for_each(|amount| *counts.entry(amount).or_default() += 1);
    let (amount, count) = counts
        .into_iter()
        .max_by_key(|(amount, count)| (*count, *amount))?;
    (count >= SIDE).then_some(amount)
}
