//! Scalars of the group of BN254: numbers modulo its order, in the forms that multiplication uses.

use alloy_primitives::{U256, U512};

/// The order of the group.
pub(super) const ORDER: U256 = U256::from_limbs([
    0x43e1_f593_f000_0001,
    0x2833_e848_79b9_7091,
    0xb850_45b6_8181_585d,
    0x3064_4e72_e131_a029,
]);

/// The number of odd digits below 2^4.
pub(super) const TABLE: usize = 8;

/// The maximum number of digits of a half.
pub(super) const DIGITS: usize = 129;

/// Returns the remainder of a division by the order.
pub(super) fn reduced(mut scalar: U256) -> U256 {
    // At most five times.
    while scalar >= ORDER {
        scalar -= ORDER;
    }
    scalar
}

/// Splits a scalar below the order into `first + LAMBDA * second` modulo the order. Both are below
/// 2^128 and given with their sign: true is negative. The first one is never negative.
///
/// `LAMBDA` is a cube root of one. The vectors (A, -B) and (B, C) are a short basis of the pairs
/// that are zero modulo the order. The result is `scalar` minus the multiples of them. The
/// quotients are rounded down, so scalars below 2^126 are not split.
pub(super) fn halves(scalar: U256) -> [(u128, bool); 2] {
    const A: U256 = U256::from_limbs([0x8211_bbeb_7d4f_1128, 0x6f4d_8248_eeb8_59fc, 0, 0]);
    const B: U256 = U256::from_limbs([0x89d3_2568_94d2_13e3, 0, 0, 0]);
    const C: U256 = U256::from_limbs([0x0be4_e154_1221_250b, 0x6f4d_8248_eeb8_59fd, 0, 0]);
    /// `2^256 * C / ORDER`.
    const C_BY_ORDER: U256 =
        U256::from_limbs([0x5398_fd03_00ff_6565, 0x4cce_f014_a773_d2d2, 0x2, 0]);
    /// `2^256 * B / ORDER`.
    const B_BY_ORDER: U256 = U256::from_limbs([0xd91d_232e_c7e0_b3d7, 0x2, 0, 0]);

    let high = |factor: U256| {
        let product: U512 = scalar.widening_mul(factor);
        let [.., a, b, c, d] = *product.as_limbs();
        U256::from_limbs([a, b, c, d])
    };
    let (q1, q2) = (high(C_BY_ORDER), high(B_BY_ORDER));
    let first = scalar
        .wrapping_sub(q1.wrapping_mul(A))
        .wrapping_sub(q2.wrapping_mul(B));
    let second = q1.wrapping_mul(B).wrapping_sub(q2.wrapping_mul(C));
    [first, second].map(|half| {
        let negative = half.bit(255);
        let size = if negative { half.wrapping_neg() } else { half };
        let [low, high, 0, 0] = *size.as_limbs() else {
            unreachable!("a half has at most 128 bits");
        };
        (u128::from(low) | u128::from(high) << 64, negative)
    })
}

/// Returns the digits of a number in base two, from low to high. Each is zero or odd, from -15 to
/// 15, and at least four zeros follow each other digit.
pub(super) fn windows(mut number: u128) -> [i8; DIGITS] {
    let mut digits = [0; DIGITS];
    let mut at = 0;
    while number != 0 {
        let zeros = number.trailing_zeros();
        number >>= zeros;
        at += zeros as usize;
        let low = (number & 31) as i8;
        let digit = if low > 16 { low - 32 } else { low };
        digits[at] = digit;
        number = number.wrapping_add_signed(-i128::from(digit));
    }
    digits
}

// Miri cannot execute the assembly with which ruint divides.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A cube root of one modulo the order.
    const LAMBDA: U256 = U256::from_limbs([
        0xb8ca_0b2d_3663_6f23,
        0xcc37_a73f_ec2b_c5e9,
        0x048b_6e19_3fd8_4104,
        0x3064_4e72_e131_a029,
    ]);

    fn value(halves: [(u128, bool); 2]) -> U256 {
        let [first, second] = halves.map(|(size, negative)| {
            let size = U256::from(size);
            if negative { ORDER - size } else { size }
        });
        first.add_mod(second.mul_mod(LAMBDA, ORDER), ORDER)
    }

    fn check(scalar: U256) {
        let halves = halves(scalar);
        assert_eq!(value(halves), scalar);
        assert!(!halves[0].1, "the first half of {scalar} is negative");
        for (half, _) in halves {
            let digits = windows(half);
            let sum = (digits.iter().rev()).fold(0i128, |sum, digit| 2 * sum + i128::from(*digit));
            assert_eq!(sum.cast_unsigned(), half);
            for (at, digit) in digits.iter().enumerate().filter(|(_, digit)| **digit != 0) {
                assert!(digit % 2 != 0 && digit.unsigned_abs() < 16);
                assert!(digits.iter().skip(at + 1).take(4).all(|digit| *digit == 0));
            }
        }
    }

    #[test]
    fn splits_scalars_at_the_edges() {
        for scalar in [
            U256::ZERO,
            U256::ONE,
            ORDER - U256::ONE,
            LAMBDA,
            ORDER - LAMBDA,
            ORDER >> 1,
        ] {
            check(scalar);
        }
        for bit in 0..254 {
            check(reduced(U256::ONE << bit));
            check((U256::ONE << bit) - U256::ONE);
        }
    }

    #[test]
    fn short_scalars_are_not_split() {
        for bit in 0..126 {
            assert_eq!(halves(U256::ONE << bit), [(1 << bit, false), (0, false)]);
        }
    }

    proptest! {
        #[test]
        fn splits_scalars(limbs: [u64; 4]) {
            let scalar = U256::from_limbs(limbs);
            prop_assert_eq!(reduced(scalar), scalar % ORDER);
            check(reduced(scalar));
        }
    }
}
