//! The extension fields of BN254.
//!
//! `Fp2 = Fp[u] / (u^2 + 1)`, `Fp6 = Fp2[v] / (v^3 - xi)` with `xi = 9 + u`, and
//! `Fp12 = Fp6[w] / (w^2 - v)`.

use super::fp::Fp;
use std::ops::{Add, Mul, Neg, Sub};

/// An element `c0 + c1 * u`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fp2 {
    pub(super) c0: Fp,
    pub(super) c1: Fp,
}

impl Fp2 {
    pub(super) const ZERO: Self = Self::new(Fp::ZERO, Fp::ZERO);
    pub(super) const ONE: Self = Self::new(Fp::ONE, Fp::ZERO);

    pub(super) const fn new(c0: Fp, c1: Fp) -> Self {
        Self { c0, c1 }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.c0.is_zero() && self.c1.is_zero()
    }

    #[inline(always)]
    pub(super) fn double(self) -> Self {
        self + self
    }

    #[inline(always)]
    pub(super) fn half(self) -> Self {
        Self::new(self.c0.half(), self.c1.half())
    }

    #[inline]
    pub(super) fn square(self) -> Self {
        let Self { c0, c1 } = self;
        Self::new((c0 + c1) * (c0 - c1), (c0 * c1).double())
    }

    #[inline(always)]
    pub(super) fn scale(self, factor: Fp) -> Self {
        Self::new(self.c0 * factor, self.c1 * factor)
    }

    /// The conjugate `c0 - c1 * u`, which is also the power to the modulus.
    #[inline(always)]
    pub(super) fn conjugate(self) -> Self {
        Self::new(self.c0, -self.c1)
    }

    /// Returns `self * xi`.
    #[inline(always)]
    fn times_xi(self) -> Self {
        let eight = self.double().double().double();
        let nine = eight + self;
        Self::new(nine.c0 - self.c1, nine.c1 + self.c0)
    }

    /// Returns `1 / self`; `None` for zero.
    pub(super) fn inverse(&self) -> Option<Self> {
        let norm = Fp::sum_of_products(self.c0, self.c0, self.c1, self.c1);
        Some(self.conjugate().scale(norm.inverse()?))
    }
}

impl Add for Fp2 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.c0 + other.c0, self.c1 + other.c1)
    }
}

impl Sub for Fp2 {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.c0 - other.c0, self.c1 - other.c1)
    }
}

impl Neg for Fp2 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl Mul for Fp2 {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self::new(
            Fp::sum_of_products(a.c0, b.c0, -a.c1, b.c1),
            Fp::sum_of_products(a.c0, b.c1, a.c1, b.c0),
        )
    }
}

/// An element `c0 + c1 * v + c2 * v^2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fp6 {
    pub(super) c0: Fp2,
    pub(super) c1: Fp2,
    pub(super) c2: Fp2,
}

impl Fp6 {
    const ZERO: Self = Self::new(Fp2::ZERO, Fp2::ZERO, Fp2::ZERO);
    const ONE: Self = Self::new(Fp2::ONE, Fp2::ZERO, Fp2::ZERO);

    pub(super) const fn new(c0: Fp2, c1: Fp2, c2: Fp2) -> Self {
        Self { c0, c1, c2 }
    }

    /// Returns `self * v`.
    #[inline(always)]
    fn times_v(self) -> Self {
        Self::new(self.c2.times_xi(), self.c0, self.c1)
    }

    /// Returns `self * (a + b * v)`.
    fn times_sparse(&self, a: Fp2, b: Fp2) -> Self {
        let (v0, v1) = (self.c0 * a, self.c1 * b);
        Self::new(
            v0 + (self.c2 * b).times_xi(),
            (self.c0 + self.c1) * (a + b) - v0 - v1,
            self.c2 * a + v1,
        )
    }

