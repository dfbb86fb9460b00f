//! Airdrops: one transaction pays many receivers.

use super::{
    finding::{Found, Pattern, counted},
    history::History,
};
use crate::table::transaction_name;
use std::collections::BTreeSet;
use txgraph_graph::widen;
use txgraph_transfers::Kind;

/// The fewest receivers.
const RECEIVERS: usize = 10;

pub(super) fn rule() -> String {
    format!(
        "one transaction pays a token from one address, or by minting, to at least {RECEIVERS} \
         receivers that give no other token for it in the transaction. Withdrawals of validators are no \
         airdrops. Payouts of services look the same"
    )
}

pub(super) fn find(history: &History) -> Vec<Found> {
    let mut all = Vec::new();
    let mut first = 0u32;
    let mut paid: Vec<(u32, u32)> = Vec::new();
    let transactions = history
        .movements()
        .chunk_by(|a, b| a.transaction() == b.transaction());
    for transaction in transactions {
        paid.clear();
        if transaction.len() >= RECEIVERS {
            let moved = (first..).zip(transaction);
            let moved = moved.filter(|(number, it)| {
                let is_move = !it.value.is_zero() && it.from != it.to && !history.is_zero(it.to);
                is_move && it.kind != Kind::Withdrawal && !history.is_bought(*number)
            });
            paid.extend(moved.map(|(number, it)| (it.from, number)));
            paid.sort_unstable();
            let senders = paid.chunk_by(|a, b| a.0 == b.0);
            all.extend(senders.filter_map(|paid| found(history, paid)));
        }
        first += u32::try_from(transaction.len()).unwrap_or(u32::MAX);
    }
    all
}

/// The airdrop of these transfers of one account in one transaction.
fn found(history: &History, paid: &[(u32, u32)]) -> Option<Found> {
    let numbers = || paid.iter().map(|(_, number)| *number);
    let receivers: BTreeSet<u32> = numbers().map(|it| history.get(it).to).collect();
    if receivers.len() < RECEIVERS {
        return None;
    }
    let (address, asset) = history.address_and_asset(paid[0].0);
    let first = history.get(paid[0].1);
    let is_equal = numbers().all(|number| history.get(number).value == first.value);
    let (block, transaction) = first.transaction();
    Some(Found {
        pattern: Pattern::Airdrop,
        address,
        other: None,
        asset,
        amount: numbers().map(|it| widen(history.get(it).value)).sum(),
        note: format!(
            "{}, {} amounts, transaction {}",
            counted(receivers.len(), "receivers"),
            if is_equal { "equal" } else { "different" },
            transaction_name(block, transaction)
        ),
        evidence: numbers().map(|number| (number, "out")).collect(),
    })
}
