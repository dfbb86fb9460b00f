//! Transactions that are in no block.

use crate::harness::{Served, number, small};
use serde_json::{Value, json};

const CALLS: &str = "callTracer";

/// The transaction of a block as a client would ask about it before.
fn request(it: &Value) -> Value {
    let mut asked = json!({ "from": it["from"], "value": it["value"], "input": it["input"] });
    for name in ["to", "accessList", "authorizationList"] {
        if !it[name].is_null() {
            asked[name] = it[name].clone();
        }
    }
    asked
}

/// The first transactions of blocks, which begin with the state of the parent block: the block, the transaction and
/// whether it succeeded. None has blobs.
fn first_transactions() -> Vec<(String, Value, Value)> {
    let fixture = small();
    let receipts: Vec<Value> = fixture.lines("receipts").collect();
    let blocks = fixture.lines("blocks").zip(receipts).skip(1);
    let first = blocks.filter_map(|(block, receipts)| {
        let it = block["transactions"].get(0)?.clone();
        let at = number(&block["number"]);
        // The fork before the one of block 20 has no authorizations.
        let is_known = number(&it["type"]) < 4 || at > 20;
        is_known.then(|| {
            (
                format!("{:#x}", at - 1),
                it,
                receipts["receipts"][0].clone(),
            )
        })
    });
    let first: Vec<_> = first.collect();
    assert!(first.iter().any(|(_, it, _)| it["type"] == "0x4"));
    first
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
    refused(
        json!({ "to": poor, "authorizationList": [{}] }),
        -32602,
        "authorizationList",
    );
    refused(
        json!({ "to": poor, "maxFeePerBlobGas": "0x1" }),
        -32602,
        "blobVersionedHashes",
    );
    refused(
        json!({ "to": poor, "accessList": [{}] }),
        -32602,
        "accessList",
    );
    for (method, asked) in [
        ("eth_estimateGas", json!({ "to": poor })),
        ("eth_call", json!({ "to": poor })),
        ("debug_traceCall", json!({ "to": poor })),
        ("eth_getTransactionCount", json!(poor)),
        ("eth_getBalance", json!(poor)),
    ] {
        let (code, message) = served.error(method, json!([asked, "pending"]));
        assert_eq!(code, -32000);
        assert!(message.ends_with("ask about `latest`"), "{message}");
    }
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
        // Of the called contract, only slots that are touched are listed.
        if let Some(to) = it["to"].as_str() {
            let useless =
                json!({ "address": to, "storageKeys": [format!("0x{}", "fe".repeat(32))] });
            asked["accessList"].as_array_mut().unwrap().push(useless);
            let listed = served.result("eth_createAccessList", json!([asked, parent]));
            assert_eq!(listed, found);
        }
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
        (
            json!([asked, "latest", { "tracer": "4byteTracer" }]),
            -32000,
        ),
        (
            json!([asked, "latest", options("txIndex", json!("0x0"))]),
            -32000,
        ),
        (
            json!([
                asked,
                "latest",
                options("blockOverrides", json!({ "withdrawals": [] }))
            ]),
            -32000,
        ),
        (
            json!([
                asked,
                "latest",
                options("blockOverrides", json!({ "time": "now" }))
            ]),
            -32602,
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

/// Code that returns the words that these instructions push.
fn returning(instructions: &[&str]) -> String {
    let stored = instructions.iter().enumerate();
    let stored = stored.map(|(at, code)| format!("{code}61{:04x}52", 32 * at));
    let size = 32 * instructions.len();
    format!("0x{}61{size:04x}6000f3", stored.collect::<String>())
}

/// Contracts see the block at whose end they are called, with each overridden field.
#[test]
fn blocks_of_calls_can_be_changed() {
    let fixture = small();
    let served = Served::new(&fixture);
    let to = "0x0000000000000000000000000000000000001234";
    // NUMBER, TIMESTAMP, GASLIMIT, COINBASE, PREVRANDAO, BASEFEE, BLOBBASEFEE, and the hashes of blocks 40 and 41.
    let seen = ["43", "42", "45", "41", "44", "48", "4a", "602840", "602940"];
    let accounts = json!({ to: { "code": returning(&seen) } });
    let tip = fixture.lines("blocks").last().unwrap();
    let word = |value: &Value| {
        let digits = value.as_str().unwrap().strip_prefix("0x").unwrap();
        format!("{digits:0>64}")
    };
    let names = [
        ("number", "number", "number"),
        ("timestamp", "time", "time"),
        ("gasLimit", "gasLimit", "gasLimit"),
        ("miner", "feeRecipient", "coinbase"),
        ("mixHash", "prevRandao", "random"),
        ("baseFeePerGas", "baseFeePerGas", "baseFee"),
        ("", "blobBaseFee", "blobBaseFee"),
    ];
    let random = format!("0x{}", "ab".repeat(32));
    let values = [
        json!("0x29"),
        json!("0x7fffffff"),
        json!("0x1234"),
        json!(format!("0x{}", "cd".repeat(20))),
        json!(random),
        json!("0x5"),
        json!("0x6"),
    ];
    let stored: Vec<_> = names
        .iter()
        .map(|(field, ..)| match *field {
            "" => json!("0x1"),
            field => tip[field].clone(),
        })
        .collect();
    let zero = word(&json!("0x0"));
    let expect = |changed: &[usize]| {
        let words = (0..names.len()).map(|at| match changed.contains(&at) {
            true => word(&values[at]),
            false => word(&stored[at]),
        });
        // The block is the parent of a changed one, so its hash is known there.
        let hash = match changed.contains(&0) {
            true => word(&tip["hash"]),
            false => zero.clone(),
        };
        format!("0x{}{hash}{zero}", words.collect::<String>())
    };
    let asked = json!({ "to": to });
    let check = |changed: &[usize], block: Value| {
        let expected = expect(changed);
        let params = json!([asked, "latest", accounts, block]);
        assert_eq!(served.result("eth_call", params), expected, "{block}");
        let params = json!([asked, ["trace"], "latest", accounts, block]);
        let found = served.result("trace_call", params);
        assert_eq!(found["output"], expected, "{block}");
        let options =
            json!({ "tracer": CALLS, "stateOverrides": accounts, "blockOverrides": block });
        let found = served.result("debug_traceCall", json!([asked, "latest", options]));
        assert_eq!(found["output"], expected, "{block}");
        let params = json!([asked, "latest", accounts, block]);
        if !changed.contains(&2) {
            served.result("eth_estimateGas", params.clone());
            served.result("eth_createAccessList", params);
        }
    };
    check(&[], Value::Null);
    check(&[], json!({ "number": null }));
    let (mut geth, mut reth) = (json!({}), json!({}));
    for (at, (_, one, other)) in names.iter().enumerate() {
        check(&[at], json!({ *one: values[at] }));
        geth[*one] = values[at].clone();
        reth[*other] = values[at].clone();
    }
    let all: Vec<_> = (0..names.len()).collect();
    check(&all, geth);
    check(&all, reth);
    // Number and time choose the fork: block 5 is before Cancun, and has no BLOBBASEFEE.
    let early = served.result("eth_getBlockByNumber", json!(["0x5", false]));
    let block = json!({ "number": "0x5", "time": early["timestamp"] });
    served.refuses(
        "eth_call",
        json!([asked, "latest", accounts, block]),
        -32000,
    );
    // The price of the call is compared with the base fee that it sees, and the estimate with its gas.
    let paid =
        json!({ "to": to, "gasPrice": "0x4", "from": fixture.truth["accounts"]["gas_station"] });
    let block = json!({ "baseFeePerGas": "0x5" });
    let params = json!([paid, "latest", {}, block]);
    let (_, message) = served.error("eth_call", params);
    assert_eq!(message, "max fee per gas less than block base fee");
    let block = json!({ "baseFeePerGas": "0x4" });
    served.answers("eth_call", json!([paid, "latest", {}, block]), "0x");
    let block = json!({ "gasLimit": "0x5207" });
    let (_, message) = served.error("eth_estimateGas", json!([asked, "latest", {}, block]));
    assert_eq!(message, "gas required exceeds allowance (20999)");
}

/// A contract is a sender like others, and a call has more gas than a transaction of a block.
#[test]
fn contracts_send_calls() {
    let fixture = small();
    let served = Served::new(&fixture);
    let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let to = "0x0000000000000000000000000000000000001234";
    let asked = json!({ "from": token, "to": to, "value": "0x1" });
    // CALLER, ORIGIN, and GAS.
    let accounts = json!({
        to: { "code": returning(&["33", "32", "5a"]) },
        token: { "balance": "0xde0b6b3a7640000" },
    });
    let own = format!("{:0>64}", &token[2..]);
    // GAS and two stores of words were executed before.
    let gas = 50_000_000 - 21_000 - 2 - 2 * 11;
    let expected = format!("0x{own}{own}{gas:064x}");
    served.answers(
        "eth_call",
        json!([asked, "latest", accounts]),
        expected.clone(),
    );
    let options = json!({ "tracer": CALLS, "stateOverrides": accounts });
    let found = served.result("debug_traceCall", json!([asked, "latest", options]));
    assert_eq!(found["output"], expected);
    let found = served.result("trace_call", json!([asked, ["trace"], "latest", accounts]));
    assert_eq!(found["output"], expected);
    let used = served.result("eth_estimateGas", json!([asked, "latest", accounts]));
    let list = served.result("eth_createAccessList", json!([asked, "latest", accounts]));
    assert!(number(&list["gasUsed"]) <= number(&used));
    let plain = json!({ "from": token, "to": "0x0000000000000000000000000000000000005678" });
    served.answers("eth_estimateGas", json!([plain]), "0x5208");
    // It pays, too.
    let mut paid = asked;
    paid["gasPrice"] = "0x3b9aca00".into();
    let selfbalance = returning(&["47"]);
    let accounts = json!({ token: { "balance": "0xde0b6b3a7640000", "code": selfbalance } });
    paid["to"] = token.into();
    paid["gas"] = "0x186a0".into();
    let left = 1_000_000_000_000_000_000_u64 - 100_000 * 1_000_000_000;
    served.answers(
        "eth_call",
        json!([paid, "latest", accounts]),
        format!("0x{left:064x}"),
    );
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
