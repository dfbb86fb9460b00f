//! Comparison with revm's contracts. Points come from arkworks.

use super::{LineCache, PAIR, PAIRS_AT_A_TIME, add_gas, fp::Fp, multiply_gas, pairing_gas};
use crate::{
    fork::Fork,
    precompiles::{get, run, run_revm},
};
use alloy_primitives::{Address, U256, hex};
use ark_bn254::{Fq, Fq2, Fr, G1Affine, G2Affine, g2};
use ark_ec::{AffineRepr, CurveConfig, CurveGroup};
use ark_ff::{BigInteger, Field, PrimeField, Zero};
use proptest::prelude::*;

const ADD: u8 = 6;
const MULTIPLY: u8 = 7;
const PAIRING: u8 = 8;

fn number(n: impl PrimeField) -> [u8; 32] {
    n.into_bigint().to_bytes_be().try_into().unwrap()
}

fn g1(point: G1Affine) -> Vec<u8> {
    let (x, y) = point.xy().unwrap_or_default();
    [number(x), number(y)].concat()
}

fn g2(point: G2Affine) -> Vec<u8> {
    let (x, y) = point.xy().unwrap_or_default();
    [x.c1, x.c0, y.c1, y.c0].map(number).concat()
}

/// A multiple of the generator.
fn p(scalar: impl Into<Fr>) -> G1Affine {
    (G1Affine::generator() * scalar.into()).into_affine()
}

/// A multiple of the second group's generator.
fn q(scalar: impl Into<Fr>) -> G2Affine {
    (G2Affine::generator() * scalar.into()).into_affine()
}

fn scalar(bytes: [u8; 32]) -> Fr {
    Fr::from_be_bytes_mod_order(&bytes)
}

/// A point of the second curve that is not in the subgroup, except with negligible probability.
fn outside(seed: [u8; 32]) -> G2Affine {
    let mut x = Fq2::new(Fq::from_be_bytes_mod_order(&seed), Fq::from(7u64));
    loop {
        if let Some(point) = G2Affine::get_point_from_x_unchecked(x, seed[0] & 1 == 1) {
            return point;
        }
        x += Fq2::ONE;
    }
}

/// Compares gas, output and halt with revm's, at several forks and gas limits. Returns the output.
#[track_caller]
fn same(lines: &mut LineCache, contract: u8, input: &[u8]) -> Option<Vec<u8>> {
    let mut address = Address::ZERO;
    address.0[19] = contract;
    let mut output = None;
    for fork in [Fork::Byzantium, Fork::Istanbul, Fork::LATEST] {
        let price = match contract {
            ADD => add_gas(fork),
            MULTIPLY => multiply_gas(fork),
            _ => pairing_gas(fork, input.len()),
        };
        let precompile = get(fork, &address).unwrap();
        for gas_limit in [price - 1, price] {
            let ours = run(fork, precompile, lines, input, gas_limit);
            let theirs = run_revm(precompile, input, gas_limit);
            assert_eq!(ours, theirs, "{fork} {contract} {}", hex::encode(input));
            output = ours.ok().map(|(_, output)| output.to_vec());
        }
    }
    output
}

/// Like [`same`], for a list of pairs; returns whether the product is one.
#[track_caller]
fn same_pairing(lines: &mut LineCache, pairs: &[(G1Affine, G2Affine)]) -> Option<bool> {
    let input: Vec<u8> = (pairs.iter())
        .flat_map(|(p, q)| [g1(*p), g2(*q)].concat())
        .collect();
    Some(same(lines, PAIRING, &input)?[31] == 1)
}

/// Scalars at which an algorithm could fail.
fn edge_scalars() -> Vec<U256> {
    let order = super::scalar::ORDER;
    let mut scalars: Vec<U256> = (0..40u64).map(U256::from).collect();
    for near in [order, order << 1, order * U256::from(5), order >> 1] {
        scalars.extend((0..4u64).map(|n| near - U256::from(n)));
        scalars.extend((0..4u64).map(|n| near + U256::from(n)));
    }
    scalars.extend([63, 64, 126, 127, 128, 253, 254, 255].map(|bit| U256::ONE << bit));
    scalars.extend([127, 128, 254, 256].map(|bits| U256::MAX >> (256 - bits)));
    scalars
}

