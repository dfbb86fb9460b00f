//! Transfers for the tests of this crate.

use alloy_primitives::{Address, B256, U256};
use proptest::{option, prelude::*, sample::select};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer};

/// Generates any transfer that the types allow.
pub(crate) fn any_transfer() -> impl Strategy<Value = Transfer> {
    let address = || any::<[u8; 20]>().prop_map(Address::from);
    let number = || {
        (any::<[u64; 4]>(), 0usize..=256)
            .prop_map(|(limbs, shift)| U256::from_limbs(limbs).wrapping_shr(shift))
    };
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
            number(),
            option::of(number()),
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

/// Returns the text of each column, formatted by the standard library. Unknown values have none.
pub(crate) fn text_fields(transfer: &Transfer, chain_id: u64) -> Vec<Option<String>> {
    let address = |address: Address| format!("{address:#x}");
    vec![
        Some(transfer.block_number.to_string()),
        transfer
            .block_timestamp
            .map(|time| time.seconds().to_string()),
        Some(transfer.transaction_index.to_string()),
        transfer.log_index.map(|index| index.to_string()),
        Some(transfer.sub_index.to_string()),
        transfer.transaction_hash.map(|hash| format!("{hash:#x}")),
        transfer.token_address.map(address),
        Some(address(transfer.from_address)),
        Some(address(transfer.to_address)),
        Some(transfer.value.to_string()),
        transfer.token_id.map(|id| id.to_string()),
        Some(transfer.token_standard.to_string()),
        Some(transfer.kind.to_string()),
        Some(chain_id.to_string()),
    ]
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
