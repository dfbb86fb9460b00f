//! Divisions of any width, by ruint. Under miri they are done bit by bit, because ruint divides in
//! assembly, which miri cannot execute.

#[cfg(miri)]
pub(crate) use plain::{add_mod, div, mul_mod, rem};
#[cfg(not(miri))]
pub(crate) use ruint::{add_mod, div, mul_mod, rem};

#[cfg(not(miri))]
mod ruint {
    use alloy_primitives::U256;

    #[inline(always)]
    pub(crate) fn div(a: U256, b: U256) -> U256 {
        a / b
    }

    #[inline(always)]
    pub(crate) fn rem(a: U256, b: U256) -> U256 {
        a % b
    }

    #[inline(always)]
    pub(crate) fn add_mod(a: U256, b: U256, modulus: U256) -> U256 {
        a.add_mod(b, modulus)
    }

    #[inline(always)]
    pub(crate) fn mul_mod(a: U256, b: U256, modulus: U256) -> U256 {
        a.mul_mod(b, modulus)
    }
}

#[cfg(miri)]
mod plain {
    use alloy_primitives::U256;

    fn div_rem(a: U256, b: U256) -> (U256, U256) {
        let (mut quotient, mut rest) = (U256::ZERO, U256::ZERO);
        for bit in (0..256).rev() {
            let carry = rest.bit(255);
            rest = rest << 1 | U256::from(a.bit(bit));
            if carry || rest >= b {
                rest = rest.wrapping_sub(b);
                quotient.set_bit(bit, true);
            }
        }
        (quotient, rest)
    }

    pub(crate) fn div(a: U256, b: U256) -> U256 {
        div_rem(a, b).0
    }

    pub(crate) fn rem(a: U256, b: U256) -> U256 {
        div_rem(a, b).1
    }

    pub(crate) fn add_mod(a: U256, b: U256, modulus: U256) -> U256 {
        if modulus.is_zero() {
            return modulus;
        }
        let (a, b) = (rem(a, modulus), rem(b, modulus));
        let (sum, carry) = a.overflowing_add(b);
        if carry || sum >= modulus {
            return sum.wrapping_sub(modulus);
        }
        sum
    }

    pub(crate) fn mul_mod(a: U256, b: U256, modulus: U256) -> U256 {
        let mut product = U256::ZERO;
        for bit in (0..b.bit_len()).rev() {
            product = add_mod(product, product, modulus);
            if b.bit(bit) {
                product = add_mod(product, a, modulus);
            }
        }
        product
    }
}
