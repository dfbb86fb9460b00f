//! A stored transaction, its hash and its sender.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::{
    Transaction,
    fuzzing::{Buffers, sender, transaction},
};

fuzz_target!(|row: &[u8]| {
    let Ok(signed) = transaction(row, &mut Buffers::default()) else { return };
    assert!(Transaction::from(&signed).tx_type <= 4);
    let _ = sender(&signed);
});
