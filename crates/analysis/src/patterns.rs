//! Patterns: shapes of transfers that fraud, laundering and services leave behind.
//!
//! Each pattern is a rule with fixed parameters, one file each ([`Pattern::rule`] is its text). A
//! finding is what the rule says and no more: a hint where to look, with the transfers that fit
//! it as evidence. The rules see amounts, addresses and times of fungible transfers, not who
//! started a transaction.

use crate::serial::decimal;
use alloy_primitives::{Address, U256};
use serde::Serialize;
use std::{cmp::Reverse, fmt::Write};
use txgraph_base::string_enum;
use txgraph_graph::{AmountSum, SearchError, widen};
use txgraph_transfers::{TokenStandard, Transfer};

mod airdrops;
mod fans;
mod history;
mod mixers;
mod peel_chains;
#[cfg(test)]
mod plain;
mod poisoning;
mod round_trips;
mod scatter_gather;
mod sweeps;
mod tables;
#[cfg(test)]
mod tests;

use history::History;

/// The longest time from the first to the last transfer of what belongs together, in blocks: a day
/// of 12 seconds each.
const WINDOW: u64 = 7_200;

/// An address with more counterparties in a token is a hub: transfers through it are not connected
/// with each other, because it mixes the tokens of many.
const HUB_COUNTERPARTIES: usize = 100;

/// An address with more transfers of a token is a hub, too.
const HUB_TRANSFERS: usize = 10_000;

string_enum! {
    /// A pattern of transfers.
    pub enum Pattern: "pattern" {
        /// An amount that passes through addresses, each of which sends a small part elsewhere.
        PeelChain = "peel-chain",
        /// An amount that comes back to its sender.
        RoundTrip = "round-trip",
        /// An address that pays another one through several between them.
        ScatterGather = "scatter-gather",
        /// Deposit addresses that one address empties.
        Sweep = "sweep",
        /// Equal amounts from many senders.
        FanIn = "fan-in",
        /// Equal amounts to many receivers.
        FanOut = "fan-out",
        /// Equal amounts in from many, and out to many others.
        Mixer = "mixer",
        /// One transaction that pays many receivers.
        Airdrop = "airdrop",
        /// Worthless transfers of an address that looks like a counterparty.
        Poisoning = "poisoning",
    }
}

impl Pattern {
    /// The rule with its parameters, and its source if it has one.
    pub fn rule(self) -> String {
        match self {
            Self::PeelChain => peel_chains::rule(),
            Self::RoundTrip => round_trips::rule(),
            Self::ScatterGather => scatter_gather::rule(),
            Self::Sweep => sweeps::rule(),
            Self::FanIn => fans::rule("from", "senders"),
            Self::FanOut => fans::rule("to", "receivers"),
            Self::Mixer => mixers::rule(),
            Self::Airdrop => airdrops::rule(),
            Self::Poisoning => poisoning::rule(),
        }
    }
}

/// The patterns of some transfers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Patterns {
    /// Each pattern, with its rule and the number of findings.
    pub rules: Vec<PatternRule>,
    /// The listed findings, by pattern; then by addresses and transfers, most first; then by the
    /// first transfer.
    pub findings: Vec<Finding>,
    /// Hubs, through which no pattern connects transfers: addresses by token.
    pub hubs: u64,
}

/// A pattern in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternRule {
    /// The pattern.
    pub pattern: Pattern,
    /// The number of findings, listed or not.
    pub found: u64,
    /// The rule.
    pub rule: String,
}

/// Transfers that fit a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The pattern.
    pub pattern: Pattern,
    /// The number of the finding in its pattern, from 1.
    pub number: u64,
    /// The address that the finding is about: the first of a chain, the center of a fan, the
    /// collector of a sweep, the victim of poisoning.
    pub address: Address,
    /// The other end: the last of a chain, the receiver of what was scattered, the address that
    /// looks like another.
    pub other_address: Option<Address>,
    /// The token; `None` for the native coin.
    pub token_address: Option<Address>,
    /// The standard of the token.
    pub token_standard: TokenStandard,
    /// The amount that the finding is about, in the smallest unit of the token.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Addresses in the evidence.
    pub addresses: u64,
    /// Block of the first transfer.
    pub first_block: u64,
    /// Block of the last transfer.
    pub last_block: u64,
    /// What else is known.
    pub note: String,
    /// The transfers, in the order of the chain.
    pub evidence: Vec<Evidence>,
}

