//! Swaps: the tainted share of what an address gives becomes the same share of what it gets.

use super::{Part, Place, Taint, TaintEnd, TaintRow, TaintSink, account_lots::share};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_graph::{AmountSum, Nettings, Swap, parties, widen};
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

impl TaintedSwap {
    /// The block, and the index of the transaction there.
    pub(super) const fn place(&self) -> Place {
        (self.block_number, self.transaction_index)
    }
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

/// A trade of one address during its transaction: the parts that it gave so far, and what was got for them.
#[derive(Debug)]
struct Pot {
    address: Address,
    given_token: Option<Address>,
    got_token: Option<Address>,
    parts: Vec<Part>,
    /// One swap for each address that gets something, with what arrived there.
    swaps: Vec<(Swap, Vec<Arrived>)>,
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
        let known = known.unwrap_or_default();
        self.pots = known.by_giver().filter_map(Pot::new).collect();
        self.unclear = known.unresolved.into_iter().collect();
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
        let gives = |pot: &&mut Pot| pot.gives(transfer);
        let giver = self.pots.iter_mut().find(gives);
        let is_given = giver.is_some();
        if let Some(pot) = giver {
            pot.parts.extend_from_slice(parts);
        }
        let arriving = if is_given { &[] } else { parts };
        // What is got, or comes back.
        let concerns = |pot: &&mut Pot| {
            pot.gets(transfer).is_some() || (pot.address == to && pot.given_token == token)
        };
        let arrival = match self.pots.iter_mut().find(concerns) {
            // It also is what the other side of the swap gave.
            Some(pot) if let Some(at) = pot.gets(transfer) => {
                let arrived = (transfer.clone(), arriving.to_vec(), Vec::new());
                pot.swaps[at].1.push(arrived);
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
        // Several addresses can have got what one gave.
        let is_same = |one: &TaintedSwap, next: &TaintedSwap| {
            let giver = |it: &TaintedSwap| (it.place(), it.swap.address);
            giver(one) == giver(next)
        };
        for of_giver in self.done.chunk_by(is_same) {
            let it = &of_giver[0];
            let (address, token_address) = (it.swap.address, it.swap.given_token);
            let sink = sinks
                .entry((address, token_address))
                .or_insert_with(|| TaintSink {
                    address,
                    token_address,
                    token_standard: TokenStandard::of_fungible(token_address),
                    token_id: None,
                    amount: AmountSum::ZERO,
                    end: TaintEnd::Swapped,
                    hop: it.hop,
                    transfers: 0,
                    first_block: it.block_number,
                    last_block: it.block_number,
                });
            sink.amount += of_giver
                .iter()
                .map(|it| it.tainted_given)
                .sum::<AmountSum>();
            sink.hop = sink.hop.min(it.hop);
            sink.transfers += 1;
            sink.last_block = it.block_number;
        }
        sinks.into_values()
    }
}

impl Pot {
    /// The pot of the swaps of one address.
    fn new(swaps: &[Swap]) -> Option<Self> {
        let one = swaps.first()?;
        let swaps = swaps.iter().map(|swap| (swap.clone(), Vec::new()));
        Some(Self {
            address: one.address,
            given_token: one.given_token,
            got_token: one.got_token,
            parts: Vec::new(),
            swaps: swaps.collect(),
        })
    }

    /// Whether a transfer pays for what is got.
    fn gives(&self, transfer: &Transfer) -> bool {
        (transfer.from_address, transfer.token_address) == (self.address, self.given_token)
            && !self.swaps[0].0.paid.contains(&transfer.to_address)
    }

    /// The number of the swap whose receiver gets this transfer.
    fn gets(&self, transfer: &Transfer) -> Option<usize> {
        let (_, to) = parties(transfer).filter(|_| transfer.token_address == self.got_token)?;
        self.swaps.iter().position(|(swap, _)| swap.to == to)
    }

