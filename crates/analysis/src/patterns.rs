//! Patterns: shapes of transfers that fraud, laundering and services leave behind.
//!
//! Each pattern is a rule with fixed parameters, one file each ([`Pattern::rule`] is its text). A
//! finding is what the rule says and no more: a hint where to look, with the transfers that fit
//! it as evidence. The rules see amounts, addresses and times of fungible transfers. Only the rule
//! of drainers also needs approvals, and who signed a transaction: [`PatternFinder::add_approval`].

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};
use txgraph_graph::SearchError;
use txgraph_transfers::Transfer;

mod airdrops;
#[cfg(test)]
mod amlsim;
mod drainers;
mod fans;
mod finding;
mod history;
mod mixers;
mod movement;
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

pub use drainers::{SpenderApproval, TransactionEnds};
pub use finding::{Evidence, Finding, Pattern, PatternRule, Patterns};

use drainers::Spenders;
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
            Self::Drainer => drainers::rule(),
        }
    }
}

/// Collects transfers, and finds the patterns in them. Keeps 72 bytes for each fungible transfer,
/// and 8 for its places in the histories of its ends.
#[derive(Debug, Default)]
pub struct PatternFinder {
    history: History,
    spenders: Spenders,
    /// Whether approvals and transactions are known.
    approvals: Approvals,
}

/// Whether approvals and transactions are known, which the rule of drainers needs.
#[derive(Debug)]
enum Approvals {
    Known,
    NotAsked(String),
}

impl Default for Approvals {
    fn default() -> Self {
        Self::NotAsked("approvals, and who signed the transactions, were not asked for".to_owned())
    }
}

impl PatternFinder {
    /// Adds transfers, in any order.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses or 2^31 - 1 fungible transfers.
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

    /// Adds an approval after all transfers, in any order. It is kept if its owner is in a transfer
    /// of the token.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 spenders.
    pub fn add_approval(&mut self, approval: &SpenderApproval) -> Result<(), SearchError> {
        self.spenders.add(&self.history, approval)
    }

    /// The transactions in which a spender may have taken tokens, by block and index, after all
    /// approvals. [`Self::set_transactions`] takes what is read of them.
    pub fn wanted_transactions(&mut self) -> BTreeSet<(u64, u32)> {
        self.history.sort();
        self.spenders.sort(&self.history)
    }

    /// Takes what was read of the wanted transactions. Drainers are looked for.
    pub fn set_transactions(&mut self, transactions: BTreeMap<(u64, u32), TransactionEnds>) {
        self.spenders.set_transactions(transactions);
        self.approvals = Approvals::Known;
    }

    /// States why approvals, and who signed the transactions, are not known.
    pub fn set_not_asked(&mut self, why: String) {
        self.approvals = Approvals::NotAsked(why);
    }

    /// Finds the patterns, and lists at most `limit` findings of each. Asks `proceed` before each rule, and
    /// ends if it fails.
    ///
    /// # Errors
    ///
    /// [`SearchError::TooLarge`] at 2^32 - 1 addresses, and the error of `proceed`.
    pub fn finish<E: From<SearchError>>(
        mut self,
        limit: Option<usize>,
        proceed: impl Fn() -> Result<(), E>,
    ) -> Result<Patterns, E> {
        self.history.sort();
        proceed()?;
        let not_asked = match &self.approvals {
            Approvals::Known => None,
            Approvals::NotAsked(why) => Some(why.clone()),
        };
        let mut found = match not_asked {
            None => drainers::find(&mut self.history, &self.spenders)?,
            Some(_) => Vec::new(),
        };
        let history = &self.history;
        let rules: [fn(&History) -> Vec<Found>; 8] = [
            peel_chains::find,
            round_trips::find,
            scatter_gather::find,
            sweeps::find,
            fans::find,
            mixers::find,
            airdrops::find,
            poisoning::find,
        ];
        for find in rules {
            proceed()?;
            found.extend(find(history));
        }
        proceed()?;
        let mut found: Vec<(u64, Found)> = found
            .into_iter()
            .map(|found| (history.addresses_in(&found), found))
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
            let not_asked = match pattern {
                Pattern::Drainer => not_asked.clone(),
                _ => None,
            };
            patterns.rules.push(PatternRule {
                pattern: *pattern,
                found: not_asked.is_none().then(|| of_pattern().count() as u64),
                rule: pattern.rule(),
                not_asked,
            });
            let listed = (1..).zip(of_pattern().take(limit.unwrap_or(usize::MAX)));
            let findings = listed.map(|(number, (addresses, it))| {
                let mut finding = history.finding(number, *addresses, it);
                if it.pattern == Pattern::Drainer {
                    finding.approvals = self.spenders.evidence(history, it);
                }
                finding
            });
            patterns.findings.extend(findings);
        }
        Ok(patterns)
    }
}
