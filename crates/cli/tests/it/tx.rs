//! `txgraph tx`.

use crate::harness::{CHAIN, ROOT, Sample};
use serde_json::Value;
use std::fs;
use txgraph_testkit::fixtures;

fn summary(sample: &Sample, name: &str) -> Value {
    sample.json(&format!("tx {name} --json -q {CHAIN}"))
}

/// The movements equal the rows of `transfers`, also inside of the transaction.
#[test]
fn movements_are_those_of_the_transfers() {
    let sample = Sample::small();
    let all = sample.rows(&format!("transfers -q --with-internal {CHAIN}"));
    let mut places: Vec<_> = all
        .iter()
        .filter(|row| !row["transaction_hash"].is_empty())
        .map(|row| {
            (
                row["block_number"].clone(),
                row["transaction_index"].clone(),
            )
        })
        .collect();
    places.dedup();
    for (block, index) in places.iter().step_by(places.len() / 25) {
        let found = summary(&sample, &format!("{block}:{index}"));
        let of_transaction = all
            .iter()
            .filter(|row| row["block_number"] == *block && row["transaction_index"] == *index);
        let expected: Vec<_> = of_transaction
            .filter(|row| row["kind"] != "withdrawal")
            .map(|row| {
                [
                    &row["from_address"],
                    &row["to_address"],
                    &row["value"],
                    &row["kind"],
                ]
            })
            .map(|row| row.map(|text| text.to_lowercase()))
            .collect();
        let moved: Vec<_> = found["transfers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                ["from_address", "to_address", "value", "kind"]
                    .map(|name| row[name].as_str().unwrap().to_lowercase())
            })
            .collect();
        assert_eq!(moved, expected, "{block}:{index}");
        assert_eq!(found["internal_transfers"], true);
        assert_eq!(found["without_internal"], Value::Null);
        assert!(found["chain"]["chain_id"].is_u64(), "{found}");
        let hash = found["transaction_hash"].as_str().unwrap();
        assert_eq!(summary(&sample, hash), found);
    }
}

/// Status, gas and fee equal the values in the receipts.
#[test]
fn receipts_agree() {
    let sample = Sample::small();
    let number = |value: &Value| {
        let text = value.as_str().unwrap().trim_start_matches("0x");
        u128::from_str_radix(text, 16).unwrap()
    };
    let mut compared = 0;
    let mut failed = 0;
    for line in sample.fixture.lines("receipts") {
        for receipt in line["receipts"].as_array().unwrap() {
            let is_failed = number(&receipt["status"]) == 0;
            // Some of each block, and those that failed.
            if number(&receipt["transactionIndex"]) % 9 != 0 && (!is_failed || failed > 5) {
                continue;
            }
            failed += u32::from(is_failed);
            let hash = receipt["transactionHash"].as_str().unwrap();
            let found = summary(&sample, hash);
            assert_eq!(found["success"], !is_failed, "{hash}");
            assert_eq!(
                u128::from(found["gas_used"].as_u64().unwrap()),
                number(&receipt["gasUsed"])
            );
            assert_eq!(
                found["sender"].as_str().unwrap().to_lowercase(),
                receipt["from"]
            );
            if let Some(fee) = found["fee"].as_str() {
                let fee: u128 = fee.parse().unwrap();
                assert_eq!(
                    fee,
                    number(&receipt["gasUsed"]) * number(&receipt["effectiveGasPrice"])
                );
            }
            compared += 1;
        }
    }
    assert!(compared > 40 && failed > 0, "{compared} {failed}");
}

#[test]
fn the_page_names_method_and_changes() {
    let sample = Sample::small();
    let edge = &sample.fixture.truth["scenarios"]["peel-chain-token"]["edges"][0];
    let hash = edge["tx"].as_str().unwrap();
    let page = sample.ok(&format!("tx {hash} {CHAIN}"));
    for part in [
        "method       transfer(to: 0x",
        " USD6  transfer",
        "succeeded",
        "(sender)",
        " gas)",
    ] {
        page.prints(part);
    }
    for (name, status, message) in [
        ("20:9999", 3, "block 20 has "),
        ("nonsense", 2, "is not a transaction"),
        ("0x", 2, "is not a transaction"),
    ] {
        sample.fails(&format!("tx {name} {CHAIN}"), status, message);
    }
    // Without the rules of the chain, logs are enough for everything else.
    sample
        .ok(&format!("tx {hash}"))
        .says("inside of the transaction are not known")
        .prints("movements");
}

/// A pool takes one token and gives another, in one transaction of the sender.
#[test]
fn swaps_are_seen_as_swaps() {
    for name in ["dev-v1", "dev-v2", "long-v2"] {
        let Some(sample) = Sample::named(name) else {
            continue;
        };
        let Some(planted) = sample.fixture.truth["scenarios"].get("layering-over-exchange") else {
            continue;
        };
        let pairs: Vec<_> = planted["pairs"].as_array().unwrap().to_vec();
        let mut swaps = 0;
        for edge in planted["edges"].as_array().unwrap() {
            let is_pool = |end: &str| pairs.contains(&edge[end]);
            if !is_pool("to") {
                continue;
            }
            let hash = edge["tx"].as_str().unwrap();
            let found = summary(&sample, hash);
            let seller = edge["from"].as_str().unwrap();
            let is_of_seller = |swap: &Value| {
                let address = swap["address"].as_str().unwrap();
                address.eq_ignore_ascii_case(seller)
            };
            let mut swaps_found = found["swaps"].as_array().unwrap().iter();
            assert!(swaps_found.any(is_of_seller), "{name}: {found}");
            swaps += 1;
        }
        assert!(swaps > 0, "{name}: {planted}");
    }
}

