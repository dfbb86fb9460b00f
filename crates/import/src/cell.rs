//! Cells of any format, and their conversion to the types of a transfer.
//!
//! A conversion is exact or fails. Parquet, CSV and JSON share these texts: hex with
//! `0x` (or PostgreSQL's `\x`), and decimal numbers without fraction and exponent.

use crate::{Role, error::Problem, time};
use alloy_primitives::{Address, B256, Bloom, U256, hex};
use txgraph_transfers::BlockTime;

/// The value of one column in one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// No value: an empty field, a JSON null.
    Null,
    Bool(bool),
    /// A number that is not negative.
    Whole(U256),
    /// A number that cannot be used, with the reason.
    Inexact(&'static str),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Unix seconds.
    Seconds(u64),
}

/// A wrong cell of a row.
#[derive(Debug)]
pub(crate) struct WrongCell {
    pub(crate) role: Role,
    pub(crate) problem: Problem,
}

/// Why amounts of type double are refused.
pub(crate) const FLOAT: &str = "a floating-point number is not exact; export amounts as decimal \
     text (cryo: --u256-types string; SQL: CAST(… AS STRING)) or as 32 bytes";

/// The longest decimal number below 2^256.
const DECIMAL_DIGITS_MAX: usize = 78;

fn odd(text: &str) -> String {
    let shown: String = text.chars().take(80).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", shown.escape_debug())
}

/// The hex digits of a text, without the prefix.
fn digits(text: &str) -> Option<&str> {
    ["0x", "0X", "\\x"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
}

impl<'a> Cell<'a> {
    /// An integer of at most 64 bits.
    #[inline]
    pub(crate) fn unsigned(number: u64) -> Self {
        Self::Whole(U256::from(number))
    }

    /// A signed integer.
    #[inline]
    pub(crate) fn signed(number: i64) -> Self {
        match u64::try_from(number) {
            Ok(number) => Self::unsigned(number),
            Err(_) => Self::Inexact("a negative number"),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, also if it is stored without its type.
    pub(crate) fn text(&self) -> Result<&'a str, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).map_err(|_| "not text".into()),
            other => Err(format!("{} instead of text", other.name()).into()),
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Null => "no value",
            Self::Bool(_) => "a boolean",
            Self::Whole(_) => "a number",
            Self::Inexact(reason) => reason,
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Seconds(_) => "a time",
        }
    }

    fn fixed<const N: usize>(&self, what: &str) -> Result<[u8; N], Problem> {
        let text = match self {
            Self::Bytes(bytes) => match <[u8; N]>::try_from(*bytes) {
                Ok(bytes) => return Ok(bytes),
                Err(_) => self.text().map_err(|_| -> Problem {
                    format!("{} bytes instead of the {N} of {what}", bytes.len()).into()
                })?,
            },
            Self::Text(text) => text.trim(),
            other => return Err(format!("{} instead of {what}", other.name()).into()),
        };
        let mut out = [0; N];
        match digits(text).map(|digits| hex::decode_to_slice(digits, &mut out)) {
            Some(Ok(())) => Ok(out),
            _ => Err(format!("{} is not {what}: 0x and {} hex digits", odd(text), 2 * N).into()),
        }
    }

    pub(crate) fn address(&self) -> Result<Address, Problem> {
        self.fixed("an address").map(Address::new)
    }

    pub(crate) fn hash(&self) -> Result<B256, Problem> {
        self.fixed("a hash").map(B256::new)
    }

    pub(crate) fn bloom(&self) -> Result<Bloom, Problem> {
        self.fixed("a bloom filter").map(Bloom::new)
    }

    /// A 256-bit number.
    pub(crate) fn number(&self) -> Result<U256, Problem> {
        match self {
            Self::Whole(number) => Ok(*number),
            Self::Inexact(reason) => Err((*reason).into()),
            Self::Text(text) => parse_number(text.trim()),
            Self::Bytes(bytes) => match <[u8; 32]>::try_from(*bytes) {
                Ok(word) => Ok(U256::from_be_bytes(word)),
                Err(_) => Err(format!("{} bytes instead of 32", bytes.len()).into()),
            },
            other => Err(format!("{} instead of a number", other.name()).into()),
        }
    }

    pub(crate) fn u64(&self) -> Result<u64, Problem> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| format!("{number} is too large").into())
    }

    pub(crate) fn u32(&self) -> Result<u32, Problem> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| format!("{number} is too large").into())
    }

    /// A condition: true, false, 1, 0.
    pub(crate) fn flag(&self) -> Result<bool, Problem> {
        match self {
            Self::Bool(flag) => Ok(*flag),
            Self::Whole(number) if *number <= U256::ONE => Ok(!number.is_zero()),
            Self::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "0x1" => Ok(true),
                "false" | "0" | "0x0" => Ok(false),
                _ => Err(format!("{} is neither true nor false", odd(text)).into()),
            },
            other => Err(format!("{} instead of true or false", other.name()).into()),
        }
    }

    pub(crate) fn time(&self) -> Result<BlockTime, Problem> {
        let seconds = match self {
            Self::Seconds(seconds) => *seconds,
            Self::Text(text) if !text.bytes().all(|b| b.is_ascii_digit()) => time::parse(text)
                .ok_or_else(|| -> Problem {
                    format!(
                        "{} is not a time: 2023-05-02 12:19:59 or Unix seconds",
                        odd(text)
                    )
                    .into()
                })?,
            _ => seconds(self.u64()?)?,
        };
        BlockTime::new(seconds).ok_or_else(|| "the time is too late".into())
    }

    /// Appends bytes of any length to `out`.
    pub(crate) fn append_bytes(&self, out: &mut Vec<u8>) -> Result<(), Problem> {
        match self {
            Self::Null => Ok(()),
            Self::Bytes(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Self::Text(text) => {
                let text = text.trim();
                let wrong =
                    || -> Problem { format!("{} is not 0x and hex digits", odd(text)).into() };
                let digits = digits(text).ok_or_else(wrong)?;
                let start = out.len();
                out.resize(start + digits.len() / 2, 0);
                hex::decode_to_slice(digits, &mut out[start..]).map_err(|_| wrong())
            }
            other => Err(format!("{} instead of bytes", other.name()).into()),
        }
    }
}

