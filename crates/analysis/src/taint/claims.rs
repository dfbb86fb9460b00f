//! Claims: storage slots that say to whom a part of what a contract holds belongs.
//!
//! A contract that keeps the tokens of many users has a slot for each of them. What a user pays raises
//! the slot, and what the user takes lowers it. A claim divides the value of such a slot into parts by
//! source, as an account is divided, and every change of the slot takes or adds a share of each.

use super::{
    Part, Place, TaintMethod, Token,
    account_lots::{AccountLots, share},
};
use crate::serial::decimal;
use alloy_primitives::{Address, B256, U256};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{AmountFlows, ChangedSlot, FlowEnd, Position, Transfer};

/// A storage slot whose value came from tainted tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaintedSlot {
    /// The contract.
    pub contract: Address,
    /// The slot.
    #[serde(serialize_with = "word")]
    pub slot: U256,
    /// The key of its mapping, if it is an address.
    pub key: Option<Address>,
    /// The token that was paid for it; absent for the native coin.
    pub token_address: Option<Address>,
    /// The value of the slot, in units of the contract.
    #[serde(serialize_with = "decimal")]
    pub value: U256,
    /// The tainted part of the value.
    #[serde(serialize_with = "decimal")]
    pub tainted: AmountSum,
}

fn word<S: Serializer>(slot: &U256, out: S) -> Result<S::Ok, S::Error> {
    B256::from(*slot).serialize(out)
}

/// The value of a slot, by source.
#[derive(Debug, Default)]
struct Claim {
    key: Option<Address>,
    value: U256,
    /// By the token that was paid.
    lots: BTreeMap<Token, AccountLots>,
}

impl Claim {
    /// Takes the change of the slot since it was seen last as not tainted.
    fn begin(&mut self, before: U256) {
        for lots in self.lots.values_mut() {
            match before.checked_sub(self.value) {
                Some(more) => lots.put(more, &[]),
                None => drop(lots.take(TaintMethod::Haircut, self.value - before)),
            }
        }
        self.value = before;
    }
}

/// Tainted parts of an amount.
#[derive(Debug, Default)]
struct Portion {
    amount: U256,
    parts: Vec<Part>,
}

impl Portion {
    /// The same share of each part, for another amount. The sum is rounded down.
    fn scaled(&self, amount: U256) -> Vec<Part> {
        let (mut sum, mut until) = (U256::ZERO, U256::ZERO);
        let mut parts = Vec::with_capacity(self.parts.len());
        for &(source, tainted, hop) in &self.parts {
            sum = sum.saturating_add(tainted);
            let next = share(sum.min(self.amount), amount, self.amount);
            parts.push((source, next - until, hop));
            until = next;
        }
        parts.retain(|part| !part.1.is_zero());
        parts
    }
}

/// An amount that a transfer brought to a contract.
#[derive(Debug)]
struct Arrived {
    token: Token,
    portion: Portion,
    /// The part that was not passed on.
    left: U256,
    lots: AccountLots,
}

/// Why a contract pays the parts that it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PaidBy {
    /// A storage slot says whose they are.
    Slot,
    /// It was paid them in the same transaction.
    Received,
}

/// The claims of all contracts, and the state of the transaction that is being read.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// The flows of executed transactions; taken out in their order.
    flows: BTreeMap<Place, AmountFlows>,
    place: Option<Place>,
    now: AmountFlows,
    /// The writes of the transaction that were applied.
    applied: BTreeSet<usize>,
    /// The parts that falling slots paid in the transaction, by write and token.
    paid: BTreeMap<usize, BTreeMap<Token, Portion>>,
    /// The amounts that arrived in the transaction.
    arrived: BTreeMap<Position, Arrived>,
    slots: BTreeMap<(Address, U256), Claim>,
}

impl Claims {
    pub(super) fn new(flows: BTreeMap<Place, AmountFlows>) -> Self {
        Self {
            flows,
            ..Self::default()
        }
    }

    /// Begins the transaction at `next`, unless it has begun, after those before it.
    pub(super) fn begin(&mut self, next: Option<Place>) {
        if next.is_some() && self.place == next {
            return;
        }
        self.end();
        while let Some(entry) = self.flows.first_entry() {
            let place = *entry.key();
            if next.is_some_and(|next| place > next) {
                break;
            }
            self.now = entry.remove();
            if Some(place) == next {
                break;
            }
            self.end();
        }
        self.place = next;
    }

    /// Applies the writes of a slot up to this one.
    fn apply(&mut self, write: usize) {
        let of = |write: &ChangedSlot| (write.contract, write.slot);
        let Some(slot) = self.now.writes.get(write).map(of) else {
            return;
        };
        for earlier in 0..=write {
            if of(&self.now.writes[earlier]) == slot {
                self.apply_one(earlier);
            }
        }
    }

    /// Applies a write after the earlier ones of its slot.
    fn apply_one(&mut self, number: usize) {
        if self.applied.insert(number) {
            let change = self.now.writes[number];
            match change.after.checked_sub(change.before) {
                Some(rise) => self.rise(number, change, rise),
                None => self.fall(number, change),
            }
        }
    }

    /// Takes what a falling slot pays.
    fn fall(&mut self, number: usize, change: ChangedSlot) {
        if let Some(claim) = self.slots.get_mut(&(change.contract, change.slot)) {
            claim.begin(change.before);
            claim.value = change.after;
            let amount = change.before - change.after;
            let lots = claim.lots.iter_mut().map(|(token, lots)| {
                let (parts, _) = lots.take(TaintMethod::Haircut, amount);
                (*token, Portion { amount, parts })
            });
            self.paid.insert(number, lots.collect());
        }
    }

