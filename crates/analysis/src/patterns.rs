//! Patterns: shapes of transfers that fraud, laundering and services leave behind.
//!
//! Each pattern is a rule with fixed parameters, one file each ([`Pattern::rule`] is its text). A
//! finding is what the rule says and no more: a hint where to look, with the transfers that fit
//! it as evidence. The rules see amounts, addresses and times of fungible transfers, not who
//! started a transaction.

use std::cmp::Reverse;
use txgraph_graph::SearchError;
use txgraph_transfers::Transfer;

mod airdrops;
mod fans;
mod finding;
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

pub use finding::{Evidence, Finding, Pattern, PatternRule, Patterns};

use finding::Found;
use history::History;

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

/// Collects transfers, and finds the patterns in them. Keeps 72 bytes for each fungible transfer,
/// and 8 for its places in the histories of its ends.
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
