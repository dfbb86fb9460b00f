//! Transfers for the tests of this crate.

#[path = "../tests/it/text_fields.rs"]
mod text_fields;

pub(crate) use text_fields::text_fields;

use alloy_primitives::{Address, B256, U256, Uint};
use proptest::{option, prelude::*, sample::select};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer};

/// Generates numbers of every length, and those around powers of ten and two.
pub(crate) fn numbers<const BITS: usize, const LIMBS: usize>()
-> impl Strategy<Value = Uint<BITS, LIMBS>> {
    let near = |base: u64, most: usize| {
        (0..=most, 0u64..3).prop_map(move |(power, more)| {
            let number = Uint::<BITS, LIMBS>::from(base).wrapping_pow(Uint::from(power));
            number
                .wrapping_sub(Uint::from(1))
                .wrapping_add(Uint::from(more))
        })
    };
    let any = (any::<[u64; LIMBS]>(), 0..=BITS)
        .prop_map(|(limbs, shift)| Uint::<BITS, LIMBS>::from_limbs(limbs).wrapping_shr(shift));
    // A bit is 0.301 digits.
    prop_oneof![any, near(10, BITS * 301 / 1000), near(2, BITS - 1)]
}

/// Generates any transfer that the types allow.
pub(crate) fn any_transfer() -> impl Strategy<Value = Transfer> {
    let address = || any::<[u8; 20]>().prop_map(Address::from);
    (
        (
            any::<u64>(),
            any::<Option<u64>>(),
            any::<u32>(),
            any::<Option<u32>>(),
            any::<u32>(),
        ),
        (
            any::<Option<[u8; 32]>>(),
            option::of(address()),
            address(),
            address(),
        ),
        (
            numbers(),
            option::of(numbers()),
            select(TokenStandard::ALL),
            select(Kind::ALL),
        ),
    )
        .prop_map(|(place, ends, moved)| Transfer {
            block_number: place.0,
            block_timestamp: place.1.and_then(BlockTime::new),
            transaction_index: place.2,
            log_index: place.3,
            sub_index: place.4,
            transaction_hash: ends.0.map(B256::from),
            token_address: ends.1,
            from_address: ends.2,
            to_address: ends.3,
            value: moved.0,
            token_id: moved.1,
            token_standard: moved.2,
            kind: moved.3,
        })
}

/// Returns a transfer with the longest text in every field.
pub(crate) fn longest_transfer() -> Transfer {
    Transfer {
        block_number: u64::MAX,
        block_timestamp: BlockTime::new(u64::MAX - 1),
        transaction_index: u32::MAX,
        log_index: Some(u32::MAX),
        sub_index: u32::MAX,
        transaction_hash: Some(B256::repeat_byte(0xff)),
        token_address: Some(Address::repeat_byte(0xff)),
        from_address: Address::repeat_byte(0xff),
        to_address: Address::repeat_byte(0xff),
        value: U256::MAX,
        token_id: Some(U256::MAX),
        token_standard: TokenStandard::Erc1155,
        kind: Kind::Withdrawal,
    }
}
