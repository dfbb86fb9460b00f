//! Drainers: a spender takes the tokens of many owners, who had approved it.

use super::{
    finding::{Evidence, Found, Pattern, counted},
    history::{History, transfer},
    movement::Movement,
};
use alloy_primitives::{Address, U256};
use std::collections::{BTreeMap, BTreeSet};
use txgraph_base::Interner;
use txgraph_graph::{AmountSum, SearchError, widen};
use txgraph_transfers::{Kind, Position};

/// The fewest owners.
const VICTIMS: usize = 4;

/// Receivers of a split that a note names.
const SHARES: usize = 3;

pub(super) fn rule() -> String {
    format!(
        "a spender takes tokens of at least {VICTIMS} owners in transactions that they did not \
         sign and in which they get nothing, each after an approval of the owner for the spender \
         in the blocks of the query. The spender signed the transaction, or is the contract that \
         it calls. One address gains tokens in at least half of the transactions. If two or more \
         gain one in a transaction, the loot is split. Services that collect payments look the same"
    )
}

/// An approval of an ERC-20 token: its owner lets a spender take an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpenderApproval {
    /// Its log.
    pub position: Position,
    /// The token.
    pub token: Address,
    /// Whose tokens may be taken.
    pub owner: Address,
    /// Who may take them.
    pub spender: Address,
    /// How much, in the smallest unit. Zero: the approval was revoked.
    pub amount: U256,
}

/// Who signed a transaction, and the account that it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEnds {
    /// Who signed it.
    pub signer: Address,
    /// The account that it calls; `None` for a creation.
    pub called: Option<Address>,
}

/// An approval by numbers. Sorted by these fields in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Granted {
    /// The number of the owner's account.
    account: u32,
    spender: u32,
    position: Position,
    amount: U256,
}

/// Approvals and transactions, which the rule needs besides transfers.
#[derive(Debug, Default)]
pub(super) struct Spenders {
    numbers: Interner<Address>,
    granted: Vec<Granted>,
    /// By block and index.
    transactions: BTreeMap<(u64, u32), TransactionEnds>,
}

/// A transfer that a spender caused.
struct Pull {
    number: u32,
    /// The number of the owner.
    owner: u32,
    asset: u32,
}

impl Spenders {
    /// Keeps an approval if its owner is in a transfer of the token.
    pub(super) fn add(
        &mut self,
        history: &History,
        approval: &SpenderApproval,
    ) -> Result<(), SearchError> {
        if approval.owner != approval.spender
            && !approval.owner.is_zero()
            && let Some(account) = history.account(approval.owner, approval.token)
        {
            self.granted.push(Granted {
                account,
                spender: self.numbers.intern(approval.spender)?,
                position: approval.position,
                amount: approval.amount,
            });
        }
        Ok(())
    }

    /// Leaves the approvals for spenders with enough owners, and returns the transactions in which
    /// their owners send the token.
    pub(super) fn sort(&mut self, history: &History) -> BTreeSet<(u64, u32)> {
        let mut owners: BTreeSet<(u32, u32)> = BTreeSet::new();
        let owner = |it: &Granted| history.address_and_asset(it.account).0;
        owners.extend(self.granted.iter().map(|it| (it.spender, owner(it))));
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (spender, _) in owners {
            *counts.entry(spender).or_default() += 1;
        }
        self.granted
            .retain(|it| counts.get(&it.spender).is_some_and(|it| *it >= VICTIMS));
        self.granted.sort_unstable();
        let accounts = self.granted.chunk_by(|a, b| a.account == b.account);
        let candidates = accounts.flat_map(|of_account| candidates(history, of_account));
        candidates
            .map(|number| history.get(number).transaction())
            .collect()
    }

    pub(super) fn set_transactions(&mut self, transactions: BTreeMap<(u64, u32), TransactionEnds>) {
        self.transactions = transactions;
    }

    /// The approvals by an account for a spender, in order.
    fn of(&self, account: u32, spender: u32) -> &[Granted] {
        let key = |it: &Granted| (it.account, it.spender);
        let first = self
            .granted
            .partition_point(|it| key(it) < (account, spender));
        let rest = &self.granted[first..];
        &rest[..rest.partition_point(|it| key(it) == (account, spender))]
    }

    /// The approval that lets a spender take a transfer: the last before its transaction, or one
    /// inside of it. Contracts log what is left of an approval in the transaction that uses it,
    /// so that a revocation there means nothing.
    fn behind(&self, history: &History, number: u32, spender: u32) -> Option<&Granted> {
        let movement = history.get(number);
        let all = self.of(movement.from, spender);
        let until = all.partition_point(|it| it.position < movement.position);
        let place = |it: &Granted| (it.position.block, it.position.tx);
        let (before, inside) =
            all[..until].split_at(all.partition_point(|it| place(it) < movement.transaction()));
        let inside = inside.iter().rev().find(|it| !it.amount.is_zero());
        inside.or_else(|| before.last().filter(|it| !it.amount.is_zero()))
    }

