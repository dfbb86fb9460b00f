//! Words of a picture: rounded amounts, dates, and short addresses that differ.

use super::arrow::Moment;
use crate::TokenList;
use alloy_primitives::{Address, map::HashMap};
use txgraph_graph::{AmountSum, Asset};
use txgraph_transfers::BlockTime;

/// Significant digits of a rounded amount below one million.
const DIGITS: usize = 5;

/// Significant digits in front of `M`, `B`, `T` and powers of ten.
const SHORT_DIGITS: usize = 4;

/// Returns an amount with its unit, rounded to a few digits: `1.234 M USDC`.
pub fn rounded_amount(
    tokens: &TokenList,
    chain_id: u64,
    asset: &Asset,
    amount: AmountSum,
) -> String {
    let exact = tokens.format_amount(chain_id, asset, amount);
    // The number has no space, and the unit follows the first one.
    let unit = exact.find(' ').map_or("", |space| &exact[space..]);
    let number = rounded(&amount.to_string(), tokens.decimals(chain_id, asset));
    format!("{number}{unit}")
}

/// Rounds a number of `decimals` decimal places, given as digits, half up.
fn rounded(digits: &str, decimals: u8) -> String {
    let digits = digits.trim_start_matches('0').as_bytes();
    if digits.is_empty() {
        return "0".to_owned();
    }
    // The number is 0.DIGITS times ten to the power of this.
    let power = |digits: usize| digits as i64 - i64::from(decimals);
    let kept = match power(digits.len()) {
        1..=6 => DIGITS.max(digits.len() - usize::from(decimals)),
        _ => SHORT_DIGITS,
    };
    let mut whole: Vec<u8> = digits.iter().take(kept).map(|digit| digit - b'0').collect();
    let mut length = digits.len();
    if digits.get(kept).is_some_and(|next| *next >= b'5') {
        let mut place = whole.len();
        loop {
            if place == 0 {
                whole.insert(0, 1);
                length += 1;
                break;
            }
            place -= 1;
            if whole[place] < 9 {
                whole[place] += 1;
                break;
            }
            whole[place] = 0;
        }
    }
    while whole.last() == Some(&0) {
        whole.pop();
    }
    let power = power(length);
    let text = |whole: &[u8], point: usize| {
        let digit = |at: usize| char::from(b'0' + whole.get(at).copied().unwrap_or(0));
        let mut text = String::new();
        for at in 0..point {
            if at > 0 && (point - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit(at));
        }
        if whole.len() > point {
            text.push('.');
            text.extend((point..whole.len()).map(digit));
        }
        text
    };
    let at = |point: i64| usize::try_from(point).unwrap_or(0);
    match power {
        1..=6 => text(&whole, at(power)),
        7..=9 => format!("{} M", text(&whole, at(power - 6))),
        10..=12 => format!("{} B", text(&whole, at(power - 9))),
        13..=15 => format!("{} T", text(&whole, at(power - 12))),
        -3..=0 => {
            let zeros = "0".repeat(at(-power));
            let digits: String = whole.iter().map(|digit| char::from(b'0' + digit)).collect();
            format!("0.{zeros}{digits}")
        }
        _ => format!("{}e{}", text(&whole, 1), power - 1),
    }
}

/// Returns a date: `2024-01-31`.
pub(super) fn date(time: BlockTime) -> Option<String> {
    formatted(time, "%Y-%m-%d")
}

/// Returns a date and time: `2024-01-31 06:49:11 UTC`.
pub(super) fn date_time(time: BlockTime) -> Option<String> {
    formatted(time, "%Y-%m-%d %H:%M:%S UTC")
}

fn formatted(time: BlockTime, pattern: &str) -> Option<String> {
    let seconds = i64::try_from(time.seconds()).ok()?;
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(time.strftime(pattern).to_string())
}

/// Returns the day of a block, or its number.
fn day((block, time): Moment) -> String {
    time.and_then(date)
        .unwrap_or_else(|| format!("block {block}"))
}

/// Returns the minute of a single transfer: `2024-01-01 06:49`.
pub(super) fn minute((block, time): Moment) -> String {
    time.and_then(|time| formatted(time, "%Y-%m-%d %H:%M"))
        .unwrap_or_else(|| format!("block {block}"))
}

/// Returns the days from the first to the last transfer: `2024-01-01 to 2024-02-01`.
pub(super) fn days(first: Moment, last: Moment) -> String {
    let (first, last) = (day(first), day(last));
    if first == last {
        first
    } else {
        format!("{first} to {last}")
    }
}

/// Returns a block and its time for a tooltip.
pub(super) fn moment((block, time): Moment) -> String {
    match time.and_then(date_time) {
        Some(time) => format!("{time}, block {block}"),
        None => format!("block {block}"),
    }
}

/// Returns each address as `0x1234…abcd`, with more digits where two would look the same.
/// Capitals do not count as a difference.
pub fn short_addresses(addresses: &[Address]) -> Vec<String> {
    let full: Vec<_> = addresses
        .iter()
        .map(|address| address.to_checksum(None))
        .collect();
    let mut short = vec![String::new(); full.len()];
    let mut open: Vec<usize> = (0..full.len()).collect();
    for digits in (4..20).step_by(2) {
        let text = |at: usize| format!("{}…{}", &full[at][..2 + digits], &full[at][42 - digits..]);
        let mut seen: HashMap<String, usize> = HashMap::default();
        for at in &open {
            *seen.entry(text(*at).to_lowercase()).or_default() += 1;
        }
        open.retain(|at| {
            let text = text(*at);
            let again = seen
                .get(&text.to_lowercase())
                .is_some_and(|count| *count > 1);
            short[*at] = text;
            again
        });
    }
    for at in open {
        short[at].clone_from(&full[at]);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(rounded(digits, decimals), text, "{digits} {decimals}");
        }
    }

    #[test]
    fn dates_are_in_utc() {
        let time = BlockTime::new(1_438_269_988).unwrap();
        assert_eq!(date_time(time).unwrap(), "2015-07-30 15:26:28 UTC");
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
}
