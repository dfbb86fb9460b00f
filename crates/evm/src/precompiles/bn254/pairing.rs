//! The optimal ate pairing: whether a product of pairings is one.

use super::{
    fp::Fp,
    g1,
    g2::{LOOP, Line},
    tower::Fp12,
};
use std::sync::Arc;

/// The arguments of one pairing: a point of the first group, and the lines of one of the second.
pub(super) type Pair = (g1::Point, Arc<[Line]>);

/// Returns the product of the pairings before the final exponentiation, up to a factor that the
/// exponentiation removes.
pub(super) fn miller_loop(pairs: &[Pair]) -> Fp12 {
    let mut pairs: Vec<Evaluated<'_>> = evaluated(pairs);
    let mut f = Fp12::ONE;
    for (at, digit) in LOOP.into_iter().enumerate() {
        if at > 0 {
            f = f.square();
        }
        times_lines(&mut f, &mut pairs);
        if digit != 0 {
            times_lines(&mut f, &mut pairs);
        }
    }
    // The two additions after the loop.
    times_lines(&mut f, &mut pairs);
    times_lines(&mut f, &mut pairs);
    f
}

/// The lines of a pair that are not yet used, and where to evaluate them.
struct Evaluated<'a> {
    lines: std::slice::Iter<'a, Line>,
    /// `x / y` of the first-group point.
    x_by_y: Fp,
    /// `1 / y`.
    one_by_y: Fp,
}

/// Multiplies by the next line of each pair.
fn times_lines(f: &mut Fp12, pairs: &mut [Evaluated<'_>]) {
    for pair in pairs {
        if let Some(line) = pair.lines.next() {
            *f = f.times_line(line.a.scale(pair.x_by_y), line.b.scale(pair.one_by_y));
        }
    }
}

/// Divides by each `y` with a single inversion. No point has a `y` of zero, because the order of
/// the group is odd.
fn evaluated(pairs: &[Pair]) -> Vec<Evaluated<'_>> {
    let mut product = Fp::ONE;
    let mut evaluated: Vec<_> = pairs
        .iter()
        .map(|(point, lines)| {
            // The product before this point, until the second pass.
            let one_by_y = product;
            product = product * point.y;
            Evaluated {
                lines: lines.iter(),
                x_by_y: Fp::ZERO,
                one_by_y,
            }
        })
        .collect();
    let mut inverse = product.inverse().expect("no point has a y of zero");
    for (evaluated, (point, _)) in evaluated.iter_mut().zip(pairs).rev() {
        evaluated.one_by_y = inverse * evaluated.one_by_y;
        evaluated.x_by_y = point.x * evaluated.one_by_y;
        inverse = inverse * point.y;
    }
    evaluated
}

/// Whether the final exponentiation of `f` is one.
///
/// The exponent is `(P^12 - 1) / order`, times a number that the order does not divide: Fuentes-
/// Castañeda, Knapp and Rodríguez-Henríquez, "Faster hashing to G2".
pub(super) fn is_one(f: &Fp12) -> bool {
    let Some(inverse) = f.inverse() else {
        return false;
    };
    // To the power of P^6 - 1, then P^2 + 1.
    let f = f.conjugate() * inverse;
    let f = f.frobenius(2) * f;

    let y0 = power(&f).conjugate();
    let y1 = y0.cyclotomic_square();
    let y3 = y1.cyclotomic_square() * y1;
    let y4 = power(&y3).conjugate();
    let y6 = power(&y4.cyclotomic_square());
    let y7 = y6 * y4;
    let y8 = y7 * y3.conjugate();
    let y9 = y8 * y1;
    let y11 = y8 * y4 * f;
    let y13 = y9.frobenius(1) * y11;
    let y14 = y8.frobenius(2) * y13;
    let y15 = (f.conjugate() * y9).frobenius(3);
    y15 * y14 == Fp12::ONE
}

/// The power to the parameter of the curve, 4965661367192848881, for elements to which
/// [`Fp12::cyclotomic_square`] applies. The addition chain of gnark-crypto: 62 squarings and 17
/// multiplications.
fn power(x1: &Fp12) -> Fp12 {
    fn shifted(f: Fp12, bits: usize) -> Fp12 {
        (0..bits).fold(f, |f, _| f.cyclotomic_square())
    }
    let x1 = *x1;
    let x2 = shifted(x1, 1);
    let x4 = shifted(x2, 1);
    let x8 = shifted(x4, 1);
    let x16 = shifted(x8, 1);
    let x17 = x1 * x16;
    let x19 = x2 * x17;
    let x20 = x1 * x19;
    let x25 = x8 * x17;
    let x34 = shifted(x17, 1);
    let x39 = x19 * x20;
    let x41 = x2 * x39;
    let x = shifted(x34, 6) * (x4 * x25);
    let x = shifted(x, 7) * x25;
    let x = shifted(x, 8) * (x41 * x2);
    let x = shifted(x, 6) * x17;
    let x = shifted(x, 8) * x41;
    let x = shifted(x, 6) * x41;
    let x = shifted(x, 10) * x39;
    shifted(x, 6) * (x41 * x8)
}
