//! The machine word: 256 bits as four scalars.
//!
//! Words are loaded and stored limb by limb, and the compiler cannot merge the four accesses
//! ([`Word::load`]). The processor cannot forward four 8-byte stores from the store buffer to one
//! 16-byte load, which then waits (factorial of 100: 2.5 µs merged, 1.6 µs separate).
//!
//! Addition, multiplication, shifts and comparisons are implemented here, with fast paths for common
//! operands. General division is ruint's. The tests compare every operation with ruint.

use crate::wide_division;
use alloy_primitives::{Address, B256, U256, U512};
use std::hint::select_unpredictable;

/// A word of 256 bits, least significant limb first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub(crate) struct Word(pub(crate) [u64; 4]);

impl Word {
    pub(crate) const ZERO: Self = Self([0; 4]);
    pub(crate) const ONE: Self = Self([1, 0, 0, 0]);
    pub(crate) const MAX: Self = Self([u64::MAX; 4]);

    #[inline(always)]
    pub(crate) const fn new(value: u64) -> Self {
        Self([value, 0, 0, 0])
    }

    /// Reads a word by four separate loads, which the compiler cannot merge.
    ///
    /// # Safety
    /// - `from` is valid for reads of 32 bytes and aligned to 8.
    /// - The four limbs there are initialized.
    /// - No other thread writes them at the same time.
    #[inline(always)]
    #[expect(unsafe_code, reason = "see the documentation of the module")]
    pub(crate) unsafe fn load(from: *const Self) -> Self {
        debug_assert!(from.is_aligned(), "unaligned word");
        let limbs = from.cast::<u64>();
        // SAFETY: the contract; `Word` is four `u64`, with their alignment.
        unsafe {
            Self([
                limbs.read_volatile(),
                limbs.add(1).read_volatile(),
                limbs.add(2).read_volatile(),
                limbs.add(3).read_volatile(),
            ])
        }
    }

    /// Writes the word by four separate stores, which the compiler cannot merge.
    ///
    /// # Safety
    /// - `to` is valid for writes of 32 bytes and aligned to 8.
    /// - No other thread reads or writes them at the same time.
    #[inline(always)]
    #[expect(unsafe_code, reason = "see the documentation of the module")]
    pub(crate) unsafe fn store(self, to: *mut Self) {
        debug_assert!(to.is_aligned(), "unaligned word");
        let limbs = to.cast::<u64>();
        // SAFETY: the contract; `Word` is four `u64`, with their alignment.
        unsafe {
            limbs.write_volatile(self.0[0]);
            limbs.add(1).write_volatile(self.0[1]);
            limbs.add(2).write_volatile(self.0[2]);
            limbs.add(3).write_volatile(self.0[3]);
        }
    }

    #[inline(always)]
    pub(crate) const fn is_zero(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    #[inline(always)]
    pub(crate) const fn is_negative(self) -> bool {
        self.0[3] >> 63 != 0
    }

    /// The value as `u64`; `None` if it does not fit.
    #[inline(always)]
    pub(crate) const fn to_u64(self) -> Option<u64> {
        if self.0[1] | self.0[2] | self.0[3] == 0 {
            Some(self.0[0])
        } else {
            None
        }
    }

    /// The value as `u64`; `u64::MAX` if it does not fit.
    #[inline(always)]
    pub(crate) const fn saturating_u64(self) -> u64 {
        if self.0[1] | self.0[2] | self.0[3] == 0 {
            self.0[0]
        } else {
            u64::MAX
        }
    }

    #[inline(always)]
    pub(crate) const fn from_bool(value: bool) -> Self {
        Self::new(value as u64)
    }

    #[inline(always)]
    pub(crate) const fn from_be_bytes(bytes: &[u8; 32]) -> Self {
        let (parts, _) = bytes.as_chunks::<8>();
        Self([
            u64::from_be_bytes(parts[3]),
            u64::from_be_bytes(parts[2]),
            u64::from_be_bytes(parts[1]),
            u64::from_be_bytes(parts[0]),
        ])
    }

    #[inline(always)]
    pub(crate) fn to_be_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let (parts, _) = bytes.as_chunks_mut::<8>();
        parts[0] = self.0[3].to_be_bytes();
        parts[1] = self.0[2].to_be_bytes();
        parts[2] = self.0[1].to_be_bytes();
        parts[3] = self.0[0].to_be_bytes();
        bytes
    }

    /// A word from at most 32 bytes, big-endian.
    pub(crate) fn from_be_slice(bytes: &[u8]) -> Self {
        let mut padded = [0; 32];
        padded[32 - bytes.len()..].copy_from_slice(bytes);
        Self::from_be_bytes(&padded)
    }

