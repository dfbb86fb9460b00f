//! Summaries of the transfers of an address.

use alloy_primitives::{Address, U256};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};
use txgraph_graph::{AmountSum, Asset, widen};
use txgraph_transfers::{BlockTime, TokenStandard, Transfer};

/// Tokens whose balances are read if none are named: those with the most transfers.
const TOKENS_MAX: usize = 10;

/// The transfers of an address in one direction.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// The number of transfers.
    pub transfers: u64,
    /// The first.
    pub first: Option<Transfer>,
    /// The last.
    pub last: Option<Transfer>,
    /// The number of counterparties.
    pub counterparties: u64,
    /// The counterparties with the most transfers; among equals, the lower address.
    pub top: Vec<Counterparty>,
}

/// A counterparty of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterparty {
    /// Its address.
    pub address: Address,
    /// The number of transfers.
    pub transfers: u64,
    /// The time of the first, if it is known.
    pub first: Option<BlockTime>,
    /// The time of the last.
    pub last: Option<BlockTime>,
    /// The assets that moved, by number of transfers; among equals, the native coin and lower tokens first.
    pub assets: Vec<MovedAsset>,
}

/// An asset that moved between two addresses in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedAsset {
    /// The asset.
    pub asset: Asset,
    /// The number of transfers.
    pub transfers: u64,
    /// The sum of their amounts.
    pub amount: AmountSum,
}

/// Items that an address received and did not send on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldItem {
    /// The contract of ERC-721 or ERC-1155.
    pub token: Address,
    /// The id.
    pub id: U256,
    /// How many; one of ERC-721.
    pub amount: AmountSum,
}

/// A summary of the transfers of an address so far.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) transfers: u64,
    pub(super) received: Side,
    pub(super) sent: Side,
    pub(super) first_funding: Option<Transfer>,
    /// The amounts of the native coin that it received and sent.
    pub(super) native: (AmountSum, AmountSum),
    /// Transfers by ERC-20 token.
    tokens: BTreeMap<Address, u64>,
    pub(super) items: Items,
}

/// The amounts of each item that the address received and sent, by token and id.
#[derive(Default)]
pub(super) struct Items(BTreeMap<(Address, U256), (AmountSum, AmountSum)>);

impl Items {
    fn add(&mut self, address: Address, transfer: &Transfer) {
        let (Some(token), Some(id)) = (transfer.token_address, transfer.token_id) else {
            return;
        };
        let (received, sent) = self.0.entry((token, id)).or_default();
        if transfer.to_address == address {
            *received += widen(transfer.value);
        }
        if transfer.from_address == address {
            *sent += widen(transfer.value);
        }
    }

    /// Returns the items that were received and not sent on.
    pub(super) fn held(self) -> Vec<HeldItem> {
        let left = self
            .0
            .into_iter()
            .filter(|(_, (received, sent))| received > sent);
        left.map(|((token, id), (received, sent))| HeldItem {
            token,
            id,
            amount: received - sent,
        })
        .collect()
    }
}

/// The transfers in one direction.
#[derive(Default)]
pub(super) struct Side {
    transfers: u64,
    pub(super) first: Option<Transfer>,
    last: Option<Transfer>,
    counterparties: HashMap<Address, Counterparty>,
}

impl Seen {
    pub(super) fn add(&mut self, address: Address, transfer: &Transfer) {
        self.transfers += 1;
        self.items.add(address, transfer);
        let is_native = transfer.token_address.is_none();
        if transfer.to_address == address {
            self.received.add(transfer.from_address, transfer);
            if is_native {
                self.native.0 += widen(transfer.value);
            }
            let is_gift = !transfer.from_address.is_zero() && transfer.from_address != address;
            if is_native && is_gift && self.first_funding.is_none() {
                self.first_funding = Some(transfer.clone());
            }
        }
        if transfer.from_address == address {
            self.sent.add(transfer.to_address, transfer);
            if is_native {
                self.native.1 += widen(transfer.value);
            }
        }
        if let Some(token) = transfer.token_address
            && transfer.token_standard == TokenStandard::Erc20
        {
            *self.tokens.entry(token).or_default() += 1;
        }
    }

