//! Routes, divided where their token changes.

use crate::{Asset, Swap};
use alloy_primitives::{Address, U256};
use std::ops::Range;
use txgraph_transfers::Transfer;

/// Transfers that lead from one address to another, in the order in which they are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The transfers. Each begins where the one before ends.
    pub transfers: Vec<Transfer>,
    /// The parts with one token each. Transfers between two of them are inside of a swap.
    pub legs: Vec<Leg>,
    /// The addresses that it passes with more than [`HUB_COUNTERPARTIES`](crate::HUB_COUNTERPARTIES),
    /// in the wanted transfers.
    pub hubs: Vec<Address>,
}

/// Transfers of a route that follow each other and move the same token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The asset that they move.
    pub asset: Asset,
    /// The id of the token, of ERC-721 and ERC-1155.
    pub token_id: Option<U256>,
    /// Positions in the route.
    pub transfers: Range<usize>,
    /// No more can have gone all the way: the smallest of the amounts. What was given and got in a swap
    /// counts as a whole, because it can have been paid in several transfers.
    pub at_most: U256,
    /// The swap that paid out what this leg moves, for the amount of the leg before. `None` in the first
    /// leg, and where nothing shows that the amount went on.
    pub swap: Option<Swap>,
}

impl Route {
    /// Builds a route from the rows of its transfers. A row with a swap is inside of it; the first of them
    /// pays for the swap, and the last one is what it pays out. Both are also there without a swap.
    pub(super) fn of<'a>(steps: impl Iterator<Item = (&'a Transfer, Option<&'a Swap>)>) -> Self {
        let mut route = Self {
            transfers: Vec::new(),
            legs: Vec::new(),
            hubs: Vec::new(),
        };
        let mut within: Option<&Swap> = None;
        // Of the last leg, without its last transfer.
        let mut before = U256::MAX;
        for (it, swap) in steps {
            if route.transfers.last() != Some(it) {
                route.transfers.push(it.clone());
            }
            let place = route.transfers.len() - 1;
            let asset = (Asset::of(it), it.token_id);
            match (within, swap, route.legs.last_mut()) {
                (None, Some(swap), Some(leg)) => leg.at_most = before.min(swap.given),
                (Some(_), Some(_), _) => {}
                (None, _, Some(leg)) if (leg.asset, leg.token_id) == asset => {
                    before = leg.at_most;
                    leg.transfers.end = place + 1;
                    leg.at_most = before.min(it.value);
                }
                (paid, ..) => {
                    before = U256::MAX;
                    route.legs.push(Leg {
                        asset: asset.0,
                        token_id: asset.1,
                        transfers: place..place + 1,
                        at_most: paid.map_or(it.value, |swap| swap.got),
                        swap: paid.cloned(),
                    });
                }
            }
            within = swap;
        }
        route
    }

    /// The addresses between its transfers.
    pub(super) fn passed(&self) -> impl Iterator<Item = Address> {
        self.transfers.iter().skip(1).map(|it| it.from_address)
    }
}
