//! The base field of BN254: integers modulo a prime of 254 bits.
//!
//! An element `a` is stored as `a * 2^256` (Montgomery form), and any representative below `2 * P`
//! is allowed. Because `4 * P < 2^256`, a product of two such numbers needs no final subtraction,
//! and a sum does not overflow. Additions have no branches: the outcome of a comparison with the
//! modulus is random, so a branch on it is predicted wrongly every second time.

use alloy_primitives::U256;
use std::ops::{Add, Mul, Neg, Sub};

type Limbs = [u64; 4];

/// The modulus.
pub(super) const P: Limbs = [
    0x3c20_8c16_d87c_fd47,
    0x9781_6a91_6871_ca8d,
    0xb850_45b6_8181_585d,
    0x3064_4e72_e131_a029,
];

/// `2 * P`.
const TWICE_P: Limbs = [
    0x7841_182d_b0f9_fa8e,
    0x2f02_d522_d0e3_951a,
    0x70a0_8b6d_0302_b0bb,
    0x60c8_9ce5_c263_4053,
];

/// `-1 / P mod 2^64`.
const NEGATED_INVERSE: u64 = 0x87d2_0782_e486_6389;

/// `2^512 mod P`, which takes a number to Montgomery form.
const R2: Fp = Fp([
    0xf32c_fc5b_538a_fa89,
    0xb5e7_1911_d445_01fb,
    0x47ab_1eff_0a41_7ff6,
    0x06d8_9f71_cab8_351f,
]);

/// An element of the base field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fp(Limbs);

/// Returns `a * b + c + d` in two limbs, low and high.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "splits into limbs")]
const fn multiply_add(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    let sum = a as u128 * b as u128 + c as u128 + d as u128;
    (sum as u64, (sum >> 64) as u64)
}

/// Adds `a * b` to `t`; returns the fifth limb.
#[inline(always)]
const fn add_row(t: &mut Limbs, a: &Limbs, b: u64) -> u64 {
    let (t0, c) = multiply_add(a[0], b, t[0], 0);
    let (t1, c) = multiply_add(a[1], b, t[1], c);
    let (t2, c) = multiply_add(a[2], b, t[2], c);
    let (t3, c) = multiply_add(a[3], b, t[3], c);
    *t = [t0, t1, t2, t3];
    c
}

/// Adds the multiple of `P` that makes the lowest limb zero, and removes that limb. `high` is the
/// fifth limb. The result must be less than 2^256.
#[inline(always)]
const fn reduce_limb(t: &mut Limbs, high: u64) {
    let k = t[0].wrapping_mul(NEGATED_INVERSE);
    let (_, c) = multiply_add(P[0], k, t[0], 0);
    let (t0, c) = multiply_add(P[1], k, t[1], c);
    let (t1, c) = multiply_add(P[2], k, t[2], c);
    let (t2, c) = multiply_add(P[3], k, t[3], c);
    *t = [t0, t1, t2, high.wrapping_add(c)];
}

/// Returns `a - b - borrow`, and whether it is negative.
///
/// The compiler turns the subtraction of a constant by `borrowing_sub` into a comparison and an
/// addition, which takes three times as many instructions as a chain of borrows. It keeps the
/// intrinsic as it is.
#[inline(always)]
fn subtract_limb(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    #[cfg(target_arch = "x86_64")]
    {
        let mut difference = 0;
        let borrow = std::arch::x86_64::_subborrow_u64(borrow.into(), a, b, &mut difference);
        (difference, borrow != 0)
    }
    #[cfg(not(target_arch = "x86_64"))]
    a.borrowing_sub(b, borrow)
}

/// Returns `a - b`, and whether it is negative.
#[inline(always)]
fn subtract(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (d0, c) = subtract_limb(a[0], b[0], false);
    let (d1, c) = subtract_limb(a[1], b[1], c);
    let (d2, c) = subtract_limb(a[2], b[2], c);
    let (d3, c) = subtract_limb(a[3], b[3], c);
    ([d0, d1, d2, d3], c)
}

/// Returns `a + b` modulo 2^256.
#[inline(always)]
fn sum(a: &Limbs, b: &Limbs) -> Limbs {
    let (s0, c) = a[0].carrying_add(b[0], false);
    let (s1, c) = a[1].carrying_add(b[1], c);
    let (s2, c) = a[2].carrying_add(b[2], c);
    let (s3, _) = a[3].carrying_add(b[3], c);
    [s0, s1, s2, s3]
}

