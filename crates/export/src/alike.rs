//! Tokens whose symbols look like each other.
//!
//! Symbols are compared by what they look like, through a map, so that a token costs the same
//! whether a few or a hundred thousand others are known.

use alloy_primitives::{Address, map::HashMap};
use std::collections::BTreeSet;
use unicode_security::confusable_detection::skeleton;

/// The look of a symbol: as it is, in upper case or in lower case.
type Look = (u8, String);

/// The first token that looks like this.
#[derive(Clone, Debug)]
struct Holder {
    /// Its contract; `None`: the native coin.
    token: Option<Address>,
    /// Its symbol, if a list or the table of well-known tokens has it.
    trusted: Option<String>,
}

/// The tokens of a chain by what their symbols look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alike {
    first: HashMap<Look, Holder>,
    shared: BTreeSet<Address>,
}

impl Alike {
    /// Adds a token with its symbol, which is `trusted` or only claimed.
    pub(crate) fn add(&mut self, token: Option<Address>, symbol: &str, is_trusted: bool) {
        for look in looks(symbol) {
            match self.first.get(&look) {
                Some(other) if other.token == token => {}
                Some(other) => self.shared.extend([token, other.token].iter().flatten()),
                None => {
                    let trusted = is_trusted.then(|| symbol.to_owned());
                    self.first.insert(look, Holder { token, trusted });
                }
            }
        }
    }

    /// The trusted token that a symbol looks like, with its symbol.
    pub(crate) fn trusted(&self, symbol: &str) -> Option<(&str, Option<Address>)> {
        let looks = looks(symbol);
        let mut holders = looks.iter().filter_map(|look| self.first.get(look));
        holders.find_map(|holder| Some((holder.trusted.as_deref()?, holder.token)))
    }

    /// Whether another token looks the same.
    pub(crate) fn is_shared(&self, token: &Address) -> bool {
        self.shared.contains(token)
    }
}

/// Returns the visible skeletons of a symbol, by the confusable characters of Unicode (UTS 39),
/// without blanks and invisible characters.
fn looks(symbol: &str) -> [Look; 3] {
    let seen = |c: &char| !c.is_whitespace() && !c.is_control() && *c != '\u{FFFD}';
    let text: String = symbol.chars().filter(seen).collect();
    let look = |text: &str| skeleton(text).filter(|c| is_visible(*c)).collect();
    [
        (0, look(&text)),
        (1, look(&text.to_uppercase())),
        (2, look(&text.to_lowercase())),
    ]
}

/// Whether a character of a skeleton is drawn by itself.
const fn is_visible(c: char) -> bool {
    // Accents are drawn on the character before them, and are easy to overlook.
    !matches!(c, '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_that_look_alike() {
        let looks_like = |text: &str, known: &str| {
            let known = looks(known);
            looks(text).iter().any(|look| known.contains(look))
        };
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
    fn tokens_that_share_a_look() {
        let [a, b, c] = [1, 2, 3].map(Address::repeat_byte);
        let mut alike = Alike::default();
        alike.add(None, "ETH", true);
        alike.add(Some(a), "USD6", false);
        alike.add(Some(a), "USD6", false);
        assert!(!alike.is_shared(&a));
        alike.add(Some(b), "usd6", false);
        alike.add(Some(c), "Eth", false);
        assert!([a, b, c].iter().all(|token| alike.is_shared(token)));
        assert_eq!(alike.trusted("eth"), Some(("ETH", None)));
        assert_eq!(alike.trusted("USD6"), None);
    }
}
