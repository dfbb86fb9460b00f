//! Random transfers like on a busy chain, from a seed: a few tokens have most of the
//! transfers, a few addresses most of the rest. Amounts have all lengths. A transaction has
//! two transfers, a block 200.

use alloy_primitives::{Address, B256, U256, keccak256};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use txgraph_transfers::{BlockTime, Kind, TokenStandard, Transfer};

/// The number of addresses.
const ADDRESSES: u64 = 200_000;
/// The number of token contracts.
const TOKENS: u64 = 1_000;
/// Transfers per block.
const PER_BLOCK: u64 = 200;

/// Generates `count` transfers in total order.
pub(crate) fn transfers(count: usize, seed: u64) -> Vec<Transfer> {
    let mut random = SmallRng::seed_from_u64(seed);
    let address = |kind: u8, number: u64| {
        let mut name = [kind; 9];
        name[1..].copy_from_slice(&number.to_be_bytes());
        Address::from_word(keccak256(name))
    };
    let tokens: Vec<_> = (0..TOKENS).map(|number| address(b't', number)).collect();
    let holders: Vec<_> = (0..ADDRESSES).map(|number| address(b'a', number)).collect();
    let mut hash = B256::ZERO;
    (0..count as u64)
        .map(|number| {
            let place = number % PER_BLOCK;
            if place.is_multiple_of(2) {
                hash = keccak256(number.to_be_bytes());
            }
            let token_address = *busy(&mut random, &tokens);
            let standard = match random.random_range(0..100) {
                0..10 => TokenStandard::Native,
                10..13 => TokenStandard::Erc721,
                13..14 => TokenStandard::Erc1155,
                _ => TokenStandard::Erc20,
            };
            let native = standard == TokenStandard::Native;
            let item = matches!(standard, TokenStandard::Erc721 | TokenStandard::Erc1155);
            let block = number / PER_BLOCK;
            let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            Transfer {
                block_number: 23_000_000 + block,
                block_timestamp: BlockTime::new(1_754_000_000 + 12 * block),
                transaction_index: short(place / 2),
                log_index: (!native).then_some(short(3 * place)),
                sub_index: 0,
                transaction_hash: Some(hash),
                token_address: (!native).then_some(token_address),
                from_address: *busy(&mut random, &holders),
                to_address: *busy(&mut random, &holders),
                value: if item {
                    U256::from(1)
                } else {
                    amount(&mut random)
                },
                token_id: item.then(|| U256::from(random.random_range(0..10_000u64))),
                token_standard: standard,
                kind: if native { Kind::Value } else { Kind::Transfer },
            }
        })
        .collect()
}

/// Chooses an element; half of the time one of the first hundredth.
fn busy<'a, T>(random: &mut SmallRng, all: &'a [T]) -> &'a T {
    let range = if random.random() {
        all.len() / 100
    } else {
        all.len()
    };
    &all[random.random_range(0..range)]
}

/// Amounts with six or eighteen decimals, round or not, and sometimes of any length.
fn amount(random: &mut SmallRng) -> U256 {
    let ether = U256::from(1_000_000_000_000_000_000u64);
    match random.random_range(0..100) {
        0..40 => U256::from(random.random_range(0..100_000_000_000u64)),
        40..60 => U256::from(random.random_range(1..10_000u64)) * ether,
        60..99 => U256::from(random.random_range(0..1u128 << 84)),
        _ => U256::MAX >> random.random_range(0..128usize),
    }
}
