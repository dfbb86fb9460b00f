//! Fuzzes the calldata from which fees of the OP stack are computed, and the transactions that pay
//! them. The first bytes choose the time and the length of the calldata.
#![no_main]

use alloy_primitives::{Address, b256};
use libfuzzer_sys::fuzz_target;
use txgraph_rollup::{BlockFees, FeeRules, Header, Paid};

/// The first block of OP Mainnet.
const GENESIS: alloy_primitives::B256 =
    b256!("7ca38a1916c42007829c55e69d3e9a73265554b586a499015373241b8a3fa48b");

fuzz_target!(|bytes: &[u8]| {
    let Some((head, rest)) = bytes.split_first_chunk::<10>() else {
        return;
    };
    let [time @ .., len, price] = *head;
    let Some((calldata, envelope)) = rest.split_at_checked(len.into()) else {
        return;
    };
    let rules = FeeRules::of_chain(10, GENESIS).expect("a known chain");
    let timestamp = u64::from_be_bytes(time);
    let header = Header {
        timestamp,
        base_fee: 7,
        beneficiary: Address::ZERO,
    };
    let Ok(block) = BlockFees::new(&rules, header, calldata) else {
        return;
    };
    let paid = Paid {
        envelope,
        price: price.into(),
        gas_used: timestamp,
    };
    let Ok(payments) = block.payments(&paid) else {
        return;
    };
    assert!(payments.into_iter().all(|payment| !payment.value.is_zero()));
});
