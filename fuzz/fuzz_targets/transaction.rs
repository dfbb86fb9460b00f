//! A stored transaction, its hash and its sender.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::{
    Transaction,
    fuzzing::{Buffers, sender, transaction, transaction_hash},
};

fuzz_target!(|row: &[u8]| {
    let mut buffers = Buffers::default();
    let decoded = transaction(row, &mut buffers);
    let hash = transaction_hash(row, &mut buffers).ok();
    assert_eq!(hash, decoded.as_ref().ok().map(|signed| *signed.tx_hash()));
    let Ok(signed) = decoded else { return };
    assert!(Transaction::from(&signed).tx_type <= 4);
    let _ = sender(&signed);
});