/// A transfer that fits a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What it is in the pattern.
    pub role: &'static str,
    /// Block number.
    pub block_number: u64,
    /// Index of the transaction in the block.
    pub transaction_index: u32,
    /// Index of the log in the block; `None` for the native coin.
    pub log_index: Option<u32>,
    /// Index inside the log, or among the native movements of the transaction.
    pub sub_index: u32,
    /// Sender.
    pub from_address: Address,
    /// Receiver.
    pub to_address: Address,
    /// The token; `None` for the native coin.
    pub token_address: Option<Address>,
    /// The amount, in the smallest unit of the token.
    #[serde(serialize_with = "decimal")]
    pub value: AmountSum,
}

/// A finding whose transfers are numbers.
struct Found {
    pattern: Pattern,
    /// Numbers of addresses.
    address: u32,
    other: Option<u32>,
    asset: u32,
    amount: AmountSum,
    note: String,
    /// Numbers of transfers, and what they are.
    evidence: Vec<(u32, &'static str)>,
}

/// Collects transfers, and finds the patterns in them. Keeps 72 bytes for each fungible transfer,
/// and about as much for its place in the histories of its ends.
#[derive(Debug, Default)]
pub struct PatternFinder {
    history: History,
}

impl PatternFinder {
    /// Adds transfers, in any order.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses or fungible transfers.
    pub fn add(&mut self, transfers: &[Transfer]) -> Result<(), SearchError> {
        (transfers.iter()).try_for_each(|transfer| self.history.add(transfer))
    }

    /// The number of addresses.
    pub fn addresses(&self) -> u64 {
        self.history.addresses.len() as u64
    }

    /// The number of transfers, fungible or not.
    pub const fn transfers(&self) -> u64 {
        self.history.transfers
    }

    /// Finds the patterns, and lists at most `limit` findings of each.
    pub fn finish(mut self, limit: Option<usize>) -> Patterns {
        self.history.sort();
        let history = &self.history;
        let mut found = peel_chains::find(history);
        found.extend(round_trips::find(history));
        found.extend(scatter_gather::find(history));
        found.extend(sweeps::find(history));
        found.extend(fans::find(history));
        found.extend(mixers::find(history));
        found.extend(airdrops::find(history));
        found.extend(poisoning::find(history));
        let mut found: Vec<(u64, Found)> = found
            .into_iter()
            .map(|found| (history.addresses_in(&found.evidence), found))
            .collect();
        found.sort_by_cached_key(|(addresses, it)| {
            let first = it.evidence.iter().map(|(number, _)| *number).min();
            let size = Reverse((*addresses, it.evidence.len()));
            let ends = [Some(it.address), it.other];
            let ends = ends.map(|end| end.map(|number| history.addresses.value(number)));
            (it.pattern, size, first, ends, it.note.clone())
        });
        let mut patterns = Patterns {
            rules: Vec::new(),
            findings: Vec::new(),
            hubs: history.hubs(),
        };
        for pattern in Pattern::ALL {
            let of_pattern = || found.iter().filter(|(_, it)| it.pattern == *pattern);
            patterns.rules.push(PatternRule {
                pattern: *pattern,
                found: of_pattern().count() as u64,
                rule: pattern.rule(),
            });
            let listed = (1..).zip(of_pattern().take(limit.unwrap_or(usize::MAX)));
            patterns.findings.extend(
                listed.map(|(number, (addresses, it))| history.finding(number, *addresses, it)),
            );
        }
        patterns
    }
}

/// Whether `part` is at least so many percent of `whole`.
fn is_share(part: AmountSum, whole: AmountSum, percent: u64) -> bool {
    part * AmountSum::from(100) >= whole * AmountSum::from(percent)
}

/// Whether `next` can be the rest of `before`: nothing was added, and at most a tenth is missing.
fn is_rest(next: U256, before: U256) -> bool {
    next <= before && is_share(widen(next), widen(before), REST_PERCENT)
}

/// See [`is_rest`].
const REST_PERCENT: u64 = 90;

/// `3 senders`, `1 sender`.
fn counted(count: usize, what: &str) -> String {
    let mut text = format!("{count} {what}");
    if count == 1 {
        text.truncate(text.len() - usize::from(text.ends_with('s')));
    }
    text
}

/// Adds a part to a note.
fn also(note: &mut String, part: std::fmt::Arguments<'_>) {
    if !note.is_empty() {
        note.push_str("; ");
    }
    let _ = note.write_fmt(part);
}
