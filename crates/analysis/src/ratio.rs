//! Ratios of exact sums, rounded once.

use alloy_primitives::Uint;
use txgraph_graph::AmountSum;

/// Room for a sum times two counts, and for the shift of [`ratio`].
pub(crate) type Wide = Uint<768, 12>;

pub(crate) fn wide(amount: AmountSum) -> Wide {
    Wide::from_limbs_slice(amount.as_limbs())
}

/// Returns `part / whole`, rounded once to the nearest double; `None` if `whole` is zero.
pub fn share(part: AmountSum, whole: AmountSum) -> Option<f64> {
    ratio(wide(part), wide(whole))
}

/// Returns `part / whole` of two counts; `None` if `whole` is zero.
pub(crate) fn share_of_count(part: u64, whole: u64) -> Option<f64> {
    ratio(Wide::from(part), Wide::from(whole))
}

/// The sum of ascending amounts with the rank of each as its weight, from 1.
pub(crate) fn weigh(ascending: impl Iterator<Item = AmountSum>) -> Wide {
    let weighted = (1u64..).zip(ascending);
    weighted.fold(Wide::ZERO, |sum, (rank, amount)| {
        sum + Wide::from(rank) * wide(amount)
    })
}

/// Returns the Gini coefficient of this many amounts, from their sum and from their weighted sum
/// ([`weigh`]): half the mean absolute difference of all pairs, divided by the mean. 0 if all are
/// equal, (n-1)/n if one has everything, `None` if the sum is zero.
pub(crate) fn gini(count: u64, total: Wide, weighted: Wide) -> Option<f64> {
    let count = Wide::from(count);
    // sum over i, j of |x_i - x_j| / (2 n total), with the i-th smallest counted
    // i times as the larger and n + 1 - i times as the smaller.
    let difference = (weighted << 1) - (count + Wide::ONE) * total;
    ratio(difference, count * total)
}

/// Divides to 66 bits or more, with the remainder in the last bit, so that the one rounding
/// to the 53 bits of a double is correct.
fn ratio(part: Wide, whole: Wide) -> Option<f64> {
    if whole.is_zero() {
        return None;
    }
    let target = whole.bit_len() + 66;
    let up = target.saturating_sub(part.bit_len()).min(600);
    let down = part.bit_len().saturating_sub(target);
    let (quotient, rest) = (part << up).div_rem(whole << down);
    let quotient = quotient.saturating_to::<u128>() | u128::from(!rest.is_zero());
    // 2^(down - up), which is exact.
    let scale = f64::from_bits((1023 + down as u64 - up as u64) << 52);
    Some(quotient as f64 * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gini_of(ascending: &[AmountSum]) -> Option<f64> {
        let amounts = || ascending.iter().copied();
        let total = amounts().fold(Wide::ZERO, |sum, amount| sum + wide(amount));
        gini(ascending.len() as u64, total, weigh(amounts()))
    }

    fn amount(parts: [u64; 5]) -> AmountSum {
        AmountSum::from_limbs(parts)
    }

    proptest! {
        /// If doubles hold both numbers, their division is correctly rounded.
        #[test]
        fn shares_of_small_numbers_agree_with_doubles(part in 0u64..1 << 53, whole in 1u64..1 << 53) {
            let expected = part as f64 / whole as f64;
            prop_assert_eq!(share(AmountSum::from(part), AmountSum::from(whole)), Some(expected));
            prop_assert_eq!(share_of_count(part, whole), Some(expected));
        }

        /// A common factor changes nothing.
        #[test]
        fn shares_of_large_numbers_are_exact(part in 0u64..1 << 53, whole in 1u64..1 << 53, factor in any::<[u64; 4]>()) {
            let factor = AmountSum::from_limbs([factor[0] | 1, factor[1], factor[2], factor[3], 0]);
            let scaled = |number: u64| AmountSum::from(number) * factor;
            let expected = part as f64 / whole as f64;
            prop_assert_eq!(share(scaled(part), scaled(whole)), Some(expected));
        }

        #[test]
        fn shares_are_between_zero_and_one(a in any::<[u64; 5]>(), b in any::<[u64; 5]>()) {
            let (part, whole) = (amount(a).min(amount(b)), amount(a).max(amount(b)));
            if let Some(share) = share(part, whole) {
                prop_assert!((0.0..=1.0).contains(&share), "{share}");
            }
        }

        /// The definition, over all pairs.
        #[test]
        fn gini_agrees_with_its_definition(mut numbers in proptest::collection::vec(0u64..1 << 20, 0..20)) {
            numbers.sort_unstable();
            let total: u64 = numbers.iter().sum();
            let differences: u64 =
                numbers.iter().flat_map(|a| numbers.iter().map(|b| a.abs_diff(*b))).sum();
            let expected = (total > 0)
                .then(|| differences as f64 / (2 * numbers.len() as u64 * total) as f64);
            let amounts: Vec<_> = numbers.into_iter().map(AmountSum::from).collect();
            prop_assert_eq!(gini_of(&amounts), expected);
        }
    }

    #[test]
    fn ratios_of_extremes() {
        assert_eq!(share(AmountSum::ZERO, AmountSum::ZERO), None);
        assert_eq!(share(AmountSum::ZERO, AmountSum::MAX), Some(0.0));
        assert_eq!(share(AmountSum::MAX, AmountSum::MAX), Some(1.0));
        assert_eq!(share(AmountSum::ONE, AmountSum::MAX), Some(2f64.powi(-320)));
        assert_eq!(
            share(AmountSum::MAX, AmountSum::from(2)),
            Some(2f64.powi(319))
        );
        assert_eq!(gini_of(&[]), None);
        assert_eq!(gini_of(&[AmountSum::ZERO; 3]), None);
        assert_eq!(gini_of(&[AmountSum::MAX]), Some(0.0));
        let two = [
            AmountSum::ZERO,
            AmountSum::ZERO,
            AmountSum::MAX,
            AmountSum::MAX,
        ];
        assert_eq!(gini_of(&two), Some(0.5));
    }
}