    #[inline(always)]
    pub(crate) fn to_address(self) -> Address {
        Address::from_slice(&self.to_be_bytes()[12..])
    }

    #[inline(always)]
    pub(crate) fn wrapping_add(self, other: Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        let (r0, c) = a[0].carrying_add(b[0], false);
        let (r1, c) = a[1].carrying_add(b[1], c);
        let (r2, c) = a[2].carrying_add(b[2], c);
        let (r3, _) = a[3].carrying_add(b[3], c);
        Self([r0, r1, r2, r3])
    }

    #[inline(always)]
    pub(crate) fn wrapping_sub(self, other: Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        let (r0, c) = a[0].borrowing_sub(b[0], false);
        let (r1, c) = a[1].borrowing_sub(b[1], c);
        let (r2, c) = a[2].borrowing_sub(b[2], c);
        let (r3, _) = a[3].borrowing_sub(b[3], c);
        Self([r0, r1, r2, r3])
    }

    #[inline(always)]
    pub(crate) fn wrapping_neg(self) -> Self {
        Self::ZERO.wrapping_sub(self)
    }

    /// Schoolbook multiplication without the upper half. Most operands are below 2^64.
    #[inline(always)]
    pub(crate) fn wrapping_mul(self, other: Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        if a[1] | a[2] | a[3] | b[1] | b[2] | b[3] == 0 {
            let (low, high) = a[0].carrying_mul(b[0], 0);
            return Self([low, high, 0, 0]);
        }
        let (r0, c) = a[0].carrying_mul(b[0], 0);
        let (r1, c) = a[0].carrying_mul(b[1], c);
        let (r2, c) = a[0].carrying_mul(b[2], c);
        let r3 = a[0].wrapping_mul(b[3]).wrapping_add(c);
        let (r1, c) = a[1].carrying_mul(b[0], r1);
        let (r2, c) = a[1].carrying_mul_add(b[1], r2, c);
        let r3 = r3.wrapping_add(a[1].wrapping_mul(b[2]).wrapping_add(c));
        let (r2, c) = a[2].carrying_mul(b[0], r2);
        let r3 = r3.wrapping_add(a[2].wrapping_mul(b[1]).wrapping_add(c));
        let r3 = r3.wrapping_add(a[3].wrapping_mul(b[0]));
        Self([r0, r1, r2, r3])
    }

    /// The quotient; zero for a divisor of zero.
    #[inline(always)]
    pub(crate) fn div(self, divisor: Self) -> Self {
        match (self.to_u64(), divisor.to_u64()) {
            (_, Some(0)) => Self::ZERO,
            (Some(a), Some(b)) => Self::new(a / b),
            _ => self.div_wide(divisor),
        }
    }

    #[inline(never)]
    fn div_wide(self, divisor: Self) -> Self {
        if self.lt(divisor) {
            return Self::ZERO;
        }
        match divisor.log2_exact() {
            Some(shift) => self.shr_by(shift),
            None => wide_division::div(self.u256(), divisor.u256()).into(),
        }
    }

    /// The remainder; zero for a modulus of zero.
    #[inline(always)]
    pub(crate) fn rem(self, modulus: Self) -> Self {
        match (self.to_u64(), modulus.to_u64()) {
            (_, Some(0)) => Self::ZERO,
            (Some(a), Some(b)) => Self::new(a % b),
            _ => self.rem_wide(modulus),
        }
    }

    #[inline(never)]
    fn rem_wide(self, modulus: Self) -> Self {
        if self.lt(modulus) {
            return self;
        }
        match modulus.log2_exact() {
            Some(_) => self.and(modulus.wrapping_sub(Self::ONE)),
            None => wide_division::rem(self.u256(), modulus.u256()).into(),
        }
    }

    /// The quotient in two's complement, rounded towards zero; zero for a divisor of zero.
    #[inline(always)]
    pub(crate) fn sdiv(self, divisor: Self) -> Self {
        let quotient = self.abs().div(divisor.abs());
        if self.is_negative() != divisor.is_negative() {
            quotient.wrapping_neg()
        } else {
            quotient
        }
    }