    /// Who can have taken a transfer, if the owner neither signed nor got something for it: the
    /// contract that was called, and the signer.
    fn takers(&self, history: &History, number: u32) -> BTreeSet<u32> {
        let movement = history.get(number);
        let ends = self.transactions.get(&movement.transaction());
        let (owner, _) = history.address_and_asset(movement.from);
        let is_owner = |account: u32| history.address_and_asset(account).0 == owner;
        let is_paid = |(_, it): (u32, &Movement)| {
            is_owner(it.to) && !is_owner(it.from) && !it.value.is_zero()
        };
        let others = ends.filter(|ends| {
            ends.signer != history.addresses.value(owner)
                && !history.with_transaction(number).any(is_paid)
        });
        let ends = others
            .into_iter()
            .flat_map(|ends| [Some(ends.signer), ends.called]);
        let numbers = ends.filter_map(|end| self.numbers.get(&end?));
        numbers
            .filter(|spender| self.behind(history, number, *spender).is_some())
            .collect()
    }

    /// The approvals behind a finding, in the order of the chain.
    pub(super) fn evidence(&self, history: &History, found: &Found) -> Vec<Evidence> {
        let spender = history.addresses.value(found.address);
        let Some(number) = self.numbers.get(&spender) else {
            return Vec::new();
        };
        let pulled = found.evidence.iter().filter(|(_, role)| *role == PULLED);
        let used = pulled.filter_map(|(pull, _)| {
            let granted = self.behind(history, *pull, number)?;
            Some((granted.position, granted))
        });
        let used: BTreeMap<Position, &Granted> = used.collect();
        let rows = used.values().map(|it| {
            let (owner, asset) = history.address_and_asset(it.account);
            let parties = [history.addresses.value(owner), spender];
            let moved = (parties, history.token(asset));
            Evidence {
                role: "approval",
                transfer: transfer(it.position, Kind::Transfer, moved, it.amount),
            }
        });
        rows.collect()
    }
}

/// The role of a transfer that the spender caused.
const PULLED: &str = "pulled";

/// The transfers out of an account after the first of its approvals.
fn candidates<'a>(history: &'a History, granted: &'a [Granted]) -> impl Iterator<Item = u32> + 'a {
    let first = granted.iter().map(|it| it.position).min();
    let account = granted.first().map_or(0, |it| it.account);
    let all = history.of(account).iter().copied();
    all.filter(move |number| {
        let movement = history.get(*number);
        movement.from == account
            && !history.is_zero(movement.to)
            && first.is_some_and(|first| first < movement.position)
    })
}

/// Finds the drainers. Their addresses get numbers, as a contract may be in no transfer.
///
/// # Errors
///
/// [`SearchError::TooLarge`] if there are too many addresses.
pub(super) fn find(history: &mut History, spenders: &Spenders) -> Result<Vec<Found>, SearchError> {
    let mut pulls: BTreeMap<u32, Vec<Pull>> = BTreeMap::new();
    let accounts = spenders.granted.chunk_by(|a, b| a.account == b.account);
    for number in accounts.flat_map(|of_account| candidates(history, of_account)) {
        for spender in spenders.takers(history, number) {
            let (owner, asset) = history.address_and_asset(history.get(number).from);
            let pull = Pull {
                number,
                owner,
                asset,
            };
            pulls.entry(spender).or_default().push(pull);
        }
    }
    let mut all = Vec::new();
    for (spender, mut pulls) in pulls {
        pulls.sort_unstable_by_key(|pull| pull.number);
        let victims: BTreeSet<u32> = pulls.iter().map(|pull| pull.owner).collect();
        if victims.len() >= VICTIMS {
            let address = history.addresses.intern(spenders.numbers.value(spender))?;
            all.extend(found(history, address, victims.len(), &pulls));
        }
    }
    Ok(all)
}

