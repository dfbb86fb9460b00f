//! Real blocks and receipts of the OP stack (`fixtures/op/README.md`), as JSON.

use crate::fixtures;
use alloy_primitives::{Address, B256, U256, b256};
use serde_json::Value;
use std::collections::BTreeMap;

/// The receipts root of block 42,969,982 of Base.
pub const BASE_RECEIPTS_ROOT: &str =
    "0x0381a86904da6c6fa3def4c47be5e63e3a88eff6eb96131995ad174426a20062";

/// The hash of the first block of OP Mainnet.
pub const OP_MAINNET_GENESIS: B256 =
    b256!("7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b");

/// Returns the receipts of block 42,969,982 of Base. A missing fixture is handled as in
/// [`fixtures::fixture`].
pub fn base_receipts() -> Option<Vec<Value>> {
    match read("base_mainnet_42969982_receipts")? {
        Value::Array(receipts) => Some(receipts),
        _ => panic!("a list"),
    }
}

/// Returns blocks 109,279,675 to 109,279,680 of OP Mainnet with their transactions. There are no
/// receipts of them.
pub fn optimism_blocks() -> Option<Vec<Value>> {
    (109_279_675..=109_279_680)
        .map(|number| Some(read(&format!("zeth-optimism-{number}"))?["full_blocks"][0][1].clone()))
        .collect()
}

/// Returns a block of Base Sepolia after Isthmus: header and EIP-2718 envelopes.
pub fn base_sepolia_block() -> Option<(Value, Vec<Value>)> {
    let mut whole = read("base_sepolia_block")?;
    let Value::Array(transactions) = whole["actualBlockTxs"].take() else {
        panic!("a list");
    };
    Some((whole["blockHeader"].take(), transactions))
}

fn read(name: &str) -> Option<Value> {
    let text = fixtures::content(&format!("op/{name}.json.zst"))?;
    Some(serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{name}: {e}")))
}

/// A block of OP Mainnet, with the balances of the accounts that it touches.
#[derive(Debug)]
pub struct BalancedBlock {
    /// The header of the block before.
    pub parent: Value,
    /// The block with its transactions.
    pub block: Value,
    /// Balances after the block before, and after this one.
    pub balances: BTreeMap<Address, (U256, U256)>,
}

/// Returns seven blocks of OP Mainnet before Ecotone: 107,728,767, and the blocks of
/// [`optimism_blocks`].
pub fn balanced_blocks() -> Option<Vec<BalancedBlock>> {
    let numbers = [107_728_767].into_iter().chain(109_279_675..=109_279_680);
    numbers.map(balanced_block).collect()
}

fn balanced_block(number: u64) -> Option<BalancedBlock> {
    let mut whole = read(&format!("zeth-optimism-{number}"))?;
    let parent = number - 1;
    let partial = whole["partial_blocks"].as_array().expect("a list");
    let header = partial.iter().find(|it| it[0]["block_no"] == parent);
    let mut header = header.expect("the header of the parent")[1].clone();
    header["transactions"] = Value::Array(Vec::new());
    let mut balances = BTreeMap::new();
    for proof in whole["proofs"].as_array().expect("a list") {
        let fields = (&proof[1]["address"], &proof[1]["balance"]);
        let address = serde_json::from_value(fields.0.clone()).expect("an address");
        let balance = serde_json::from_value(fields.1.clone()).expect("a balance");
        let (before, after) = balances.entry(address).or_insert((U256::ZERO, U256::ZERO));
        match proof[0]["block_no"] == parent {
            true => *before = balance,
            false => *after = balance,
        }
    }
    Some(BalancedBlock {
        parent: header,
        block: whole["full_blocks"][0][1].take(),
        balances,
    })
}
