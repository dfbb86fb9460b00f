//! Follows amounts: which part of what some addresses sent is where at the end of a range.
//!
//! Tokens of one contract are interchangeable. So a rule decides which of the tokens that an
//! account holds leave first ([`TaintMethod`]). The rules come from accounting and from courts:
//!
//! - *first in, first out*: an account is a queue of lots;
//! - *last in, first out*: an account is a stack of lots;
//! - *haircut*: every transfer takes the same share of each lot. Amounts are integers: each lot
//!   gives its share rounded down, and the units that remain come from the lots with the largest
//!   remainders, of equals the lot of the earlier source, untainted tokens last;
//! - *poison*: everything that leaves an account after a tainted token arrived is tainted. Amounts
//!   are upper bounds, and what arrives at one address may have several sources.
//!
//! The transfers of the roots are the *sources*. What comes back to a root ends there, because it
//! is part of a later source. If only some tokens of a root are sources, it is followed in the others like
//! any address: a root may swap what is tainted itself. Each account has a balance in each token, which includes tokens that
//! are not tainted. Except for poison, the amounts of the sources add up to the amounts of the ends,
//! exactly.
//!
//! With [`TaintTracker::with_swaps`], the tainted share of what an address gives in a [`Swap`](txgraph_graph::Swap)
//! ends there, and becomes the same share of what it gets. So the ends of a token add up to its sources and
//! what was got for other tokens.
//!
//! *Execution* is a haircut, except for contracts whose code was traced ([`TaintTracker::with_flows`]): the storage
//! slots that an amount was taken from decide which parts leave.

use crate::{
    serial::{decimal, optional_decimal},
    transfer_json,
};
use account_lots::AccountLots;
use alloy_primitives::{Address, U256, map::HashMap};
use claims::{Claims, PaidBy};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use swaps::{Arrival, Swaps};
use txgraph_base::string_enum;
use txgraph_graph::{AmountSum, Nettings, widen};
use txgraph_transfers::{AmountFlows, TokenFilter, TokenStandard, Transfer};

mod account_lots;
#[cfg(test)]
mod claim_tests;
mod claims;
#[cfg(test)]
mod swap_tests;
mod swaps;
mod tables;
#[cfg(test)]
mod tests;

pub use claims::TaintedSlot;
pub use swaps::TaintedSwap;

/// A transaction: see [`Transfer::transaction`].
type Place = (u64, u32);

string_enum! {
    /// The order in which the tokens of an account leave.
    #[derive(Default)]
    pub enum TaintMethod: "method" {
        /// The tokens that arrived first.
        #[default]
        Fifo = "fifo",
        /// The tokens that arrived last.
        Lifo = "lifo",
        /// The same share of all.
        Haircut = "haircut",
        /// All that leaves after a tainted token arrived is tainted.
        Poison = "poison",
        /// The same share of all, except from contracts: there, storage decides whose tokens leave.
        Execution = "execution",
    }
}

string_enum! {
    /// Why tainted tokens are not followed beyond an address.
    pub enum TaintEnd: "end of tainted tokens" {
        /// They are still there after the last block.
        Held = "held",
        /// They left the address in a way that was not read: at the end it has fewer tokens than
        /// the transfers show.
        LeftUnseen = "left_unseen",
        /// They came back to a root.
        Returned = "returned",
        /// The address has too many counterparties.
        Hub = "hub",
        /// The address is in the stop list.
        StopList = "stop_list",
        /// The address is at the last hop.
        LastHop = "last_hop",
        /// They were given for another token in the same transaction.
        Swapped = "swapped",
        /// They were burnt: sent to the zero address.
        Burnt = "burnt",
        /// A limit of the search was reached.
        Limit = "limit",
    }
}

string_enum! {
    /// How a transfer carries tainted tokens.
    pub enum TaintRule: "rule" {
        /// From the sender to the receiver.
        Transfer = "transfer",
        /// From the sender, a contract, whose storage says whose it is.
        Slot = "slot",
        /// From the sender, a contract that was paid it in the same transaction.
        PassedOn = "passed_on",
        /// From the sender, a contract whose code does not say whose it is: the same share of all.
        Undecided = "undecided",
        /// From the sender, who gives it in a swap.
        Given = "given",
        /// Back to who gave it in a swap.
        CameBack = "came_back",
        /// To the receiver, who gets it in a swap.
        Got = "got",
    }
}

