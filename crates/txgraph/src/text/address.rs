//! Addresses: `0x` and 40 hex digits. A wrong EIP-55 checksum is refused.

use super::shortened;
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
    /// Not `0x` and 40 hex digits.
    #[error("`{0}` is not an address (`0x` and 40 hex digits)")]
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

/// Reads an address. Digits that are all lower-case or all upper-case have no checksum.
pub fn parse_address(text: &str, checksum: Checksum) -> Result<Address, AddressError> {
    let malformed = || AddressError::Malformed(shortened(text).into_owned());
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .ok_or_else(malformed)?;
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
        for text in [
            "",
            "0x",
            "0x12",
            &RIGHT[2..],
            &format!("{RIGHT}0"),
            "0xé",
            "vitalik.eth",
        ] {
            let error = parse_address(text, Checksum::Ignore).unwrap_err();
            assert_eq!(error, AddressError::Malformed(text.into()));
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