    /// The transfers that are shown.
    pub(super) fn shown(&mut self) -> impl Iterator<Item = &mut Transfer> {
        let sides = [&mut self.received, &mut self.sent].into_iter();
        let ends = sides.flat_map(|side| [&mut side.first, &mut side.last]);
        ends.chain([&mut self.first_funding]).flatten()
    }

    /// The tokens with the most transfers, and the number of others.
    pub(super) fn most_tokens(&self) -> (Vec<Address>, usize) {
        let mut tokens: Vec<_> = self.tokens.iter().collect();
        tokens.sort_by_key(|(token, transfers)| (Reverse(**transfers), **token));
        let tokens = tokens.into_iter().map(|(token, _)| *token);
        let others = self.tokens.len().saturating_sub(TOKENS_MAX);
        (tokens.take(TOKENS_MAX).collect(), others)
    }
}

impl Side {
    fn add(&mut self, other: Address, transfer: &Transfer) {
        let time = transfer.block_timestamp;
        self.transfers += 1;
        if self.first.is_none() {
            self.first = Some(transfer.clone());
        }
        self.last = Some(transfer.clone());
        let known = self.counterparties.entry(other).or_insert(Counterparty {
            address: other,
            transfers: 0,
            first: time,
            last: time,
            assets: Vec::new(),
        });
        known.transfers += 1;
        known.last = time;
        let asset = Asset::of(transfer);
        let amount = widen(transfer.value);
        // Most counterparties exchange one or two assets.
        match known.assets.iter_mut().find(|it| it.asset == asset) {
            Some(moved) => {
                moved.transfers += 1;
                moved.amount += amount;
            }
            None => known.assets.push(MovedAsset {
                asset,
                transfers: 1,
                amount,
            }),
        }
    }

    pub(super) fn finish(self, top: usize) -> Activity {
        let counterparties = self.counterparties.len() as u64;
        let mut all: Vec<_> = self.counterparties.into_values().collect();
        all.sort_unstable_by_key(|it| (Reverse(it.transfers), it.address));
        all.truncate(top);
        for counterparty in &mut all {
            let assets = &mut counterparty.assets;
            // Anyone can make transfers of nothing.
            assets
                .sort_unstable_by_key(|it| (it.amount.is_zero(), Reverse(it.transfers), it.asset));
        }
        Activity {
            transfers: self.transfers,
            first: self.first,
            last: self.last,
            counterparties,
            top: all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_graph::testing::{address, transfers};

    #[test]
    fn no_address_funds_itself_and_mints_do_not_count() {
        let mut seen = Seen::default();
        for transfer in transfers("a>a:5@eth 0>a:7@eth b>a:3@TOKEN c>a:2@eth a>d:1@eth") {
            seen.add(address("a"), &transfer);
        }
        let funder = seen.first_funding.unwrap().from_address;
        assert_eq!(funder, address("c"));
        let sum = AmountSum::from;
        assert_eq!(seen.native, (sum(14), sum(6)));
    }

    #[test]
    fn items_that_were_sent_on_are_not_held() {
        let mut seen = Seen::default();
        let of = |from: &str, to: &str, id: u64, value: u64| Transfer {
            from_address: address(from),
            to_address: address(to),
            token_address: Some(address("art")),
            token_id: Some(U256::from(id)),
            token_standard: TokenStandard::Erc1155,
            value: U256::from(value),
            ..txgraph_transfers::testing::transfer(1)
        };
        for transfer in [
            of("b", "a", 1, 5),
            of("a", "c", 1, 2),
            of("b", "a", 2, 1),
            of("a", "c", 2, 1),
            of("a", "a", 1, 3),
        ] {
            seen.add(address("a"), &transfer);
        }
        let sent = seen.sent.finish(1);
        let [moved] = &sent.top[0].assets[..] else {
            panic!("{sent:?}");
        };
        assert_eq!((sent.top[0].address, moved.transfers), (address("c"), 2));
        assert_eq!(moved.amount, AmountSum::from(3));
        let [held] = &seen.items.held()[..] else {
            panic!();
        };
        assert_eq!((held.id, held.amount), (U256::ONE, AmountSum::from(3)));
    }
}