/// One kind of token: the contract, and the id for standards with ids.
type Token = (Option<Address>, TokenStandard, Option<U256>);

/// The tainted part of a transfer that comes from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaintRow {
    /// The transfer.
    #[serde(flatten, serialize_with = "transfer_json::transfer")]
    pub transfer: Transfer,
    /// The index of the source in [`Taint::sources`](field@Taint::sources); the earliest one for
    /// poison. In JSON, as in tables, its number from 1.
    #[serde(serialize_with = "numbered")]
    pub source: usize,
    /// The tainted amount, smallest unit.
    #[serde(serialize_with = "decimal")]
    pub amount: U256,
    /// The number of transfers from the root to here, this one included.
    pub hop: u32,
    /// How the transfer carries it.
    pub rule: TaintRule,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn numbered<S: Serializer>(source: &usize, out: S) -> Result<S::Ok, S::Error> {
    (source + 1).serialize(out)
}

/// Tainted tokens that are at one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaintSink {
    /// The address.
    pub address: Address,
    /// Token contract; absent for the native coin.
    pub token_address: Option<Address>,
    /// The standard of the token.
    pub token_standard: TokenStandard,
    /// The id, for standards with ids.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "optional_decimal"
    )]
    pub token_id: Option<U256>,
    /// The amount, smallest unit. For poison, all that arrived as tainted, or the balance if that is less.
    #[serde(serialize_with = "decimal")]
    pub amount: AmountSum,
    /// Why it is not followed further.
    pub end: TaintEnd,
    /// The smallest number of transfers from a root.
    pub hop: u32,
    /// The number of tainted transfers that brought it; for [`TaintEnd::Held`], all that arrived.
    pub transfers: u64,
    /// Block of the first of them.
    pub first_block: u64,
    /// Block of the last of them.
    pub last_block: u64,
}

/// Where the tokens of some addresses went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// The rule.
    pub method: TaintMethod,
    /// The transfers of the roots, in order. Their whole amounts are tainted.
    pub sources: Vec<Transfer>,
    /// The tainted parts of all transfers, in order, then by source. Transfers of roots are
    /// included.
    pub rows: Vec<TaintRow>,
    /// Where the tokens are: by token, then amount, largest first, then address.
    pub ends: Vec<TaintSink>,
    /// Swaps of tainted tokens, in order. If they are not followed, those that
    /// [`list_swaps`](Self::list_swaps) found.
    pub swaps: Vec<TaintedSwap>,
    /// Whether tokens are followed into those that they are swapped for.
    pub follows_swaps: bool,
    /// Cases in which an address gave tainted tokens and got others, but it is not known what for what.
    /// They are followed to the receivers.
    pub unresolved_swaps: u64,
    /// Transfers that moved more than the account is known to have had. The excess counts as not
    /// tainted.
    pub unexplained: u64,
    /// Accounts whose balance before the range is not known. Only what they received since counts.
    pub unknown_balances: u64,
    /// Held amounts that were not compared with the balance after the last block.
    pub uncompared: u64,
    /// Storage slots with tainted parts at the end, by contract and slot; none unless the method is
    /// [`TaintMethod::Execution`].
    pub slots: Vec<TaintedSlot>,
    /// Payments of contracts that took more than was left of what is not tainted, or belongs to whom the
    /// storage says. The rest was taken as a haircut.
    pub beyond_slots: u64,
}

impl Taint {
    /// Compares what is held with the balances after the last block. What an address does not have
    /// is moved to [`TaintEnd::LeftUnseen`], so the sums stay the same; amounts of
    /// [`TaintMethod::Poison`] are upper bounds, which the balance lowers. `balance` returns the
    /// balance in an ERC-20 token or the native coin (`None`), if it is known.
    pub fn compare(&mut self, balance: impl Fn(Address, Option<Address>) -> Option<U256>) {
        let mut unseen = Vec::new();
        self.uncompared = 0;
        for sink in self.ends.iter_mut().filter(|it| it.is_compared()) {
            match balance(sink.address, sink.token_address) {
                None => self.uncompared += 1,
                Some(balance) => {
                    let held = sink.amount.min(widen(balance));
                    if self.method != TaintMethod::Poison {
                        unseen.push(TaintSink {
                            amount: sink.amount - held,
                            end: TaintEnd::LeftUnseen,
                            ..sink.clone()
                        });
                    }
                    sink.amount = held;
                }
            }
        }
        self.ends.extend(unseen);
        self.ends.retain(|sink| !sink.amount.is_zero());
        self.sort_ends();
    }

