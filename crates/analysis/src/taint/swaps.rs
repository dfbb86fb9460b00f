//! Swaps: the tainted share of what an address gives becomes the same share of what it gets.

use super::{Part, Place, Taint, TaintEnd, TaintRow, TaintSink, account_lots::share};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, Netting, Nettings, Swap, widen};
use txgraph_transfers::{TokenStandard, Transfer};

/// A swap of tainted tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintedSwap {
    /// The block.
    pub block_number: u64,
    /// The index of the transaction in the block.
    pub transaction_index: u32,
    /// The swap.
    pub swap: Swap,
    /// The tainted part of what was given.
    pub tainted_given: AmountSum,
    /// The tainted part of what was got.
    pub tainted_got: AmountSum,
    /// The number of transfers from a root to the address.
    pub hop: u32,
}

/// The swaps of all transactions, and the state of the transaction that is being read.
#[derive(Debug, Default)]
pub(super) struct Swaps {
    known: Nettings,
    place: Option<Place>,
    pots: Vec<Pot>,
    unclear: BTreeSet<Address>,
    /// Tainted swaps so far.
    pub(super) done: Vec<TaintedSwap>,
    /// Cases in which tainted tokens left an unresolved address.
    pub(super) unresolved: u64,
}

/// A swap during its transaction: what was given so far, and what has been got.
#[derive(Debug)]
struct Pot {
    swap: Swap,
    parts: Vec<Part>,
    arrived: Vec<Arrived>,
}

/// A transfer that brought what was got, the tainted parts of its sender, and the parts from the swap.
pub(super) type Arrived = (Transfer, Vec<Part>, Vec<Part>);

/// The tainted parts that a transfer brings to its receiver.
pub(super) enum Arrival {
    /// The tainted parts that leave the sender.
    All,
    /// Nothing tainted: it was given in a swap.
    Nothing,
    /// These parts: it came back from a swap.
    Returned(Vec<Part>),
    /// It was got in a swap, and arrives at the end of the transaction.
    Later,
}

impl Swaps {
    pub(super) fn new(known: Nettings) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    /// Begins the transaction of `next`, unless it has begun. Returns what was got in the one before.
    pub(super) fn begin(&mut self, next: Option<&Transfer>) -> Vec<Arrived> {
        let before = self.place;
        self.place = next.map(Transfer::transaction);
        if self.place == before {
            return Vec::new();
        }
        let mut delivered = Vec::new();
        for pot in std::mem::take(&mut self.pots) {
            let (arrived, done) = pot.finish(before.unwrap_or_default());
            self.done.extend(done);
            delivered.extend(arrived);
        }
        let known = self.place.and_then(|place| self.known.remove(&place));
        let Netting {
            swaps, unresolved, ..
        } = known.unwrap_or_default();
        self.unclear = unresolved.into_iter().collect();
        let pot = |swap| Pot {
            swap,
            parts: Vec::new(),
            arrived: Vec::new(),
        };
        self.pots = swaps.into_iter().map(pot).collect();
        delivered
    }

    /// Takes a transfer with the tainted parts that leave its sender. Returns whether they were given in
    /// a swap, and what arrives.
    pub(super) fn take(&mut self, transfer: &Transfer, parts: &[Part]) -> (bool, Arrival) {
        if !transfer.token_standard.is_fungible() {
            return (false, Arrival::All);
        }
        let (from, to) = (transfer.from_address, transfer.to_address);
        let token = transfer.token_address;
        if !parts.is_empty() && self.unclear.remove(&from) {
            self.unresolved += 1;
        }
        let gives = |pot: &&mut Pot| {
            let swap = &pot.swap;
            swap.address == from && swap.given_token == token && !swap.paid.contains(&to)
        };
        let giver = self.pots.iter_mut().find(gives);
        let is_given = giver.is_some();
        if let Some(pot) = giver {
            pot.parts.extend_from_slice(parts);
        }
        let arriving = if is_given { &[] } else { parts };
        // What is got, or comes back.
        let concerns = |pot: &&mut Pot| {
            let swap = &pot.swap;
            (swap.to == to && swap.got_token == token)
                || (swap.address == to && swap.given_token == token)
        };
        let arrival = match self.pots.iter_mut().find(concerns) {
            // It also is what the other side of the swap gave.
            Some(pot) if pot.swap.to == to && pot.swap.got_token == token => {
                pot.arrived
                    .push((transfer.clone(), arriving.to_vec(), Vec::new()));
                Arrival::Later
            }
            Some(pot) if arriving.is_empty() => Arrival::Returned(pot.give_back(transfer.value)),
            _ if is_given => Arrival::Nothing,
            _ => Arrival::All,
        };
        (is_given, arrival)
    }

