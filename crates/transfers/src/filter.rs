//! Which transfers are wanted. Applied before anything is built where possible.

use crate::{Kind, TokenStandard, Transfer};
use alloy_primitives::{Address, U256, map::AddressHashSet};
use serde::{Deserialize, Serialize};

/// A set of addresses.
pub type AddressSet = AddressHashSet;

/// Which way to follow transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From sender to receiver: where did the tokens go?
    #[default]
    Out,
    /// From receiver to sender: where did they come from?
    In,
    /// Either way.
    Both,
}

/// Which assets are wanted.
#[derive(Clone, Debug, Default)]
pub enum TokenFilter {
    /// Every token and the native coin.
    #[default]
    All,
    /// These token contracts, and the native coin if `native`.
    Only {
        /// Token contracts.
        tokens: AddressSet,
        /// Whether native movements are wanted too.
        native: bool,
    },
}

impl TokenFilter {
    /// Whether transfers of this asset are wanted (`None`: the native coin).
    pub fn wants(&self, token: Option<&Address>) -> bool {
        match (self, token) {
            (Self::All, _) => true,
            (Self::Only { native, .. }, None) => *native,
            (Self::Only { tokens, .. }, Some(token)) => tokens.contains(token),
        }
    }
}

/// Wanted are transfers with one of `addresses` at the end named by `direction`
/// (`Out`: as sender, `In`: as receiver, `Both`: either).
#[derive(Clone, Debug)]
pub struct Touching {
    /// The whole frontier, never one address at a time.
    pub addresses: AddressSet,
    /// The end at which an address must stand.
    pub direction: Direction,
}

/// All conditions together; a transfer must meet every one.
#[derive(Clone, Debug, Default)]
pub struct TransferFilter {
    /// Assets.
    pub tokens: TokenFilter,
    /// Addresses, or any.
    pub touching: Option<Touching>,
    /// Smallest amount, in the smallest unit of the token.
    pub min_value: U256,
    /// Standards wanted; empty for all.
    pub standards: Vec<TokenStandard>,
    /// Kinds wanted; empty for all.
    pub kinds: Vec<Kind>,
}

impl TransferFilter {
    /// Whether the ends of a transfer are wanted.
    #[inline]
    pub fn wants_ends(&self, from: &Address, to: &Address) -> bool {
        match &self.touching {
            None => true,
            Some(Touching { addresses, direction }) => match direction {
                Direction::Out => addresses.contains(from),
                Direction::In => addresses.contains(to),
                Direction::Both => addresses.contains(from) || addresses.contains(to),
            },
        }
    }

    /// Whether `transfer` meets every condition.
    #[inline]
    pub fn wants(&self, transfer: &Transfer) -> bool {
        self.tokens.wants(transfer.token_address.as_ref())
            && self.wants_ends(&transfer.from_address, &transfer.to_address)
            && transfer.value >= self.min_value
            && (self.standards.is_empty() || self.standards.contains(&transfer.token_standard))
            && (self.kinds.is_empty() || self.kinds.contains(&transfer.kind))
    }
}
