//! The planted scenarios, solved by the commands that a new user would type.

use crate::harness::{CHAIN, Row, Sample, run};
use serde_json::Value;
use std::process::Command;
use txgraph_testkit::fixtures;

#[test]
fn the_tour_works() {
    let script = fixtures::testdata().join("../scripts/tour.sh");
    let mut command = Command::new(script);
    run(command.arg(env!("CARGO_BIN_EXE_txgraph")))
        .ended(0)
        .says("every scenario was found");
}

/// The command that solves a scenario. `None` for those that are no query about transfers.
fn command(name: &str, scenario: &Value) -> Option<String> {
    let text = |field: &str| scenario[field].as_str().unwrap().to_owned();
    Some(match name {
        "peel-chain-token" => format!("graph -r {} -t {} -n all", text("root"), text("token")),
        "peel-chain-ether" => format!("graph -r {} -t eth -n {}", text("root"), scenario["hops"]),
        "deposit-sweep" => {
            format!(
                "graph -r {} -t {} -d in -n 2",
                text("hot_wallet"),
                text("token")
            )
        }
        "fan-in-fan-out" | "hub" => {
            format!("graph -r {} -t {} -d both", text("hub"), text("token"))
        }
        "wash-cycle" => {
            let first = scenario["cycle"][0].as_str().unwrap();
            let hops = scenario["cycle"].as_array().unwrap().len();
            format!("graph -r {first} -t {} -n {hops}", text("token"))
        }
        "mixer" => {
            let contract = text("contract");
            format!("graph -r {contract} -t eth -d both --with-internal {CHAIN}")
        }
        "nft-trail" => {
            format!(
                "transfers -t {} --token-id {}",
                text("token"),
                scenario["token_id"]
            )
        }
        "address-poisoning" => format!("graph -r {} -t {}", text("victim"), text("token")),
        _ => return None,
    })
}

/// Every planted transfer is in the result to one command.
#[test]
fn planted_scenarios_are_found_by_one_command() {
    for sample in Sample::full() {
        let scenarios = sample.fixture.truth["scenarios"]
            .as_object()
            .unwrap()
            .clone();
        let mut solved = 0;
        for (name, scenario) in &scenarios {
            let Some(line) = command(name, scenario) else {
                continue;
            };
            let found = sample.rows(&format!("{line} -q"));
            for edge in scenario["edges"].as_array().unwrap() {
                let is = |row: &Row| {
                    row["transaction_hash"] == edge["tx"].as_str().unwrap()
                        && row["from_address"] == edge["from"].as_str().unwrap()
                        && row["to_address"] == edge["to"].as_str().unwrap()
                        && row["value"] == edge["value"].as_str().unwrap()
                };
                assert!(
                    found.iter().any(is),
                    "{}: {line}: no {edge}",
                    sample.fixture.name
                );
            }
            solved += 1;
        }
        assert!(solved >= 9, "{}: {solved}", sample.fixture.name);
    }
}
