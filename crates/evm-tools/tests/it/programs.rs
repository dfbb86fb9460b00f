//! Compares benchmark programs with results that several engines agree on.

use crate::conformance::testdata;
use alloy_primitives::{hex, keccak256};
use std::{collections::BTreeMap, fs, path::Path};
use txgraph_evm::Fork;
use txgraph_evm_tools::program::{Program, run_program};
use txgraph_testkit::fixtures;

/// Programs with more frame gas are skipped: a test build runs them slowly.
const QUICK_GAS: u64 = 30_000_000;

fn check(folder: &Path) -> usize {
    let text = fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Vec<BTreeMap<String, serde_json::Value>> = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    for entry in expected {
        let (name, gas) = (
            entry["name"].as_str().unwrap(),
            entry["frame_gas"].as_u64().unwrap(),
        );
        if gas > QUICK_GAS {
            continue;
        }
        let program = Program::open(&folder.join(format!("{name}.prog"))).unwrap();
        let outcome = run_program(&program, Fork::Cancun).unwrap();
        assert!(outcome.is_success(), "{name}: {:?}", outcome.status);
        assert_eq!(outcome.gas_used, gas, "{name}");
        let output = match entry["out"].as_str().unwrap().starts_with("keccak:") {
            true => format!("keccak:{}", hex::encode(keccak256(&outcome.output))),
            false => hex::encode(&outcome.output),
        };
        assert_eq!(entry["out"], output, "{name}");
        checked += 1;
    }
    checked
}

#[test]
fn committed_programs_give_the_known_results() {
    assert!(check(&testdata().join("programs")) >= 5);
}

#[test]
fn all_programs_give_the_known_results() {
    if let Some(root) = fixtures::require_root() {
        assert!(check(&root.join("evm/programs")) >= 30);
    }
}