/// The finding of the pulls of a spender, in order. `None` if no address gains in half of the transactions.
fn found(history: &History, address: u32, victims: usize, pulls: &[Pull]) -> Option<Found> {
    // The token of the most owners; of several, the first that was taken.
    let mut owners: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for pull in pulls {
        owners.entry(pull.asset).or_default().insert(pull.owner);
    }
    let most = owners.values().map(BTreeSet::len).max();
    let is_main = |pull: &&Pull| owners.get(&pull.asset).map(BTreeSet::len) == most;
    let asset = pulls.iter().find(is_main).map_or(0, |pull| pull.asset);
    let loot = pulls.iter().filter(|pull| pull.asset == asset);
    let amount = loot.map(|pull| widen(history.get(pull.number).value)).sum();

    let mut evidence = Vec::new();
    // By number of the address, what it gained: in all transactions, and in those with a split.
    let mut gained: BTreeMap<u32, AmountSum> = BTreeMap::new();
    let mut shared: BTreeMap<u32, AmountSum> = BTreeMap::new();
    // In how many transactions it gained any of the tokens.
    let mut times: BTreeMap<u32, usize> = BTreeMap::new();
    let (mut transactions, mut splits) = (0usize, 0usize);
    let place = |pull: &Pull| history.get(pull.number).transaction();
    for of_transaction in pulls.chunk_by(|a, b| place(a) == place(b)) {
        transactions += 1;
        let mut is_split = false;
        let mut receivers: BTreeSet<u32> = BTreeSet::new();
        let assets: BTreeSet<u32> = of_transaction.iter().map(|pull| pull.asset).collect();
        for of_asset in assets {
            let taken = of_transaction.iter().filter(|pull| pull.asset == of_asset);
            let loot = Loot::of(history, taken);
            is_split |= loot.gains.len() > 1;
            evidence.extend(loot.evidence);
            receivers.extend(loot.gains.keys());
            if of_asset != asset {
                continue;
            }
            for (receiver, gain) in &loot.gains {
                *gained.entry(*receiver).or_default() += *gain;
                if loot.gains.len() > 1 {
                    *shared.entry(*receiver).or_default() += *gain;
                }
            }
        }
        splits += usize::from(is_split);
        for receiver in receivers {
            *times.entry(receiver).or_default() += 1;
        }
    }
    if times
        .values()
        .max()
        .is_none_or(|most| 2 * most < transactions)
    {
        return None;
    }
    let name = |number: u32| history.addresses.value(number);
    let largest = |gains: &BTreeMap<u32, AmountSum>| {
        let mut all: Vec<(u32, AmountSum)> = gains.iter().map(|it| (*it.0, *it.1)).collect();
        all.sort_by_key(|(receiver, gain)| (std::cmp::Reverse(*gain), name(*receiver)));
        all
    };
    let mut note = format!(
        "{}, {}",
        counted(victims, "victims"),
        counted(pulls.len(), "transfers")
    );
    if owners.len() > 1 {
        note += &format!("; in {} tokens", owners.len());
    }
    if splits > 0 {
        note += &format!(
            "; split in {splits} of {}",
            counted(transactions, "transactions")
        );
        let shares = largest(&shared);
        let sum: AmountSum = shares.iter().map(|it| it.1).sum();
        let shares = shares.iter().take(SHARES).map(|(receiver, gain)| {
            format!("{} % to {}", rounded_percent(*gain, sum), name(*receiver))
        });
        let shares: Vec<String> = shares.collect();
        if !shares.is_empty() {
            note += &format!(": {}", shares.join(", "));
        }
    }
    Some(Found {
        pattern: Pattern::Drainer,
        address,
        other: largest(&gained).first().map(|(receiver, _)| *receiver),
        asset,
        amount,
        note,
        evidence,
    })
}

/// Where the tokens go that were taken in one transaction, all of one kind.
struct Loot {
    /// By number of the address, what it has more after the transaction.
    gains: BTreeMap<u32, AmountSum>,
    /// The transfers that the spender caused, and those that pass the tokens on.
    evidence: Vec<(u32, &'static str)>,
}

impl Loot {
    fn of<'p>(history: &History, pulls: impl Iterator<Item = &'p Pull>) -> Self {
        let pulls: Vec<&Pull> = pulls.collect();
        let mut loot = Self {
            gains: BTreeMap::new(),
            evidence: Vec::new(),
        };
        let Some(first) = pulls.first() else {
            return loot;
        };
        let owners: BTreeSet<u32> = pulls.iter().map(|pull| pull.owner).collect();
        let pulled: BTreeSet<u32> = pulls.iter().map(|pull| pull.number).collect();
        let mut lost: BTreeMap<u32, AmountSum> = BTreeMap::new();
        // Addresses that have got tokens of the owners.
        let mut holders: BTreeSet<u32> = BTreeSet::new();
        for (number, movement) in history.with_transaction(first.number) {
            let (from, asset) = history.address_and_asset(movement.from);
            let (to, _) = history.address_and_asset(movement.to);
            if asset != first.asset || movement.value.is_zero() {
                continue;
            }
            *lost.entry(from).or_default() += widen(movement.value);
            *loot.gains.entry(to).or_default() += widen(movement.value);
            if pulled.contains(&number) {
                loot.evidence.push((number, PULLED));
            } else if holders.contains(&from) && from != to {
                loot.evidence.push((number, "passed"));
            } else {
                continue;
            }
            holders.insert(to);
        }
        let gains = std::mem::take(&mut loot.gains).into_iter();
        let gains = gains.filter(|(receiver, _)| !owners.contains(receiver));
        let gains = gains.filter_map(|(receiver, gain)| {
            let gain = gain.checked_sub(lost.get(&receiver).copied().unwrap_or_default())?;
            (!gain.is_zero() && holders.contains(&receiver)).then_some((receiver, gain))
        });
        loot.gains = gains.collect();
        loot
    }
}

/// The share of an amount in percent, rounded to the nearest.
fn rounded_percent(part: AmountSum, whole: AmountSum) -> u64 {
    let hundredfold = part * AmountSum::from(100) + whole / AmountSum::from(2);
    (hundredfold.checked_div(whole)).map_or(0, |percent| percent.saturating_to())
}