/// Approvals equal the events in the receipts of the node.
#[test]
fn approvals_are_those_of_the_logs() {
    const APPROVAL: &str = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925";
    let sample = Sample::small();
    let mut seen = 0;
    for line in sample.fixture.lines("receipts") {
        for (index, receipt) in line["receipts"].as_array().unwrap().iter().enumerate() {
            let logs = receipt["logs"].as_array().unwrap().iter();
            let wanted: Vec<_> = logs
                .filter(|log| log["topics"][0] == APPROVAL)
                .map(|log| {
                    let topics: Vec<&str> = (log["topics"].as_array().unwrap().iter())
                        .map(|topic| topic.as_str().unwrap())
                        .collect();
                    let address = |at: usize| format!("0x{}", &topics[at][26..]);
                    let number = |text: &str| {
                        let digits = text.trim_start_matches("0x");
                        txgraph::U256::from_str_radix(digits, 16)
                            .unwrap()
                            .to_string()
                    };
                    let amount = match topics.len() {
                        4 => u8::from(topics[2].contains(|c| c != '0' && c != 'x')).to_string(),
                        _ => number(log["data"].as_str().unwrap()),
                    };
                    let id = topics.get(3).map(|id| number(id));
                    let token = log["address"].as_str().unwrap().to_lowercase();
                    (token, address(1), address(2), id, amount)
                })
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let name = format!("{}:{index}", line["block"]);
            let found = summary(&sample, &name);
            let found: Vec<_> = (found["approvals"].as_array().unwrap().iter())
                .map(|it| {
                    let text = |name: &str| it[name].as_str().map(str::to_lowercase);
                    let known = |name: &str| text(name).unwrap();
                    let id = text("token_id");
                    (
                        known("token_address"),
                        known("owner"),
                        known("spender"),
                        id,
                        known("amount"),
                    )
                })
                .collect();
            assert_eq!(found, wanted, "{name}");
            seen += wanted.len();
        }
    }
    assert!(seen > 20, "{seen}");
    let unlimited = sample.ok(&format!("tx 2:1 {CHAIN}"));
    unlimited.prints("nothing moved\n\napprovals\n");
    unlimited.prints("lets 0x23b9f8b9C7624BF5bbDc966963cD2888B8A46C5c take unlimited USD6");
}

/// The calls and changes are those that a replay traces, with amounts in units.
#[test]
fn traces_are_those_of_the_replay() {
    let sample = Sample::small();
    let edge = &sample.fixture.truth["scenarios"]["peel-chain-token"]["edges"][0];
    let hash = edge["tx"].as_str().unwrap();
    let found = summary(&sample, &format!("{hash} --trace"));
    for (kind, key) in [("call", "calls"), ("diff", "state_changes")] {
        let replayed = sample.json(&format!(
            "replay trace {kind} --tx {hash} -f jsonl -q {CHAIN}"
        ));
        assert_eq!(found[key], replayed["result"], "{replayed}");
    }
    assert_eq!(summary(&sample, hash).get("calls"), None);
    let page = sample.ok(&format!("tx {hash} --trace {CHAIN}"));
    for part in [
        "\ncalls\n  CALL 0x",
        " [USD6] transfer(to: 0x",
        "event Transfer(from: 0x",
        " USD6)",
        "\nchanges of the state\n",
        "    nonce    ",
        "    balance  ",
        "    slot 0x",
    ] {
        page.prints(part);
    }
}

/// The genesis file of another chain is a mistake in every command, also in those that do not need it.
#[test]
fn a_chain_file_of_another_chain_is_refused() {
    let sample = Sample::small();
    let other = sample
        .read("genesis.json")
        .replace("0x65920c38", "0x65920c39");
    std::fs::write(sample.path("other.json"), other).unwrap();
    for command in ["tx 13:5", &format!("nonce {ROOT}"), "info"] {
        let line = format!("{command} --chain other.json");
        sample.fails(&line, 2, "the given rules are for genesis");
    }
}

/// Coins and tokens are printed as they moved, and not one after the other.
#[test]
fn movements_are_in_the_order_of_execution() {
    let sample = Sample::small();
    let page = sample.ok(&format!("tx 37:1 -q {CHAIN}")).stdout;
    let (_, movements) = page.split_once("movements\n").unwrap();
    let lines = movements.lines().take_while(|line| !line.is_empty());
    let kinds: Vec<_> = lines.filter_map(|line| line.split("  ").last()).collect();
    assert_eq!(
        kinds,
        ["transfer", "internal", "transfer", "internal"],
        "{page}"
    );
}

/// A log of RocksDB that lost its end does not deny transactions: they are searched in the blocks.
#[test]
fn transactions_that_the_index_lost_are_found() {
    let sample = Sample::small();
    let row = sample.rows("transfers -b 30 -q").swap_remove(0);
    let copy = sample.fixture.unpack();
    let mut is_cut = false;
    for path in fixtures::paths_in(&copy.path().join("rocksdb")) {
        if path.extension().is_some_and(|it| it == "log") {
            let file = fs::File::options().write(true).open(&path).unwrap();
            is_cut |= file.metadata().unwrap().len() > 0;
            file.set_len(0).unwrap();
        }
    }
    assert!(is_cut);
    let line = format!("tx {} -q", row["transaction_hash"]);
    let found = sample.ok(&format!("{line} --datadir {}", copy.path().display()));
    assert_eq!(found.stdout, sample.ok(&line).stdout);
}
