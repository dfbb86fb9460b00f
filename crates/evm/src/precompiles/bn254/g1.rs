//! The curve `y^2 = x^3 + 3` over the base field, whose points form a group of prime order.

use super::{
    fp::Fp,
    scalar::{self, DIGITS, TABLE},
};
use alloy_primitives::U256;

/// A point that is not the point at infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: Fp,
    pub(super) y: Fp,
}

/// A point of the group; `None` is the point at infinity.
pub(super) type G1 = Option<Point>;

/// Returns the point with these coordinates, where (0, 0) is the point at infinity. Fails if there
/// is none.
pub(super) fn point(x: Fp, y: Fp) -> Option<G1> {
    if x.is_zero() && y.is_zero() {
        return Some(None);
    }
    const THREE: Fp = Fp::new([3, 0, 0, 0]);
    (y.square() == x.square() * x + THREE).then_some(Some(Point { x, y }))
}

/// Adds two points.
pub(super) fn add(p: G1, q: G1) -> G1 {
    let (Some(p), Some(q)) = (p, q) else {
        return p.or(q);
    };
    let (numerator, denominator) = if p.x != q.x {
        (q.y - p.y, q.x - p.x)
    } else if p.y == q.y {
        let square = p.x.square();
        (square.double() + square, p.y.double())
    } else {
        return None;
    };
    // Not zero: no point has the order two.
    let slope = numerator * denominator.inverse()?;
    let x = slope.square() - p.x - q.x;
    let y = slope * (p.x - x) - p.y;
    Some(Point { x, y })
}

/// Multiplies a point by a number, which may be greater than the order.
///
/// The endomorphism `(x, y) -> (BETA * x, y)` halves the number of doublings (Gallant, Lambert and
/// Vanstone, "Faster point multiplication on elliptic curves with efficient endomorphisms"). Both
/// halves are in signed windows of five bits and share one table.
pub(super) fn multiply(p: G1, scalar: U256) -> G1 {
    let p = p?;
    let scalar = scalar::reduced(scalar);
    match u64::try_from(scalar) {
        Ok(0) => return None,
        Ok(1) => return Some(p),
        Ok(2) => return add(Some(p), Some(p)),
        _ => {}
    }
    let [(first, _), (second, negative)] = scalar::halves(scalar);
    let (first, second) = (scalar::windows(first), scalar::windows(second));
    let top = |digits: &[i8; DIGITS]| digits.iter().rposition(|digit| *digit != 0);
    let len = top(&first).max(top(&second))? + 1;

    let (table, factor) = odd_multiples(p);
    let images = table.map(|point| Point {
        x: point.x * BETA,
        y: point.y,
    });
    let mut sum = Jacobian::INFINITY;
    for at in (0..len).rev() {
        sum = sum.double();
        if first[at] != 0 {
            sum = sum.add(signed(&table, first[at], false));
        }
        if second[at] != 0 {
            sum = sum.add(signed(&images, second[at], negative));
        }
    }
    sum.z = sum.z * factor;
    sum.affine()
}

/// A cube root of one. The endomorphism with it multiplies by `LAMBDA` of [`scalar`].
const BETA: Fp = Fp::new([
    0xe4bd_44e5_607c_fd48,
    0xc28f_069f_bb96_6e3d,
    0x5e6d_d9e7_e0ac_ccb0,
    0x3064_4e72_e131_a029,
]);

/// The multiple of a table for an odd digit.
#[inline]
fn signed(table: &[Point; TABLE], digit: i8, negated: bool) -> Point {
    let Point { x, y } = table[usize::from(digit.unsigned_abs() / 2)];
    let negative = (digit < 0) != negated;
    Point {
        x,
        y: if negative { -y } else { y },
    }
}

/// The multiples of `p` by 1, 3, 5, ….
///
/// They are on an isomorphic curve, where all have the same denominator, so that no inversion is
/// needed. A sum of them is a multiple of `p` after its `z` is multiplied by the returned factor.
/// The addition formulas do not depend on the curve. As in libsecp256k1 ("effective affine").
fn odd_multiples(p: Point) -> ([Point; TABLE], Fp) {
    let Jacobian { x, y, z } = Jacobian::from(p).double();
    // On the curve on which twice `p` has the denominator one.
    let twice = Point { x, y };
    let square = z.square();
    let first = Point {
        x: p.x * square,
        y: p.y * (square * z),
    };
    let mut table = [first; TABLE];
    // The factor from each denominator to the next.
    let mut ratios = [Fp::ONE; TABLE];
    let mut sum = Jacobian::from(first);
    for (entry, ratio) in table.iter_mut().zip(&mut ratios).skip(1) {
        // Not equal and not opposite: the order of `p` is a large prime.
        *ratio = twice.x * sum.z.square() - sum.x;
        sum = sum.add(twice);
        *entry = Point { x: sum.x, y: sum.y };
    }
    let mut factor = Fp::ONE;
    for at in (0..TABLE - 1).rev() {
        factor = factor * ratios[at + 1];
        let square = factor.square();
        table[at] = Point {
            x: table[at].x * square,
            y: table[at].y * (square * factor),
        };
    }
    (table, sum.z * z)
}

/// The point `(x / z^2, y / z^3)`, or the point at infinity if `z` is zero.
#[derive(Clone, Copy, Debug)]
struct Jacobian {
    x: Fp,
    y: Fp,
    z: Fp,
}

impl From<Point> for Jacobian {
    fn from(Point { x, y }: Point) -> Self {
        Self { x, y, z: Fp::ONE }
    }
}

impl Jacobian {
    const INFINITY: Self = Self {
        x: Fp::ONE,
        y: Fp::ONE,
        z: Fp::ZERO,
    };

    /// Doubles the point with the formulas of libsecp256k1, in which `z` is half of the usual one.
    fn double(&self) -> Self {
        let Self { x, y, z } = *self;
        let square = x.square();
        let l = (square.double() + square).half();
        let s = y.square();
        let t = -(x * s);
        let x3 = l.square() + t.double();
        Self {
            x: x3,
            y: -Fp::sum_of_products(l, x3 + t, s, s),
            z: y * z,
        }
    }

    fn add(&self, other: Point) -> Self {
        if self.z.is_zero() {
            return Self::from(other);
        }
        let Self { x, y, z } = *self;
        let square = z.square();
        let h = other.x * square - x;
        let r = other.y * (square * z) - y;
        if h.is_zero() {
            return if r.is_zero() {
                self.double()
            } else {
                Self::INFINITY
            };
        }
        let hh = h.square();
        let (hhh, v) = (h * hh, x * hh);
        let x3 = r.square() - hhh - v.double();
        Self {
            x: x3,
            y: Fp::sum_of_products(r, v - x3, -y, hhh),
            z: z * h,
        }
    }

    fn affine(&self) -> G1 {
        let inverse = self.z.inverse()?;
        let square = inverse.square();
        Some(Point {
            x: self.x * square,
            y: self.y * (square * inverse),
        })
    }
}