    /// The remainder in two's complement, with the sign of `self`; zero for a modulus of zero.
    #[inline(always)]
    pub(crate) fn smod(self, modulus: Self) -> Self {
        let rest = self.abs().rem(modulus.abs());
        if self.is_negative() {
            rest.wrapping_neg()
        } else {
            rest
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        if self.is_negative() {
            self.wrapping_neg()
        } else {
            self
        }
    }

    #[inline(never)]
    pub(crate) fn addmod(self, other: Self, modulus: Self) -> Self {
        // Arithmetic in a field, where both are reduced.
        if self.lt(modulus) && other.lt(modulus) {
            let sum = self.wrapping_add(other);
            let carry = sum.lt(self);
            if carry || !sum.lt(modulus) {
                return sum.wrapping_sub(modulus);
            }
            return sum;
        }
        wide_division::add_mod(self.u256(), other.u256(), modulus.u256()).into()
    }

    #[inline(never)]
    pub(crate) fn mulmod(self, other: Self, modulus: Self) -> Self {
        // With this modulus contracts compute products of 512 bits (Remco Bloemen, "Mathemagic:
        // full multiply"). As 2^256 is 1, the remainder is the sum of both halves.
        if modulus.same(Self::MAX) {
            let product: U512 = self.u256().widening_mul(other.u256());
            let [low @ .., a, b, c, d] = *product.as_limbs();
            let (low, high) = (Self(low), Self([a, b, c, d]));
            let sum = low.wrapping_add(high);
            let carry = Self::from_bool(sum.lt(low));
            let sum = sum.wrapping_add(carry);
            return if sum.same(Self::MAX) { Self::ZERO } else { sum };
        }
        wide_division::mul_mod(self.u256(), other.u256(), modulus.u256()).into()
    }

    #[inline(never)]
    pub(crate) fn pow(self, exponent: Self) -> Self {
        // Powers of `2` and `256`, the most common ones, are shifts.
        match (self.log2_exact(), exponent.to_u64()) {
            (_, Some(0)) => Self::ONE,
            (Some(0), _) => Self::ONE,
            (Some(base), Some(n)) => match u64::from(base).saturating_mul(n) {
                shift @ 0..256 => Self::ONE.shl(Self::new(shift)),
                _ => Self::ZERO,
            },
            (Some(_), None) => Self::ZERO,
            (None, _) => {
                let (mut base, mut result) = (self, Self::ONE);
                let bits = 256 - exponent.leading_zeros();
                for bit in 0..bits {
                    if exponent.0[bit as usize / 64] >> (bit % 64) & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                }
                result
            }
        }
    }

    /// The exponent of a power of two; `None` for other values. Does not count ones: without an
    /// instruction for it, that takes longer than a division of small words.
    fn log2_exact(self) -> Option<u32> {
        let one_bit = self.and(self.wrapping_sub(Self::ONE)).is_zero() && !self.is_zero();
        one_bit.then(|| 255 - self.leading_zeros())
    }

    /// The number of leading zero bits; 256 for zero.
    #[inline(always)]
    pub(crate) const fn leading_zeros(self) -> u32 {
        let [a, b, c, d] = self.0;
        match (a, b, c, d) {
            (_, _, _, 1..) => d.leading_zeros(),
            (_, _, 1.., _) => 64 + c.leading_zeros(),
            (_, 1.., _, _) => 128 + b.leading_zeros(),
            _ => 192 + a.leading_zeros(),
        }
    }

    #[inline(always)]
    pub(crate) const fn byte_len(self) -> u32 {
        (256 - self.leading_zeros()).div_ceil(8)
    }

    #[inline(always)]
    pub(crate) fn lt(self, other: Self) -> bool {
        let (Self(a), Self(b)) = (self, other);
        let (_, c) = a[0].overflowing_sub(b[0]);
        let (_, c) = a[1].borrowing_sub(b[1], c);
        let (_, c) = a[2].borrowing_sub(b[2], c);
        let (_, c) = a[3].borrowing_sub(b[3], c);
        c
    }

    #[inline(always)]
    pub(crate) fn slt(self, other: Self) -> bool {
        const SIGN: u64 = 1 << 63;
        let (Self([a0, a1, a2, a3]), Self([b0, b1, b2, b3])) = (self, other);
        Self([a0, a1, a2, a3 ^ SIGN]).lt(Self([b0, b1, b2, b3 ^ SIGN]))
    }

    /// Whether both are equal, without a branch per limb.
    #[inline(always)]
    pub(crate) const fn same(self, other: Self) -> bool {
        let (Self(a), Self(b)) = (self, other);
        (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
    }

    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        Self([a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]])
    }