    /// By token, then amount, largest first, then address.
    fn sort_ends(&mut self) {
        self.ends.sort_unstable_by(|a, b| {
            let token = |end: &TaintSink| (end.token_address, end.token_standard, end.token_id);
            (token(a).cmp(&token(b)))
                .then_with(|| b.amount.cmp(&a.amount))
                .then_with(|| (a.address, a.end).cmp(&(b.address, b.end)))
        });
    }
}

impl TaintSink {
    /// Whether its amount is compared with the balance after the last block.
    pub fn is_compared(&self) -> bool {
        self.token_standard.is_fungible() && self.end == TaintEnd::Held
    }
}

/// The token of a transfer.
const fn token_of(transfer: &Transfer) -> Token {
    (
        transfer.token_address,
        transfer.token_standard,
        transfer.token_id,
    )
}

/// A tainted part of an amount: the index of its source, the amount, and the hop.
type Part = (usize, U256, u32);

/// Returns why an address is not followed.
type End<'a> = dyn Fn(&Address) -> Option<TaintEnd> + 'a;

/// Returns the balance of an address in a token.
type Opening<'a> = dyn FnMut(Address, Option<Address>) -> Option<U256> + 'a;

/// An account of one token.
#[derive(Default)]
struct Account {
    received: AmountSum,
    sent: AmountSum,
    /// The balance, as far as the transfers show: it is never below zero.
    balance: U256,
    /// Present since the first tainted token arrived.
    lots: Option<AccountLots>,
    arrivals: Option<Arrivals>,
}

/// Tainted transfers to an account.
#[derive(Clone, Copy)]
struct Arrivals {
    amount: AmountSum,
    hop: u32,
    transfers: u64,
    first_block: u64,
    last_block: u64,
}

/// Follows amounts through transfers in their order.
#[expect(missing_debug_implementations, reason = "it has a function")]
pub struct TaintTracker<'a> {
    method: TaintMethod,
    end: Box<End<'a>>,
    /// The balance of an address in a token before the first block; `None` if it is not known.
    opening: Box<Opening<'a>>,
    accounts: HashMap<(Address, Token), Account>,
    sources: Vec<Transfer>,
    rows: Vec<TaintRow>,
    unexplained: u64,
    unknown_balances: u64,
    swaps: Option<Swaps>,
    /// The tokens of roots that are sources.
    source_tokens: TokenFilter,
    claims: Option<Claims>,
    /// The contracts whose code was traced.
    contracts: BTreeSet<Address>,
    beyond_slots: u64,
}

impl<'a> TaintTracker<'a> {
    /// A tracker. `end` returns why an address is not followed, and [`TaintEnd::Returned`] for the
    /// roots. `opening` returns the balance of an address in an ERC-20 token or
    /// the native coin (`None`) before the first block, if it is known.
    pub fn new(
        method: TaintMethod,
        end: impl Fn(&Address) -> Option<TaintEnd> + 'a,
        opening: impl FnMut(Address, Option<Address>) -> Option<U256> + 'a,
    ) -> Self {
        Self {
            method,
            end: Box::new(end),
            opening: Box::new(opening),
            accounts: HashMap::default(),
            sources: Vec::new(),
            rows: Vec::new(),
            unexplained: 0,
            unknown_balances: 0,
            swaps: None,
            source_tokens: TokenFilter::default(),
            claims: None,
            contracts: BTreeSet::new(),
            beyond_slots: 0,
        }
    }

    /// Pays from these contracts as the code of these transactions did (block and index). For
    /// [`TaintMethod::Execution`].
    #[must_use]
    pub fn with_flows(
        mut self,
        flows: BTreeMap<(u64, u32), AmountFlows>,
        contracts: BTreeSet<Address>,
    ) -> Self {
        self.claims = Some(Claims::new(flows));
        self.contracts = contracts;
        self
    }

