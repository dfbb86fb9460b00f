//! Small graphs for property tests.

use alloy_primitives::{Address, U256};
use proptest::prelude::*;
use txgraph_graph::testing;
use txgraph_transfers::{TokenStandard, Transfer};

/// Generates up to 40 transfers of four assets among seven addresses, one of them zero. Two
/// assets have the same contract (DN-404). Some amounts are zero, equal, or the largest
/// possible.
pub(crate) fn some_transfers() -> impl Strategy<Value = Vec<Transfer>> {
    let address = || prop::sample::select(vec!["0", "a", "b", "c", "d", "e", "f"]);
    let token = prop::sample::select(vec!["eth", "T", "T721", "U"]);
    let value = prop_oneof![
        4 => (0u64..4).prop_map(U256::from),
        2 => any::<u64>().prop_map(U256::from),
        1 => Just(U256::MAX),
    ];
    let one = (address(), address(), token, value, 0u64..20);
    proptest::collection::vec(one, 0..40).prop_map(|mut all| {
        all.sort_by_key(|(.., block)| *block);
        let mut index = 0;
        all.into_iter()
            .map(|(from, to, token, value, block)| {
                index += 1;
                let ends: [Address; 2] = [from, to].map(testing::address);
                let contract = token.trim_end_matches("721");
                let mut made = testing::transfer((block, index), contract, ends[0], ends[1], value);
                if contract != token {
                    made.token_standard = TokenStandard::Erc721;
                }
                made
            })
            .collect()
    })
}
