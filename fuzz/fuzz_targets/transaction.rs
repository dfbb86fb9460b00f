//! Fuzzes the decoder of a stored transaction, of reth and of op-reth, its hash and the recovery
//! of its sender. The first byte chooses the family of the chain.
#![no_main]

use alloy_primitives::U256;
use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::{
    StoredTransaction, Transaction,
    fuzzing::{Buffers, sender, stored_transaction, transaction_hash, transaction_value},
};

fuzz_target!(|bytes: &[u8]| {
    let Some((family, row)) = bytes.split_first() else {
        return;
    };
    let is_op = family % 2 == 1;
    let mut buffers = if is_op {
        Buffers::op_stack()
    } else {
        Buffers::default()
    };
    let decoded = stored_transaction(row, &mut buffers);
    let hash = transaction_hash(row, &mut buffers).ok();
    assert_eq!(hash, decoded.as_ref().ok().map(StoredTransaction::hash));
    let value = transaction_value(row, &mut buffers);
    let Ok(stored) = decoded else { return };
    let plain = Transaction::from(&stored);
    assert!(plain.tx_type <= 4 || is_op);
    assert_eq!(
        value.unwrap().map_or(U256::ZERO, |own| own.value),
        plain.value
    );
    if let StoredTransaction::Signed(signed) = &stored {
        let _ = sender(signed);
    }
});
