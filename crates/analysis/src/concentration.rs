//! The concentration of an asset among its senders and receivers.

use crate::{
    Value,
    ratio::{gini, share},
    serial::decimal,
};
use alloy_primitives::Address;
use serde::Serialize;
use txgraph_graph::{AmountSum, MergedGraph};

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

/// One address on one side, before it is ranked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Participant {
    pub(crate) vertex: u32,
    pub(crate) transfers: u64,
    pub(crate) amount: AmountSum,
}

impl Side {
    pub(crate) fn new(graph: &MergedGraph, mut participants: Vec<Participant>, top: usize) -> Self {
        let address = |participant: &Participant| graph.address(participant.vertex);
        participants.sort_unstable_by(|a, b| {
            (b.amount, b.transfers)
                .cmp(&(a.amount, a.transfers))
                .then_with(|| address(a).cmp(&address(b)))
        });
        let sum = |some: &[Participant]| {
            some.iter()
                .fold(AmountSum::ZERO, |sum, participant| sum + participant.amount)
        };
        let amount = sum(&participants);
        let ascending = participants.iter().rev().map(|each| each.amount);
        let top_shares = TOP_SHARES.map(|n| {
            let largest = n.min(participants.len());
            TopShare {
                n: n as u64,
                share: share(sum(&participants[..largest]), amount),
            }
        });
        let top = participants
            .iter()
            .take(top)
            .map(|each| TopAddress {
                address: address(each),
                label: graph.label_of(each.vertex),
                transfers: each.transfers,
                amount: each.amount,
                share: share(each.amount, amount),
            })
            .collect();
        Self {
            addresses: participants.len() as u64,
            amount,
            gini: gini(ascending),
            top_shares,
            top,
        }
    }

    /// Returns addresses, amount, Gini and shares, the end of a row.
    pub(crate) fn concentration_cells(&self) -> impl Iterator<Item = Value<'static>> {
        let shares = self.top_shares.iter().map(|top| top.share.into());
        [self.addresses.into(), self.amount.into(), self.gini.into()]
            .into_iter()
            .chain(shares)
    }
}
