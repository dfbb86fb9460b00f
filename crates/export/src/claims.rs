//! What tokens claim about themselves, and counterfeits of well-known tokens.
//!
//! Any contract can claim any symbol. A claim that looks like the symbol of a well-known token,
//! or of the native coin, at another address gets a question mark.

use crate::Token;
use alloy_primitives::Address;
use std::{collections::BTreeMap, sync::LazyLock};
use txgraph_base::KnownChain;
use unicode_security::confusable_detection::skeleton;

/// What the contract of a token claims. What it does not answer is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenClaim {
    /// The symbol.
    pub symbol: Option<String>,
    /// Decimal places of an amount.
    pub decimals: Option<u8>,
}

/// A token that claims the symbol of a well-known one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterfeit {
    /// Its contract.
    pub address: Address,
    /// What it claims, printable.
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

/// The well-known token that a symbol looks like, if the address is not that of a well-known one.
pub(crate) fn counterfeit(chain_id: u64, address: Address, symbol: &str) -> Option<Counterfeit> {
    let chain = KnownChain::by_id(chain_id)?;
    if chain.token(address).is_some() || chain.wrapped_native.contains(&address) {
        return None;
    }
    let native = (chain.native_symbol, None);
    let tokens = chain.tokens().iter();
    let tokens = tokens.map(|token| (token.symbol, Some(token.address)));
    let (symbol, known) = tokens
        .chain([native])
        .find(|(known, _)| looks_like(symbol, known))?;
    Some(Counterfeit {
        address,
        claimed: String::new(),
        symbol: symbol.to_owned(),
        known,
    })
}

/// Whether a person would take one text for the other: by the confusable characters of Unicode
/// (UTS 39), in any case, without blanks and characters that are not seen.
pub(crate) fn looks_like(text: &str, known: &str) -> bool {
    let seen = |c: &char| !c.is_whitespace() && !c.is_control() && *c != '\u{FFFD}';
    let text: String = text.chars().filter(seen).collect();
    let same = |a: &str, b: &str| skeleton(a).filter(|c| is_visible(*c)).eq(skeleton(b));
    same(&text, known)
        || same(&text.to_uppercase(), &known.to_uppercase())
        || same(&text.to_lowercase(), &known.to_lowercase())
}

/// Whether a character of a skeleton is drawn by itself.
const fn is_visible(c: char) -> bool {
    // Accents are drawn on the character before them, and are easy to overlook.
    !matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;

    #[test]
    fn symbols_that_look_alike() {
        for text in [
            "USDC",
            "usdc",
            "UЅDС", // Cyrillic Dze and Es.
            "USD\u{200b}C",
            " U S D C ",
            "ＵＳＤＣ",
            "ÚSDC",
            "USD\u{421}\u{fe0f}",
            "𝐔𝐒𝐃𝐂",
        ] {
            assert!(looks_like(text, "USDC"), "{text}");
        }
        for text in ["USDC2", "aUSDC", "USD", "USDT", "", "U5DC"] {
            assert!(!looks_like(text, "USDC"), "{text}");
        }
        assert!(looks_like("WЕТН", "WETH"));
        assert!(looks_like("MАTIC", "MATIC") && looks_like("matic", "MATIC"));
        assert!(looks_like("PЕPЕ", "PEPE"));
    }

    #[test]
    fn counterfeits_have_another_address() {
        let usdc = address!("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48");
        let other = Address::repeat_byte(7);
        assert_eq!(counterfeit(1, usdc, "USDC"), None);
        let found = counterfeit(1, other, "USDС").unwrap();
        assert_eq!((&*found.symbol, found.known), ("USDC", Some(usdc)));
        let coin = counterfeit(1, other, "ETH").unwrap();
        assert_eq!((&*coin.symbol, coin.known), ("ETH", None));
        assert_eq!(counterfeit(1, other, "OZA"), None);
        assert_eq!(counterfeit(999_999, other, "USDC"), None);
        assert_eq!(known_by_symbol(1, "usdc"), Some(usdc));
        assert_eq!(known(1, usdc).unwrap().decimals, 6);
        // Every well-known token is itself, and none looks like another of its chain.
        for chain in KnownChain::ALL {
            for token in chain.tokens() {
                assert_eq!(counterfeit(chain.id, token.address, token.symbol), None);
                let alike = chain.tokens().iter();
                assert_eq!(
                    alike
                        .filter(|it| looks_like(token.symbol, it.symbol))
                        .count(),
                    1
                );
            }
        }
    }
}
