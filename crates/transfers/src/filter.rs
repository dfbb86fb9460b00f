//! Which transfers are wanted. Applied before anything is built where possible.

use crate::{Kind, TokenStandard, Transfer};
use alloy_primitives::{Address, U256, map::AddressHashSet};
use txgraph_base::words;

/// A set of addresses.
pub type AddressSet = AddressHashSet;

words! {
    /// In which direction to follow transfers.
    #[derive(Default)]
    pub enum Direction: "direction" {
        /// From sender to receiver: where did the tokens go?
        #[default]
        Out = "out",
        /// From receiver to sender: where did they come from?
        In = "in",
        /// In both directions.
        Both = "both",
    }
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
    /// Whether movements inside of transactions are wanted, too, which leave no log and
    /// are found by executing again. A source that cannot find them refuses the request
    /// ([`SourceError::Unsupported`](crate::SourceError::Unsupported)).
    pub internal: bool,
}

impl TransferFilter {
    /// Whether the ends of a transfer are wanted.
    #[inline]
    pub fn wants_ends(&self, from: &Address, to: &Address) -> bool {
        match &self.touching {
            None => true,
            Some(Touching {
                addresses,
                direction,
            }) => match direction {
                Direction::Out => addresses.contains(from),
                Direction::In => addresses.contains(to),
                Direction::Both => addresses.contains(from) || addresses.contains(to),
            },
        }
    }

    /// Whether transfers of this standard and kind can be wanted at all.
    #[inline]
    pub fn wants_sort(&self, standard: TokenStandard, kind: Kind) -> bool {
        (self.standards.is_empty() || self.standards.contains(&standard))
            && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }

    /// Whether native movements of this kind can be wanted.
    pub fn wants_native(&self, kind: Kind) -> bool {
        self.tokens.wants(None) && self.wants_sort(TokenStandard::Native, kind)
    }

    /// Whether movements are named that only a replay of the block tells, and no index
    /// keeps.
    pub fn names_fees(&self) -> bool {
        [Kind::Fee, Kind::Priority]
            .iter()
            .any(|kind| self.kinds.contains(kind) && self.wants_native(*kind))
    }

    /// Whether a decoder must see the transactions, not only their logs:
    /// to find their own values, and to tell these from internal movements.
    pub fn needs_transactions(&self) -> bool {
        self.wants_native(Kind::Value) || self.wants_native(Kind::Internal)
    }

    /// Whether a decoder must see the withdrawals of the blocks.
    pub fn needs_withdrawals(&self) -> bool {
        self.wants_native(Kind::Withdrawal)
    }

    /// Whether `transfer` meets every condition.
    #[inline]
    pub fn wants(&self, transfer: &Transfer) -> bool {
        self.tokens.wants(transfer.token_address.as_ref())
            && self.wants_ends(&transfer.from_address, &transfer.to_address)
            && transfer.value >= self.min_value
            && self.wants_sort(transfer.token_standard, transfer.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::B256;

    const A: Address = Address::repeat_byte(0xaa);
    const B: Address = Address::repeat_byte(0xbb);
    const TOKEN: Address = Address::repeat_byte(0x70);

    fn transfer() -> Transfer {
        Transfer {
            block_number: 1,
            block_timestamp: 2,
            transaction_index: 3,
            log_index: Some(4),
            sub_index: 0,
            transaction_hash: B256::ZERO,
            token_address: Some(TOKEN),
            from_address: A,
            to_address: B,
            value: U256::from(10),
            token_id: None,
            token_standard: TokenStandard::Erc20,
            kind: Kind::Transfer,
        }
    }

    fn native(kind: Kind) -> Transfer {
        Transfer {
            token_address: None,
            token_standard: TokenStandard::Native,
            kind,
            ..transfer()
        }
    }

    fn set(addresses: &[Address]) -> AddressSet {
        addresses.iter().copied().collect()
    }

    fn only(tokens: &[Address], native: bool) -> TransferFilter {
        let tokens = TokenFilter::Only {
            tokens: set(tokens),
            native,
        };
        TransferFilter {
            tokens,
            ..Default::default()
        }
    }

    fn touching(address: Address, direction: Direction) -> TransferFilter {
        let touching = Some(Touching {
            addresses: set(&[address]),
            direction,
        });
        TransferFilter {
            touching,
            ..Default::default()
        }
    }

    #[test]
    fn every_condition_must_be_met() {
        let check = |filter: TransferFilter, token: bool, coin: bool| {
            assert_eq!(filter.wants(&transfer()), token, "{filter:?}");
            assert_eq!(filter.wants(&native(Kind::Value)), coin, "{filter:?}");
        };
        check(TransferFilter::default(), true, true);
        check(only(&[TOKEN], false), true, false);
        check(only(&[], true), false, true);
        check(only(&[A, B], true), false, true);
        for (address, direction, wanted) in [
            (A, Direction::Out, true),
            (B, Direction::Out, false),
            (A, Direction::In, false),
            (B, Direction::In, true),
            (A, Direction::Both, true),
            (B, Direction::Both, true),
            (TOKEN, Direction::Both, false),
        ] {
            check(touching(address, direction), wanted, wanted);
        }
        for (min, wanted) in [(10, true), (11, false)] {
            let min_value = U256::from(min);
            check(
                TransferFilter {
                    min_value,
                    ..Default::default()
                },
                wanted,
                wanted,
            );
        }
        let standards = vec![TokenStandard::Erc1155, TokenStandard::Native];
        check(
            TransferFilter {
                standards,
                ..Default::default()
            },
            false,
            true,
        );
        let kinds = vec![Kind::Mint, Kind::Transfer];
        check(
            TransferFilter {
                kinds: kinds.clone(),
                ..Default::default()
            },
            true,
            false,
        );
        check(
            TransferFilter {
                kinds,
                ..touching(B, Direction::Out)
            },
            false,
            false,
        );
    }

    #[test]
    fn what_must_be_read_follows_from_what_is_wanted() {
        let needs =
            |filter: &TransferFilter| (filter.needs_transactions(), filter.needs_withdrawals());
        let kinds = |kinds: &[Kind]| TransferFilter {
            kinds: kinds.to_vec(),
            ..Default::default()
        };
        assert_eq!(needs(&TransferFilter::default()), (true, true));
        assert_eq!(needs(&only(&[TOKEN], false)), (false, false));
        assert_eq!(needs(&only(&[TOKEN], true)), (true, true));
        assert_eq!(needs(&kinds(&[Kind::Withdrawal])), (false, true));
        assert_eq!(needs(&kinds(&[Kind::Internal])), (true, false));
        assert_eq!(needs(&kinds(&[Kind::Mint])), (false, false));
        let standards = vec![TokenStandard::Erc20];
        assert_eq!(
            needs(&TransferFilter {
                standards,
                ..Default::default()
            }),
            (false, false)
        );
    }
}
