//! Wrapped native coins: whose events are wraps, and which wraps are told twice.

use crate::AddressSet;
use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};
use txgraph_base::KnownChain;

/// Which contracts' `Deposit(address,uint256)` and `Withdrawal(address,uint256)`
/// events mean wrapping.
///
/// WETH9 emits these and no `Transfer`, so without them its tokens would come
/// from nowhere. But the same names and types are used by vaults, bridges and
/// games for deposits that mint nothing, so not everyone who emits them is a
/// wrapped coin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WrappedNative {
    /// The chain's known wrapped coin (by chain id); any emitter on unknown chains.
    #[default]
    Auto,
    /// Every emitter of such an event.
    Any,
    /// None: wraps are not synthesised.
    None,
    /// These contracts.
    Only(Vec<Address>),
}

impl WrappedNative {
    /// The wrapped coins that are known on a chain; empty when the chain is not
    /// known, and then [`WrappedNative::Auto`] means any emitter.
    pub fn known(chain_id: u64) -> &'static [Address] {
        KnownChain::by_id(chain_id).map_or(&[], |chain| chain.wrapped_native)
    }
}

/// [`WrappedNative`] on a certain chain.
#[derive(Debug)]
pub(crate) enum Wrappers {
    Any,
    Only(AddressSet),
}

impl Wrappers {
    pub(crate) fn new(chain_id: u64, wrapped: &WrappedNative) -> Self {
        let only = |addresses: &[Address]| Self::Only(addresses.iter().copied().collect());
        match wrapped {
            WrappedNative::Any => Self::Any,
            WrappedNative::None => only(&[]),
            WrappedNative::Only(addresses) => only(addresses),
            WrappedNative::Auto => match WrappedNative::known(chain_id) {
                [] => Self::Any,
                known => only(known),
            },
        }
    }

    #[inline]
    pub(crate) fn contains(&self, address: &Address) -> bool {
        match self {
            Self::Any => true,
            Self::Only(addresses) => addresses.contains(address),
        }
    }
}

/// What makes two events tell the same movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Movement {
    pub(crate) token: Address,
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
}

/// Some wrapped coins emit a `Transfer` from or to the zero address beside their
/// `Deposit` or `Withdrawal`, before or after it. The events of a transaction are
/// therefore gathered, and at its end each such `Transfer` cancels one equal wrap,
/// the earliest first. Buffers are reused from transaction to transaction.
#[derive(Debug, Default)]
pub(crate) struct WrapMatcher {
    /// With the row of the output it became, if it met the filter.
    wraps: Vec<(Movement, Option<usize>)>,
    transfers: Vec<Movement>,
}

impl WrapMatcher {
    #[inline]
    pub(crate) fn wrap(&mut self, movement: Movement, row: Option<usize>) {
        self.wraps.push((movement, row));
    }

    #[inline]
    pub(crate) fn transfer(&mut self, movement: Movement) {
        self.transfers.push(movement);
    }

    /// Ends the transaction: appends the rows of cancelled wraps to `dropped`, and tells
    /// the token of each, those without a row included.
    pub(crate) fn finish(&mut self, dropped: &mut Vec<usize>, mut cancelled: impl FnMut(Address)) {
        if !self.wraps.is_empty() && !self.transfers.is_empty() {
            // Stable: of equal wraps the earliest goes first.
            self.wraps.sort_by_key(|(movement, _)| *movement);
            self.transfers.sort_unstable();
            let mut transfers = self.transfers.iter().peekable();
            for (movement, row) in &self.wraps {
                while transfers.next_if(|transfer| *transfer < movement).is_some() {}
                if transfers
                    .next_if(|transfer| *transfer == movement)
                    .is_some()
                {
                    cancelled(movement.token);
                    dropped.extend(row);
                }
            }
        }
        self.wraps.clear();
        self.transfers.clear();
    }
}
