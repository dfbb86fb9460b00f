//! Real blocks and receipts of the OP stack (`fixtures/op/README.md`), as JSON.

use crate::fixtures;
use serde_json::Value;
use std::fs::File;

/// The receipts root of block 42,969,982 of Base.
pub const BASE_RECEIPTS_ROOT: &str =
    "0x0381a86904da6c6fa3def4c47be5e63e3a88eff6eb96131995ad174426a20062";

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
    let path = fixtures::require_root()?.join(format!("op/{name}.json.zst"));
    let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let decoder = zstd::Decoder::new(file).expect("zstd decoder");
    let value = serde_json::from_reader(decoder);
    Some(value.unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}
