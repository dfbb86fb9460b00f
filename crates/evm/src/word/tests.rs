use super::*;
use proptest::prelude::*;

/// Words that are common in code: small, at the limits, wide.
fn word() -> impl Strategy<Value = Word> {
    let limb = prop_oneof![Just(0), Just(u64::MAX), 0..300u64, any::<u64>()];
    let small = (0..300u64).prop_map(Word::new);
    let power = (0..256u32).prop_map(|n| Word::ONE.shl_by(n));
    prop_oneof![
        small,
        power.clone(),
        power.prop_map(|w| w.wrapping_sub(Word::ONE)),
        any::<u64>().prop_map(Word::new),
        [limb.clone(), limb.clone(), limb.clone(), limb].prop_map(Word),
    ]
}

fn shift_of(shift: Word) -> usize {
    usize::try_from(shift.saturating_u64()).unwrap_or(usize::MAX)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 16 } else { 4096 }))]

    #[test]
    #[cfg_attr(miri, ignore = "ruint divides in assembly")]
    fn agrees_with_ruint(a in word(), b in word(), c in word()) {
        let (x, y, z) = (a.u256(), b.u256(), c.u256());
        prop_assert_eq!(a.wrapping_add(b).u256(), x.wrapping_add(y));
        prop_assert_eq!(a.wrapping_sub(b).u256(), x.wrapping_sub(y));
        prop_assert_eq!(a.wrapping_mul(b).u256(), x.wrapping_mul(y));
        prop_assert_eq!(a.div(b).u256(), x.checked_div(y).unwrap_or_default());
        prop_assert_eq!(a.rem(b).u256(), x.checked_rem(y).unwrap_or_default());
        prop_assert_eq!(a.addmod(b, c).u256(), x.add_mod(y, z));
        prop_assert_eq!(a.mulmod(b, c).u256(), x.mul_mod(y, z));
        prop_assert_eq!(a.mulmod(b, Word::MAX).u256(), x.mul_mod(y, U256::MAX));
        prop_assert_eq!(a.pow(b).u256(), x.wrapping_pow(y));
        prop_assert_eq!(a.lt(b), x < y);
        prop_assert_eq!(a.same(b), x == y);
        prop_assert_eq!(a.and(b).u256(), x & y);
        prop_assert_eq!(a.or(b).u256(), x | y);
        prop_assert_eq!(a.xor(b).u256(), x ^ y);
        prop_assert_eq!(a.not().u256(), !x);
        let shift = shift_of(b);
        prop_assert_eq!(a.shl(b).u256(), if shift < 256 { x << shift } else { U256::ZERO });
        prop_assert_eq!(a.shr(b).u256(), if shift < 256 { x >> shift } else { U256::ZERO });
        prop_assert_eq!(a.sar(b).u256(), x.arithmetic_shr(shift.min(256)));
        prop_assert_eq!(a.leading_zeros() as usize, x.leading_zeros());
        prop_assert_eq!(a.byte_len() as usize, x.byte_len());
    }

    /// Compares signed operations with alloy's signed integers.
    #[test]
    #[cfg_attr(miri, ignore = "ruint divides in assembly")]
    fn signed_operations_agree_with_alloy(a in word(), b in word()) {
        use alloy_primitives::I256;
        let (x, y) = (I256::from_raw(a.u256()), I256::from_raw(b.u256()));
        prop_assert_eq!(a.slt(b), x < y);
        let quotient = if y.is_zero() { I256::ZERO } else { x.wrapping_div(y) };
        prop_assert_eq!(a.sdiv(b).u256(), quotient.into_raw());
        let rest = if y.is_zero() { I256::ZERO } else { x.wrapping_rem(y) };
        prop_assert_eq!(a.smod(b).u256(), rest.into_raw());
    }

    #[test]
    fn byte_operations_agree_with_byte_arrays(a in word(), index in 0..40u64) {
        let bytes = a.to_be_bytes();
        prop_assert_eq!(bytes, a.u256().to_be_bytes::<32>());
        prop_assert_eq!(Word::from_be_bytes(&bytes), a);
        let byte = bytes.get(index as usize).copied().unwrap_or(0);
        prop_assert_eq!(a.byte(Word::new(index)), Word::new(u64::from(byte)));
        let mut extended = bytes;
        if index < 31 {
            let at = 31 - index as usize;
            let fill = if bytes[at] & 0x80 != 0 { 0xff } else { 0 };
            extended[..at].fill(fill);
        }
        prop_assert_eq!(a.sign_extend(Word::new(index)).to_be_bytes(), extended);
    }
}