#[test]
fn field_agrees_with_arkworks() {
    let modulus = U256::from_limbs(super::fp::P);
    let mut numbers = vec![U256::MAX >> 3, U256::ONE << 253, modulus >> 1];
    for n in 0..3u64 {
        numbers.extend([U256::from(n), modulus - U256::from(n + 1)]);
    }
    for n in 1..20u64 {
        numbers.push(U256::from(n).pow(U256::from(100)) % modulus);
    }
    let read = |n: &U256| {
        let bytes = n.to_be_bytes();
        let ours = Fp::from_be_bytes(&bytes).unwrap();
        (ours, Fq::from_be_bytes_mod_order(&bytes))
    };
    let check = |ours: Fp, theirs: Fq| {
        assert_eq!(ours.to_be_bytes(), number(theirs));
        assert_eq!(ours.is_zero(), theirs.is_zero());
    };
    for a in &numbers {
        let (a, b) = read(a);
        check(a.square(), b.square());
        check(-a, -b);
        check(a.half() + a.half(), b);
        assert_eq!(a.inverse().is_some(), b.inverse().is_some());
        check(
            a.inverse().unwrap_or(Fp::ZERO),
            b.inverse().unwrap_or_default(),
        );
        for c in &numbers {
            let (c, d) = read(c);
            check(a + c, b + d);
            check(a - c, b - d);
            check(a * c, b * d);
            // The representatives may be above the modulus.
            let (e, f) = (a - c - a, -c + a);
            check(e * f, -d * (b - d));
            check(Fp::sum_of_products(a, c, e, f), b * d - d * (b - d));
            assert_eq!(a == c, b == d);
        }
    }
    for invalid in [modulus, modulus + U256::ONE, U256::MAX] {
        assert!(Fp::from_be_bytes(&invalid.to_be_bytes()).is_none());
    }
}

#[test]
fn multiplies_at_the_edges() {
    let lines = &mut LineCache::default();
    for point in [p(1), p(5), p(-1), G1Affine::zero()] {
        for scalar in edge_scalars() {
            let input = [g1(point), scalar.to_be_bytes_vec()].concat();
            assert!(same(lines, MULTIPLY, &input).is_some());
        }
    }
}

#[test]
fn adds_equal_and_opposite_points() {
    let lines = &mut LineCache::default();
    let points = [p(1), p(2), p(3), p(-1), p(-2), G1Affine::zero()];
    for a in points {
        for b in points {
            let sum = same(lines, ADD, &[g1(a), g1(b)].concat());
            assert_eq!(sum, Some(g1((a + b).into_affine())));
        }
    }
}

#[test]
fn pads_and_truncates_inputs() {
    let lines = &mut LineCache::default();
    let input = [g1(p(2)), g1(p(3)), vec![0xff; 80]].concat();
    for len in 0..input.len() {
        same(lines, ADD, &input[..len]);
        same(lines, MULTIPLY, &input[..len]);
    }
    let pairs = [g1(p(2)), g2(q(3)), g1(p(-6)), g2(q(1))].concat();
    for len in [0, 1, 191, 192, 193, 383, 384] {
        let output = same(lines, PAIRING, &pairs[..len]);
        assert_eq!(output.is_some(), len % PAIR == 0, "{len}");
    }
}

/// Every coordinate of every contract is checked against the modulus, and every point against the
/// equation of its curve.
#[test]
fn rejects_invalid_coordinates() {
    let lines = &mut LineCache::default();
    let modulus = U256::from_limbs(super::fp::P);
    let valid = [
        (ADD, [g1(p(2)), g1(p(3))].concat()),
        (
            MULTIPLY,
            [g1(p(2)), number(Fr::from(3u64)).to_vec()].concat(),
        ),
        (PAIRING, [g1(p(2)), g2(q(3))].concat()),
        (PAIRING, [g1(p(2)), g2(G2Affine::zero())].concat()),
        (PAIRING, [g1(G1Affine::zero()), g2(q(3))].concat()),
    ];
    for (contract, input) in valid {
        assert!(same(lines, contract, &input).is_some());
        let coordinates = if contract == MULTIPLY {
            2
        } else {
            input.len() / 32
        };
        for at in 0..coordinates {
            let old = U256::from_be_slice(&input[32 * at..][..32]);
            for new in [old + modulus, modulus, U256::MAX, old + U256::ONE] {
                let mut input = input.clone();
                input[32 * at..][..32].copy_from_slice(&new.to_be_bytes::<32>());
                assert_eq!(same(lines, contract, &input), None, "{at}");
            }
        }
    }
}

#[test]
fn pairs_with_infinity_are_skipped() {
    let lines = &mut LineCache::default();
    let (zero, infinity) = (G1Affine::zero(), G2Affine::zero());
    assert_eq!(same_pairing(lines, &[]), Some(true));
    for pair in [(zero, infinity), (p(1), infinity), (zero, q(1))] {
        assert_eq!(same_pairing(lines, &[pair]), Some(true));
        assert_eq!(same_pairing(lines, &[pair, (p(1), q(1))]), Some(false));
        let product = [(p(1), q(1)), pair, (p(-1), q(1))];
        assert_eq!(same_pairing(lines, &product), Some(true));
    }
    let invalid = outside([1; 32]);
    assert_eq!(same_pairing(lines, &[(zero, invalid)]), None);
}

