//! The precompiled contracts of the curve BN254 (EIP-196, EIP-197): addition, multiplication,
//! pairing.
//!
//! revm's crate implements them with arkworks. Blocks with rollup verifiers spent a third of their
//! time in them, so we have our own implementation (`docs/notes/optimizations.md`). Results are
//! identical to revm's crate, which is the oracle of the tests. Nothing here is secret, so the
//! running time may depend on the input.

mod cache;
mod fp;
mod g1;
mod g2;
mod pairing;
mod scalar;
// Too slow for miri, as is revm.
#[cfg(all(test, not(miri)))]
mod tests;
mod tower;

pub(crate) use cache::LineCache;

use crate::fork::Fork;
use alloy_primitives::U256;
use fp::Fp;
use g1::G1;
use revm_precompile::bn254 as prices;
use tower::Fp2;

/// The bytes of a pair: a point of the first group and one of the second.
const PAIR: usize = 192;

/// The pairs that are multiplied at a time, which bounds the memory for their lines to 0.4 MB. More
/// would save little: the pairs share one squaring per digit.
const PAIRS_AT_A_TIME: usize = 32;

/// The price of an addition.
pub(super) fn add_gas(fork: Fork) -> u64 {
    if fork >= Fork::Istanbul {
        prices::add::ISTANBUL_ADD_GAS_COST
    } else {
        prices::add::BYZANTIUM_ADD_GAS_COST
    }
}

/// The price of a multiplication.
pub(super) fn multiply_gas(fork: Fork) -> u64 {
    if fork >= Fork::Istanbul {
        prices::mul::ISTANBUL_MUL_GAS_COST
    } else {
        prices::mul::BYZANTIUM_MUL_GAS_COST
    }
}

/// The price of a pairing with an input of `len` bytes.
pub(super) fn pairing_gas(fork: Fork, len: usize) -> u64 {
    let pairs = (len / PAIR) as u64;
    if fork >= Fork::Istanbul {
        pairs * prices::pair::ISTANBUL_PAIR_PER_POINT + prices::pair::ISTANBUL_PAIR_BASE
    } else {
        pairs * prices::pair::BYZANTIUM_PAIR_PER_POINT + prices::pair::BYZANTIUM_PAIR_BASE
    }
}

/// Adds two points; `None` if one is not valid.
pub(super) fn add(input: &[u8]) -> Option<[u8; 64]> {
    let input: [u8; 128] = padded(input);
    let ([p, q], _) = input.as_chunks() else {
        return None;
    };
    Some(encoded(g1::add(point(p)?, point(q)?)))
}

/// Multiplies a point by a number; `None` if the point is not valid.
pub(super) fn multiply(input: &[u8]) -> Option<[u8; 64]> {
    let input: [u8; 96] = padded(input);
    let (p, scalar) = input.split_first_chunk()?;
    let scalar = U256::try_from_be_slice(scalar)?;
    Some(encoded(g1::multiply(point(p)?, scalar)))
}

/// Whether the product of the pairings is one; `None` if the input is not valid.
pub(super) fn pairing(lines: &mut LineCache, input: &[u8]) -> Option<[u8; 32]> {
    let (input, []) = input.as_chunks::<PAIR>() else {
        return None;
    };
    let mut product = None;
    for chunk in input.chunks(PAIRS_AT_A_TIME) {
        let mut pairs = Vec::with_capacity(chunk.len());
        for pair in chunk {
            let (p, q) = pair.split_first_chunk()?;
            let q = q.first_chunk()?;
            let p = point(p)?;
            if *q == [0; 128] {
                continue;
            }
            let lines = lines.get_or_compute(q, || g2::lines(second_point(q)?))?;
            if let Some(p) = p {
                pairs.push((p, lines));
            }
        }
        if !pairs.is_empty() {
            let factor = pairing::miller_loop(&pairs);
            product = Some(match product {
                Some(product) => product * factor,
                None => factor,
            });
        }
    }
    let is_one = product.is_none_or(|product| pairing::is_one(&product));
    let mut output = [0; 32];
    output[31] = is_one.into();
    Some(output)
}

/// The first `N` bytes of the input, with zeros beyond its end.
fn padded<const N: usize>(input: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    let len = input.len().min(N);
    padded[..len].copy_from_slice(&input[..len]);
    padded
}

fn point(bytes: &[u8; 64]) -> Option<G1> {
    let (x, y) = bytes.split_first_chunk()?;
    g1::point(Fp::from_be_bytes(x)?, Fp::from_be_bytes(y.first_chunk()?)?)
}

/// Reads a point of the second curve other than the point at infinity. In each coordinate, the
/// imaginary part comes first.
fn second_point(bytes: &[u8; 128]) -> Option<g2::Point> {
    let (coordinates, _) = bytes.as_chunks::<64>();
    let [x, y] = coordinates else {
        return None;
    };
    let coordinate = |bytes: &[u8; 64]| {
        let (c1, c0) = bytes.split_first_chunk()?;
        Some(Fp2::new(
            Fp::from_be_bytes(c0.first_chunk()?)?,
            Fp::from_be_bytes(c1)?,
        ))
    };
    g2::point(coordinate(x)?, coordinate(y)?)
}

fn encoded(point: G1) -> [u8; 64] {
    let mut bytes = [0; 64];
    if let Some(point) = point {
        bytes[..32].copy_from_slice(&point.x.to_be_bytes());
        bytes[32..].copy_from_slice(&point.y.to_be_bytes());
    }
    bytes
}