    /// Follows tokens through swaps in transactions (block and index). The sources are the transfers of
    /// `tokens` only.
    #[must_use]
    pub fn with_swaps(mut self, known: Nettings, tokens: TokenFilter) -> Self {
        self.swaps = Some(Swaps::new(known));
        self.source_tokens = tokens;
        self
    }

    /// Takes the next transfer. All transfers of the addresses that are followed must come, in
    /// their order; others do no harm.
    pub fn add(&mut self, transfer: &Transfer) {
        let (from, to) = (transfer.from_address, transfer.to_address);
        if from == to || transfer.value.is_zero() {
            return;
        }
        let token = token_of(transfer);
        self.begin_transaction(Some(transfer));
        let paid = self
            .claims
            .as_mut()
            .and_then(|claims| claims.pay(transfer, token));
        let rule = match &paid {
            None if self.contracts.contains(&from) => TaintRule::Undecided,
            None => TaintRule::Transfer,
            Some((_, PaidBy::Slot)) => TaintRule::Slot,
            Some((_, PaidBy::Received)) => TaintRule::PassedOn,
        };
        let tainted = match self.end_of(&(from, token)) {
            Some(TaintEnd::Returned) => {
                self.sources.push(transfer.clone());
                vec![(self.sources.len() - 1, transfer.value, 0)]
            }
            Some(_) => Vec::new(),
            None => self.send((from, token), transfer.value, paid.map(|(parts, _)| parts)),
        };
        let (is_given, arrival) = match &mut self.swaps {
            Some(swaps) => swaps.take(transfer, &tainted),
            None => (false, Arrival::All),
        };
        if is_given {
            self.note(transfer, &tainted, TaintRule::Given);
        }
        match arrival {
            Arrival::All => {
                self.note(transfer, &tainted, rule);
                self.receive((to, token), transfer, &tainted);
            }
            Arrival::Nothing => self.receive((to, token), transfer, &[]),
            Arrival::Returned(parts) => {
                self.note(transfer, &parts, TaintRule::CameBack);
                self.receive((to, token), transfer, &parts);
            }
            Arrival::Later if is_given => {}
            Arrival::Later => self.note(transfer, &tainted, rule),
        }
    }

    /// Why tokens are not followed beyond an address.
    fn end_of(&self, of: &(Address, Token)) -> Option<TaintEnd> {
        let (address, (token, ..)) = of;
        (self.end)(address)
            .filter(|end| *end != TaintEnd::Returned || self.source_tokens.matches(token.as_ref()))
    }

    /// Adds tainted parts of a transfer to the rows.
    fn note(&mut self, transfer: &Transfer, parts: &[Part], rule: TaintRule) {
        let row = |&(source, amount, hop): &Part| TaintRow {
            transfer: transfer.clone(),
            source,
            amount,
            hop: hop + 1,
            rule,
        };
        self.rows.extend(parts.iter().map(row));
    }

    /// Delivers what was got in the swaps of the transaction before, if `next` is in another one.
    fn begin_transaction(&mut self, next: Option<&Transfer>) {
        let delivered = self.swaps.as_mut().map(|swaps| swaps.begin(next));
        for (transfer, mut parts, got) in delivered.unwrap_or_default() {
            self.note(&transfer, &got, TaintRule::Got);
            parts.extend(got);
            parts.sort_unstable_by_key(|part| (part.0, part.2));
            let account = (transfer.to_address, token_of(&transfer));
            self.receive(account, &transfer, &parts);
        }
        if let Some(claims) = &mut self.claims {
            claims.begin(next.map(Transfer::transaction));
        }
    }

    /// The tainted parts of transfers so far.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Takes an amount out of an account, with the parts that a contract pays if they are known. Returns
    /// the tainted parts: source, amount and hop.
    fn send(&mut self, of: (Address, Token), value: U256, paid: Option<Vec<Part>>) -> Vec<Part> {
        let account = self.accounts.entry(of).or_default();
        account.sent += widen(value);
        account.balance = account.balance.saturating_sub(value);
        let Some(lots) = &mut account.lots else {
            return Vec::new();
        };
        let (tainted, is_whole) = match paid {
            None => lots.take(self.method, value),
            Some(parts) => {
                let taken = lots.take_parts(value, &parts);
                self.beyond_slots += u64::from(taken.is_beyond);
                (taken.tainted, taken.is_whole)
            }
        };
        self.unexplained += u64::from(!is_whole);
        tainted
    }

