//! Words of a picture: rounded amounts, dates, and short addresses that differ.

use super::edge::Moment;
use crate::decimal::{push_decimal, push_integer};
use alloy_primitives::Address;
use jiff::{Timestamp, fmt::temporal::DateTimePrinter, tz::Offset};
use std::ops::Range;
use txgraph_transfers::BlockTime;

const ADDRESS_DIGITS: usize = 40;

/// Significant digits of a rounded amount below one million.
const DIGITS: usize = 5;

/// Significant digits in front of `M`, `B`, `T` and powers of ten.
const SHORT_DIGITS: usize = 4;

/// Appends a number of `decimals` decimal places, rounded half up to a few digits.
pub(super) fn push_rounded(out: &mut Vec<u8>, limbs: &[u64], decimals: u8) {
    let start = out.len();
    push_decimal(out, limbs);
    let digits = &out[start..];
    if digits == b"0" {
        return;
    }
    let at = |point: i64| usize::try_from(point).unwrap_or(0);
    // The number is 0.DIGITS times ten to the power of this.
    let power = digits.len() as i64 - i64::from(decimals);
    let kept = match power {
        1..=6 => DIGITS.max(at(power)),
        _ => SHORT_DIGITS,
    };
    let (first, rest) = digits.split_at(kept.min(digits.len()));
    let number = (first.iter()).fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
    let is_up = rest.first().is_some_and(|next| *next >= b'5');
    let mut rounded = itoa::Buffer::new();
    let rounded = rounded.format(number + u64::from(is_up));
    let power = power + i64::from(rounded.len() > first.len());
    let rounded = rounded.trim_end_matches('0').as_bytes();
    out.truncate(start);
    match power {
        1..=6 => push_grouped(out, rounded, at(power)),
        7..=15 => {
            let thousands = (power - 1) / 3;
            push_grouped(out, rounded, at(power - 3 * thousands));
            out.extend_from_slice(match thousands {
                2 => b" M",
                3 => b" B",
                _ => b" T",
            });
        }
        -3..=0 => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + at(-power), b'0');
            out.extend_from_slice(rounded);
        }
        _ => {
            push_grouped(out, rounded, 1);
            out.push(b'e');
            push_integer(out, power - 1);
        }
    }
}

/// Appends digits with a decimal point, and a separator between thousands.
fn push_grouped(out: &mut Vec<u8>, digits: &[u8], point: usize) {
    for at in 0..point {
        if at > 0 && (point - at).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digits.get(at).copied().unwrap_or(b'0'));
    }
    if digits.len() > point {
        out.push(b'.');
        out.extend_from_slice(&digits[point..]);
    }
}

/// Appends a date and time in UTC: `2024-01-31 06:49:11`. Nothing if the calendar ends before it.
fn push_time(out: &mut Vec<u8>, time: BlockTime) -> bool {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().separator(b' ');
    let seconds = i64::try_from(time.seconds()).unwrap_or(i64::MAX);
    let Ok(time) = Timestamp::from_second(seconds) else {
        return false;
    };
    let time = Offset::UTC.to_datetime(time);
    PRINTER.print_datetime(&time, out).is_ok()
}

/// Appends the first characters of the date and time of a block, or its number.
fn push_start_of_time(out: &mut Vec<u8>, (block, time): Moment, chars: usize) {
    let start = out.len();
    if time.is_some_and(|time| push_time(out, time)) {
        return out.truncate(start + chars);
    }
    out.extend_from_slice(b"block ");
    push_integer(out, block);
}

/// Appends the minute of a single transfer: `2024-01-01 06:49`.
pub(super) fn push_minute(out: &mut Vec<u8>, moment: Moment) {
    push_start_of_time(out, moment, "2024-01-01 06:49".len());
}

/// Appends the days from the first to the last transfer: `2024-01-01 to 2024-02-01`.
pub(super) fn push_days(out: &mut Vec<u8>, first: Moment, last: Moment) {
    const DAY: usize = "2024-01-01".len();
    let start = out.len();
    push_start_of_time(out, first, DAY);
    let end = out.len();
    out.extend_from_slice(b" to ");
    let next = out.len();
    push_start_of_time(out, last, DAY);
    if out[start..end] == out[next..] {
        out.truncate(end);
    }
}

/// Appends a block and its time for a tooltip.
pub(super) fn push_moment(out: &mut Vec<u8>, (block, time): Moment) {
    if time.is_some_and(|time| push_time(out, time)) {
        out.extend_from_slice(b" UTC, ");
    }
    out.extend_from_slice(b"block ");
    push_integer(out, block);
}

/// Returns the part of the text of an address that a short one leaves out; `None` if it leaves out nothing.
pub(super) fn left_out(digits: usize) -> Option<Range<usize>> {
    (2 * digits < ADDRESS_DIGITS).then(|| 2 + digits..2 + ADDRESS_DIGITS - digits)
}

