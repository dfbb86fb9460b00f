//! Links from a picture to a block explorer.

use alloy_primitives::{Address, B256};
use std::{fmt, str::FromStr};

/// A template of links: `https://…/{address}` for vertices, `https://…/{tx}` for arrows of
/// one transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(String);

/// A text that is not a template of links.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a link: it needs `http://` or `https://`, and `{{address}}` or `{{tx}}`")]
pub struct WrongLink(String);

impl FromStr for Link {
    type Err = WrongLink;

    fn from_str(text: &str) -> Result<Self, WrongLink> {
        let is_web = text.starts_with("https://") || text.starts_with("http://");
        let has_place = text.contains("{address}") || text.contains("{tx}");
        // Other characters are written as %XX in a URL.
        let is_plain = text
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '<' | '>' | '\\' | '`'));
        if is_web && has_place && is_plain {
            Ok(Self(text.to_owned()))
        } else {
            Err(WrongLink(text.to_owned()))
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Link {
    /// Returns the link of an address.
    pub(crate) fn address(&self, address: Address) -> Option<String> {
        (self.0.contains("{address}") && !self.0.contains("{tx}"))
            .then(|| self.0.replace("{address}", &address.to_checksum(None)))
    }

    /// Returns the link of a transaction.
    pub(crate) fn transaction(&self, hash: B256) -> Option<String> {
        (self.0.contains("{tx}") && !self.0.contains("{address}"))
            .then(|| self.0.replace("{tx}", &format!("{hash:#x}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_web_links_with_a_place() {
        let link: Link = "https://etherscan.io/address/{address}?a=1&b=2"
            .parse()
            .unwrap();
        let url = link.address(Address::ZERO).unwrap();
        assert!(url.ends_with("/0x0000000000000000000000000000000000000000?a=1&b=2"));
        assert_eq!(link.transaction(B256::ZERO), None);
        for text in [
            "javascript:alert('{address}')",
            "https://example.org/",
            "https://example.org/{address}\"onclick=",
            "https://example.org/{address} x",
            "file:///{address}",
        ] {
            assert!(text.parse::<Link>().is_err(), "{text}");
        }
    }
}
