//! Fungible transfers, and which are part of a trade: transfers of different tokens in one transaction
//! that are for each other.

use alloy_primitives::U256;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};
use txgraph_graph::{AmountSum, widen};
use txgraph_transfers::{Kind, Position};

/// A fungible transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Movement {
    pub(super) position: Position,
    /// Numbers of accounts: an address with one token.
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) value: U256,
    pub(super) kind: Kind,
}

impl Movement {
    pub(super) const fn block(&self) -> u64 {
        self.position.block
    }

    /// The transaction, in the order of the chain.
    pub(super) const fn transaction(&self) -> (u64, u32) {
        (self.position.block, self.position.tx)
    }
}

/// How a transfer is part of a trade in its transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trade {
    /// Its sender gains another token.
    pub(super) sells: bool,
    /// Its receiver loses another token.
    pub(super) buys: bool,
}

/// By transfer, in order: how it is part of a trade. `ends`: the numbers of the address and the asset of an
/// account; `holder`: the same, but the contract of a token instead of the zero address.
pub(super) fn trades(
    movements: &[Movement],
    ends: impl Fn(u32) -> (u32, u32),
    holder: impl Fn(u32) -> (u32, u32),
) -> Vec<Trade> {
    let mut all = vec![Trade::default(); movements.len()];
    let mut first = 0;
    for transaction in movements.chunk_by(|a, b| a.transaction() == b.transaction()) {
        let asset = |it: &Movement| ends(it.from).1;
        let is_one = (transaction.iter()).all(|it| asset(it) == asset(&transaction[0]));
        if !is_one {
            let changes = Changes::of(transaction, &holder);
            for (trade, it) in all[first..].iter_mut().zip(transaction) {
                trade.sells = has_other(&changes.gained, ends(it.from));
                trade.buys = has_other(&changes.lost, ends(it.to));
            }
        }
        first += transaction.len();
    }
    all
}

/// The pairs of address and asset with more, and those with less, after a transaction.
#[derive(Default)]
struct Changes {
    gained: BTreeSet<(u32, u32)>,
    lost: BTreeSet<(u32, u32)>,
}

impl Changes {
    /// The contract of a token gives what is minted, and gets what is burned: so a wrap is a trade.
    fn of(transaction: &[Movement], holder: impl Fn(u32) -> (u32, u32)) -> Self {
        let mut sums: BTreeMap<(u32, u32), [AmountSum; 2]> = BTreeMap::new();
        for it in transaction {
            for (side, account) in [it.from, it.to].into_iter().enumerate() {
                sums.entry(holder(account)).or_default()[side] += widen(it.value);
            }
        }
        let mut changes = Self::default();
        for (end, [sent, received]) in sums {
            match received.cmp(&sent) {
                Ordering::Greater => changes.gained.insert(end),
                Ordering::Less => changes.lost.insert(end),
                Ordering::Equal => false,
            };
        }
        changes
    }
}

/// Whether an address has a change of another asset.
fn has_other(changes: &BTreeSet<(u32, u32)>, (address, asset): (u32, u32)) -> bool {
    let mut own = changes.range((address, 0)..=(address, u32::MAX));
    own.any(|(_, other)| *other != asset)
}