    fn inverse(&self) -> Option<Self> {
        let Self { c0, c1, c2 } = *self;
        let t0 = c0.square() - (c1 * c2).times_xi();
        let t1 = c2.square().times_xi() - c0 * c1;
        let t2 = c1.square() - c0 * c2;
        let norm = c0 * t0 + (c2 * t1 + c1 * t2).times_xi();
        let inverse = norm.inverse()?;
        Some(Self::new(t0 * inverse, t1 * inverse, t2 * inverse))
    }
}

impl Add for Fp6 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.c0 + other.c0, self.c1 + other.c1, self.c2 + other.c2)
    }
}

impl Sub for Fp6 {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.c0 - other.c0, self.c1 - other.c1, self.c2 - other.c2)
    }
}

impl Mul for Fp6 {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let (v0, v1, v2) = (a.c0 * b.c0, a.c1 * b.c1, a.c2 * b.c2);
        Self::new(
            v0 + ((a.c1 + a.c2) * (b.c1 + b.c2) - v1 - v2).times_xi(),
            (a.c0 + a.c1) * (b.c0 + b.c1) - v0 - v1 + v2.times_xi(),
            (a.c0 + a.c2) * (b.c0 + b.c2) - v0 - v2 + v1,
        )
    }
}

/// An element `c0 + c1 * w`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fp12 {
    pub(super) c0: Fp6,
    pub(super) c1: Fp6,
}

/// `xi^(i * (P - 1) / 6)` for `i` from 1 to 5: the factors of the coefficients of `w^i` in the
/// power to the modulus.
pub(super) const FROBENIUS: [Fp2; 5] = [
    Fp2::new(
        Fp::new([
            0xd60b_35da_dcc9_e470,
            0x5c52_1e08_292f_2176,
            0xe8b9_9fdd_76e6_8b60,
            0x1284_b71c_2865_a7df,
        ]),
        Fp::new([
            0xca5c_f05f_80f3_62ac,
            0x7479_9277_8eee_c7e5,
            0xa632_7cfe_1215_0b8e,
            0x2469_96f3_b4fa_e7e6,
        ]),
    ),
    Fp2::new(
        Fp::new([
            0x99e3_9557_176f_553d,
            0xb78c_c310_c2c3_330c,
            0x4c0b_ec3c_f559_b143,
            0x2fb3_4798_4f79_11f7,
        ]),
        Fp::new([
            0x1665_d51c_640f_cba2,
            0x32ae_2a1d_0b7c_9dce,
            0x4ba4_cc8b_d75a_0794,
            0x16c9_e550_61eb_ae20,
        ]),
    ),
    Fp2::new(
        Fp::new([
            0xdc54_0146_71a0_135a,
            0xdbaa_e0ed_a9c9_5998,
            0xdc5e_c698_b6e2_f9b9,
            0x063c_f305_489a_f5dc,
        ]),
        Fp::new([
            0x82d3_7f63_2623_b0e3,
            0x2180_7dc9_8fa2_5bd2,
            0x0704_b5a7_ec79_6f2b,
            0x07c0_3cbc_ac41_049a,
        ]),
    ),
    Fp2::new(
        Fp::new([
            0x848a_1f55_921e_a762,
            0xd333_65f7_be94_ec72,
            0x80f3_c0b7_5a18_1e84,
            0x05b5_4f5e_64ee_a801,
        ]),
        Fp::new([
            0xc13b_4711_cd2b_8126,
            0x3685_d2ea_1bde_c763,
            0x9f3a_80b0_3b0b_1c92,
            0x2c14_5edb_e7fd_8aee,
        ]),
    ),
    Fp2::new(
        Fp::new([
            0x2ea2_c810_eab7_692f,
            0x425c_459b_55aa_1bd3,
            0xe93a_3661_a435_3ff4,
            0x0183_c1e7_4f79_8649,
        ]),
        Fp::new([
            0x24c6_b8ee_6e0c_2c4b,
            0xb080_cb99_678e_2ac0,
            0xa27f_b246_c772_9f7d,
            0x12ac_f2ca_76fd_0675,
        ]),
    ),
];

