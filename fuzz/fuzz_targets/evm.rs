#![no_main]
//! Fuzzes the interpreter: a seed gives a state and two transactions, the rest of the input is
//! the code of a contract. New, decoded and traced code must not panic and must give the results
//! of revm.

use alloy_primitives::{Bytes, U256};
use libfuzzer_sys::fuzz_target;
use txgraph_revm_peer::{
    case::{case, contract},
    differential::{Forms, assert_agreement},
};

fuzz_target!(|input: &[u8]| {
    let Some((seed, code)) = input.split_first_chunk::<8>() else {
        return;
    };
    // No account has such code unless it is a delegation, and revm refuses incomplete ones.
    if code.starts_with(&[0xef, 0x01]) {
        return;
    }
    let mut case = case(u64::from_le_bytes(*seed));
    let target = contract(0);
    let code = Bytes::copy_from_slice(code);
    case.state.insert(target, U256::ZERO, 1, code);
    case.transactions[0].to = Some(target);
    assert_agreement(&mut Forms::default(), &case, true);
});
