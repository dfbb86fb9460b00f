//! The concentration of an asset among its senders and receivers.

use crate::{
    Value,
    ratio::{Wide, gini, share, weigh, wide},
    serial::decimal,
};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::BTreeMap};
use txgraph_graph::AmountSum;

/// For which numbers of largest addresses the share is given.
pub(crate) const TOP_SHARES: [usize; 3] = [1, 10, 100];

/// All senders, or all receivers, of one asset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The number of addresses.
    pub addresses: u64,
    /// The sum of what they sent or received.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Gini coefficient of their amounts: 0 if all are equal, near 1 if one has everything.
    /// `None` if all amounts are zero.
    pub gini: Option<f64>,
    /// Share of the 1, 10 and 100 largest.
    pub top_shares: [TopShare; TOP_SHARES.len()],
    /// The largest by amount; equal amounts by transfers, then by address.
    pub top: Vec<TopAddress>,
}

/// The share of the largest addresses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TopShare {
    /// The number of the largest addresses.
    pub n: u64,
    /// Their part of the whole amount; `None` if that is zero.
    pub share: Option<f64>,
}

/// An address among the largest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopAddress {
    /// The address.
    pub address: Address,
    /// Its label, if any.
    pub label: Option<String>,
    /// Its transfers on this side.
    pub transfers: u64,
    /// The sum of their amounts.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Part of the amount of this side; `None` if that is zero.
    pub share: Option<f64>,
}

/// One address on one side of an asset, before it is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// The address.
    pub address: Address,
    /// Its transfers on this side.
    pub transfers: u64,
    /// The sum of their amounts.
    pub amount: AmountSum,
}

/// Some participants of one side. Sides are merged if all amounts of the same length are in one of
/// them ([`SideCounts::length`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideCounts {
    /// By length of the amounts.
    lengths: BTreeMap<usize, Amounts>,
    /// The largest, as [`Side::top`].
    largest: Vec<Participant>,
}

/// Amounts of one length: how many, their sum, and the sum with their ranks as weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Amounts {
    count: u64,
    total: AmountSum,
    weighted: Wide,
}

impl SideCounts {
    /// Ranks participants, whose addresses differ. Keeps the largest: `top`, and those whose share
    /// is given.
    pub fn of(mut participants: Vec<Participant>, top: usize) -> Self {
        participants.sort_unstable_by_key(rank);
        let mut lengths = BTreeMap::new();
        for same in participants.chunk_by(|a, b| Self::length(a.amount) == Self::length(b.amount)) {
            let amounts = Amounts {
                count: same.len() as u64,
                total: sum(same),
                weighted: weigh(same.iter().rev().map(|each| each.amount)),
            };
            lengths.insert(Self::length(same[0].amount), amounts);
        }
        participants.truncate(kept(top));
        Self {
            lengths,
            largest: participants,
        }
    }

    /// The length of an amount, in bits.
    pub fn length(amount: AmountSum) -> usize {
        amount.bit_len()
    }

    /// Adds other participants.
    pub fn merge(&mut self, other: Self, top: usize) {
        self.lengths.extend(other.lengths);
        self.largest.extend(other.largest);
        self.largest.sort_unstable_by_key(rank);
        self.largest.truncate(kept(top));
    }

    pub(crate) fn finish(&self, top: usize) -> Side {
        let (mut addresses, mut amount, mut weighted) = (0, AmountSum::ZERO, Wide::ZERO);
        for amounts in self.lengths.values() {
            // Each of them has a higher rank than all of the shorter ones.
            weighted += amounts.weighted + Wide::from(addresses) * wide(amounts.total);
            addresses += amounts.count;
            amount += amounts.total;
        }
        let top_shares = TOP_SHARES.map(|n| {
            let largest = n.min(self.largest.len());
            TopShare {
                n: n as u64,
                share: share(sum(&self.largest[..largest]), amount),
            }
        });
        let top = self.largest.iter().take(top).map(|each| TopAddress {
            address: each.address,
            label: None,
            transfers: each.transfers,
            amount: each.amount,
            share: share(each.amount, amount),
        });
        Side {
            addresses,
            amount,
            gini: gini(addresses, wide(amount), weighted),
            top_shares,
            top: top.collect(),
        }
    }
}

fn sum(participants: &[Participant]) -> AmountSum {
    let amounts = participants.iter().map(|each| each.amount);
    amounts.fold(AmountSum::ZERO, |sum, amount| sum + amount)
}

/// The order of participants, the largest first.
fn rank(participant: &Participant) -> (Reverse<(AmountSum, u64)>, Address) {
    let size = (participant.amount, participant.transfers);
    (Reverse(size), participant.address)
}

/// How many of the largest are kept.
fn kept(top: usize) -> usize {
    TOP_SHARES.into_iter().fold(top, usize::max)
}

impl Side {
    /// Returns addresses, amount, Gini and shares, the end of a row.
    pub(crate) fn concentration_cells(&self) -> impl Iterator<Item = Value<'static>> {
        let shares = self.top_shares.iter().map(|top| top.share.into());
        [self.addresses.into(), self.amount.into(), self.gini.into()]
            .into_iter()
            .chain(shares)
    }
}
