//! The claims of tokens about themselves, and counterfeits of well-known tokens.
//!
//! Any contract can claim any symbol. A claim that looks like the symbol of a well-known token,
//! or of the native coin, at another address gets a question mark.

use crate::alike::Alike;
use alloy_primitives::Address;
use std::{collections::BTreeMap, sync::LazyLock};
use txgraph_base::KnownChain;

/// A token of a list, or a well-known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Symbol, printable and of at most 24 characters; may be empty.
    pub symbol: String,
    /// Decimal places of an amount.
    pub decimals: u8,
}

/// The metadata that the contract of a token claims. Fields that it does not answer are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimedMetadata {
    /// The symbol.
    pub symbol: Option<String>,
    /// Decimal places of an amount.
    pub decimals: Option<u8>,
}

/// A token that claims the symbol of a well-known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterfeitToken {
    /// Its contract.
    pub address: Address,
    /// The claims, printable.
    pub claimed: String,
    /// The symbol of the token that it looks like: a well-known one, or one of a list.
    pub symbol: String,
    /// The contract of that token; `None`: the native coin.
    pub known: Option<Address>,
}

/// The well-known tokens by chain and address.
static KNOWN: LazyLock<BTreeMap<(u64, Address), Token>> = LazyLock::new(|| {
    let chains = KnownChain::ALL.iter();
    let tokens = chains.flat_map(|chain| chain.tokens().iter().map(|token| (chain.id, token)));
    let entry = |(chain, token): (u64, &txgraph_base::KnownToken)| {
        let symbol = token.symbol.to_owned();
        let decimals = token.decimals;
        ((chain, token.address), Token { symbol, decimals })
    };
    tokens.map(entry).collect()
});

/// The well-known token with this address.
pub(crate) fn known(chain_id: u64, address: Address) -> Option<&'static Token> {
    KNOWN.get(&(chain_id, address))
}

/// The well-known token with this symbol, in any case.
pub(crate) fn known_by_symbol(chain_id: u64, symbol: &str) -> Option<Address> {
    let tokens = KnownChain::by_id(chain_id)?.tokens();
    let mut tokens = tokens.iter();
    let token = tokens.find(|token| token.symbol.eq_ignore_ascii_case(symbol))?;
    Some(token.address)
}

/// The well-known tokens of a chain and its native coin, by what they look like.
pub(crate) fn well_known(chain_id: u64) -> Alike {
    let mut alike = Alike::default();
    let Some(chain) = KnownChain::by_id(chain_id) else {
        return alike;
    };
    for token in chain.tokens() {
        alike.add(Some(token.address), token.symbol, true);
    }
    alike.add(None, chain.native_symbol, true);
    alike
}

/// Whether a contract is a well-known token, or wraps the native coin, so that it is no counterfeit.
pub(crate) fn is_well_known(chain_id: u64, address: Address) -> bool {
    KnownChain::by_id(chain_id).is_some_and(|chain| {
        chain.token(address).is_some() || chain.wrapped_native.contains(&address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;

    #[test]
    fn well_known_tokens_are_themselves() {
        let usdc = address!("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48");
        let alike = well_known(1);
        assert_eq!(alike.trusted("USDС"), Some(("USDC", Some(usdc))));
        assert_eq!(alike.trusted("ETH"), Some(("ETH", None)));
        assert_eq!(alike.trusted("OZA"), None);
        assert_eq!(well_known(999_999).trusted("USDC"), None);
        assert_eq!(known_by_symbol(1, "usdc"), Some(usdc));
        assert_eq!(known(1, usdc).unwrap().decimals, 6);
        assert!(is_well_known(1, usdc) && !is_well_known(5, usdc));
        // None looks like another of its chain.
        for chain in KnownChain::ALL {
            let alike = well_known(chain.id);
            for token in chain.tokens() {
                assert!(!alike.is_shared(&token.address), "{}", token.symbol);
            }
        }
    }
}