    /// Returns the parts of what came back: the share of what was sent.
    fn give_back(&mut self, value: U256) -> Vec<Part> {
        let sent = self.swaps[0].0.sent;
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
    /// swaps, if a part is tainted.
    fn finish(
        mut self,
        (block_number, transaction_index): Place,
    ) -> (Vec<Arrived>, Vec<TaintedSwap>) {
        self.parts.sort_unstable_by_key(|part| (part.0, part.2));
        let given: U256 = self.swaps.iter().map(|(swap, _)| swap.given).sum();
        let tainted: AmountSum = self.parts.iter().map(|part| widen(part.1)).sum();
        let hop = self.parts.iter().map(|part| part.2).min();
        let divided = divide(tainted, self.swaps.iter().map(|(swap, _)| swap.given));
        let (mut all_arrived, mut done) = (Vec::new(), Vec::new());
        for ((swap, mut arrived), tainted_given) in self.swaps.into_iter().zip(divided) {
            let tainted_got = deliver(&mut arrived, got_parts(&self.parts, swap.got, given));
            all_arrived.extend(arrived);
            done.extend(hop.map(|hop| TaintedSwap {
                block_number,
                transaction_index,
                swap,
                tainted_given,
                tainted_got,
                hop,
            }));
        }
        (all_arrived, done)
    }
}

/// The parts of what one address got that the parts of what was given became. Each source has its share
/// rounded down from the sum until it, so that the rest is less than one unit.
fn got_parts(parts: &[Part], got: U256, given: U256) -> Vec<Part> {
    let (mut given_sum, mut got_sum) = (AmountSum::ZERO, U256::ZERO);
    let parts = parts.iter().map(|&(source, amount, hop)| {
        given_sum += widen(amount);
        let until = share(given_sum.min(widen(given)).saturating_to(), got, given);
        let part = (source, until - got_sum, hop);
        got_sum = until;
        part
    });
    parts.filter(|part| !part.1.is_zero()).collect()
}

/// Puts parts into the transfers that bring them, the first ones first. Returns their sum.
fn deliver(arrived: &mut [Arrived], parts: Vec<Part>) -> AmountSum {
    let mut parts = parts.into_iter().peekable();
    let mut sum = AmountSum::ZERO;
    for (transfer, own, got) in arrived {
        let others = own.iter().map(|part| widen(part.1)).sum::<AmountSum>();
        let mut room = transfer.value.saturating_sub(others.saturating_to());
        while let Some(part) = parts.peek_mut().filter(|_| !room.is_zero()) {
            let amount = part.1.min(room);
            got.push((part.0, amount, part.2));
            room -= amount;
            sum += widen(amount);
            part.1 -= amount;
            if part.1.is_zero() {
                parts.next();
            }
        }
    }
    sum
}

/// Divides a tainted amount in proportion to what was given in each swap. The sum of the first parts is
/// rounded down, so all of them add up to the amount, and none is larger than what was given.
fn divide(
    tainted: AmountSum,
    given: impl ExactSizeIterator<Item = U256> + Clone,
) -> Vec<AmountSum> {
    let (count, whole) = (given.len(), given.clone().sum());
    let (mut given_until, mut until) = (U256::ZERO, AmountSum::ZERO);
    let parts = (1..).zip(given).map(|(number, given)| {
        given_until += given;
        let before = until;
        // Amounts of poison can be more than was given.
        until = match number == count {
            true => tainted,
            false => widen(share(tainted.saturating_to(), given_until, whole)),
        };
        until - before
    });
    parts.collect()
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
            let netting = &nettings[&(block_number, transaction_index)];
            for swaps in netting.by_giver() {
                let one = &swaps[0];
                let given = rows.iter().filter(|row| {
                    let it = &row.transfer;
                    (it.from_address, it.token_address) == (one.address, one.given_token)
                        && !one.paid.contains(&it.to_address)
                });
                let amount: AmountSum = given.clone().map(|row| widen(row.amount)).sum();
                let Some(hop) = given.map(|row| row.hop - 1).min() else {
                    continue;
                };
                let given = swaps.iter().map(|swap| swap.given);
                let whole = given.clone().sum();
                // What came back is not given.
                let sent = amount.min(widen(one.sent)).saturating_to();
                let tainted = share(sent, whole, one.sent);
                for (swap, tainted_given) in swaps.iter().zip(divide(widen(tainted), given)) {
                    self.swaps.push(TaintedSwap {
                        block_number,
                        transaction_index,
                        tainted_given,
                        tainted_got: widen(share(tainted, swap.got, whole)),
                        swap: swap.clone(),
                        hop,
                    });
                }
            }
            let sends = |address: &&Address| {
                rows.iter()
                    .any(|row| row.transfer.from_address == **address)
            };
            self.unresolved_swaps += netting.unresolved.iter().filter(sends).count() as u64;
        }
    }
}