    #[inline(always)]
    pub(crate) const fn or(self, other: Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        Self([a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]])
    }

    #[inline(always)]
    pub(crate) const fn xor(self, other: Self) -> Self {
        let (Self(a), Self(b)) = (self, other);
        Self([a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]])
    }

    #[inline(always)]
    pub(crate) const fn not(self) -> Self {
        let Self(a) = self;
        Self([!a[0], !a[1], !a[2], !a[3]])
    }

    #[inline(always)]
    pub(crate) const fn shl(self, shift: Self) -> Self {
        match shift.to_u64() {
            Some(shift @ 0..256) => self.shl_by(shift as u32),
            _ => Self::ZERO,
        }
    }

    #[inline(always)]
    pub(crate) const fn shr(self, shift: Self) -> Self {
        match shift.to_u64() {
            Some(shift @ 0..256) => self.shr_by(shift as u32),
            _ => Self::ZERO,
        }
    }

    /// Shifts right and copies the sign bit in from the left.
    #[inline(always)]
    pub(crate) const fn sar(self, shift: Self) -> Self {
        let fill = if self.is_negative() {
            Self::MAX
        } else {
            Self::ZERO
        };
        // For a negative word: the complement of the shifted complement.
        fill.xor(fill.xor(self).shr(shift))
    }

    /// Shifts left by less than 256 bits.
    #[inline(always)]
    pub(crate) const fn shl_by(self, shift: u32) -> Self {
        let [a, b, c, d] = self.0;
        // Whole limbs first, then bits. `x >> 1 >> (63 - n)` is `x >> (64 - n)`, but without
        // overflow for `n` = 0.
        let [a, b, c, d] = match shift / 64 {
            0 => [a, b, c, d],
            1 => [0, a, b, c],
            2 => [0, 0, a, b],
            _ => [0, 0, 0, a],
        };
        let (n, m) = (shift % 64, 63 - shift % 64);
        Self([
            a << n,
            b << n | a >> 1 >> m,
            c << n | b >> 1 >> m,
            d << n | c >> 1 >> m,
        ])
    }

    /// Shifts right by less than 256 bits.
    #[inline(always)]
    pub(crate) const fn shr_by(self, shift: u32) -> Self {
        let [a, b, c, d] = self.0;
        let [a, b, c, d] = match shift / 64 {
            0 => [a, b, c, d],
            1 => [b, c, d, 0],
            2 => [c, d, 0, 0],
            _ => [d, 0, 0, 0],
        };
        let (n, m) = (shift % 64, 63 - shift % 64);
        Self([
            a >> n | b << 1 << m,
            b >> n | c << 1 << m,
            c >> n | d << 1 << m,
            d >> n,
        ])
    }

    /// Byte `index`, counted from the most significant one; zero beyond the last.
    #[inline(always)]
    pub(crate) const fn byte(self, index: Self) -> Self {
        match index.to_u64() {
            Some(index @ 0..32) => {
                let [a, b, c, d] = self.0;
                let limb = match index / 8 {
                    0 => d,
                    1 => c,
                    2 => b,
                    _ => a,
                };
                Self::new(limb >> (56 - index % 8 * 8) & 0xff)
            }
            _ => Self::ZERO,
        }
    }

    /// Extends the sign of a number of `size` + 1 bytes.
    #[inline(always)]
    pub(crate) fn sign_extend(self, size: Self) -> Self {
        let Some(size @ 0..31) = size.to_u64() else {
            return self;
        };
        // Without a branch on the size, which a predictor could not follow.
        let Self([a, b, c, d]) = self;
        let (at, shift) = (size / 8, 56 - size % 8 * 8);
        let low = select_unpredictable(at == 0, a, b);
        let high = select_unpredictable(at == 2, c, d);
        let limb = select_unpredictable(at < 2, low, high);
        let signed = ((limb << shift) as i64 >> shift) as u64;
        let fill = (signed as i64 >> 63) as u64;
        let extended = |n: u64, limb: u64| {
            let above = select_unpredictable(n == at, signed, fill);
            select_unpredictable(n < at, limb, above)
        };
        Self([
            extended(0, a),
            extended(1, b),
            extended(2, c),
            extended(3, d),
        ])
    }

    /// Words as arrays of limbs, for inspectors.
    #[expect(unsafe_code, reason = "a view of the same memory")]
    pub(crate) fn limbs(words: &[Self]) -> &[[u64; 4]] {
        // SAFETY: `Word` is four `u64` and nothing else, with their alignment.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
    }

    #[inline(always)]
    pub(crate) const fn u256(self) -> U256 {
        U256::from_limbs(self.0)
    }
}

impl From<U256> for Word {
    #[inline(always)]
    fn from(value: U256) -> Self {
        Self(value.into_limbs())
    }
}

impl From<B256> for Word {
    #[inline(always)]
    fn from(value: B256) -> Self {
        Self::from_be_bytes(&value.0)
    }
}

impl From<Address> for Word {
    #[inline(always)]
    fn from(value: Address) -> Self {
        let mut bytes = [0; 32];
        bytes[12..].copy_from_slice(value.as_slice());
        Self::from_be_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests;
