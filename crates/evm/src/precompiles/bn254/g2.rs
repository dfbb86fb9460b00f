//! The curve `y^2 = x^3 + 3 / xi` over the quadratic extension, and the lines that a point in its
//! subgroup contributes to a pairing.
//!
//! The lines depend on the second argument of a pairing only. Verifying keys repeat that argument,
//! so [`LineCache`](super::cache::LineCache) keeps them.

use super::{
    fp::Fp,
    tower::{FROBENIUS, Fp2},
};

/// A point that is not the point at infinity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    x: Fp2,
    y: Fp2,
}

/// `6 * t + 2` in signed digits from high to low, without the highest digit, for the parameter
/// `t = 4965661367192848881` of the curve.
pub(super) const LOOP: [i8; 64] = [
    1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 0, -1, 0, 1, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0,
    1, 0, 0, -1, 0, 0, 0, 0, -1, 0, 1, 0, 0, 0, -1, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, -1, 0, 1, 0,
    1, 0, 0, 0,
];

/// The number of lines of a point: one for each digit, one more for each digit that is not zero,
/// and two at the end.
pub(super) const LINES: usize = 87;

/// The line `1 + (a * x / y + b / y * v) * w`, to be evaluated at a point (x, y) of the first group.
/// A factor in `Fp2` is omitted, because the final exponentiation removes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) a: Fp2,
    pub(super) b: Fp2,
}

/// The equation `c * y + a * x * w + b * v * w` of a line.
struct Equation {
    c: Fp2,
    a: Fp2,
    b: Fp2,
}

/// Returns the point with these coordinates, if it is on the curve.
pub(super) fn point(x: Fp2, y: Fp2) -> Option<Point> {
    (y.square() == x.square() * x + B).then_some(Point { x, y })
}

/// `3 / xi`.
const B: Fp2 = Fp2::new(
    Fp::new([
        0x3267_e6dc_24a1_38e5,
        0xb5b4_c5e5_59db_efa3,
        0x81be_1899_1be0_6ac3,
        0x2b14_9d40_ceb8_aaae,
    ]),
    Fp::new([
        0xe4a2_bd06_85c3_15d2,
        0xa74f_a084_e52d_1852,
        0xcd2c_afad_eed8_fdf4,
        0x0097_13b0_3af0_fed4,
    ]),
);

/// Returns the lines of a point of the curve; `None` if it is not in the subgroup.
///
/// The loop computes `R = (6t + 2) Q + psi(Q) - psi^2(Q)`, where `psi` is the Frobenius map of the
/// curve before its twist. `Q` is in the subgroup if and only if `R + psi^3(Q)` is the point at
/// infinity, so the check costs nothing:
/// - In the subgroup, `psi` multiplies by `P`, and the order divides `6t + 2 + P - P^2 + P^3`.
/// - On the whole curve, `psi^2 - (6t^2 + 1) psi + P = 0`. The greatest common divisor of the
///   resultant of both polynomials with the number of points of the curve is the order of the
///   subgroup, so no other point satisfies both. (Dai, Lin, Zhao and Zhou, "Fast subgroup membership
///   testings for G1, G2 and GT on pairing-friendly curves", describe the method.)
///
/// The formulas fail where a sum is the point at infinity, or both summands are equal. In the
/// subgroup that does not happen, because its order is a prime greater than all factors. Elsewhere
/// `z` becomes zero and remains zero, and the point is refused.
pub(super) fn lines(q: Point) -> Option<Box<[Line]>> {
    let mut r = Projective {
        x: q.x,
        y: q.y,
        z: Fp2::ONE,
    };
    let mut equations = Vec::with_capacity(LINES);
    for digit in LOOP {
        equations.push(r.double());
        match digit {
            1 => equations.push(r.add(q)),
            -1 => equations.push(r.add(-q)),
            _ => {}
        }
    }
    let q1 = q.psi();
    let q2 = q1.psi();
    let q3 = q2.psi();
    equations.push(r.add(q1));
    equations.push(r.add(-q2));
    let expected = -q3;
    let member = !r.z.is_zero() && expected.x * r.z == r.x && expected.y * r.z == r.y;
    member.then(|| normalized(&equations))?
}

/// Divides the equations by their `c`, with a single inversion. `c` is not zero if the `z` after it
/// is not.
fn normalized(equations: &[Equation]) -> Option<Box<[Line]>> {
    let mut product = Fp2::ONE;
    let mut lines: Vec<Line> = equations
        .iter()
        .map(|equation| {
            let before = product;
            product = product * equation.c;
            // The product before this equation, until the second pass.
            Line {
                a: before,
                b: Fp2::ZERO,
            }
        })
        .collect();
    let mut inverse = product.inverse()?;
    for (line, Equation { c, a, b }) in lines.iter_mut().zip(equations).rev() {
        let own = inverse * line.a;
        inverse = inverse * *c;
        *line = Line {
            a: *a * own,
            b: *b * own,
        };
    }
    Some(lines.into())
}

impl Point {
    /// The Frobenius map of the curve before its twist.
    fn psi(self) -> Self {
        Self {
            x: self.x.conjugate() * FROBENIUS[1],
            y: self.y.conjugate() * FROBENIUS[2],
        }
    }
}

impl std::ops::Neg for Point {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            x: self.x,
            y: -self.y,
        }
    }
}

/// The point `(x / z, y / z)`.
struct Projective {
    x: Fp2,
    y: Fp2,
    z: Fp2,
}

/// The formulas of Aranha, Barreto, Longa and Ricardini, "The Realm of the Pairings".
impl Projective {
    /// Doubles the point. Returns the tangent.
    fn double(&mut self) -> Equation {
        let a = (self.x * self.y).half();
        let b = self.y.square();
        let c = self.z.square();
        let e = B * (c.double() + c);
        let f = e.double() + e;
        let g = (b + f).half();
        let h = (self.y + self.z).square() - (b + c);
        let j = self.x.square();
        let ee = e.square();
        self.x = a * (b - f);
        self.y = g.square() - (ee.double() + ee);
        self.z = b * h;
        Equation {
            c: -h,
            a: j.double() + j,
            b: e - b,
        }
    }

    /// Adds a point. Returns the line through both.
    fn add(&mut self, q: Point) -> Equation {
        let theta = self.y - q.y * self.z;
        let lambda = self.x - q.x * self.z;
        let c = theta.square();
        let d = lambda.square();
        let e = lambda * d;
        let f = self.z * c;
        let g = self.x * d;
        let h = e + f - g.double();
        self.x = lambda * h;
        self.y = theta * (g - h) - e * self.y;
        self.z = self.z * e;
        Equation {
            c: lambda,
            a: -theta,
            b: theta * q.x - lambda * q.y,
        }
    }
}
