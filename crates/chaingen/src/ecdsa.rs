//! Signatures of many hashes at once, equal to the signatures of libsecp256k1.
//!
//! Half of the time of writing a chain would be signatures. The nonce of a signature is a function of
//! key and hash (RFC 6979). Its point is a sum of points from a table, one for each byte of the
//! nonce. Points are added in pairs, and all additions of a round share one inversion. The time of
//! this depends on the keys, which are no secret: they follow from the seed of the chain.

use alloy_primitives::{B256, Signature, U256, U512};
use secp256k1::{PublicKey, SECP256K1, SecretKey};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// Coordinates are numbers modulo this prime, which is 2^256 - [`FOLD`].
const FIELD: U256 = U256::from_limbs([u64::MAX - FOLD + 1, u64::MAX, u64::MAX, u64::MAX]);
const FOLD: u64 = 0x1_0000_03d1;
/// The number of points. Keys and nonces are numbers modulo this prime.
const ORDER: U256 = U256::from_limbs([
    0xbfd2_5e8c_d036_4141,
    0xbaae_dce6_af48_a03b,
    u64::MAX - 1,
    u64::MAX,
]);
/// Bytes of a nonce.
const BYTES: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Point {
    x: U256,
    y: U256,
}

/// For each byte of a nonce and each value of it, the point that it stands for; `None` is the
/// neutral element.
static POINTS: LazyLock<Vec<[Option<Point>; 256]>> = LazyLock::new(|| {
    let mut points = vec![[None; 256]; BYTES];
    for (byte, points) in points.iter_mut().enumerate() {
        let unit = U256::ONE << (8 * byte);
        points[1] = Some(public_point(unit));
        points[2] = Some(public_point(unit << 1));
    }
    for value in 3..256 {
        let summands = points.iter().flat_map(|it| [it[value - 1], it[1]]);
        let sums = add_pairs(&summands.collect::<Vec<_>>());
        for (points, sum) in points.iter_mut().zip(sums) {
            points[value] = sum;
        }
    }
    points
});

/// Signs each hash with its key.
pub(super) fn sign(messages: &[(SecretKey, B256)]) -> Vec<Signature> {
    let nonces = messages.iter().map(|(key, hash)| nonce(key.as_ref(), hash));
    let mut nonces: Vec<U256> = nonces.collect();
    let bytes = nonces.iter().flat_map(|nonce| nonce.to_le_bytes::<BYTES>());
    let points = bytes.zip(POINTS.iter().cycle());
    let mut points: Vec<_> = points
        .map(|(byte, points)| points[usize::from(byte)])
        .collect();
    while points.len() > messages.len() {
        points = add_pairs(&points);
    }
    invert(&mut nonces, ORDER, |a, b| a.mul_mod(b, ORDER));
    let signatures = messages.iter().zip(nonces).zip(points);
    let signatures = signatures.map(|(((key, hash), inverse), point)| {
        let Point { x, y } = point.expect("the nonce is not zero");
        let key = U256::from_be_slice(key.as_ref());
        let sum = U256::from_be_bytes(hash.0).add_mod(x.mul_mod(key, ORDER), ORDER);
        let s = inverse.mul_mod(sum, ORDER);
        // Of the two valid values, blocks have the lower (EIP-2).
        if s > ORDER >> 1 {
            Signature::new(x, ORDER - s, !y.bit(0))
        } else {
            Signature::new(x, s, y.bit(0))
        }
    });
    signatures.collect()
}

/// The first nonce of RFC 6979. Another would be needed once in 2^127 cases.
fn nonce(key: &[u8; 32], hash: &B256) -> U256 {
    let (mut state, mut value) = ([0; 32], [1; 32]);
    for round in [0, 1] {
        state = hmac(&state, &[&value, &[round], key, hash.as_slice()]);
        value = hmac(&state, &[&value]);
    }
    U256::from_be_bytes(hmac(&state, &[&value]))
}

/// HMAC-SHA256.
fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let keyed = |pad: u8| {
        let mut block = [pad; 64];
        block
            .iter_mut()
            .zip(key)
            .for_each(|(byte, key)| *byte ^= key);
        Sha256::new_with_prefix(block)
    };
    let inner = parts.iter().fold(keyed(0x36), Digest::chain_update);
    keyed(0x5c).chain_update(inner.finalize()).finalize().into()
}

/// The point of a key.
fn public_point(key: U256) -> Point {
    let key = SecretKey::from_slice(&key.to_be_bytes::<32>()).expect("below the order");
    let bytes = PublicKey::from_secret_key(SECP256K1, &key).serialize_uncompressed();
    let number = |at: usize| U256::from_be_slice(&bytes[at..at + 32]);
    Point {
        x: number(1),
        y: number(33),
    }
}

