//! Patterns, and transfers that fit their rules.

use crate::{serial::decimal, transfer_json};
use alloy_primitives::{Address, U256};
use serde::Serialize;
use std::collections::{BTreeMap, btree_map::Entry};
use txgraph_base::{number, string_enum};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{TokenStandard, Transfer};

/// The longest time from the first to the last transfer of what belongs together, in blocks: a day
/// of 12 seconds each.
pub(super) const WINDOW: u64 = 7_200;

/// An address with more counterparties in a token is a hub: transfers through it are not connected
/// with each other, because it mixes the tokens of many.
pub(super) const HUB_COUNTERPARTIES: usize = 100;

/// An address with more transfers of a token is a hub, too.
pub(super) const HUB_TRANSFERS: usize = 10_000;

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
        /// A spender that takes the tokens of many owners, who had approved it.
        Drainer = "drainer",
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

impl Patterns {
    /// Passes all evidence to a function that adds the times and hashes of transfers.
    pub fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [Transfer]) -> Result<(), E>,
    ) -> Result<(), E> {
        let all = self.findings.iter_mut();
        let all = all.flat_map(|it| it.approvals.iter_mut().chain(&mut it.evidence));
        let mut all: Vec<&mut Evidence> = all.collect();
        let mut transfers: Vec<_> = all.iter().map(|it| it.transfer.clone()).collect();
        fill(&mut transfers)?;
        for (it, transfer) in all.iter_mut().zip(transfers) {
            it.transfer = transfer;
        }
        Ok(())
    }
}

/// A pattern in a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternRule {
    /// The pattern.
    pub pattern: Pattern,
    /// The number of findings, listed or not. `None`: the pattern was not looked for.
    pub found: Option<u64>,
    /// The rule.
    pub rule: String,
    /// Why the pattern was not looked for.
    pub not_asked: Option<String>,
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
    /// looks like another, the receiver of the largest part of the loot.
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
    /// More facts.
    pub note: String,
    /// The transfers, in the order of the chain.
    pub evidence: Vec<Evidence>,
    /// The approvals that a drainer used, in the order of the chain: from the owner to the spender.
    pub approvals: Vec<Evidence>,
}

/// A transfer that fits a rule, or an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Its part in the pattern.
    pub role: &'static str,
    /// The transfer. An approval is one from the owner to the spender.
    #[serde(flatten, serialize_with = "transfer_json::transfer")]
    pub transfer: Transfer,
}

/// A finding whose transfers are numbers.
pub(super) struct Found {
    pub(super) pattern: Pattern,
    /// Numbers of addresses.
    pub(super) address: u32,
    pub(super) other: Option<u32>,
    pub(super) asset: u32,
    pub(super) amount: AmountSum,
    pub(super) note: String,
    /// Numbers of transfers, and what they are.
    pub(super) evidence: Vec<(u32, &'static str)>,
}

/// Whether `part` is at least this share of `whole`, in percent.
pub(super) fn is_share(part: AmountSum, whole: AmountSum, percent: u64) -> bool {
    part * AmountSum::from(100) >= whole * AmountSum::from(percent)
}

/// Whether `next` can be the rest of `before`: nothing was added, and at most a tenth is missing.
pub(super) fn is_rest(next: U256, before: U256) -> bool {
    next <= before && is_share(widen(next), widen(before), REST_PERCENT)
}

/// Whether at least this many different numbers are within one window. `of` has blocks and numbers
/// in the order of the blocks.
pub(super) fn are_close(of: &[(u64, u32)], least: usize) -> bool {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let mut first = of.iter().peekable();
    of.iter().any(|(block, number)| {
        *counts.entry(*number).or_default() += 1;
        while let Some((_, number)) = first.next_if(|(first, _)| block - first > WINDOW) {
            if let Entry::Occupied(mut count) = counts.entry(*number) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        counts.len() >= least
    })
}

/// See [`is_rest`].
pub(super) const REST_PERCENT: u64 = 90;

/// `3 senders`, `1 sender`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let one = what.strip_suffix('s').unwrap_or(what);
    number(count as u64, one, what)
}
