//! Wrapped native coins: which contracts emit wraps, and which wraps are reported twice.

use crate::AddressSet;
use alloy_primitives::{Address, U256};
use serde::{Deserialize, Serialize};
use txgraph_base::KnownChain;

/// The contracts whose `Deposit(address,uint256)` and `Withdrawal(address,uint256)` events
/// are wraps.
///
/// WETH9 emits these events and no `Transfer`, so without them its tokens would appear from
/// nowhere. But vaults, bridges and games use the same signatures for deposits that mint
/// nothing, so not every emitter is a wrapped coin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WrappedNative {
    /// The known wrapped coins of the chain, by chain ID; any emitter on unknown chains.
    #[default]
    Auto,
    /// Every emitter of such an event.
    Any,
    /// No contract: there are no wraps.
    None,
    /// These contracts.
    Only(Vec<Address>),
}

impl WrappedNative {
    /// Returns the known wrapped coins of a chain. Empty for an unknown chain, where
    /// [`WrappedNative::Auto`] means any emitter.
    pub fn known(chain_id: u64) -> &'static [Address] {
        KnownChain::by_id(chain_id).map_or(&[], |chain| chain.wrapped_native)
    }

    /// Returns what the choice means on a chain, in a form that can be compared.
    #[must_use]
    pub fn resolved(&self, chain_id: u64) -> Self {
        let only = |addresses: &[Address]| {
            let mut sorted = addresses.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            match sorted.is_empty() {
                true => Self::None,
                false => Self::Only(sorted),
            }
        };
        match self {
            Self::Auto => match Self::known(chain_id) {
                [] => Self::Any,
                known => only(known),
            },
            Self::Only(addresses) => only(addresses),
            Self::Any | Self::None => self.clone(),
        }
    }
}

/// [`WrappedNative`] for one chain.
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

/// Two events with equal values report the same movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Movement {
    pub(crate) token: Address,
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
}

/// Finds wraps that are reported twice.
///
/// Some wrapped coins also emit a `Transfer` from or to the zero address, before or after
/// their `Deposit` or `Withdrawal`. So the events of a transaction are collected, and at its
/// end each such `Transfer` cancels one equal wrap, the earliest first. Buffers are reused for
/// all transactions.
#[derive(Debug, Default)]
pub(crate) struct WrapMatcher {
    /// Each with its row in the output, if it matches the filter.
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

    /// Ends the transaction. Appends the rows of canceled wraps to `dropped`, and calls
    /// `canceled` with the token of each canceled wrap, also of those without a row.
    pub(crate) fn finish(&mut self, dropped: &mut Vec<usize>, mut canceled: impl FnMut(Address)) {
        if !self.wraps.is_empty() && !self.transfers.is_empty() {
            // A stable sort: of equal wraps the earliest comes first.
            self.wraps.sort_by_key(|(movement, _)| *movement);
            self.transfers.sort_unstable();
            let mut transfers = self.transfers.iter().peekable();
            for (movement, row) in &self.wraps {
                while transfers.next_if(|transfer| *transfer < movement).is_some() {}
                if transfers
                    .next_if(|transfer| *transfer == movement)
                    .is_some()
                {
                    canceled(movement.token);
                    dropped.extend(row);
                }
            }
        }
        self.wraps.clear();
        self.transfers.clear();
    }
}
