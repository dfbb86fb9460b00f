//! Transactions that are in no block.

use crate::harness::{Served, number, small};
use serde_json::{Value, json};

const CALLS: &str = "callTracer";

/// The transaction of a block as a client would ask about it before.
fn request(it: &Value) -> Value {
    let mut asked = json!({ "from": it["from"], "value": it["value"], "input": it["input"] });
    for name in ["to", "accessList"] {
        if !it[name].is_null() {
            asked[name] = it[name].clone();
        }
    }
    asked
}

/// The first transactions of blocks, which begin with the state of the parent block: the block, the transaction and
/// whether it succeeded. Without blobs and authorizations.
fn first_transactions() -> Vec<(String, Value, Value)> {
    let fixture = small();
    let receipts: Vec<Value> = fixture.lines("receipts").collect();
    let blocks = fixture.lines("blocks").zip(receipts).skip(1);
    let first = blocks.filter_map(|(block, receipts)| {
        let it = block["transactions"].get(0)?.clone();
        let parent = format!("{:#x}", number(&block["number"]) - 1);
        let is_plain = number(&it["type"]) < 3;
        is_plain.then(|| (parent, it, receipts["receipts"][0].clone()))
    });
    first.collect()
}

#[test]
fn estimates_are_the_least_gas_that_is_enough() {
    let served = Served::new(&small());
    let (mut succeeded, mut failed) = (0, 0);
    for (parent, it, receipt) in first_transactions() {
        let mut asked = request(&it);
        if receipt["status"] == "0x0" {
            let answer = served.ask("eth_estimateGas", &json!([asked, parent]));
            assert!(answer["error"]["message"].is_string(), "{answer}");
            failed += 1;
            continue;
        }
        let gas = number(&served.result("eth_estimateGas", json!([asked, parent])));
        assert!(gas >= number(&receipt["gasUsed"]), "{it}");
        let trace = |gas: u128, asked: &mut Value| {
            asked["gas"] = format!("{gas:#x}").into();
            let found = served.ask(
                "debug_traceCall",
                &json!([asked, parent, { "tracer": CALLS }]),
            );
            found["result"].is_object() && found["result"].get("error").is_none()
        };
        assert!(trace(gas, &mut asked), "{gas} {it}");
        assert!(!trace(gas - gas / 60 - 1, &mut asked), "{gas} {it}");
        succeeded += 1;
    }
    assert!(succeeded > 20 && failed > 0, "{succeeded} {failed}");
}

#[test]
fn estimates_are_refused_as_by_nodes() {
    let fixture = small();
    let served = Served::new(&fixture);
    let poor = "0x0000000000000000000000000000000000005678";
    let rich = fixture.truth["accounts"]["gas_station"].as_str().unwrap();
    let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    served.answers("eth_estimateGas", json!([{ "to": poor }]), "0x5208");
    served.answers(
        "eth_estimateGas",
        json!([{ "from": rich, "to": poor, "value": "0x1" }]),
        "0x5208",
    );
    let query = format!("/api?module=proxy&action=eth_estimateGas&to={poor}");
    assert_eq!(served.get(&query).json()["result"], "0x5208");
    let refused = |asked: Value, expected: i64, words: &str| {
        let (code, message) = served.error("eth_estimateGas", json!([asked]));
        assert_eq!(code, expected, "{asked}: {message}");
        assert!(message.contains(words), "{asked}: {message}");
    };
    let sent = json!({ "from": poor, "to": rich, "value": "0x1" });
    refused(
        sent.clone(),
        -32000,
        "insufficient funds for gas * price + value: address 0x",
    );
    let mut paid = sent;
    paid["gasPrice"] = "0x3b9aca00".into();
    refused(paid, -32000, "insufficient funds for transfer");
    // A loop without an end, and a revert with data.
    let code = |code: &str| json!([{ "to": poor }, "latest", { poor: { "code": code } }]);
    let (_, message) = served.error("eth_estimateGas", code("0x5b600056"));
    assert_eq!(message, "gas required exceeds allowance (16777216)");
    let answer = served.ask("eth_estimateGas", &code("0x60aa60005260206000fd"));
    assert_eq!(answer["error"]["code"], 3, "{answer}");
    assert_eq!(answer["error"]["data"], format!("0x{:064x}", 0xaa));
    let (_, message) = served.error("eth_estimateGas", code("0xfe"));
    assert!(message.contains("the call halted"), "{message}");
    let small_limit = json!({ "to": token, "data": "0x313ce567", "gas": "0x5208" });
    refused(
        small_limit,
        -32000,
        "gas required exceeds allowance (21000)",
    );
    refused(json!({ "from": token, "to": poor }), -32000, "EIP-3607");
    refused(
        json!({ "to": poor, "authorizationList": [{}] }),
        -32602,
        "not supported",
    );
    refused(
        json!({ "to": poor, "accessList": [{}] }),
        -32602,
        "accessList",
    );
    let (code, message) = served.error("eth_estimateGas", json!([{ "to": poor }, "pending"]));
    assert_eq!(code, -32000);
    assert!(message.ends_with("ask about `latest`"), "{message}");
}