/// Returns `a` if `condition` holds, else zero, without a branch.
#[inline(always)]
fn when(condition: bool, a: &Limbs) -> Limbs {
    let mask = u64::from(condition).wrapping_neg();
    [a[0] & mask, a[1] & mask, a[2] & mask, a[3] & mask]
}

/// Subtracts `modulus` from `a` if `a` is not less.
#[inline(always)]
fn subtract_once(a: &Limbs, modulus: &Limbs) -> Limbs {
    let (difference, negative) = subtract(a, modulus);
    sum(&difference, &when(negative, modulus))
}

impl Fp {
    pub(super) const ZERO: Self = Self([0; 4]);
    pub(super) const ONE: Self = Self::new([1, 0, 0, 0]);

    /// The element of a number, given in limbs from low to high.
    pub(super) const fn new(limbs: Limbs) -> Self {
        Self(limbs).times(&R2)
    }

    /// Reads a number in big-endian order; `None` unless it is less than the modulus.
    pub(super) fn from_be_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let limbs = U256::from_be_bytes(*bytes).into_limbs();
        let (_, less) = subtract(&limbs, &P);
        less.then(|| Self::new(limbs))
    }

    /// The number in big-endian order.
    pub(super) fn to_be_bytes(self) -> [u8; 32] {
        let number = self.times(&Self([1, 0, 0, 0])).canonical();
        U256::from_limbs(number).to_be_bytes()
    }

    /// The representative below `P`.
    fn canonical(&self) -> Limbs {
        subtract_once(&self.0, &P)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0 == [0; 4] || self.0 == P
    }

    /// The product of two numbers below `2 * P`: at most `4 * P^2 / 2^256 + P < 2 * P`.
    #[inline(always)]
    const fn times(&self, b: &Self) -> Self {
        let (a, b) = (&self.0, &b.0);
        let mut t = [0; 4];
        let high = add_row(&mut t, a, b[0]);
        reduce_limb(&mut t, high);
        let high = add_row(&mut t, a, b[1]);
        reduce_limb(&mut t, high);
        let high = add_row(&mut t, a, b[2]);
        reduce_limb(&mut t, high);
        let high = add_row(&mut t, a, b[3]);
        reduce_limb(&mut t, high);
        Self(t)
    }

    /// Returns `a * b + c * d` with one reduction. Intermediate values are below
    /// `5 * P < 2^256`, the sum below `8 * P^2 / 2^256 + P < 4 * P`.
    #[inline(always)]
    pub(super) fn sum_of_products(a: Self, b: Self, c: Self, d: Self) -> Self {
        let mut t = [0; 4];
        let mut step = |b, d| {
            let high = add_row(&mut t, &a.0, b);
            let more = add_row(&mut t, &c.0, d);
            reduce_limb(&mut t, high.wrapping_add(more));
        };
        // A loop would keep the limbs in memory.
        step(b.0[0], d.0[0]);
        step(b.0[1], d.0[1]);
        step(b.0[2], d.0[2]);
        step(b.0[3], d.0[3]);
        Self(subtract_once(&t, &TWICE_P))
    }

    #[inline]
    pub(super) fn square(self) -> Self {
        self * self
    }

    #[inline(always)]
    pub(super) fn double(self) -> Self {
        self + self
    }

    /// Returns `self / 2`.
    #[inline(always)]
    pub(super) fn half(self) -> Self {
        let odd = self.0[0] & 1 == 1;
        let [a, b, c, d] = sum(&self.0, &when(odd, &P));
        Self([a >> 1 | b << 63, b >> 1 | c << 63, c >> 1 | d << 63, d >> 1])
    }

    /// Returns `1 / self`; `None` for zero.
    pub(super) fn inverse(&self) -> Option<Self> {
        // `2^768 mod P`: the inverse of the stored number lacks two factors of 2^256, and
        // multiplication removes another one.
        const R3: Fp = Fp([
            0xb1cd_6daf_da15_30df,
            0x62f2_10e6_a728_3db6,
            0xef7f_0b0c_0ada_0afb,
            0x20fd_6e90_2d59_2544,
        ]);
        let stored = U256::from_limbs(self.canonical());
        let inverse = stored.inv_mod(U256::from_limbs(P))?;
        Some(Self(inverse.into_limbs()) * R3)
    }
}

impl PartialEq for Fp {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Add for Fp {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(subtract_once(&sum(&self.0, &other.0), &TWICE_P))
    }
}

impl Sub for Fp {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let (difference, negative) = subtract(&self.0, &other.0);
        Self(sum(&difference, &when(negative, &TWICE_P)))
    }
}

impl Neg for Fp {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl Mul for Fp {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        self.times(&other)
    }
}