    /// Puts an amount into an account, with its tainted parts.
    fn receive(&mut self, of: (Address, Token), transfer: &Transfer, tainted: &[Part]) {
        if let Some(claims) = &mut self.claims {
            claims.receive(transfer, of.1, tainted);
        }
        let value = transfer.value;
        let is_followed = self.end_of(&of).is_none();
        // At an end, only tainted amounts count.
        if !is_followed && tainted.is_empty() {
            return;
        }
        let account = self.accounts.entry(of).or_default();
        if !tainted.is_empty() && account.arrivals.is_none() && is_followed {
            // What it had before is not tainted, and older than what arrives now.
            let (address, (token, standard, _)) = of;
            let is_counted = standard.is_fungible();
            let opening = is_counted.then(|| (self.opening)(address, token)).flatten();
            let matters = is_counted && self.method != TaintMethod::Poison;
            self.unknown_balances += u64::from(matters && opening.is_none());
            let before = match opening {
                Some(opening) => (widen(opening) + account.received)
                    .saturating_sub(account.sent)
                    .saturating_to(),
                None => account.balance,
            };
            account.lots = Some(AccountLots::untainted(before));
        }
        account.received += widen(value);
        account.balance = account.balance.saturating_add(value);
        if let Some(lots) = &mut account.lots {
            lots.put(value, tainted);
        }
        let Some(hop) = tainted.iter().map(|(.., hop)| hop + 1).min() else {
            return;
        };
        let amount = tainted.iter().map(|(_, amount, _)| widen(*amount)).sum();
        let block = transfer.block_number;
        match &mut account.arrivals {
            Some(arrivals) => {
                arrivals.amount += amount;
                arrivals.hop = arrivals.hop.min(hop);
                arrivals.transfers += 1;
                arrivals.last_block = block;
            }
            none => {
                *none = Some(Arrivals {
                    amount,
                    hop,
                    transfers: 1,
                    first_block: block,
                    last_block: block,
                });
            }
        }
    }

    /// Returns the result.
    pub fn finish(mut self) -> Taint {
        self.begin_transaction(None);
        let method = self.method;
        let swaps = self.swaps.take();
        let follows_swaps = swaps.is_some();
        if follows_swaps {
            // What was got was noted at the end of its transaction.
            self.rows
                .sort_by_key(|row| (row.transfer.position(), row.rule, row.source));
        }
        let swaps = swaps.unwrap_or_default();
        let accounts = std::mem::take(&mut self.accounts);
        let held = |(of, account): ((Address, Token), Account)| {
            let (address, (token_address, token_standard, token_id)) = of;
            let arrivals = account.arrivals?;
            let (end, amount) = match (self.end_of(&of), &account.lots) {
                (None, Some(lots)) if method != TaintMethod::Poison => {
                    (TaintEnd::Held, lots.tainted())
                }
                (end, _) => (end.unwrap_or(TaintEnd::Held), arrivals.amount),
            };
            (!amount.is_zero()).then_some(TaintSink {
                address,
                token_address,
                token_standard,
                token_id,
                amount,
                end,
                hop: arrivals.hop,
                transfers: arrivals.transfers,
                first_block: arrivals.first_block,
                last_block: arrivals.last_block,
            })
        };
        let mut ends: Vec<_> = accounts.into_iter().filter_map(held).collect();
        ends.extend(swaps.sinks());
        let mut taint = Taint {
            method,
            sources: self.sources,
            rows: self.rows,
            uncompared: ends.iter().filter(|it| it.is_compared()).count() as u64,
            ends,
            swaps: swaps.done,
            follows_swaps,
            unresolved_swaps: swaps.unresolved,
            unexplained: self.unexplained,
            unknown_balances: self.unknown_balances,
            slots: self.claims.map_or_else(Vec::new, Claims::tainted),
            beyond_slots: self.beyond_slots,
        };
        taint.sort_ends();
        taint
    }
}