#[test]
fn access_lists_are_all_that_is_touched() {
    let served = Served::new(&small());
    let mut listed = 0;
    for (parent, it, receipt) in first_transactions() {
        let mut asked = request(&it);
        asked.as_object_mut().unwrap().remove("accessList");
        let found = served.result("eth_createAccessList", json!([asked, parent]));
        assert_eq!(
            found.get("error").is_some(),
            receipt["status"] == "0x0",
            "{found}"
        );
        let list = found["accessList"].as_array().unwrap();
        listed += list.len();
        for item in list {
            let is_end = [&it["from"], &it["to"]].contains(&&item["address"]);
            let slots = item["storageKeys"].as_array().unwrap();
            assert!(!is_end || !slots.is_empty(), "{item}");
        }
        // It does not grow, and a transaction with it uses the same gas.
        asked["accessList"] = found["accessList"].clone();
        assert_eq!(
            served.result("eth_createAccessList", json!([asked, parent])),
            found
        );
        let trace = served.result(
            "debug_traceCall",
            json!([asked, parent, { "tracer": CALLS }]),
        );
        assert_eq!(trace["gasUsed"], found["gasUsed"], "{it}");
    }
    assert!(listed > 20, "{listed}");
}

/// A transaction is traced before it was sent as it is in its block, but for its fee.
#[test]
fn calls_are_traced_as_transactions() {
    let served = Served::new(&small());
    for (parent, it, _) in first_transactions() {
        let mut asked = request(&it);
        asked["gas"] = it["gas"].clone();
        let tracer = json!({ "tracer": CALLS, "tracerConfig": { "withLog": true } });
        let before = served.result("debug_traceCall", json!([asked, parent, tracer]));
        let after = served.result("debug_traceTransaction", json!([it["hash"], tracer]));
        assert_eq!(before, after, "{it}");
        let flat = served.result("trace_call", json!([asked, ["trace", "stateDiff"], parent]));
        let replayed = served.result("trace_replayTransaction", json!([it["hash"], ["trace"]]));
        assert_eq!(flat["trace"], replayed["trace"]);
        assert_eq!(flat["output"], replayed["output"]);
        let sender = it["from"].as_str().unwrap();
        let nonce = &flat["stateDiff"][sender]["nonce"]["*"];
        assert_eq!(nonce["from"], it["nonce"], "{flat}");
        let tracer = json!({ "tracer": "prestateTracer" });
        let state = served.result("debug_traceCall", json!([asked, parent, tracer]));
        assert_eq!(
            u128::from(state[sender]["nonce"].as_u64().unwrap_or(0)),
            number(&it["nonce"])
        );
    }
    let asked = json!({ "to": "0x0000000000000000000000000000000000005678" });
    let options = |name: &str, value: Value| json!({ "tracer": CALLS, name: value });
    for (params, code) in [
        (json!([asked, "latest", {}]), -32000),
        (
            json!([asked, "latest", options("txIndex", json!("0x0"))]),
            -32000,
        ),
        (
            json!([asked, "latest", options("blockOverrides", json!({}))]),
            -32000,
        ),
        (
            json!([asked, "latest", options("stateOverrides", json!(1))]),
            -32602,
        ),
        (
            json!([1, "latest", options("timeout", json!("5s"))]),
            -32602,
        ),
    ] {
        served.refuses("debug_traceCall", params, code);
    }
}

#[test]
fn blob_fees_and_ommers() {
    let fixture = small();
    let served = Served::new(&fixture);
    served.answers("eth_blobBaseFee", json!([]), "0x1");
    for (method, block) in [
        ("eth_getUncleByBlockNumberAndIndex", json!("0x5")),
        (
            "eth_getUncleByBlockHashAndIndex",
            fixture.lines("blocks").nth(5).unwrap()["hash"].clone(),
        ),
    ] {
        served.answers(method, json!([block, "0x0"]), Value::Null);
        served.refuses(method, json!([block]), -32602);
    }
}