    /// The tainted amounts that were given, by address and token.
    pub(super) fn sinks(&self) -> impl Iterator<Item = TaintSink> + '_ {
        let mut sinks = BTreeMap::<_, TaintSink>::new();
        for it in &self.done {
            let (address, token_address) = (it.swap.address, it.swap.given_token);
            let sink = sinks
                .entry((address, token_address))
                .or_insert_with(|| TaintSink {
                    address,
                    token_address,
                    token_standard: match token_address {
                        Some(_) => TokenStandard::Erc20,
                        None => TokenStandard::Native,
                    },
                    token_id: None,
                    amount: AmountSum::ZERO,
                    end: TaintEnd::Swapped,
                    hop: it.hop,
                    transfers: 0,
                    first_block: it.block_number,
                    last_block: it.block_number,
                });
            sink.amount += it.tainted_given;
            sink.hop = sink.hop.min(it.hop);
            sink.transfers += 1;
            sink.last_block = it.block_number;
        }
        sinks.into_values()
    }
}

impl Pot {
    /// Returns the parts of what came back: the share of what was sent.
    fn give_back(&mut self, value: U256) -> Vec<Part> {
        let sent = self.swap.sent;
        let mut back = Vec::new();
        for (source, amount, hop) in &mut self.parts {
            let share = share(*amount, value, sent).min(*amount);
            if !share.is_zero() {
                *amount -= share;
                // It was there before.
                back.push((*source, share, hop.saturating_sub(1)));
            }
        }
        back
    }

    /// Divides what was got. Returns the transfers that brought it, with their tainted parts, and the
    /// swap, if a part is tainted.
    fn finish(
        mut self,
        (block_number, transaction_index): Place,
    ) -> (Vec<Arrived>, Option<TaintedSwap>) {
        self.parts.sort_unstable_by_key(|part| (part.0, part.2));
        let Swap { given, got, .. } = self.swap;
        // Each source has its share rounded down from the sum until it, so that the rest is less than
        // one unit.
        let (mut given_sum, mut got_sum) = (AmountSum::ZERO, U256::ZERO);
        let mut parts = Vec::with_capacity(self.parts.len());
        for &(source, amount, hop) in &self.parts {
            given_sum += widen(amount);
            let until = share(given_sum.min(widen(given)).saturating_to(), got, given);
            parts.push((source, until - got_sum, hop));
            got_sum = until;
        }
        // The first transfers bring the tainted parts.
        let mut parts = parts
            .into_iter()
            .filter(|part| !part.1.is_zero())
            .peekable();
        let mut tainted_got = AmountSum::ZERO;
        for (transfer, own, got) in &mut self.arrived {
            let others = own.iter().map(|part| widen(part.1)).sum::<AmountSum>();
            let mut room = transfer.value.saturating_sub(others.saturating_to());
            while let Some(part) = parts.peek_mut().filter(|_| !room.is_zero()) {
                let amount = part.1.min(room);
                got.push((part.0, amount, part.2));
                room -= amount;
                tainted_got += widen(amount);
                part.1 -= amount;
                if part.1.is_zero() {
                    parts.next();
                }
            }
        }
        let done = self
            .parts
            .iter()
            .map(|part| part.2)
            .min()
            .map(|hop| TaintedSwap {
                block_number,
                transaction_index,
                swap: self.swap,
                tainted_given: given_sum,
                tainted_got,
                hop,
            });
        (self.arrived, done)
    }
}

impl Taint {
    /// Lists the swaps in these transactions in which a sender of tainted tokens gave them. For a result
    /// that does not follow swaps: its amounts stay the same.
    pub fn list_swaps(&mut self, nettings: &Nettings) {
        let mut sent = BTreeMap::<_, Vec<&TaintRow>>::new();
        for row in &self.rows {
            let place = row.transfer.transaction();
            if row.transfer.token_standard.is_fungible() && nettings.contains_key(&place) {
                sent.entry(place).or_default().push(row);
            }
        }
        for ((block_number, transaction_index), rows) in sent {
            let Netting {
                swaps, unresolved, ..
            } = &nettings[&(block_number, transaction_index)];
            for swap in swaps {
                let given = rows.iter().filter(|row| {
                    let it = &row.transfer;
                    (it.from_address, it.token_address) == (swap.address, swap.given_token)
                        && !swap.paid.contains(&it.to_address)
                });
                let amount: AmountSum = given.clone().map(|row| widen(row.amount)).sum();
                let Some(hop) = given.map(|row| row.hop - 1).min() else {
                    continue;
                };
                // What came back is not given.
                let sent = amount.min(widen(swap.sent)).saturating_to();
                let tainted = share(sent, swap.given, swap.sent);
                self.swaps.push(TaintedSwap {
                    block_number,
                    transaction_index,
                    tainted_given: widen(tainted),
                    tainted_got: widen(share(tainted, swap.got, swap.given)),
                    swap: swap.clone(),
                    hop,
                });
            }
            let sends = |address: &&Address| {
                rows.iter()
                    .any(|row| row.transfer.from_address == **address)
            };
            self.unresolved_swaps += unresolved.iter().filter(sends).count() as u64;
        }
    }
}