/// Returns each address as `0x1234…abcd`, with more digits where two would look the same.
/// Capitals do not count as a difference.
pub fn short_addresses(addresses: &[Address]) -> Vec<String> {
    let short = addresses.iter().zip(different_digits(addresses));
    let short = short.map(|(address, digits)| {
        let full = address.to_checksum(None);
        match left_out(digits) {
            Some(middle) => format!("{}…{}", &full[..middle.start], &full[middle.end..]),
            None => full,
        }
    });
    short.collect()
}

/// Returns the number of digits at each end that make an address different from the others, at least 4; half
/// of all digits if there is another one like it.
pub(super) fn different_digits(addresses: &[Address]) -> Vec<usize> {
    let mut all_digits = vec![ADDRESS_DIGITS / 2; addresses.len()];
    let mut open: Vec<(Address, usize)> = addresses.iter().copied().zip(0..).collect();
    for digits in (4..ADDRESS_DIGITS / 2).step_by(2) {
        for (ends, at) in &mut open {
            *ends = addresses[*at];
            ends[digits / 2..ADDRESS_DIGITS / 2 - digits / 2].fill(0);
        }
        open.sort_unstable();
        let alike = open.chunk_by(|one, next| one.0 == next.0);
        let mut left = Vec::new();
        for alike in alike {
            match alike {
                [(_, at)] => all_digits[*at] = digits,
                several => left.extend_from_slice(several),
            }
        }
        open = left;
    }
    all_digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::text::made;
    use alloy_primitives::U256;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_rounded_to_a_few_digits() {
        for (digits, decimals, text) in [
            ("0", 18, "0"),
            ("8509819234514108416", 18, "8.5098"),
            ("750000", 6, "0.75"),
            ("1", 18, "1e-18"),
            ("1234567", 0, "1.235 M"),
            ("999999", 0, "999,999"),
            ("123456", 0, "123,456"),
            ("9999999", 0, "10 M"),
            ("99999999999", 6, "100,000"),
            ("1200000000000", 6, "1.2 M"),
            ("70000000000", 0, "70 B"),
            ("123456789012345678901", 0, "1.235e20"),
            ("12345", 6, "0.01235"),
            ("12", 6, "1.2e-5"),
            ("999996", 5, "10"),
        ] {
            let amount: U256 = digits.parse().unwrap();
            let rounded = made(|out| push_rounded(out, amount.as_limbs(), decimals));
            assert_eq!(rounded, text, "{digits} {decimals}");
        }
    }

    #[test]
    fn dates_are_in_utc() {
        let time = BlockTime::new(1_438_269_988).unwrap();
        let moment = |moment| made(|out| push_moment(out, moment));
        let days = |first, last| made(|out| push_days(out, first, last));
        let at = moment((9, Some(time)));
        assert_eq!(at, "2015-07-30 15:26:28 UTC, block 9");
        let minute = made(|out| push_minute(out, (9, Some(time))));
        assert_eq!(minute, "2015-07-30 15:26");
        assert_eq!(days((1, Some(time)), (9, Some(time))), "2015-07-30");
        assert_eq!(days((1, None), (9, None)), "block 1 to block 9");
        assert_eq!(moment((7, BlockTime::new(u64::MAX - 1))), "block 7");
    }

    #[test]
    fn lookalike_addresses_get_more_digits() {
        let address = |text: &str| text.parse::<Address>().unwrap();
        let short = short_addresses(&[
            address("0x20611111111111111111111111111111111ae8c7"),
            address("0x20612222222222222222222222222222222be8c7"),
            address("0xdac17f958d2ee523a2206206994597c13d831ec7"),
        ]);
        assert_eq!(short[2], "0xdAC1…1ec7");
        assert_ne!(short[0].to_lowercase(), short[1].to_lowercase());
        assert!(short[0].starts_with("0x206111…"), "{short:?}");
        let same = [Address::ZERO, Address::ZERO];
        assert_eq!(short_addresses(&same)[0].len(), 42);
    }

    proptest! {
        /// An address has as many digits as its text needs to be the only one, or all of them.
        #[test]
        fn short_addresses_differ(ends in prop::collection::vec((0u8..3, 0u8..3, 0u8..3), 1..12)) {
            let address = |(a, b, c): &(u8, u8, u8)| {
                let mut bytes = [7; 20];
                (bytes[0], bytes[2], bytes[18]) = (*a, *b, *c);
                Address::from(bytes)
            };
            let addresses: Vec<_> = ends.iter().map(address).collect();
            for (address, short) in addresses.iter().zip(short_addresses(&addresses)) {
                let full = address.to_checksum(None);
                let text = |digits: usize, address: &Address| {
                    let full = address.to_checksum(None).to_lowercase();
                    (full[..2 + digits].to_owned(), full[42 - digits..].to_owned())
                };
                let alone = |digits: &usize| {
                    let same = |other: &&Address| text(*digits, other) == text(*digits, address);
                    addresses.iter().filter(same).count() == 1
                };
                let expected = match (4..20).step_by(2).find(alone) {
                    Some(digits) => format!("{}…{}", &full[..2 + digits], &full[42 - digits..]),
                    None => full,
                };
                prop_assert_eq!(short, expected);
            }
        }
    }
}