impl Fp12 {
    pub(super) const ONE: Self = Self {
        c0: Fp6::ONE,
        c1: Fp6::ZERO,
    };

    pub(super) fn square(&self) -> Self {
        let product = self.c0 * self.c1;
        let c0 = (self.c0 + self.c1) * (self.c0 + self.c1.times_v());
        Self {
            c0: c0 - product - product.times_v(),
            c1: product + product,
        }
    }

    /// Returns `self * (1 + (a + b * v) * w)`.
    pub(super) fn times_line(&self, a: Fp2, b: Fp2) -> Self {
        Self {
            c0: self.c0 + self.c1.times_sparse(a, b).times_v(),
            c1: self.c1 + self.c0.times_sparse(a, b),
        }
    }

    /// The conjugate `c0 - c1 * w`: the power to `P^6`. It is the inverse of elements to which
    /// [`cyclotomic_square`](Self::cyclotomic_square) applies.
    pub(super) fn conjugate(&self) -> Self {
        Self {
            c0: self.c0,
            c1: Fp6::ZERO - self.c1,
        }
    }

    /// Returns `1 / self`; `None` for zero.
    pub(super) fn inverse(&self) -> Option<Self> {
        let norm = self.c0 * self.c0 - (self.c1 * self.c1).times_v();
        let inverse = norm.inverse()?;
        Some(Self {
            c0: self.c0 * inverse,
            c1: Fp6::ZERO - self.c1 * inverse,
        })
    }

    /// The power to `P^n`.
    pub(super) fn frobenius(&self, n: usize) -> Self {
        let mut f = *self;
        for _ in 0..n {
            let [w1, w2, w3, w4, w5] = FROBENIUS;
            f = Self {
                c0: Fp6::new(
                    f.c0.c0.conjugate(),
                    f.c0.c1.conjugate() * w2,
                    f.c0.c2.conjugate() * w4,
                ),
                c1: Fp6::new(
                    f.c1.c0.conjugate() * w1,
                    f.c1.c1.conjugate() * w3,
                    f.c1.c2.conjugate() * w5,
                ),
            };
        }
        f
    }

    /// The square of an element whose order divides `P^4 - P^2 + 1` (Granger and Scott, "Faster
    /// squaring in the cyclotomic subgroup of sixth degree extensions").
    pub(super) fn cyclotomic_square(&self) -> Self {
        /// The square of `a + b * y` with `y^2 = xi`. Two products are cheaper than three squares,
        /// because the two terms of each coefficient share a reduction.
        fn square(a: Fp2, b: Fp2) -> (Fp2, Fp2) {
            let product = a * b;
            let sum = (a + b) * (a + b.times_xi());
            (sum - product - product.times_xi(), product.double())
        }
        /// Returns `3 * t - 2 * z`.
        fn minus(t: Fp2, z: Fp2) -> Fp2 {
            (t - z).double() + t
        }
        /// Returns `3 * t + 2 * z`.
        fn plus(t: Fp2, z: Fp2) -> Fp2 {
            (t + z).double() + t
        }
        let (f, g) = (&self.c0, &self.c1);
        let (t0, t1) = square(f.c0, g.c1);
        let (t2, t3) = square(g.c0, f.c2);
        let (t4, t5) = square(f.c1, g.c2);
        Self {
            c0: Fp6::new(minus(t0, f.c0), minus(t2, f.c1), minus(t4, f.c2)),
            c1: Fp6::new(plus(t5.times_xi(), g.c0), plus(t1, g.c1), plus(t3, g.c2)),
        }
    }
}

impl Mul for Fp12 {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let (v0, v1) = (a.c0 * b.c0, a.c1 * b.c1);
        Self {
            c0: v0 + v1.times_v(),
            c1: (a.c0 + a.c1) * (b.c0 + b.c1) - v0 - v1,
        }
    }
}
