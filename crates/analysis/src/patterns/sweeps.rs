//! Sweeps: deposit addresses that pass all they get to one address, as deposit addresses of exchanges do.
//!
//! The rule is of Victor, "Address Clustering Heuristics for Ethereum" (Financial Cryptography
//! 2020), algorithm 1, without its list of exchanges: here the collector shows itself by the
//! number of addresses that it empties.

use super::{
    finding::{Found, Pattern, counted},
    history::History,
};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, widen};

/// The longest time from a deposit to its sweep, in blocks.
const BLOCKS: u64 = 3_200;

/// The most that may stay behind in the native coin, for gas: 0.01 of 10^18 units.
const LEFT: u64 = 10_000_000_000_000_000;

/// The fewest deposit addresses of a collector.
const ADDRESSES: usize = 3;

/// The fewest accounts that pay into them. One alone spreads its own tokens: that is scattered and
/// gathered.
const SENDERS: usize = 2;

pub(super) fn rule() -> String {
    format!(
        "at least {ADDRESSES} addresses that pay a token to no address but one, each time all \
         that arrived since, in a later transaction and within {BLOCKS} blocks; of the native \
         coin, at most 0.01 stays for gas (Victor 2020). At least {SENDERS} accounts pay into them. Who pays into one deposit address is \
         likely one customer"
    )
}

/// A deposit address.
struct Deposits {
    /// The account that empties it.
    collector: u32,
    deposits: Vec<u32>,
    sweeps: Vec<u32>,
}

pub(super) fn find(history: &History) -> Vec<Found> {
    let mut by_collector: BTreeMap<u32, Vec<Deposits>> = BTreeMap::new();
    for account in history.accounts() {
        if let Some(deposits) = deposits(history, account) {
            let all = by_collector.entry(deposits.collector).or_default();
            all.push(deposits);
        }
    }
    let clusters = by_collector.into_iter();
    let clusters = clusters.filter(|(_, all)| all.len() >= ADDRESSES);
    clusters
        .filter_map(|(collector, all)| found(history, collector, &all))
        .collect()
}

/// The deposits and sweeps of an account, if it is a deposit address.
fn deposits(history: &History, account: u32) -> Option<Deposits> {
    let mut found = Deposits {
        collector: account,
        deposits: Vec::new(),
        sweeps: Vec::new(),
    };
    let left = match history.is_native(account) {
        true => AmountSum::from(LEFT),
        false => AmountSum::ZERO,
    };
    let mut balance = AmountSum::ZERO;
    // The first and the last deposit since the last sweep.
    let mut waiting: Option<(u32, u32)> = None;
    for number in history.of(account) {
        let movement = history.get(*number);
        if movement.to == account {
            balance += widen(movement.value);
            waiting = Some((waiting.map_or(*number, |(first, _)| first), *number));
            found.deposits.push(*number);
            continue;
        }
        let (first, last) = waiting.take()?;
        let [first, last] = [first, last].map(|number| history.get(number));
        let is_same = found.sweeps.is_empty() || movement.to == found.collector;
        balance = balance.checked_sub(widen(movement.value))?;
        let is_sweep = is_same
            && balance <= left
            && movement.block() - first.block() <= BLOCKS
            && movement.transaction() > last.transaction();
        if !is_sweep {
            return None;
        }
        found.collector = movement.to;
        found.sweeps.push(*number);
    }
    let is_paid_back = |number: &u32| history.get(*number).from == found.collector;
    let is_one = !found.sweeps.is_empty()
        && !history.is_zero(found.collector)
        && !found.deposits.iter().any(is_paid_back);
    is_one.then_some(found)
}

fn found(history: &History, collector: u32, all: &[Deposits]) -> Option<Found> {
    let (address, asset) = history.address_and_asset(collector);
    let deposits = || all.iter().flat_map(|it| &it.deposits);
    let sweeps = || all.iter().flat_map(|it| &it.sweeps);
    let senders: BTreeSet<u32> = deposits().map(|it| history.get(*it).from).collect();
    let mut evidence: Vec<_> = deposits().map(|it| (*it, "deposit")).collect();
    evidence.extend(sweeps().map(|it| (*it, "sweep")));
    (senders.len() >= SENDERS).then(|| Found {
        pattern: Pattern::Sweep,
        address,
        other: None,
        asset,
        amount: sweeps().map(|it| widen(history.get(*it).value)).sum(),
        note: format!(
            "{} of {}, {}",
            counted(all.len(), "deposit addresses"),
            counted(senders.len(), "senders"),
            counted(sweeps().count(), "sweeps")
        ),
        evidence,
    })
}