/// Returns the sum of each pair of points. The two must differ and not add up to zero, which a
/// nonce excludes: its bytes stand for points of different orders of magnitude.
fn add_pairs(points: &[Option<Point>]) -> Vec<Option<Point>> {
    let pairs = || points.chunks_exact(2);
    let differences = pairs().map(|pair| match pair {
        [Some(a), Some(b)] => subtract(b.x, a.x),
        _ => U256::ONE,
    });
    let mut inverses: Vec<U256> = differences.collect();
    invert(&mut inverses, FIELD, multiply);
    let sums = pairs().zip(inverses).map(|(pair, inverse)| match pair {
        [Some(a), Some(b)] => {
            let slope = multiply(subtract(b.y, a.y), inverse);
            let x = subtract(subtract(multiply(slope, slope), a.x), b.x);
            let y = subtract(multiply(slope, subtract(a.x, x)), a.y);
            Some(Point { x, y })
        }
        pair => pair[0].or(pair[1]),
    });
    sums.collect()
}

/// Inverts numbers other than zero, with one inversion for all.
fn invert(numbers: &mut [U256], modulus: U256, multiply: impl Fn(U256, U256) -> U256) {
    let mut product = U256::ONE;
    let before = numbers.iter().map(|number| {
        let before = product;
        product = multiply(product, *number);
        before
    });
    let before: Vec<U256> = before.collect();
    let mut inverse = product.inv_mod(modulus).expect("no number is zero");
    for (number, before) in numbers.iter_mut().zip(before).rev() {
        let own = multiply(inverse, before);
        inverse = multiply(inverse, *number);
        *number = own;
    }
}

fn subtract(a: U256, b: U256) -> U256 {
    let (difference, borrow) = a.overflowing_sub(b);
    if borrow {
        difference.wrapping_add(FIELD)
    } else {
        difference
    }
}

/// Multiplies coordinates. 2^256 is [`FOLD`] modulo the prime.
fn multiply(a: U256, b: U256) -> U256 {
    let product: U512 = a.widening_mul(b);
    let (low, high) = product.as_limbs().split_at(4);
    let (mut folded, mut carry) = ([0; 4], 0);
    for ((folded, low), high) in folded.iter_mut().zip(low).zip(high) {
        let sum = carry + u128::from(*low) + u128::from(*high) * u128::from(FOLD);
        *folded = low_half(sum);
        carry = sum >> 64;
    }
    let rest = U256::from(carry * u128::from(FOLD));
    let (mut sum, carry) = U256::from_limbs(folded).overflowing_add(rest);
    if carry || sum >= FIELD {
        sum = sum.wrapping_sub(FIELD);
    }
    sum
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is cut off is the carry"
)]
fn low_half(number: u128) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Signer, draw};

    #[test]
    fn signatures_equal_those_of_libsecp256k1() {
        let messages = (0..500).map(|number| {
            let signer = Signer::new(1, "test", &[number / 7]);
            (signer, draw::hash(2, "hash", &[number]))
        });
        let messages: Vec<_> = messages.collect();
        let expected = messages.iter().map(|(signer, hash)| signer.sign(*hash));
        let expected: Vec<Signature> = expected.collect();
        let messages = messages.iter().map(|(signer, hash)| (signer.secret, *hash));
        let messages: Vec<_> = messages.collect();
        for size in [1, 2, 13, 500] {
            let signed = messages.chunks(size).flat_map(sign);
            assert!(signed.eq(expected.iter().copied()), "{size} at once");
        }
        assert_eq!(sign(&[]), []);
    }

    /// Sums with neutral elements, and every value of a byte.
    #[test]
    fn points_of_the_table_are_public_keys() {
        for (byte, points) in POINTS.iter().enumerate().step_by(5) {
            for value in [1, 2, 3, 4, 100, 255] {
                let expected = public_point(U256::from(value) << (8 * byte));
                let point = points[value].expect("not zero");
                assert_eq!(
                    (point.x, point.y),
                    (expected.x, expected.y),
                    "{value}, byte {byte}"
                );
            }
            let sum = add_pairs(&[points[0], points[9], points[9], None, None, None]);
            let x = |point: Option<Point>| point.map(|point| point.x);
            let sum: Vec<_> = sum.into_iter().map(x).collect();
            assert_eq!(sum, [x(points[9]), x(points[9]), None]);
        }
    }
}
