//! Tokens and addresses that a query names and its result does not contain: mostly typing
//! errors, which would otherwise look like an empty result.

use crate::{AddressSet, TokenFilter, Transfer, TransferFilter};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

/// Addresses of each kind that are named.
const NAMED_MAX: usize = 20;

/// The tokens and addresses of a query that were not seen yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QueriedNames {
    tokens: AddressSet,
    native: bool,
    addresses: AddressSet,
}

impl QueriedNames {
    /// The tokens and addresses that a filter names.
    pub fn of(filter: &TransferFilter) -> Self {
        let (tokens, native) = match &filter.tokens {
            TokenFilter::All => Default::default(),
            TokenFilter::Only { tokens, native } => (tokens.clone(), *native),
        };
        let touching = filter.touching.as_ref();
        Self {
            tokens,
            native,
            addresses: touching.map_or_else(Default::default, |it| it.addresses.clone()),
        }
    }

    /// Whether everything was seen.
    pub fn is_done(&self) -> bool {
        self.tokens.is_empty() && !self.native && self.addresses.is_empty()
    }

    /// Notes the tokens and addresses of transfers that match.
    pub fn see<'a>(&mut self, transfers: impl IntoIterator<Item = &'a Transfer>) {
        for transfer in transfers {
            if self.is_done() {
                return;
            }
            match &transfer.token_address {
                Some(token) => drop(self.tokens.remove(token)),
                None => self.native = false,
            }
            self.addresses.remove(&transfer.from_address);
            self.addresses.remove(&transfer.to_address);
        }
    }

    /// Forgets what was seen in other transfers.
    pub fn merge(&mut self, other: &Self) {
        self.tokens.retain(|token| other.tokens.contains(token));
        self.native &= other.native;
        (self.addresses).retain(|address| other.addresses.contains(address));
    }

    /// The tokens and addresses that were never seen.
    pub fn unseen(&self) -> Unseen {
        let first = |addresses: &AddressSet| {
            let mut first: Vec<_> = addresses.iter().copied().collect();
            first.sort_unstable();
            first.truncate(NAMED_MAX);
            (addresses.len() as u64, first)
        };
        let (tokens, first_tokens) = first(&self.tokens);
        let (addresses, first_addresses) = first(&self.addresses);
        Unseen {
            tokens,
            first_tokens,
            native: self.native,
            addresses,
            first_addresses,
        }
    }
}

/// Tokens and addresses that a query names, and no transfer of the result has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The number of tokens.
    pub tokens: u64,
    /// The first of them, ascending.
    pub first_tokens: Vec<Address>,
    /// Whether the native coin was named and not seen.
    pub native: bool,
    /// The number of addresses.
    pub addresses: u64,
    /// The first of them, ascending.
    pub first_addresses: Vec<Address>,
}

impl Unseen {
    /// Whether everything was seen.
    pub const fn is_empty(&self) -> bool {
        self.tokens == 0 && !self.native && self.addresses == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AddressFilter, Direction, testing::transfer};

    #[test]
    fn what_is_seen_is_struck_out() {
        let [usd, eur, a, b, x] = [1, 2, 3, 4, 5].map(Address::repeat_byte);
        let filter = TransferFilter {
            tokens: TokenFilter::Only {
                tokens: [usd, eur].into_iter().collect(),
                native: true,
            },
            touching: Some(AddressFilter::new([a, x], Direction::Both)),
            ..TransferFilter::default()
        };
        let mut queried = QueriedNames::of(&filter);
        let moved = Transfer {
            token_address: Some(usd),
            from_address: b,
            to_address: a,
            ..transfer(1)
        };
        queried.see([&moved]);
        let unseen = queried.unseen();
        assert_eq!((unseen.tokens, unseen.first_tokens), (1, vec![eur]));
        assert_eq!((unseen.addresses, unseen.first_addresses), (1, vec![x]));
        assert!(unseen.native);
        let rest = Transfer {
            token_address: Some(eur),
            from_address: x,
            ..moved.clone()
        };
        let coin = Transfer {
            token_address: None,
            ..moved
        };
        queried.see([&rest, &coin]);
        assert!(queried.is_done() && queried.unseen().is_empty());
        assert!(QueriedNames::of(&TransferFilter::default()).is_done());
    }
}
