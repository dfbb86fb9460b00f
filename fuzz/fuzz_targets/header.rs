//! Fuzzes the decoder of a stored header, decompressed, and compares its hash.
#![no_main]

use alloy_primitives::B256;
use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::fuzzing::header;

fuzz_target!(|row: &[u8]| {
    let Ok(header) = header(row, B256::ZERO) else {
        return;
    };
    assert_eq!(header.recompute_hash(), header.fields.hash_slow());
});
