//! Keccak-f[1600] (FIPS 202, section 3) on several states at once, one in each lane of the
//! vector registers.

use crate::lanes::States;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_andnot_si256, _mm256_or_si256, _mm256_set1_epi64x, _mm256_slli_epi64,
    _mm256_srli_epi64, _mm256_xor_si256, _mm512_rol_epi64, _mm512_set1_epi64,
    _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

/// Round constants (FIPS 202, section 3.2.5).
const ROUNDS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// Rotates a word into the next place of the π cycle, and continues with the word that was
/// there.
macro_rules! rotate_cycle {
    ($words:ident, $moving:ident, $rol:ident; $(($to:literal, $by:literal))*) => {$(
        let moved = $rol!($moving, $by);
        $moving = $words[$to];
        $words[$to] = moved;
    )*};
}

/// Defines a permutation for one type of register: `rol!` rotates left, `xor3!` is the
/// exclusive or of three words, `chi!` is `a ^ (!b & c)`. Word (x, y) of a state has the
/// index x + 5 y.
macro_rules! permutation {
    ($name:ident, $feature:literal, $register:ty, $lanes:literal, $splat:ident, $xor:ident,
     $rol:ident, $xor3:ident, $chi:ident) => {
        #[target_feature(enable = $feature)]
        fn $name(states: &mut States<$lanes>) {
            // SAFETY: both types have the same size, and any bytes are valid for both.
            #[expect(unsafe_code, reason = "there is no safe conversion between arrays and registers")]
            let mut a = unsafe { std::mem::transmute::<States<$lanes>, [$register; 25]>(*states) };
            for round in ROUNDS {
                // θ
                let mut c = [a[0]; 5];
                for x in 0..5 {
                    c[x] = $xor3!($xor3!(a[x], a[x + 5], a[x + 10]), a[x + 15], a[x + 20]);
                }
                for x in 0..5 {
                    let (before, after) = (c[(x + 4) % 5], $rol!(c[(x + 1) % 5], 1));
                    for y in 0..5 {
                        a[x + 5 * y] = $xor3!(a[x + 5 * y], before, after);
                    }
                }
                // ρ and π: each word is rotated and moves to the place of the next.
                let mut moving = a[1];
                rotate_cycle!(a, moving, $rol; (10, 1) (7, 3) (11, 6) (17, 10) (18, 15) (3, 21) (5, 28) (16, 36)
                    (8, 45) (21, 55) (24, 2) (4, 14) (15, 27) (23, 41) (19, 56) (13, 8)
                    (12, 25) (2, 43) (20, 62) (14, 18) (22, 39) (9, 61) (6, 20));
                a[1] = $rol!(moving, 44);
                // χ
                for y in 0..5 {
                    let row = [a[5 * y], a[5 * y + 1], a[5 * y + 2], a[5 * y + 3], a[5 * y + 4]];
                    for x in 0..5 {
                        a[5 * y + x] = $chi!(row[x], row[(x + 1) % 5], row[(x + 2) % 5]);
                    }
                }
                // ι
                a[0] = $xor(a[0], $splat(round.cast_signed()));
            }
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "there is no safe conversion between arrays and registers")]
            let done = unsafe { std::mem::transmute::<[$register; 25], States<$lanes>>(a) };
            *states = done;
        }
    };
}

macro_rules! rol_four {
    ($word:expr, $by:literal) => {
        _mm256_or_si256(
            _mm256_slli_epi64::<$by>($word),
            _mm256_srli_epi64::<{ 64 - $by }>($word),
        )
    };
}
macro_rules! xor3_four {
    ($a:expr, $b:expr, $c:expr) => {
        _mm256_xor_si256(_mm256_xor_si256($a, $b), $c)
    };
}
macro_rules! chi_four {
    ($a:expr, $b:expr, $c:expr) => {
        _mm256_xor_si256($a, _mm256_andnot_si256($b, $c))
    };
}
permutation!(
    avx2,
    "avx2",
    __m256i,
    4,
    _mm256_set1_epi64x,
    _mm256_xor_si256,
    rol_four,
    xor3_four,
    chi_four
);

macro_rules! rol_eight {
    ($word:expr, $by:literal) => {
        _mm512_rol_epi64::<$by>($word)
    };
}
// The constant is a truth table: three input bits are the index of the result bit.
macro_rules! xor3_eight {
    ($a:expr, $b:expr, $c:expr) => {
        _mm512_ternarylogic_epi64::<0b1001_0110>($a, $b, $c)
    };
}
macro_rules! chi_eight {
    ($a:expr, $b:expr, $c:expr) => {
        _mm512_ternarylogic_epi64::<0b1101_0010>($a, $b, $c)
    };
}
permutation!(
    avx512,
    "avx512f",
    __m512i,
    8,
    _mm512_set1_epi64,
    _mm512_xor_si512,
    rol_eight,
    xor3_eight,
    chi_eight
);

/// Permutes four states.
pub(crate) fn permute_four(states: &mut States<4>) {
    assert!(is_x86_feature_detected!("avx2"), "no AVX2");
    // SAFETY: the assertion above checked that the machine has the instructions.
    #[expect(unsafe_code, reason = "instructions that only some machines have")]
    unsafe {
        avx2(states);
    }
}

/// Permutes eight states.
pub(crate) fn permute_eight(states: &mut States<8>) {
    assert!(is_x86_feature_detected!("avx512f"), "no AVX-512");
    // SAFETY: the assertion above checked that the machine has the instructions.
    #[expect(unsafe_code, reason = "instructions that only some machines have")]
    unsafe {
        avx512(states);
    }
}
