//! Addresses: 40 hex digits, usually after `0x`. A wrong EIP-55 checksum is refused.

use super::shortened::shortened;
use alloy_primitives::Address;

/// Whether a mixed-case address must carry the right checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Mixed case is a checksum (EIP-55) and must be right. This detects typing errors.
    #[default]
    Verify,
    /// Any case is accepted.
    Ignore,
}

/// A text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not 40 hex digits.
    #[error("`{0}` is not an address{why}", why = explain(.0))]
    Malformed(String),
    /// Mixed case, with a wrong checksum.
    #[error("`{written}` has a wrong checksum; with these digits it is `{right}`")]
    Checksum {
        /// The text.
        written: String,
        /// The same digits in the case that EIP-55 requires.
        right: String,
    },
}

/// Why a text is not an address.
fn explain(text: &str) -> String {
    let digits = hex_digits(text);
    let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && digits.len() == 64 {
        return ": 64 hex digits are a hash, e.g. of a transaction".to_owned();
    }
    if is_hex && (digits.len() < text.len() || digits.len() > 30) {
        let found = digits.len();
        let digits = if found == 1 { "digit" } else { "digits" };
        return format!(": it has {found} hex {digits}, and an address has 40");
    }
    if text.to_ascii_lowercase().ends_with(".eth") {
        return ": names of ENS are not looked up, give the address (`0x` and 40 hex digits)"
            .to_owned();
    }
    " (`0x` and 40 hex digits)".to_owned()
}

/// The text without `0x`.
fn hex_digits(text: &str) -> &str {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    digits.unwrap_or(text)
}

/// Reads an address, with or without `0x`. Digits that are all lower-case or all upper-case
/// have no checksum.
pub fn parse_address(text: &str, checksum: Checksum) -> Result<Address, AddressError> {
    let malformed = || AddressError::Malformed(shortened(text).into_owned());
    let digits = hex_digits(text);
    if digits.len() != 40 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(malformed());
    }
    let address: Address = digits.parse().map_err(|_| malformed())?;
    let lower = digits.bytes().any(|byte| byte.is_ascii_lowercase());
    let upper = digits.bytes().any(|byte| byte.is_ascii_uppercase());
    if checksum == Checksum::Verify && lower && upper {
        let right = address.to_checksum(None);
        if right[2..] != *digits {
            return Err(AddressError::Checksum {
                written: text.to_owned(),
                right,
            });
        }
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RIGHT: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

    #[test]
    fn rejects_a_wrong_checksum() {
        let wrong = RIGHT.replace("5aA", "5AA");
        let error = parse_address(&wrong, Checksum::Verify).unwrap_err();
        assert_eq!(
            error,
            AddressError::Checksum {
                written: wrong.clone(),
                right: RIGHT.into()
            }
        );
        assert!(parse_address(&wrong, Checksum::Ignore).is_ok());
    }

    #[test]
    fn reads_all_forms() {
        let plain = parse_address(&RIGHT.to_lowercase(), Checksum::Verify).unwrap();
        assert_eq!(parse_address(RIGHT, Checksum::Verify), Ok(plain));
        let upper = format!("0x{}", RIGHT[2..].to_uppercase());
        assert_eq!(parse_address(&upper, Checksum::Verify), Ok(plain));
        assert_eq!(parse_address(&RIGHT[2..], Checksum::Verify), Ok(plain));
        for text in ["", "0x", "0x12", &format!("{RIGHT}0"), "0xé", "vitalik.eth"] {
            let error = parse_address(text, Checksum::Ignore).unwrap_err();
            assert_eq!(error, AddressError::Malformed(text.into()));
        }
    }

    #[test]
    fn messages_state_the_mistake() {
        let hash = format!("0x{}", "ab".repeat(32));
        for (text, message) in [
            (&*hash, "64 hex digits are a hash"),
            (&RIGHT[..41], "it has 39 hex digits, and an address has 40"),
            ("0x1", "it has 1 hex digit, and"),
            ("vitalik.eth", "names of ENS are not looked up"),
            ("usdc", "(`0x` and 40 hex digits)"),
            ("face", "(`0x` and 40 hex digits)"),
        ] {
            let error = parse_address(text, Checksum::Verify).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn checksummed_addresses_read_back(bytes: [u8; 20]) {
            let address = Address::from(bytes);
            prop_assert_eq!(parse_address(&address.to_checksum(None), Checksum::Verify), Ok(address));
            prop_assert_eq!(parse_address(&format!("{address:#x}"), Checksum::Verify), Ok(address));
        }

        #[test]
        fn never_panics(text in ".{0,50}") {
            let _ = parse_address(&text, Checksum::Verify);
        }
    }
}
