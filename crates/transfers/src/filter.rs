//! Conditions on transfers. Decoders apply them before they build a transfer, where possible.

use crate::{AmountFilter, Kind, TokenStandard, Transfer};
use alloy_primitives::{Address, U256, map::AddressHashSet};
use txgraph_base::string_enum;

/// A set of addresses.
pub type AddressSet = AddressHashSet;

string_enum! {
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

/// A condition on the asset.
#[derive(Clone, Debug, Default)]
pub enum TokenFilter {
    /// Every token and the native coin.
    #[default]
    All,
    /// These token contracts, and the native coin if `native`.
    Only {
        /// Token contracts.
        tokens: AddressSet,
        /// Whether native movements are wanted, too.
        native: bool,
    },
}

impl TokenFilter {
    /// These token contracts.
    pub fn only(tokens: impl IntoIterator<Item = Address>) -> Self {
        Self::Only {
            tokens: tokens.into_iter().collect(),
            native: false,
        }
    }

    /// The native coin.
    pub fn native() -> Self {
        Self::Only {
            tokens: AddressSet::default(),
            native: true,
        }
    }

    /// Whether transfers of this asset are wanted (`None`: the native coin).
    pub fn matches(&self, token: Option<&Address>) -> bool {
        match (self, token) {
            (Self::All, _) => true,
            (Self::Only { native, .. }, None) => *native,
            (Self::Only { tokens, .. }, Some(token)) => tokens.contains(token),
        }
    }
}

/// A condition on sender and receiver: one of `addresses` must be the sender (`Out`), the
/// receiver (`In`), or either (`Both`).
#[derive(Clone, Debug)]
pub struct AddressFilter {
    /// The addresses: a whole frontier, never one address at a time.
    pub addresses: AddressSet,
    /// The side that is compared.
    pub direction: Direction,
}

impl AddressFilter {
    /// A condition on these addresses.
    pub fn new(addresses: impl IntoIterator<Item = Address>, direction: Direction) -> Self {
        Self {
            addresses: addresses.into_iter().collect(),
            direction,
        }
    }

    /// Whether one of the addresses is on the side that is compared.
    fn includes(&self, from: &Address, to: &Address) -> bool {
        let Self {
            addresses,
            direction,
        } = self;
        match direction {
            Direction::Out => addresses.contains(from),
            Direction::In => addresses.contains(to),
            Direction::Both => addresses.contains(from) || addresses.contains(to),
        }
    }
}

/// All conditions on a transfer. It must meet every one.
#[derive(Clone, Debug, Default)]
pub struct TransferFilter {
    /// The wanted assets.
    pub tokens: TokenFilter,
    /// The wanted senders and receivers; `None`: any.
    pub touching: Option<AddressFilter>,
    /// The smallest wanted amount, in the smallest unit of the token.
    pub min_value: U256,
    /// Smallest amounts by token, and wanted token ids.
    pub amounts: AmountFilter,
    /// The wanted standards; empty for all.
    pub standards: Vec<TokenStandard>,
    /// The wanted kinds; empty for all.
    pub kinds: Vec<Kind>,
    /// Whether movements inside of transactions are wanted, too. Since Amsterdam the chain logs
    /// them (EIP-7708). In older blocks they leave no log and are found by replaying the
    /// transaction. A source that cannot find them refuses the request
    /// ([`SourceError::Unsupported`](crate::SourceError::Unsupported)).
    pub internal: bool,
}

impl TransferFilter {
    /// Everything, with or without internal transfers.
    pub fn with_internal(internal: bool) -> Self {
        Self {
            internal,
            ..Self::default()
        }
    }

    /// Whether it wants all transfers of its tokens, but for the sender, the receiver and those inside of
    /// transactions.
    pub fn is_of_tokens_only(&self) -> bool {
        let amounts = &self.amounts;
        self.min_value.is_zero()
            && amounts.min_values().is_empty()
            && amounts.token_ids().is_empty()
            && self.standards.is_empty()
            && self.kinds.is_empty()
    }

    /// Whether transfers with this sender and receiver can be wanted.
    #[inline]
    pub fn matches_ends(&self, from: &Address, to: &Address) -> bool {
        let touching = self.touching.as_ref();
        touching.is_none_or(|touching| touching.includes(from, to))
    }

    /// Whether transfers of this standard and kind can be wanted.
    #[inline]
    pub fn matches_sort(&self, standard: TokenStandard, kind: Kind) -> bool {
        (self.standards.is_empty() || self.standards.contains(&standard))
            && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }

    /// Whether native movements of this kind can be wanted.
    pub fn matches_native(&self, kind: Kind) -> bool {
        self.tokens.matches(None) && self.matches_sort(TokenStandard::Native, kind)
    }

    /// Whether fees are wanted. They are returned only if they are wanted by name. No index
    /// contains them.
    pub fn needs_fees(&self) -> bool {
        self.internal
            && Kind::FEES
                .iter()
                .any(|kind| self.kinds.contains(kind) && self.matches_native(*kind))
    }

    /// Whether movements inside of transactions are wanted that are not fees. In blocks before
    /// Amsterdam only traces of the transactions contain them.
    pub fn needs_traces(&self) -> bool {
        self.internal && (self.matches_native(Kind::Internal) || self.matches_native(Kind::Burn))
    }

    /// Whether a decoder needs the transactions and not only their logs: for their values, and
    /// to distinguish these from internal movements.
    pub fn needs_transactions(&self) -> bool {
        self.matches_native(Kind::Value) || self.matches_native(Kind::Internal)
    }

    /// Whether a decoder needs the transactions of an OP-stack chain, where deposits also mint
    /// the native coin.
    pub fn needs_op_transactions(&self) -> bool {
        self.needs_transactions() || self.matches_native(Kind::Mint)
    }

    /// Whether a decoder needs the withdrawals of the blocks.
    pub fn needs_withdrawals(&self) -> bool {
        self.matches_native(Kind::Withdrawal)
    }

    /// Returns the wanted tokens, if every wanted transfer has a log of one of them. Then a bloom
    /// filter can show that a block has none: native movements are in no log of a token, and without a
    /// condition on the token some token is in every block.
    pub fn only_logs_of(&self) -> Option<&AddressSet> {
        match &self.tokens {
            TokenFilter::Only { tokens, .. }
                if !self.needs_transactions()
                    && !self.needs_withdrawals()
                    && !self.tokens.matches(None) =>
            {
                Some(tokens)
            }
            _ => None,
        }
    }

    /// Whether an amount and an id of this token are wanted.
    #[inline]
    pub fn matches_amount(&self, token: Option<&Address>, value: &U256, id: Option<&U256>) -> bool {
        *value >= self.min_value && self.amounts.matches(token, value, id)
    }

    /// Whether `transfer` meets every condition.
    #[inline]
    pub fn matches(&self, transfer: &Transfer) -> bool {
        self.tokens.matches(transfer.token_address.as_ref())
            && self.matches_ends(&transfer.from_address, &transfer.to_address)
            && self.matches_amount(
                transfer.token_address.as_ref(),
                &transfer.value,
                transfer.token_id.as_ref(),
            )
            && self.matches_sort(transfer.token_standard, transfer.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const A: Address = Address::repeat_byte(0xaa);
    const B: Address = Address::repeat_byte(0xbb);
    const TOKEN: Address = Address::repeat_byte(0x70);

    fn transfer() -> Transfer {
        Transfer {
            log_index: Some(4),
            token_address: Some(TOKEN),
            from_address: A,
            to_address: B,
            value: U256::from(10),
            token_standard: TokenStandard::Erc20,
            kind: Kind::Transfer,
            ..testing::transfer(1)
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
        let touching = Some(AddressFilter {
            addresses: set(&[address]),
            direction,
        });
        TransferFilter {
            touching,
            ..Default::default()
        }
    }

    #[test]
    fn transfers_must_meet_every_condition() {
        let check = |filter: TransferFilter, token: bool, coin: bool| {
            assert_eq!(filter.matches(&transfer()), token, "{filter:?}");
            assert_eq!(filter.matches(&native(Kind::Value)), coin, "{filter:?}");
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
    fn needed_parts_follow_from_the_filter() {
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
        assert!(kinds(&[Kind::Mint]).needs_op_transactions());
        assert!(!kinds(&[Kind::Withdrawal]).needs_op_transactions());
        assert!(!only(&[TOKEN], false).needs_op_transactions());
        let inside = |kinds: &[Kind], internal| {
            let filter = TransferFilter {
                kinds: kinds.to_vec(),
                internal,
                ..Default::default()
            };
            (filter.needs_traces(), filter.needs_fees())
        };
        assert_eq!(inside(&[], true), (true, false));
        assert_eq!(inside(&[], false), (false, false));
        assert_eq!(inside(&[Kind::Internal, Kind::Fee], false), (false, false));
        assert_eq!(inside(&[Kind::Burn, Kind::Fee], true), (true, true));
        assert_eq!(inside(&[Kind::Value], true), (false, false));
        for kind in Kind::FEES {
            assert_eq!(inside(&[kind, Kind::Value], true), (false, true));
        }
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