    /// Adds what a rising slot gets.
    fn rise(&mut self, number: usize, change: ChangedSlot, rise: U256) {
        let to = FlowEnd::Slot(number);
        let from = self.now.flows.iter().filter(|(_, end)| *end == to);
        let from: Vec<_> = from.map(|(from, _)| *from).collect();
        let mut got = BTreeMap::<Token, Portion>::new();
        let mut add = |token: Token, portion: &Portion| {
            let sum = got.entry(token).or_default();
            sum.amount = sum.amount.saturating_add(portion.amount);
            sum.parts.extend_from_slice(&portion.parts);
        };
        for end in from {
            match end {
                FlowEnd::Transfer(position) => {
                    if let Some(arrived) = self.arrived.get(&position) {
                        add(arrived.token, &arrived.portion);
                    }
                }
                FlowEnd::Slot(other) => {
                    self.apply(other);
                    let portions = self.paid.get(&other).into_iter().flatten();
                    portions.for_each(|(token, portion)| add(*token, portion));
                }
            }
        }
        let at = (change.contract, change.slot);
        let is_tainted = got.values().any(|portion| !portion.parts.is_empty());
        if !is_tainted && !self.slots.contains_key(&at) {
            return;
        }
        let claim = self.slots.entry(at).or_insert_with(|| Claim {
            key: change.key,
            value: change.before,
            lots: BTreeMap::new(),
        });
        claim.begin(change.before);
        for (token, portion) in &got {
            if !portion.parts.is_empty() {
                let untainted = || AccountLots::untainted(change.before);
                claim.lots.entry(*token).or_insert_with(untainted);
            }
        }
        for (token, lots) in &mut claim.lots {
            let parts = got.get(token).map_or(Vec::new(), |it| it.scaled(rise));
            lots.put(rise, &parts);
        }
        claim.key = claim.key.or(change.key);
        claim.value = change.after;
    }

    /// The tainted parts that a contract pays in a transfer; `None` if its code does not say.
    pub(super) fn pay(&mut self, transfer: &Transfer, token: Token) -> Option<(Vec<Part>, PaidBy)> {
        let to = FlowEnd::Transfer(transfer.position());
        let from = self.now.flows.iter().filter(|(_, end)| *end == to);
        let from: Vec<_> = from.map(|(from, _)| *from).collect();
        if let FlowEnd::Slot(slot) = *from.first()? {
            self.apply(slot);
            let paid = self.paid.get(&slot);
            let paid = paid.and_then(|paid| paid.get(&token));
            let parts = paid.map(|paid| paid.scaled(transfer.value));
            return Some((parts.unwrap_or_default(), PaidBy::Slot));
        }
        let mut parts = Vec::new();
        // No more can be passed on than was received.
        let mut rest = transfer.value;
        for (number, end) in from.iter().enumerate() {
            let left = |end: &FlowEnd| match end {
                FlowEnd::Transfer(from) => self.arrived.get(from).map_or(U256::ZERO, |it| it.left),
                FlowEnd::Slot(_) => U256::ZERO,
            };
            let others = from[number + 1..].iter().map(left);
            let others = others.fold(U256::ZERO, U256::saturating_add);
            let all = left(end).saturating_add(others);
            if let FlowEnd::Transfer(from) = end
                && let Some(arrived) = self.arrived.get_mut(from)
            {
                let amount = match others.is_zero() {
                    true => rest.min(arrived.left),
                    false => share(rest.min(all), arrived.left, all),
                };
                parts.extend(arrived.lots.take(TaintMethod::Haircut, amount).0);
                arrived.left -= amount;
                rest -= amount;
            }
        }
        Some((parts, PaidBy::Received))
    }

    /// Notes what a transfer brings.
    pub(super) fn receive(&mut self, transfer: &Transfer, token: Token, parts: &[Part]) {
        let from = FlowEnd::Transfer(transfer.position());
        if self.now.flows.iter().any(|(end, _)| *end == from) {
            let mut lots = AccountLots::default();
            lots.put(transfer.value, parts);
            let arrived = Arrived {
                token,
                portion: Portion {
                    amount: transfer.value,
                    parts: parts.to_vec(),
                },
                left: transfer.value,
                lots,
            };
            self.arrived.insert(transfer.position(), arrived);
        }
    }

    /// Applies the writes that are left.
    fn end(&mut self) {
        // All writes are in order, so the writes of each slot are.
        for write in 0..self.now.writes.len() {
            self.apply_one(write);
        }
        self.now = AmountFlows::default();
        self.applied.clear();
        self.paid.clear();
        self.arrived.clear();
    }

    /// The slots that have tainted parts.
    pub(super) fn tainted(self) -> Vec<TaintedSlot> {
        let slots = self
            .slots
            .into_iter()
            .flat_map(|((contract, slot), claim)| {
                let lots = claim.lots.into_iter();
                lots.map(move |((token_address, ..), lots)| TaintedSlot {
                    contract,
                    slot,
                    key: claim.key,
                    token_address,
                    value: claim.value,
                    tainted: lots.tainted(),
                })
            });
        slots
            .filter(|slot| slot.tainted > widen(U256::ZERO))
            .collect()
    }
}
