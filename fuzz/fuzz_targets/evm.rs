#![no_main]
//! A world and two transactions from a seed, and bytes as code: no panic, and new code,
//! decoded code and watched code end alike.

#[path = "../../crates/evm/tests/it/case.rs"]
mod case;

use alloy_primitives::Bytes;
use libfuzzer_sys::fuzz_target;
use txgraph_evm::{Evm, Inspector, State};

struct Watch;

impl Inspector for Watch {
    fn wants_steps(&self) -> bool {
        true
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((seed, code)) = input.split_first_chunk::<8>() else {
        return;
    };
    let mut case = case::case(u64::from_le_bytes(*seed));
    let target = case::contract(0);
    case.state
        .insert(target, Default::default(), 1, Bytes::copy_from_slice(code));
    case.transactions[0].to = Some(target);
    let mut evm = Evm::new(case.fork, case::CHAIN_ID);
    let mut ends = Vec::new();
    for watched in [false, false, true] {
        let mut state = State::new(case.state.clone());
        let outcomes: Vec<_> = (case.transactions.iter())
            .map(|transaction| {
                let outcome = if watched {
                    let watch = &mut Watch;
                    evm.execute_transaction_inspected(&mut state, &case.block, transaction, watch)
                } else {
                    evm.execute_transaction(&mut state, &case.block, transaction)
                };
                outcome.ok()
            })
            .collect();
        ends.push((outcomes, state.changes()));
    }
    assert_eq!(ends[0], ends[1], "decoded code ends otherwise than new code");
    assert_eq!(ends[0], ends[2], "watched code ends otherwise");
});
