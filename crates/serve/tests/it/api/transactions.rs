//! Transactions and blocks.

use super::{answers::row, get, open, rows};
use crate::harness::{Served, small};
use serde_json::{Value, json};
use txgraph_testkit::fixtures;

#[test]
fn transactions_and_blocks_are_those_of_the_node() {
    for fixture in fixtures::committed() {
        let served = Served::new(&fixture);
        let source = open(&fixture);
        let number = |value: &Value| crate::harness::number(value).to_string();
        for (block, receipts) in fixture
            .lines("blocks")
            .zip(fixture.lines("receipts"))
            .step_by(5)
        {
            let answer = get(
                &served,
                &format!("block?block={}", number(&block["number"])),
            );
            let by_hash = block["hash"].as_str().unwrap();
            assert_eq!(get(&served, &format!("block?block={by_hash}")), answer);
            assert_eq!(answer["hash"], block["hash"]);
            assert_eq!(answer["parent"], block["parentHash"]);
            assert_eq!(answer["miner"], block["miner"]);
            assert_eq!(answer["base_fee"], number(&block["baseFeePerGas"]));
            let transactions = block["transactions"].as_array().unwrap();
            let listed = rows(&answer, "transactions");
            assert_eq!(listed.len(), transactions.len());
            let withdrawals = block["withdrawals"].as_array().unwrap();
            let found = rows(&answer, "withdrawals");
            assert_eq!(found.len(), withdrawals.len());
            for (found, it) in found.iter().zip(withdrawals) {
                assert_eq!(found["to"], it["address"]);
                assert_eq!(
                    found["validator"].to_string(),
                    number(&it["validatorIndex"])
                );
                assert_eq!(found["value"], number(&it["amount"]) + "000000000");
            }
            let receipts = receipts["receipts"].as_array().unwrap();
            for ((it, listed), receipt) in transactions.iter().zip(listed).zip(receipts) {
                assert_eq!((&listed["hash"], &listed["to"]), (&it["hash"], &it["to"]));
                assert_eq!(listed["value"], number(&it["value"]));
                assert_eq!(listed["status"], receipt["status"] == "0x1");
            }
            let Some((it, receipt)) = transactions.iter().zip(receipts).next_back() else {
                continue;
            };
            let hash = it["hash"].as_str().unwrap();
            let found = get(&served, &format!("transaction?hash={hash}"));
            for (ours, theirs) in [("from", "from"), ("to", "to"), ("input", "input")] {
                assert_eq!(found[ours], it[theirs], "{hash}");
            }
            assert_eq!(found["gas_used"].to_string(), number(&receipt["gasUsed"]));
            let trace = if found["calls"].is_null() {
                ""
            } else {
                " --trace"
            };
            assert_eq!(found["command"], format!("txgraph tx {hash}{trace} --json"));
            assert_eq!(found["gas_price"], number(&receipt["effectiveGasPrice"]));
            assert_eq!(found["status"], receipt["status"] == "0x1");
            let logs = receipt["logs"].as_array().unwrap();
            assert_eq!(rows(&found, "logs").len(), logs.len());
            for (ours, theirs) in rows(&found, "logs").iter().zip(logs) {
                assert_eq!(ours["index"].to_string(), number(&theirs["logIndex"]));
                for name in ["address", "topics", "data"] {
                    assert_eq!(ours[name], theirs[name]);
                }
            }
            let trace = json!([hash, { "tracer": "callTracer" }]);
            let mut calls = found["calls"].clone();
            assert_eq!(calls["method"], found["method"]);
            take_methods(&mut calls);
            assert_eq!(calls, served.result("debug_traceTransaction", trace));
            let place = source
                .find_transaction(hash.parse().unwrap())
                .unwrap()
                .unwrap();
            let name = txgraph::TransactionName::Position {
                block: place.0,
                index: place.1,
            };
            let summary = source.transaction(name).unwrap();
            let moved: Vec<_> = summary.transfers.iter().map(row).collect();
            assert_eq!(rows(&found, "transfers"), &moved);
            // Balances change by what was moved, and by the fee.
            let sender = rows(&found, "state").iter();
            let sender: Vec<_> = sender
                .filter(|change| change["address"] == it["from"])
                .collect();
            assert_eq!(sender.len(), 1);
            assert!(sender[0]["nonce"].is_array());
        }
    }
}

/// Whether a method is a name with arguments, not a selector.
fn is_named(method: &Value) -> bool {
    method.as_str().is_some_and(|text| text.contains('('))
}

/// Removes the methods of a tree of calls, and returns how many are names. Others are what the input begins
/// with.
fn take_methods(call: &mut Value) -> usize {
    let method = call.as_object_mut().unwrap().remove("method").unwrap();
    let (kind, input) = (
        call["type"].as_str().unwrap(),
        call["input"].as_str().unwrap(),
    );
    if kind.starts_with("CREATE") || input.len() < 10 {
        assert_eq!(method, Value::Null);
    } else {
        assert!(is_named(&method) || method == input[..10], "{method}");
    }
    let inner = call.get_mut("calls").and_then(Value::as_array_mut);
    let inner = inner.into_iter().flatten().map(take_methods);
    usize::from(is_named(&method)) + inner.sum::<usize>()
}

/// A contract that sends to several accounts calls the token for each.
#[test]
fn calls_have_the_functions_that_they_name() {
    let fixture = small();
    let block = fixture.lines("blocks").nth(2).unwrap();
    let hash = block["transactions"][4]["hash"].as_str().unwrap();
    let found = get(&Served::new(&fixture), &format!("transaction?hash={hash}"));
    let mut calls = found["calls"].clone();
    // The function of the contract itself is not known.
    assert_eq!(calls["method"], "0x41fa0b2d");
    let first = calls["calls"][0]["method"].as_str().unwrap();
    assert!(first.starts_with("transferFrom(from: 0x"), "{first}");
    assert!(take_methods(&mut calls) > 1);
}

/// The planted sale of a token, whose proceeds another address gets, and the one after it for coins.
#[test]
fn transactions_have_their_swaps() {
    for fixture in fixtures::full() {
        let scenario = &fixture.truth["scenarios"]["layering-over-exchange"];
        let Some(edges) = scenario["edges"].as_array() else {
            continue;
        };
        let served = Served::new(&fixture);
        let roles = &scenario["roles"];
        let mut sold = &scenario["token"];
        for (edge, (from, to)) in edges.iter().zip([("source", "middle"), ("middle", "end")]) {
            let hash = edge["tx"].as_str().unwrap();
            let found = get(&served, &format!("transaction?hash={hash}"));
            let swaps = rows(&found, "swaps");
            let swap = swaps.iter().find(|it| it["address"] == roles[from]);
            let swap = swap.unwrap_or_else(|| panic!("{}: {swaps:?}", fixture.name));
            assert_eq!(swap["to"], roles[to]);
            assert_eq!(
                (&swap["given_token"], &swap["given"]),
                (sold, &edge["value"])
            );
            let got = rows(&found, "transfers").iter();
            let mut got = got.filter(|it| it["to"] == roles[to]);
            let got = got.next().unwrap();
            assert_eq!(
                (&swap["got_token"], &swap["got"]),
                (&got["token"], &got["amount"])
            );
            sold = edges[1].get("token").unwrap_or(sold);
        }
    }
}
