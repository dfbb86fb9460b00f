//! Fuzzes the decoder of a stored transaction, its hash and the recovery of its sender.
#![no_main]

use alloy_primitives::U256;
use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::{
    Transaction,
    fuzzing::{Buffers, transaction_value, sender, transaction, transaction_hash},
};

fuzz_target!(|row: &[u8]| {
    let mut buffers = Buffers::default();
    let decoded = transaction(row, &mut buffers);
    let hash = transaction_hash(row, &mut buffers).ok();
    assert_eq!(hash, decoded.as_ref().ok().map(|signed| *signed.tx_hash()));
    let value = transaction_value(row, &mut buffers);
    let Ok(signed) = decoded else { return };
    let plain = Transaction::from(&signed);
    assert!(plain.tx_type <= 4);
    assert_eq!(value.unwrap().map_or(U256::ZERO, |own| own.value), plain.value);
    let _ = sender(&signed);
});
