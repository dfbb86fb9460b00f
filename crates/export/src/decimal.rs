//! Numbers of 256 and more bits as text, bytes and doubles. Functions take the limbs of a
//! number, least significant first, so that they serve amounts (4 limbs) and sums (5).

/// The largest power of ten below 2^64, and its number of zeros.
const PART: u64 = 10_000_000_000_000_000_000;
const PART_DIGITS: usize = 19;

/// The limbs of the widest number (`AmountSum`).
pub(crate) const LIMBS_MAX: usize = 5;

/// Appends the decimal digits of a primitive integer.
pub(crate) fn push_integer(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends the decimal digits of a number.
pub(crate) fn push_decimal(out: &mut Vec<u8>, limbs: &[u64]) {
    let limbs = significant(limbs);
    let mut digits = itoa::Buffer::new();
    match *limbs {
        [] => out.push(b'0'),
        [low] => out.extend_from_slice(digits.format(low).as_bytes()),
        [low, high] => {
            let number = u128::from(high) << 64 | u128::from(low);
            out.extend_from_slice(digits.format(number).as_bytes());
        }
        _ => push_wide(out, limbs),
    }
}

/// Divides by [`PART`] repeatedly, then appends each remainder with its leading zeros.
fn push_wide(out: &mut Vec<u8>, limbs: &[u64]) {
    let mut rest = [0; LIMBS_MAX];
    let rest = &mut rest[..limbs.len()];
    rest.copy_from_slice(limbs);
    // 320 bits have 97 digits: six parts.
    let mut parts = [0; LIMBS_MAX + 1];
    let mut count = 0;
    while rest.iter().any(|limb| *limb != 0) {
        let mut remainder = 0u64;
        for limb in rest.iter_mut().rev() {
            let dividend = u128::from(remainder) << 64 | u128::from(*limb);
            // The remainder is below PART, so the quotient fits a limb.
            *limb = low(dividend / u128::from(PART));
            remainder = low(dividend % u128::from(PART));
        }
        parts[count] = remainder;
        count += 1;
    }
    let mut digits = itoa::Buffer::new();
    for (i, part) in parts[..count].iter().rev().enumerate() {
        let digits = digits.format(*part).as_bytes();
        if i > 0 {
            out.resize(out.len() + PART_DIGITS - digits.len(), b'0');
        }
        out.extend_from_slice(digits);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is wanted"
)]
const fn low(number: u128) -> u64 {
    number as u64
}

fn significant(limbs: &[u64]) -> &[u64] {
    let len = limbs
        .iter()
        .rposition(|limb| *limb != 0)
        .map_or(0, |last| last + 1);
    &limbs[..len]
}

/// Writes the bytes, most significant first, into `space`, and returns them.
pub(crate) fn big_endian<'a>(limbs: &[u64], space: &'a mut [u8; 8 * LIMBS_MAX]) -> &'a [u8] {
    let bytes = &mut space[..8 * limbs.len()];
    for (place, limb) in bytes.chunks_exact_mut(8).zip(limbs.iter().rev()) {
        place.copy_from_slice(&limb.to_be_bytes());
    }
    bytes
}

/// Returns the nearest double, ties to even; the same on every machine.
pub(crate) fn to_f64(limbs: &[u64]) -> f64 {
    match *significant(limbs) {
        [] => 0.0,
        [low] => low as f64,
        [ref lower @ .., low, high] => {
            let top = u128::from(high) << 64 | u128::from(low);
            // At least 65 bits are above the sticky one, so it decides only ties.
            let sticky = u128::from(lower.iter().any(|limb| *limb != 0));
            let scale = f64::from_bits((1023 + 64 * lower.len() as u64) << 52);
            (top | sticky) as f64 * scale
        }
    }
}

/// Formats an exact amount with this many decimal places, for people to read: with
/// thousands separators and without trailing zeros.
pub(crate) fn scaled(limbs: &[u64], decimals: u8) -> String {
    let mut text = Vec::new();
    push_scaled(&mut text, limbs, decimals);
    text.into_iter().map(char::from).collect()
}

/// Appends the text of [`scaled`].
pub(crate) fn push_scaled(out: &mut Vec<u8>, limbs: &[u64], decimals: u8) {
    let start = out.len();
    push_decimal(out, limbs);
    let places = usize::from(decimals);
    let count = out.len() - start;
    if count <= places {
        let missing = places + 1 - count;
        out.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
    let mut end = out.len();
    let point = end - places;
    while end > point && out[end - 1] == b'0' {
        end -= 1;
    }
    out.truncate(end);
    if end > point {
        out.insert(point, b'.');
    }
    let mut comma = point;
    while comma > start + 3 {
        comma -= 3;
        out.insert(comma, b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::numbers;
    use alloy_primitives::aliases::U320;
    use proptest::prelude::*;

    fn decimal(number: U320) -> String {
        let mut out = b"x".to_vec();
        push_decimal(&mut out, number.as_limbs());
        String::from_utf8(out).unwrap()[1..].to_owned()
    }

    proptest! {
        #[test]
        fn decimals_agree_with_ruint(number in numbers::<320, 5>()) {
            prop_assert_eq!(decimal(number), number.to_string());
        }

        #[test]
        fn doubles_are_nearest(number in numbers::<320, 5>()) {
            // The standard library parses decimals with correct rounding.
            let nearest: f64 = number.to_string().parse().unwrap();
            prop_assert_eq!(to_f64(number.as_limbs()).to_bits(), nearest.to_bits());
        }

        #[test]
        fn big_endian_bytes_agree_with_ruint(number in numbers::<320, 5>()) {
            let mut space = [0; 40];
            prop_assert_eq!(big_endian(number.as_limbs(), &mut space), number.to_be_bytes::<40>());
        }

        #[test]
        fn scaled_amounts_are_exact(number in numbers::<320, 5>(), decimals: u8) {
            let text = scaled(number.as_limbs(), decimals).replace(',', "");
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            prop_assert!(!fraction.ends_with('0'));
            prop_assert!(fraction.len() <= usize::from(decimals));
            prop_assert!(whole == "0" || !whole.starts_with('0'));
            let digits = format!("{whole}{fraction:0<width$}", width = usize::from(decimals));
            let plain = number.to_string();
            prop_assert_eq!(digits.trim_start_matches('0'), plain.trim_start_matches('0'));
        }
    }

    #[test]
    fn doubles_round_ties_to_even() {
        let half = (U320::from(1u64 << 53) << 200usize) + (U320::from(1) << 200usize >> 1usize);
        assert_eq!(to_f64(half.as_limbs()), 2f64.powi(253));
        let more = half + U320::from(1);
        assert_eq!(
            to_f64(more.as_limbs()),
            (2f64.powi(53) + 1.0) * 2f64.powi(200)
        );
    }

    #[test]
    fn scaled_amounts_have_separators_and_no_trailing_zeros() {
        let cases = [
            (0u64, 18, "0"),
            (1, 18, "0.000000000000000001"),
            (1_500_000, 6, "1.5"),
            (1_234_567_000_000, 6, "1,234,567"),
            (999, 0, "999"),
            (1000, 0, "1,000"),
            (123_456, 2, "1,234.56"),
        ];
        for (number, decimals, text) in cases {
            assert_eq!(scaled(&[number], decimals), text);
        }
        assert_eq!(scaled(&[], 3), "0");
    }
}
