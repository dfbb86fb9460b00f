//! The rules, written again as searches over a whole list, to compare with.

mod drainers;

use super::{
    finding::{Pattern, WINDOW},
    history::History,
};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_transfers::{Kind, Transfer};

/// A finding: its addresses, and the positions of its transfers in the list with their roles.
pub(super) type Plain = (
    Pattern,
    Address,
    Option<Address>,
    Vec<(usize, &'static str)>,
);

/// The list, with the rules as searches over all of it.
pub(super) struct List<'a>(pub(super) &'a [Transfer]);

impl List<'_> {
    /// Every address with every token.
    fn accounts(&self) -> BTreeSet<(Address, Option<Address>)> {
        let ends = self.0.iter();
        let ends = ends.flat_map(|it| {
            [it.from_address, it.to_address].map(|address| (address, it.token_address))
        });
        ends.filter(|(address, _)| !address.is_zero()).collect()
    }

    /// The transfers of an amount between an account and others.
    fn of(&self, (address, token): (Address, Option<Address>)) -> Vec<usize> {
        let is_of = |it: &Transfer| {
            it.token_address == token
                && !it.value.is_zero()
                && it.from_address != it.to_address
                && [it.from_address, it.to_address].contains(&address)
        };
        (0..self.0.len()).filter(|at| is_of(&self.0[*at])).collect()
    }

    fn value(&self, at: usize) -> u128 {
        self.0[at].value.to()
    }

    fn block(&self, at: usize) -> u64 {
        self.0[at].block_number
    }

    /// Whether the address at one end of a transfer has more (`true`) or less of another token after the
    /// transaction.
    fn has_other(&self, at: usize, address: Address, more: bool) -> bool {
        let transfer = &self.0[at];
        let together = (self.0.iter()).filter(|it| it.transaction() == transfer.transaction());
        let mut changes: BTreeMap<Option<Address>, i128> = BTreeMap::new();
        for it in together {
            let value: i128 = it.value.to();
            // The contract of a token mints and burns it.
            let is_at = |end: Address| {
                let contract = it.token_address;
                let contract = contract.filter(|it| end.is_zero() && self.is_known(*it));
                contract.unwrap_or(end) == address
            };
            let change = i128::from(is_at(it.to_address)) - i128::from(is_at(it.from_address));
            *changes.entry(it.token_address).or_default() += change * value;
        }
        changes.remove(&transfer.token_address);
        changes
            .values()
            .any(|change| if more { *change > 0 } else { *change < 0 })
    }

    /// Whether an address is in any of the transfers.
    fn is_known(&self, address: Address) -> bool {
        let mut all = self.0.iter();
        all.any(|it| [it.from_address, it.to_address].contains(&address))
    }

    fn is_bought(&self, at: usize) -> bool {
        self.has_other(at, self.0[at].to_address, false)
    }

    fn is_trade(&self, at: usize) -> bool {
        self.is_bought(at) || self.has_other(at, self.0[at].from_address, true)
    }

    /// Whether four different ends are within a window that begins at some transfer.
    fn are_close(&self, all: &[usize], end: impl Fn(usize) -> Address) -> bool {
        all.iter().any(|first| {
            let is_near = |at: &&usize| {
                let (first, at) = (self.block(*first), self.block(**at));
                (first..=first + WINDOW).contains(&at)
            };
            let near: BTreeSet<Address> = all.iter().filter(is_near).map(|at| end(*at)).collect();
            near.len() >= 4
        })
    }

    pub(super) fn peel_chains(&self) -> Vec<Plain> {
        let mut peels = BTreeMap::new();
        for account in self.accounts() {
            let all = self.of(account);
            for paid in all.iter().filter(|at| self.0[**at].to_address == account.0) {
                let is_next =
                    |at: &&usize| *at > paid && self.block(**at) <= self.block(*paid) + WINDOW;
                let next: Vec<usize> = all.iter().filter(is_next).take(8).copied().collect();
                let amount = self.value(*paid);
                let two: Vec<usize> = (next.into_iter())
                    .filter(|at| self.value(*at) * 100 >= amount)
                    .take(2)
                    .collect();
                let [one, two] = two[..] else { continue };
                let sum = self.value(one) + self.value(two);
                let rest = if self.value(one) >= self.value(two) {
                    one
                } else {
                    two
                };
                let is_peel = [one, two].iter().all(|at| {
                    self.0[*at].from_address == account.0 && !self.0[*at].to_address.is_zero()
                }) && self.0[one].to_address != self.0[two].to_address
                    && sum <= amount
                    && sum * 100 >= amount * 98
                    && self.value(rest) * 100 >= amount * 70;
                if is_peel {
                    peels.insert(*paid, (rest, one + two - rest));
                }
            }
        }
        let mut all = Vec::new();
        for paid in peels.keys() {
            if peels.values().any(|(rest, _)| rest == paid) {
                continue;
            }
            let mut evidence = vec![(*paid, "paid")];
            let mut at = *paid;
            while let Some((rest, peeled)) = peels.get(&at) {
                evidence.extend([(*peeled, "peeled"), (*rest, "rest")]);
                at = *rest;
            }
            if evidence.len() > 6 {
                let ends = (self.0[*paid].to_address, Some(self.0[at].to_address));
                evidence.sort_unstable();
                all.push((Pattern::PeelChain, ends.0, ends.1, evidence));
            }
        }
        all.sort();
        all
    }

    pub(super) fn fans(&self) -> Vec<Plain> {
        let mut all = Vec::new();
        for account in self.accounts() {
            for (pattern, role) in [(Pattern::FanIn, "in"), (Pattern::FanOut, "out")] {
                let mut runs: BTreeMap<U256, Vec<Vec<usize>>> = BTreeMap::new();
                for at in self.of(account) {
                    let it = &self.0[at];
                    let is_out = it.from_address == account.0;
                    let other = if is_out {
                        it.to_address
                    } else {
                        it.from_address
                    };
                    if is_out != (role == "out") || other.is_zero() {
                        continue;
                    }
                    let runs = runs.entry(it.value).or_default();
                    match runs.last_mut() {
                        Some(run) if self.block(at) - self.block(run[run.len() - 1]) <= WINDOW => {
                            run.push(at);
                        }
                        _ => runs.push(vec![at]),
                    }
                }
                for run in runs.into_values().flatten() {
                    let transactions: BTreeSet<_> =
                        run.iter().map(|at| self.0[*at].transaction()).collect();
                    let is_close = self.are_close(&run, |at| {
                        let it = &self.0[at];
                        [it.to_address, it.from_address][usize::from(role == "in")]
                    });
                    if is_close && transactions.len() > 1 {
                        let evidence = run.iter().map(|at| (*at, role)).collect();
                        all.push((pattern, account.0, None, evidence));
                    }
                }
            }
        }
        all.sort();
        all
    }

    pub(super) fn sweeps(&self) -> Vec<Plain> {
        type Cluster = Vec<Vec<(usize, &'static str)>>;
        let mut clusters: BTreeMap<(Address, Option<Address>), Cluster> = BTreeMap::new();
        for account in self.accounts() {
            let all = self.of(account);
            let is_out = |at: &usize| self.0[*at].from_address == account.0;
            let outs: Vec<usize> = all.iter().copied().filter(is_out).collect();
            let to: BTreeSet<_> = outs.iter().map(|at| self.0[*at].to_address).collect();
            let from = all
                .iter()
                .filter(|at| !is_out(at))
                .map(|at| self.0[*at].from_address);
            let from: BTreeSet<_> = from.collect();
            let Some(collector) = to.first().filter(|_| to.len() == 1) else {
                continue;
            };
            if collector.is_zero() || from.contains(collector) {
                continue;
            }
            let left_max = if account.1.is_none() {
                10u128.pow(16)
            } else {
                0
            };
            let mut before = None;
            let is_sweep = |out: &usize| {
                let since = |at: &&usize| **at < *out && before.is_none_or(|it| **at > it);
                let ins: Vec<usize> = all.iter().filter(since).copied().collect();
                before = Some(*out);
                let Some((first, last)) = ins.first().zip(ins.last()) else {
                    return false;
                };
                // All that arrived, less all that left.
                let sum = |is_in: bool| {
                    let until = all.iter().filter(|at| *at <= out && is_out(at) != is_in);
                    until.map(|at| self.value(*at)).sum::<u128>()
                };
                let left = sum(true).checked_sub(sum(false));
                left.is_some_and(|left| left <= left_max)
                    && self.block(*out) - self.block(*first) <= 3200
                    && self.0[*last].transaction() != self.0[*out].transaction()
            };
            if outs.iter().all(is_sweep) {
                let role = |at: &usize| (*at, if is_out(at) { "sweep" } else { "deposit" });
                let evidence = all.iter().map(role).collect();
                clusters
                    .entry((*collector, account.1))
                    .or_default()
                    .push(evidence);
            }
        }
        let clusters = clusters.into_iter().filter(|(_, all)| {
            let deposits = all.iter().flatten().filter(|(_, role)| *role == "deposit");
            let senders: BTreeSet<_> = deposits.map(|(at, _)| self.0[*at].from_address).collect();
            all.len() >= 3 && senders.len() >= 2
        });
        let mut all: Vec<Plain> = clusters
            .map(|((collector, _), all)| {
                let mut evidence = all.concat();
                evidence.sort_unstable();
                (Pattern::Sweep, collector, None, evidence)
            })
            .collect();
        all.sort();
        all
    }

    pub(super) fn scatter_gather(&self, history: &History) -> Vec<Plain> {
        type Passed = Vec<(usize, usize)>;
        let mut found: BTreeMap<(Option<Address>, Address, Address), Passed> = BTreeMap::new();
        let mut used = BTreeSet::new();
        // In the order of the accounts' numbers; no out is shared by two accounts.
        for between in history.accounts() {
            let (address, _) = history.address_and_asset(between);
            let address = history.addresses.value(address);
            let Some(first) = history.of(between).first() else {
                continue;
            };
            let all = self.of((address, self.0[*first as usize].token_address));
            let is_paid = |at: &&usize| self.0[**at].to_address == address && !self.is_trade(**at);
            for paid in all.iter().filter(is_paid) {
                let is_next = |at: &&usize| {
                    **at > *paid
                        && self.0[**at].from_address == address
                        && self.0[**at].transaction() != self.0[*paid].transaction()
                        && self.block(**at) - self.block(*paid) <= WINDOW
                        && self.value(**at) <= self.value(*paid)
                        && self.value(**at) * 10 >= self.value(*paid) * 9
                        && !self.is_trade(**at)
                        && !used.contains(*at)
                };
                let from = self.0[*paid].from_address;
                let next = all.iter().find(is_next).filter(|_| !from.is_zero());
                let Some(next) = next.copied() else { continue };
                used.insert(next);
                let to = self.0[next].to_address;
                if to != from && !to.is_zero() {
                    let key = (self.0[next].token_address, from, to);
                    found.entry(key).or_default().push((*paid, next));
                }
            }
        }
        let mut all = Vec::new();
        for ((_, from, to), passed) in found {
            let paid: Vec<usize> = passed.iter().map(|it| it.0).collect();
            if self.are_close(&paid, |at| self.0[at].to_address) {
                let both = |it: &(usize, usize)| [(it.0, "scattered"), (it.1, "gathered")];
                let mut evidence: Vec<_> = passed.iter().flat_map(both).collect();
                evidence.sort_unstable();
                all.push((Pattern::ScatterGather, from, Some(to), evidence));
            }
        }
        all.sort();
        all
    }

    /// All returns of a transfer to its sender without those in `used`: (last transfer, length).
    fn returns(
        &self,
        route: &mut Vec<usize>,
        used: &BTreeSet<usize>,
        out: &mut Vec<(usize, usize)>,
    ) {
        let (first, last) = (route[0], route[route.len() - 1]);
        let at = &self.0[last];
        for next in last + 1..self.0.len() {
            let it = &self.0[next];
            let goes_on = it.from_address == at.to_address
                && it.token_address == at.token_address
                && it.from_address != it.to_address
                && !it.to_address.is_zero()
                && it.transaction() > at.transaction()
                && self.block(next) <= self.block(first) + WINDOW
                && !used.contains(&next)
                && self.value(next) <= self.value(first)
                && self.value(next) * 10 >= self.value(first) * 9
                && !self.is_trade(next);
            if !goes_on {
                continue;
            }
            if it.to_address == self.0[first].from_address {
                out.push((next, route.len() + 1));
            } else if route.len() < 7 {
                route.push(next);
                self.returns(route, used, out);
                route.pop();
            }
        }
    }

    /// Replays the choice of round trips: each is the best return that is left.
    pub(super) fn check_round_trips(&self, trips: Vec<Vec<u32>>) {
        let numbers = trips
            .iter()
            .map(|trip| trip.iter().map(|it| *it as usize).collect());
        let trips: BTreeMap<usize, Vec<usize>> =
            numbers.map(|trip: Vec<usize>| (trip[0], trip)).collect();
        let mut used = BTreeSet::new();
        for first in 0..self.0.len() {
            let it = &self.0[first];
            let is_start = !used.contains(&first)
                && !it.value.is_zero()
                && it.from_address != it.to_address
                && !it.from_address.is_zero()
                && !it.to_address.is_zero()
                && !self.is_trade(first);
            let mut returns = Vec::new();
            if is_start {
                self.returns(&mut vec![first], &used, &mut returns);
            }
            let found = trips.get(&first);
            let best = found.map(|trip| (trip[trip.len() - 1], trip.len()));
            assert_eq!(best, returns.into_iter().min(), "from {first}");
            for two in found.into_iter().flat_map(|trip| trip.windows(2)) {
                assert_eq!(self.0[two[0]].to_address, self.0[two[1]].from_address);
            }
            used.extend(found.into_iter().flatten());
        }
    }

    pub(super) fn mixers(&self) -> Vec<Plain> {
        let mut all = Vec::new();
        for account in self.accounts() {
            let of = self.of(account);
            let (ins, outs): (Vec<usize>, Vec<usize>) = of
                .iter()
                .partition(|at| self.0[**at].to_address == account.0);
            let mut counts: BTreeMap<u128, usize> = BTreeMap::new();
            ins.iter()
                .for_each(|at| *counts.entry(self.value(*at)).or_default() += 1);
            let Some(amount) = counts.iter().map(|(amount, count)| (*count, *amount)).max() else {
                continue;
            };
            let amount = amount.1;
            let mut payouts: BTreeMap<_, Vec<usize>> = BTreeMap::new();
            for at in &outs {
                payouts
                    .entry(self.0[*at].transaction())
                    .or_default()
                    .push(*at);
            }
            let paid = payouts.len();
            let sum = |payout: &Vec<usize>| payout.iter().map(|at| self.value(*at)).sum::<u128>();
            payouts.retain(|_, payout| sum(payout) == amount);
            let deposits: Vec<usize> = ins
                .iter()
                .copied()
                .filter(|at| self.value(*at) == amount)
                .collect();
            let from = |at: &usize| self.0[*at].from_address;
            let depositors: BTreeSet<_> = deposits.iter().map(from).collect();
            let mut evidence: Vec<_> = deposits.iter().map(|at| (*at, "deposit")).collect();
            let mut receivers = BTreeSet::new();
            for payout in payouts.values() {
                let mut largest = payout[0];
                for at in payout {
                    if self.value(*at) > self.value(largest) {
                        largest = *at;
                    }
                }
                receivers.insert(self.0[largest].to_address);
                let role = |at: &usize| (*at, if *at == largest { "payout" } else { "fee" });
                evidence.extend(payout.iter().map(role));
            }
            // After each transaction, as many payouts as deposits at most.
            let is_covered = payouts.keys().all(|until| {
                let before = |at: &&usize| self.0[**at].transaction() <= *until;
                payouts.range(..=until).count() <= deposits.iter().filter(before).count()
            });
            let is_mixer = depositors.len() >= 4
                && receivers.difference(&depositors).count() >= 4
                && is_covered
                && deposits.len() * 10 >= ins.len() * 9
                && payouts.len() * 10 >= paid * 9;
            if is_mixer {
                evidence.sort_unstable();
                all.push((Pattern::Mixer, account.0, None, evidence));
            }
        }
        all.sort();
        all
    }

    pub(super) fn poisoning(&self) -> Vec<Plain> {
        let ends = self
            .0
            .iter()
            .flat_map(|it| [it.from_address, it.to_address]);
        let addresses: BTreeSet<Address> = ends.collect();
        let shown = |it: &Address| {
            let text = alloy_primitives::hex::encode(it);
            (text[..4].to_owned(), text[36..].to_owned())
        };
        let mut all = Vec::new();
        for victim in &addresses {
            for partner in &addresses {
                for other in addresses.iter().filter(|it| *it != partner) {
                    let is_shown = shown(partner) == shown(other) && shown(other).0 != "0000";
                    if is_shown && victim != partner && victim != other {
                        all.extend(self.poisoned(*victim, *partner, *other));
                    }
                }
            }
        }
        all.sort();
        all
    }

    fn poisoned(&self, victim: Address, partner: Address, other: Address) -> Option<Plain> {
        let is_paid = |at: &usize, to: Address| {
            let it = &self.0[*at];
            it.from_address == victim && it.to_address == to && !it.value.is_zero()
        };
        let payments: Vec<usize> = (0..self.0.len())
            .filter(|at| is_paid(at, partner))
            .collect();
        let with = |it: &Transfer| {
            (it.from_address, it.to_address) == (victim, other)
                || (it.from_address, it.to_address) == (other, victim)
        };
        let contacts: Vec<usize> = (0..self.0.len()).filter(|at| with(&self.0[*at])).collect();
        if contacts.first()? < payments.first()? {
            return None;
        }
        let mut evidence = vec![(payments[0], "copied")];
        for at in contacts {
            let same = |paid: &&usize| {
                **paid < at && self.0[**paid].token_address == self.0[at].token_address
            };
            let most = payments
                .iter()
                .filter(same)
                .map(|paid| self.value(*paid))
                .max();
            let value = self.value(at);
            let role = match most {
                _ if value == 0 => "poison",
                None => "poison",
                Some(_) if is_paid(&at, other) => "paid",
                Some(most) if value * 100 < most => "poison",
                Some(_) => continue,
            };
            if role == "paid" && evidence.len() == 1 {
                return None;
            }
            evidence.push((at, role));
        }
        evidence.sort_unstable();
        (evidence.len() > 1).then_some((Pattern::Poisoning, victim, Some(other), evidence))
    }

    pub(super) fn airdrops(&self) -> Vec<Plain> {
        let mut paid: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, it) in self.0.iter().enumerate() {
            let ends = it.from_address != it.to_address && !it.to_address.is_zero();
            let is_free = it.kind != Kind::Withdrawal && !self.is_bought(at);
            if ends && is_free && !it.value.is_zero() {
                let key = (it.transaction(), it.from_address, it.token_address);
                paid.entry(key).or_default().push(at);
            }
        }
        let to = |at: &usize| self.0[*at].to_address;
        let mut all = Vec::new();
        for ((_, from, _), paid) in paid {
            if paid.iter().map(to).collect::<BTreeSet<_>>().len() >= 10 {
                let evidence = paid.iter().map(|at| (*at, "out")).collect();
                all.push((Pattern::Airdrop, from, None, evidence));
            }
        }
        all.sort();
        all
    }
}
