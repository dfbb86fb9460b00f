//! The tokens of one account, by where they came from.

use super::{Part, TaintMethod};
use alloy_primitives::{U256, Uint, aliases::U512};
use std::{cmp::Reverse, collections::VecDeque};
use txgraph_graph::{AmountSum, widen};

/// Tokens that arrived together, or next to each other from the same source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lot {
    /// Its source; `None` if it is not tainted.
    source: Option<usize>,
    amount: U256,
    /// Transfers from the root.
    hop: u32,
}

/// The tokens that were taken from an account.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// The tainted parts, by source, then hop.
    pub(super) tainted: Vec<Part>,
    /// Whether the account had that much.
    pub(super) is_whole: bool,
    /// Whether other parts were taken, because there was not enough of the wanted and the untainted. Units
    /// that are due to rounding do not count.
    pub(super) is_beyond: bool,
}

/// The lots of an account, oldest first. Lots of the amount zero are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct AccountLots(VecDeque<Lot>);

impl AccountLots {
    /// An account with tokens that are not tainted.
    pub(super) fn untainted(amount: U256) -> Self {
        let mut lots = Self::default();
        lots.push(None, amount, 0);
        lots
    }

    fn push(&mut self, source: Option<usize>, amount: U256, hop: u32) {
        if amount.is_zero() {
            return;
        }
        if let Some(last) = self.0.back_mut()
            && (last.source, last.hop) == (source, hop)
            && let Some(sum) = last.amount.checked_add(amount)
        {
            last.amount = sum;
            return;
        }
        self.0.push_back(Lot {
            source,
            amount,
            hop,
        });
    }

    /// Adds the tokens of a transfer: its tainted parts, then the others.
    pub(super) fn put(&mut self, value: U256, tainted: &[Part]) {
        let mut rest = value;
        for &(source, amount, hop) in tainted {
            self.push(Some(source), amount, hop + 1);
            rest = rest.saturating_sub(amount);
        }
        self.push(None, rest, 0);
    }

    /// The tainted amount.
    pub(super) fn tainted(&self) -> AmountSum {
        let tainted = self.0.iter().filter(|lot| lot.source.is_some());
        tainted.map(|lot| widen(lot.amount)).sum()
    }

    /// Takes an amount. Returns its tainted parts, by source, then hop, and whether the account had
    /// that much.
    pub(super) fn take(&mut self, method: TaintMethod, value: U256) -> (Vec<Part>, bool) {
        let (taken, is_whole) = match method {
            TaintMethod::Fifo => self.leave_by(value, VecDeque::front_mut, VecDeque::pop_front),
            TaintMethod::Lifo => self.leave_by(value, VecDeque::back_mut, VecDeque::pop_back),
            TaintMethod::Haircut | TaintMethod::Execution => self.shares(value),
            TaintMethod::Poison => {
                let tainted = self.0.iter().filter(|lot| lot.source.is_some());
                let first = tainted.min_by_key(|lot| (lot.source, lot.hop)).copied();
                // Only the first counts.
                self.0 = first.into_iter().collect();
                let whole = |lot| Lot {
                    amount: value,
                    ..lot
                };
                (first.map(whole).into_iter().collect(), true)
            }
        };
        (joined(taken), is_whole)
    }

    /// Takes an amount: first these tainted parts, as far as they are there, then what is not
    /// tainted, and the same share of everything else.
    pub(super) fn take_parts(&mut self, value: U256, parts: &[Part]) -> Taken {
        let (mut taken, mut rest) = (Vec::new(), value);
        let mut from = |wanted: &dyn Fn(&Lot) -> bool, amount: U256| {
            let mut left = amount.min(rest);
            rest -= left;
            for lot in self.0.iter_mut().filter(|lot| wanted(lot)) {
                let part = lot.amount.min(left);
                taken.push(Lot {
                    amount: part,
                    ..*lot
                });
                lot.amount -= part;
                left -= part;
            }
            rest += left;
            left
        };
        for &(source, amount, hop) in parts {
            let is_same = |lot: &Lot| lot.source == Some(source);
            let left = from(&|lot| is_same(lot) && lot.hop == hop, amount);
            from(&is_same, left);
        }
        from(&|lot| lot.source.is_none(), value);
        self.0.retain(|lot| !lot.amount.is_zero());
        let (others, is_whole) = self.shares(rest);
        let beyond: AmountSum = others.iter().map(|lot| widen(lot.amount)).sum();
        let is_beyond = beyond > AmountSum::from(parts.len() + 1);
        taken.extend(others);
        Taken {
            tainted: joined(taken),
            is_whole,
            is_beyond,
        }
    }

