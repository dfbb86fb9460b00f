//! Amounts of tokens, and sizes of memory.

use super::shortened::shortened;
use alloy_primitives::U256;

/// Reads an exact whole number: digits, `_`, and a power of ten as in `2.5e18`.
pub fn parse_amount(text: &str) -> Result<U256, String> {
    let shown = shortened(text);
    let wrong = || format!("`{shown}` is not a whole amount (smallest unit; 1000000 or 1e18)");
    let plain = text.trim().replace('_', "");
    let (digits, power) = match plain.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, power.parse::<usize>().map_err(|_| wrong())?),
        None => (plain.as_str(), 0),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let decimals = decimals.trim_end_matches('0');
    let all_digits = whole
        .bytes()
        .chain(decimals.bytes())
        .all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits || decimals.len() > power {
        return Err(wrong());
    }
    if power > 78 {
        return Err(format!("`{shown}` exceeds 256 bits"));
    }
    U256::from_str_radix(&format!("{whole}{decimals:0<power$}"), 10)
        .map_err(|_| format!("`{shown}` exceeds 256 bits"))
}

/// Reads a number of bytes: `256M`, `1.5GiB`, `1000000`. Units are powers of 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{}` is not a size; write 512M or 2G", shortened(text));
    let plain = text.trim();
    let digits = plain.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = plain[digits.len()..].to_ascii_lowercase();
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 6 || !all_digits(whole) || !all_digits(decimals) {
        return Err(wrong());
    }
    let whole: u128 = whole.parse().map_err(|_| wrong())?;
    let millionths: u128 = format!("{decimals:0<6}").parse().map_err(|_| wrong())?;
    let bytes = whole
        .checked_mul(1 << shift)
        .and_then(|bytes| bytes.checked_add((millionths << shift) / 1_000_000))
        .ok_or_else(wrong)?;
    u64::try_from(bytes).map_err(|_| wrong())
}

/// Reads the number of a slot of storage: decimal, or hex after `0x`.
///
/// # Errors
///
/// Text without digits, with other characters, or of more than 256 bits.
pub fn parse_slot(text: &str) -> Result<U256, String> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|it| it.is_digit(radix));
    let slot = U256::from_str_radix(digits, radix.into()).ok();
    slot.filter(|_| is_number).ok_or_else(|| {
        let shown = shortened(text);
        format!("`{shown}` is not a slot: a decimal or hex number of 256 bits")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("123", 123),
            ("1K", 1024),
            ("512M", 512 << 20),
            ("1.5g", 3 << 29),
            ("2GiB", 2 << 30),
            ("2GB", 2 << 30),
            ("10b", 10),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "G",
            "-1",
            "1X",
            "1ib",
            "1..5G",
            "99999999999999T",
            "1e9",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        let max = U256::MAX.to_string();
        for (text, expected) in [
            ("0", "0"),
            ("1_000", "1000"),
            ("1e18", "1000000000000000000"),
            ("2.5e1", "25"),
            (&max, &max),
        ] {
            assert_eq!(parse_amount(text).unwrap().to_string(), expected);
        }
        for text in [
            "",
            "-1",
            "1.5",
            "1e",
            "e5",
            "0x10",
            "1e99",
            "2.55e1",
            &format!("{max}0"),
        ] {
            assert!(parse_amount(text).is_err(), "{text}");
        }
    }

    #[test]
    fn slots_have_digits() {
        assert_eq!(parse_slot("0x1f").unwrap(), U256::from(31));
        assert_eq!(parse_slot(&U256::MAX.to_string()).unwrap(), U256::MAX);
        let long = format!("0x1{}", "0".repeat(64));
        for text in ["", "0x", " 1", "1_0", "0b1", "0xg", "-1", &long] {
            assert!(parse_slot(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn amounts_read_back(limbs: [u64; 4]) {
            let amount = U256::from_limbs(limbs);
            prop_assert_eq!(parse_amount(&amount.to_string()), Ok(amount));
        }
    }
}