/// The curve of the second group has points of the small orders 10069 and 5864401. The formulas for
/// their lines meet sums that are the point at infinity.
#[test]
fn rejects_points_outside_of_the_subgroup() {
    let lines = &mut LineCache::default();
    let cofactor = U256::from_limbs(g2::Config::COFACTOR.try_into().unwrap());
    for seed in 0..4 {
        let point = outside([seed; 32]);
        assert_eq!(same_pairing(lines, &[(p(1), point)]), None);
        assert_eq!(same_pairing(lines, &[(p(1), q(1)), (p(1), point)]), None);
        for small in [1u64, 10069, 5_864_401] {
            let (rest, remainder) = cofactor.div_rem(U256::from(small));
            assert!(remainder.is_zero(), "{small} divides the cofactor");
            let torsion = point
                .mul_bigint(Fr::MODULUS)
                .into_affine()
                .mul_bigint(if small == 1 { U256::ONE } else { rest }.as_limbs())
                .into_affine();
            assert!(!torsion.is_zero() && torsion.is_on_curve());
            assert_eq!(same_pairing(lines, &[(p(1), torsion)]), None, "{small}");
            let shifted = (torsion + q(5)).into_affine();
            assert_eq!(same_pairing(lines, &[(p(1), shifted)]), None, "{small}");
        }
        let cleared = point.clear_cofactor();
        assert_eq!(same_pairing(lines, &[(p(1), cleared)]), Some(false));
    }
}

/// More points than the cache has entries, in several calls and in one.
#[test]
fn cached_lines_are_correct() {
    let lines = &mut LineCache::default();
    for round in 0..2 {
        for n in 0..80u64 {
            let point = q(if n % 3 == 0 { 1 } else { n + 1 });
            let pairs = [(p(n + 1), point), (p(-Fr::from(n + 1)), point)];
            assert_eq!(same_pairing(lines, &pairs), Some(true), "{round} {n}");
            let pairs = [(p(n + 1), point), (p(n + 2), point)];
            assert_eq!(same_pairing(lines, &pairs), Some(false), "{round} {n}");
        }
    }
}

#[test]
fn multiplies_more_pairs_than_at_a_time() {
    let lines = &mut LineCache::default();
    for pairs in [
        PAIRS_AT_A_TIME,
        PAIRS_AT_A_TIME + 1,
        2 * PAIRS_AT_A_TIME + 3,
    ] {
        let mut product: Vec<_> = (1..pairs as u64).map(|n| (p(n), q(n))).collect();
        let sum: u64 = (1..pairs as u64).map(|n| n * n).sum();
        product.push((p(-Fr::from(sum)), q(1)));
        assert_eq!(same_pairing(lines, &product), Some(true), "{pairs}");
        product[0].0 = p(2);
        assert_eq!(same_pairing(lines, &product), Some(false), "{pairs}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn adds_like_revm(a: [u8; 32], b: [u8; 32]) {
        let lines = &mut LineCache::default();
        let sum = same(lines, ADD, &[g1(p(scalar(a))), g1(p(scalar(b)))].concat());
        prop_assert!(sum.is_some());
    }

    #[test]
    fn multiplies_like_revm(a: [u8; 32], b: [u8; 32], shift in 0..256usize) {
        let lines = &mut LineCache::default();
        let b = U256::from_be_bytes(b) >> shift;
        let input = [g1(p(scalar(a))), b.to_be_bytes_vec()].concat();
        prop_assert!(same(lines, MULTIPLY, &input).is_some());
    }

    #[test]
    fn arbitrary_bytes_have_the_results_of_revm(
        contract in ADD..=PAIRING,
        input in proptest::collection::vec(prop_oneof![4 => Just(0u8), 1 => any::<u8>()], 0..400),
    ) {
        same(&mut LineCache::default(), contract, &input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pairs_like_revm(a: [u8; 32], b: [u8; 32], others: [[u8; 32]; 2]) {
        let lines = &mut LineCache::default();
        let (a, b) = (scalar(a), scalar(b));
        let [c, d] = others.map(scalar);
        let product = [(p(a), q(b)), (p(-a * b), q(1))];
        prop_assert_eq!(same_pairing(lines, &product), Some(true));
        let product = [(p(a), q(b)), (p(c), q(d)), (p(-a * b - c * d), q(1))];
        prop_assert_eq!(same_pairing(lines, &product), Some(true));
        let product = [(p(a), q(b)), (p(c), q(d)), (p(-a * b), q(1))];
        prop_assert_eq!(same_pairing(lines, &product), Some((c * d).is_zero()));
        prop_assert_eq!(same_pairing(lines, &[(p(a), q(b))]), Some((a * b).is_zero()));
    }
}
