#![no_main]
//! A world and two transactions from a seed, and bytes as code: no panic, and new code,
//! decoded code and watched code end as with revm.

use alloy_primitives::{Bytes, U256};
use libfuzzer_sys::fuzz_target;
use txgraph_evm::Evm;
use txgraph_revm_peer::{
    case::{CHAIN_ID, case, contract},
    differential::assert_agreement,
};

fuzz_target!(|input: &[u8]| {
    let Some((seed, code)) = input.split_first_chunk::<8>() else {
        return;
    };
    // No account has other code that begins so: revm takes no half delegations.
    if code.starts_with(&[0xef, 0x01]) {
        return;
    }
    let mut case = case(u64::from_le_bytes(*seed));
    let target = contract(0);
    let code = Bytes::copy_from_slice(code);
    case.state.insert(target, U256::ZERO, 1, code);
    case.transactions[0].to = Some(target);
    assert_agreement(&mut Evm::new(case.fork, CHAIN_ID), &case, true);
});