/// Unix seconds of a number that may count milliseconds, microseconds or nanoseconds: as seconds
/// it would be after the year 5000.
fn seconds(number: u64) -> Result<u64, Problem> {
    let unit = match number {
        0..100_000_000_000 => 1,
        100_000_000_000..100_000_000_000_000 => 1_000,
        100_000_000_000_000..100_000_000_000_000_000 => 1_000_000,
        _ => 1_000_000_000,
    };
    match number.is_multiple_of(unit) {
        true => Ok(number / unit),
        false => Err(format!("{number} is a time with a fraction of a second").into()),
    }
}

/// Parses a decimal number, or a hexadecimal one after `0x`.
pub(crate) fn parse_number(text: &str) -> Result<U256, Problem> {
    let wrong = || -> Problem { format!("{} is not a whole number", odd(text)).into() };
    if let Some(digits) = digits(text) {
        return match digits.is_empty() {
            true => Err(wrong()),
            false => U256::from_str_radix(digits, 16).map_err(|_| wrong()),
        };
    }
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        let float = text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'));
        let float = float
            && text
                .bytes()
                .next()
                .is_some_and(|b| b.is_ascii_digit() || b == b'-');
        return Err(match float {
            true => format!("{}: {FLOAT}", odd(text)).into(),
            false => wrong(),
        });
    }
    // The common case: at most 19 digits fit in 64 bits.
    if text.len() < 20 {
        return text.parse::<u64>().map(U256::from).map_err(|_| wrong());
    }
    let digits = text.trim_start_matches('0');
    let large = || -> Problem { format!("{} is not below 2^256", odd(text)).into() };
    if digits.len() > DECIMAL_DIGITS_MAX {
        return Err(large());
    }
    match digits {
        "" => Ok(U256::ZERO),
        digits => U256::from_str_radix(digits, 10).map_err(|_| large()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;
    use proptest::prelude::*;

    const A: Address = address!("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2");

    #[test]
    fn addresses_and_hashes_are_hex_or_bytes() {
        for cell in [
            Cell::Bytes(A.as_slice()),
            Cell::Text("0xC02AAA39B223fe8d0a0e5c4f27ead9083c756cc2"),
            Cell::Text(" \\xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
            Cell::Bytes(b"0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
        ] {
            assert_eq!(cell.address().unwrap(), A);
        }
        for (cell, message) in [
            (Cell::Null, "no value instead of an address"),
            (Cell::Bytes(&[0xff; 19]), "19 bytes instead of the 20"),
            (Cell::Text("0xc02aaa"), "`0xc02aaa` is not an address"),
            (
                Cell::Text("c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
                "0x and 40 hex digits",
            ),
            (
                Cell::Text("0xg02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
                "0x and 40 hex digits",
            ),
            (Cell::unsigned(7), "a number instead of an address"),
        ] {
            let problem = cell.address().unwrap_err();
            assert!(problem.contains(message), "{problem}");
        }
    }

    #[test]
    fn inexact_numbers_are_refused() {
        let max = U256::MAX.to_string();
        assert_eq!(parse_number(&max).unwrap(), U256::MAX);
        assert_eq!(parse_number(&format!("{:0>90}", 7)).unwrap(), U256::from(7));
        assert_eq!(parse_number("0xff").unwrap(), U256::from(255));
        assert_eq!(
            Cell::Bytes(&[1; 32]).number().unwrap(),
            U256::from_be_bytes([1; 32])
        );
        let over = format!("{}6", &max[..77]);
        for (text, message) in [
            ("1e18", "not exact"),
            ("1.5", "not exact"),
            ("199e17", "not exact"),
            ("-1", "not a whole number"),
            ("", "not a whole number"),
            ("0x", "not a whole number"),
            ("apple", "not a whole number"),
            (over.as_str(), "not below 2^256"),
            (&"9".repeat(79), "not below 2^256"),
        ] {
            let problem = parse_number(text).unwrap_err();
            assert!(problem.contains(message), "{text}: {problem}");
        }
        assert!(
            Cell::Inexact(FLOAT)
                .number()
                .unwrap_err()
                .contains("--u256-types")
        );
        assert!(Cell::signed(-1).number().unwrap_err().contains("negative"));
        assert!(
            Cell::unsigned(1 << 33)
                .u32()
                .unwrap_err()
                .contains("too large")
        );
    }

    #[test]
    fn bytes_flags_and_times_are_converted() {
        let mut out = vec![9];
        Cell::Text("0x0102").append_bytes(&mut out).unwrap();
        Cell::Bytes(&[3]).append_bytes(&mut out).unwrap();
        Cell::Text("0x").append_bytes(&mut out).unwrap();
        assert_eq!(out, [9, 1, 2, 3]);
        assert!(Cell::Text("0x123").append_bytes(&mut out).is_err());
        assert!(Cell::Text("zz").append_bytes(&mut out).is_err());
        for (cell, flag) in [
            (Cell::Bool(true), Some(true)),
            (Cell::Text("False"), Some(false)),
            (Cell::unsigned(1), Some(true)),
            (Cell::unsigned(2), None),
            (Cell::Text("yes"), None),
        ] {
            assert_eq!(cell.flag().ok(), flag, "{cell:?}");
        }
        let time = BlockTime::new(1_683_029_999);
        for text in [
            "1683029999",
            "1683029999000",
            "1683029999000000",
            "1683029999000000000",
            "2023-05-02T12:19:59Z",
        ] {
            assert_eq!(Cell::Text(text).time().ok(), time);
        }
        assert!(Cell::Text("1683029999500").time().is_err());
        assert!(Cell::Text("yesterday").time().is_err());
    }

    proptest! {
        #[test]
        fn decimal_numbers_round_trip(words in any::<[u64; 4]>(), shift in 0usize..256) {
            let number = U256::from_limbs(words) >> shift;
            prop_assert_eq!(parse_number(&number.to_string()).unwrap(), number);
            prop_assert_eq!(parse_number(&format!("{number:#x}")).unwrap(), number);
        }

        #[test]
        fn any_text_is_converted_or_refused(text in ".{0,90}") {
            let cell = Cell::Text(&text);
            let _ = (cell.number(), cell.address(), cell.time(), cell.flag());
            let _ = cell.append_bytes(&mut Vec::new());
        }
    }
}