    /// Takes lots from one end.
    fn leave_by(
        &mut self,
        value: U256,
        next: fn(&mut VecDeque<Lot>) -> Option<&mut Lot>,
        pop: fn(&mut VecDeque<Lot>) -> Option<Lot>,
    ) -> (Vec<Lot>, bool) {
        let mut taken = Vec::new();
        let mut rest = value;
        while !rest.is_zero() {
            let Some(lot) = next(&mut self.0) else {
                return (taken, false);
            };
            let part = lot.amount.min(rest);
            taken.push(Lot {
                amount: part,
                ..*lot
            });
            rest -= part;
            lot.amount -= part;
            if lot.amount.is_zero() {
                pop(&mut self.0);
            }
        }
        (taken, true)
    }

    /// Takes the same share of every source.
    fn shares(&mut self, value: U256) -> (Vec<Lot>, bool) {
        // One lot for each source and hop, in their order, untainted tokens last.
        let mut lots: Vec<_> = std::mem::take(&mut self.0).into();
        lots.sort_by_key(|lot| (lot.source.is_none(), lot.source, lot.hop));
        lots.dedup_by(|next, lot| {
            let is_same = (next.source, next.hop) == (lot.source, lot.hop);
            // Tokens of any contract can state amounts whose sum does not fit.
            let sum = is_same
                .then(|| lot.amount.checked_add(next.amount))
                .flatten();
            lot.amount = sum.unwrap_or(lot.amount);
            sum.is_some()
        });
        let total: AmountSum = lots.iter().map(|lot| widen(lot.amount)).sum();
        if total <= widen(value) {
            return (lots, total == widen(value));
        }
        type Wide = Uint<640, 10>;
        let wide = |amount: AmountSum| Wide::from_limbs_slice(amount.as_limbs());
        let (mut left, total) = (value, wide(total));
        let mut remainders = Vec::with_capacity(lots.len());
        let mut taken = lots.clone();
        for (at, lot) in taken.iter_mut().enumerate() {
            let product = wide(widen(lot.amount)) * wide(widen(value));
            let (share, remainder) = product.div_rem(total);
            lot.amount = share.saturating_to();
            left -= lot.amount;
            remainders.push((Reverse(remainder), at));
        }
        remainders.sort_unstable();
        // The shares lack less than one unit each.
        for (_, at) in remainders {
            if left.is_zero() {
                break;
            }
            taken[at].amount += U256::ONE;
            left -= U256::ONE;
        }
        for (lot, part) in lots.iter_mut().zip(&taken) {
            lot.amount -= part.amount;
        }
        lots.retain(|lot| !lot.amount.is_zero());
        self.0 = lots.into();
        (taken, true)
    }
}

/// The tainted parts of lots, by source, then hop.
fn joined(lots: Vec<Lot>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let tainted = lots.into_iter().filter(|lot| !lot.amount.is_zero());
    let mut tainted: Vec<_> = tainted
        .filter_map(|lot| Some((lot.source?, lot.hop, lot.amount)))
        .collect();
    tainted.sort_unstable();
    for (source, hop, amount) in tainted {
        match parts.last_mut() {
            Some(part) if (part.0, part.2) == (source, hop) => part.1 += amount,
            _ => parts.push((source, amount, hop)),
        }
    }
    parts
}

/// `amount * part / whole`, rounded down.
pub(super) fn share(amount: U256, part: U256, whole: U256) -> U256 {
    let product = amount.widening_mul::<_, 4, 512, 8>(part);
    let quotient = product.checked_div(U512::from(whole));
    quotient.unwrap_or_default().saturating_to()
}
