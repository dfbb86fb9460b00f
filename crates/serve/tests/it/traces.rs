//! Traces equal the call traces of the node.

use crate::harness::{Served, number, small};
use serde_json::{Value, json};
use txgraph_testkit::{fixtures, or_skip};

#[test]
fn call_traces_are_those_of_the_node() {
    for name in ["small/v1", "small/v2", "dev-v2"] {
        let fixture = or_skip!(fixtures::fixture(name));
        let served = Served::new(&fixture);
        let tracer = json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } });
        let step = usize::try_from(fixture.tip().unwrap() / 60 + 1).unwrap();
        for line in fixture.lines("call-traces").skip(1).step_by(step) {
            let block = format!("{:#x}", line["block"].as_u64().unwrap());
            let found = served.result("debug_traceBlockByNumber", json!([block, tracer]));
            assert_eq!(alike(&found), alike(&line["result"]), "{name} {block}");
            let Some(first) = line["result"].as_array().unwrap().first() else {
                continue;
            };
            let hash = &first["txHash"];
            // As geth's own client writes the options.
            let config = json!({ "onlyTopCall": false, "withLog": true });
            let tracer = json!({ "Tracer": "callTracer", "Timeout": null, "TracerConfig": config });
            let found = served.result("debug_traceTransaction", json!([hash, tracer]));
            assert_eq!(alike(&found), alike(&first["result"]));
        }
    }
}

/// A trace without the ways to run out of gas that reth distinguishes.
fn alike(trace: &Value) -> Value {
    match trace {
        Value::Array(all) => all.iter().map(alike).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = match value.as_str() {
                    Some(text) if name == "error" && text.starts_with("out of gas") => {
                        json!("out of gas")
                    }
                    _ => alike(value),
                };
                (name.clone(), value)
            });
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

#[test]
fn state_differences_are_those_of_the_node() {
    let fixture = or_skip!(fixtures::fixture("small/v2"));
    let served = Served::new(&fixture);
    let tracer = json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } });
    for line in fixture.lines("state-diffs") {
        let block = format!("{:#x}", line["block"].as_u64().unwrap());
        let found = served.result("debug_traceBlockByNumber", json!([block, tracer]));
        assert_eq!(found, line["result"], "{block}");
    }
    let (code, _) = served.error(
        "debug_traceBlockByNumber",
        json!(["0x5", { "tracer": "4byteTracer" }]),
    );
    assert_eq!(code, -32000);
    // Without code and storage.
    let mut without = tracer.clone();
    without["tracerConfig"]["disableCode"] = true.into();
    without["tracerConfig"]["disableStorage"] = true.into();
    let mut left_out = 0;
    for line in fixture.lines("state-diffs") {
        let block = format!("{:#x}", line["block"].as_u64().unwrap());
        let mut expected = line["result"].clone();
        for one in expected.as_array_mut().unwrap() {
            let result = &mut one["result"];
            for side in ["pre", "post"] {
                for account in result[side].as_object_mut().unwrap().values_mut() {
                    let fields = account.as_object_mut().unwrap();
                    fields.remove("code");
                    fields.remove("storage");
                }
            }
            let post = result["post"].as_object().unwrap().clone();
            for (address, _) in post.iter().filter(|(_, fields)| **fields == json!({})) {
                for side in ["pre", "post"] {
                    result[side].as_object_mut().unwrap().remove(address);
                }
                left_out += 1;
            }
        }
        let found = served.result("debug_traceBlockByNumber", json!([block, without]));
        assert_eq!(found, expected, "{block}");
    }
    assert!(left_out > 0);
    for (name, value, code) in [
        ("withLog", json!("yes"), -32602),
        ("withLogs", json!(true), -32000),
    ] {
        let wrong = json!({ "tracer": "callTracer", "tracerConfig": { name: value } });
        served.refuses("debug_traceBlockByNumber", json!(["0x5", wrong]), code);
    }
}

/// The flat traces of a transaction are its call tree in the order of the calls.
#[test]
fn flat_traces_are_the_call_tree() {
    let fixture = or_skip!(fixtures::fixture("small/v2"));
    let served = Served::new(&fixture);
    let mut compared = 0;
    for line in fixture.lines("call-traces").skip(1).step_by(2) {
        let at = line["block"].as_u64().unwrap();
        let block = format!("{at:#x}");
        let traces = served.result("trace_block", json!([block]));
        let traces = traces.as_array().unwrap();
        for (position, one) in line["result"].as_array().unwrap().iter().enumerate() {
            let of_transaction: Vec<_> = traces
                .iter()
                .filter(|it| it["transactionPosition"] == position)
                .cloned()
                .collect();
            let mut expected = Vec::new();
            flatten(&one["result"], at, Vec::new(), &mut expected);
            let found: Vec<_> = of_transaction.iter().map(reduced).collect();
            assert_eq!(found, expected, "{block} {position}");
            let alone = served.result("trace_transaction", json!([one["txHash"]]));
            assert_eq!(alone, json!(of_transaction));
            compared += found.len();
        }
    }
    assert!(compared > 300, "{compared}");
}

/// The limits of an answer count the calls of one transaction, too.
#[test]
fn traces_of_one_transaction_are_bounded() {
    let fixture = or_skip!(fixtures::fixture("small/v2"));
    let mut most = (0, Value::Null, Value::Null);
    for line in fixture.lines("call-traces").skip(1) {
        let block = line["block"].as_u64().unwrap();
        for one in line["result"].as_array().unwrap() {
            let mut calls = Vec::new();
            flatten(&one["result"], block, Vec::new(), &mut calls);
            if calls.len() > most.0 {
                let block = json!(format!("{block:#x}"));
                most = (calls.len(), one["txHash"].clone(), block);
            }
        }
    }
    let (calls, hash, block) = most;
    let tracer = json!({ "tracer": "callTracer" });
    let all = [
        ("trace_transaction", json!([hash])),
        ("trace_block", json!([block])),
        ("debug_traceTransaction", json!([hash, tracer])),
        ("debug_traceBlockByNumber", json!([block, tracer])),
        ("ots_traceTransaction", json!([hash])),
    ];
    let of = |rows| Served::limited(&fixture, |limits| limits.rows = rows);
    let (less, enough) = (of(calls - 1), of(calls * 100));
    for (method, params) in all {
        less.refuses(method, params.clone(), -32005);
        enough.result(method, params);
    }
}

/// The instructions of a call, with the numbers of geth for the same code.
#[test]
fn instructions_are_traced_as_by_geth() {
    let served = Served::new(&small());
    let to = "0x0000000000000000000000000000000000001234";
    // Writes 5 to slot 1, reads it, and returns 42.
    let code = "0x600560015560015450602a60005260206000f3";
    let trace = |code: &str, options: Value| {
        let mut all = json!({ "stateOverrides": { to: { "code": code } } });
        all.as_object_mut()
            .unwrap()
            .append(&mut options.as_object().unwrap().clone());
        let asked = json!({ "to": to, "gas": "0x186a0" });
        served.result("debug_traceCall", json!([asked, "latest", all]))
    };
    let found = trace(code, json!({}));
    let logs = found["structLogs"].as_array().unwrap();
    let listed: Vec<_> = logs
        .iter()
        .map(|it| json!([it["pc"], it["op"], it["gas"], it["gasCost"], it["stack"]]))
        .collect();
    let expected = json!([
        [0, "PUSH1", 79_000, 3, []],
        [2, "PUSH1", 78_997, 3, ["0x5"]],
        [4, "SSTORE", 78_994, 22_100, ["0x5", "0x1"]],
        [5, "PUSH1", 56_894, 3, []],
        [7, "SLOAD", 56_891, 100, ["0x1"]],
        [8, "POP", 56_791, 2, ["0x5"]],
        [9, "PUSH1", 56_789, 3, []],
        [11, "PUSH1", 56_786, 3, ["0x2a"]],
        [13, "MSTORE", 56_783, 6, ["0x2a", "0x0"]],
        [14, "PUSH1", 56_777, 3, []],
        [16, "PUSH1", 56_774, 3, ["0x20"]],
        [18, "RETURN", 56_771, 0, ["0x20", "0x0"]],
    ]);
    assert_eq!(json!(listed), expected);
    let word = |value: u64| format!("0x{value:064x}");
    let slots = json!({ word(1): word(5) });
    for (at, log) in logs.iter().enumerate() {
        let expected = if [2, 4].contains(&at) {
            Some(&slots)
        } else {
            None
        };
        assert_eq!(log.get("storage"), expected, "{at}");
        assert_eq!(log["depth"], 1);
        assert_eq!(log.get("memory"), None);
    }
    assert_eq!(found["gas"], 100_000 - 56_771);
    assert_eq!(found["failed"], false);
    assert_eq!(found["returnValue"], word(42));
    let options = json!({
        "enableMemory": true, "disableStack": true, "disableStorage": true, "limit": 10
    });
    let first = trace(code, options);
    let logs = first["structLogs"].as_array().unwrap();
    assert_eq!(logs.len(), 10);
    assert_eq!(logs[9]["memory"], json!([word(42)]));
    for name in ["stack", "storage", "returnData", "refund", "error"] {
        assert!(logs.iter().all(|log| log.get(name).is_none()), "{name}");
    }
    // A jump to no destination: what halts has no cost here.
    let halted = trace("0x600056", json!({}));
    assert_eq!(
        halted["structLogs"][1],
        json!({
            "pc": 2, "op": "JUMP", "gas": 78_997, "gasCost": 0, "depth": 1, "stack": ["0x0"],
            "error": "invalid jump destination",
        })
    );
    assert_eq!(
        (&halted["failed"], &halted["gas"]),
        (&json!(true), &json!(100_000))
    );
    assert_eq!(halted["returnValue"], "0x");
    let wrong = json!([{ "to": to }, "latest", { "limit": "many" }]);
    served.refuses("debug_traceCall", wrong, -32602);
    served.refuses("debug_traceBlockByNumber", json!(["0x5"]), -32000);
}

/// Instructions equal the ones of the node, which counts refunds by frame.
#[test]
fn instructions_are_those_of_the_node() {
    let alike = |log: &Value| {
        let mut log = log.clone();
        let fields = log.as_object_mut().unwrap();
        fields.remove("refund");
        // The reasons of halts are in other words.
        if let Some(error) = fields.get_mut("error") {
            *error = true.into();
        }
        log
    };
    let mut steps = 0;
    for name in ["small/v2", "dev-v2"] {
        let fixture = or_skip!(fixtures::fixture(name));
        let served = Served::new(&fixture);
        for line in fixture.lines("struct-logs") {
            let found = served.result("debug_traceTransaction", json!([line["tx"]]));
            let expected = &line["result"];
            for field in ["gas", "failed", "returnValue"] {
                assert_eq!(found[field], expected[field], "{}", line["label"]);
            }
            let logs = [&found, expected].map(|it| it["structLogs"].as_array().unwrap());
            assert_eq!(logs[0].len(), logs[1].len(), "{}", line["label"]);
            for (found, expected) in logs[0].iter().zip(logs[1]) {
                assert_eq!(alike(found), alike(expected), "{}", line["label"]);
                steps += 1;
            }
        }
    }
    assert!(steps > 40_000, "{steps}");
}

/// The instructions of the transactions of a chain agree with their receipts and calls.
#[test]
fn instructions_of_transactions_agree_with_receipts() {
    let fixture = small();
    let served = Served::new(&fixture);
    let options = json!({ "enableReturnData": true });
    let (mut steps, mut deepest, mut longest) = (0, 0, (0, Value::Null));
    for line in fixture.lines("receipts").skip(1) {
        for receipt in line["receipts"].as_array().unwrap() {
            let hash = &receipt["transactionHash"];
            let found = served.ask("debug_traceTransaction", &json!([hash, options]));
            if found["error"]["code"] == -32005 {
                // It has more instructions than an answer.
                assert!(number(&receipt["gasUsed"]) > 200_000, "{hash}");
                continue;
            }
            let found = &found["result"];
            assert_eq!(
                u128::from(found["gas"].as_u64().unwrap()),
                number(&receipt["gasUsed"])
            );
            assert_eq!(found["failed"], receipt["status"] == "0x0", "{hash}");
            let logs = found["structLogs"].as_array().unwrap();
            for pair in logs.windows(2) {
                let gas = |at: usize| pair[at]["gas"].as_u64().unwrap();
                if pair[0]["depth"] == pair[1]["depth"] && pair[0].get("error").is_none() {
                    let cost = pair[0]["gasCost"].as_u64().unwrap();
                    // Calls without code give back their gas.
                    assert!(gas(0) - cost <= gas(1), "{hash} {pair:?}");
                }
            }
            steps += logs.len();
            let depths = logs.iter().filter_map(|it| it["depth"].as_u64());
            deepest = depths.chain([deepest]).max().unwrap();
            if logs.len() > longest.0 {
                longest = (logs.len(), hash.clone());
            }
        }
    }
    assert!(steps > 10_000 && deepest > 3, "{steps} {deepest}");
    let served = Served::limited(&fixture, |limits| limits.rows = longest.0 - 1);
    let params = json!([longest.1, {}]);
    let (code, message) = served.error("debug_traceTransaction", params);
    assert_eq!(code, -32005);
    assert!(message.contains("`limit`"), "{message}");
    served.result("debug_traceTransaction", json!([longest.1, { "limit": 5 }]));
}

/// The fields of a call that both forms have.
fn reduced(trace: &Value) -> Value {
    let action = &trace["action"];
    let (from, to, value, input) = match trace["type"].as_str().unwrap() {
        "call" => (
            &action["from"],
            &action["to"],
            &action["value"],
            &action["input"],
        ),
        "create" => (
            &action["from"],
            &trace["result"]["address"],
            &action["value"],
            &action["init"],
        ),
        "suicide" => (
            &action["address"],
            &action["refundAddress"],
            &action["balance"],
            &Value::Null,
        ),
        other => panic!("{other}"),
    };
    let failed = trace.get("error").is_some();
    let to = if failed && trace["type"] == "create" {
        &Value::Null
    } else {
        to
    };
    json!([trace["traceAddress"], from, to, value, input, failed])
}

/// The call tree as a list, without calls of precompiled contracts, as in the flat form.
fn flatten(call: &Value, block: u64, path: Vec<usize>, all: &mut Vec<Value>) {
    let kind = call["type"].as_str().unwrap();
    let is_destruction = kind == "SELFDESTRUCT";
    let value = match kind {
        "STATICCALL" => json!("0x0"),
        _ => call["value"].clone(),
    };
    let input = if is_destruction {
        Value::Null
    } else {
        call["input"].clone()
    };
    let failed = call.get("error").is_some();
    let to = call.get("to").cloned().unwrap_or(Value::Null);
    all.push(json!([path, call["from"], to, value, input, failed]));
    let calls = call["calls"].as_array().cloned().unwrap_or_default();
    let shown = calls.iter().filter(|it| !is_precompile(it, block));
    for (at, child) in shown.enumerate() {
        let mut path = path.clone();
        path.push(at);
        flatten(child, block, path, all);
    }
}

/// Whether a call of a precompiled contract moves nothing, so that flat traces leave it out.
/// By the forks of the small chain.
pub(crate) fn is_precompile(call: &Value, block: u64) -> bool {
    let Some(to) = call.get("to").and_then(Value::as_str) else {
        return false;
    };
    let at = u128::from_str_radix(&to[10..], 16).unwrap_or(u128::MAX);
    let highest = match block {
        0..14 => 0x9,
        14..20 => 0xa,
        _ => 0x11,
    };
    let is_low =
        to.starts_with("0x00000000") && ((1..=highest).contains(&at) || at == 0x100 && block >= 28);
    let moves = call.get("value").is_some_and(|value| number(value) > 0);
    call["type"] != "SELFDESTRUCT" && is_low && !moves
}

/// A filter is the union of its two lists, and pages with `after` and `count`.
#[test]
fn filters_are_unions() {
    let fixture = small();
    let served = Served::new(&fixture);
    let deployer = fixture.truth["accounts"]["deployer"].as_str().unwrap();
    let token = fixture.truth["tokens"]["usd6"]["address"].as_str().unwrap();
    let filter = |fields: Value| {
        let mut all = json!({ "fromBlock": "0x1", "toBlock": "0x14" });
        for (name, value) in fields.as_object().unwrap() {
            all[name] = value.clone();
        }
        served
            .result("trace_filter", json!([all]))
            .as_array()
            .unwrap()
            .clone()
    };
    let everything = filter(json!({}));
    let from = |it: &Value| it["action"]["from"] == deployer;
    let to = |it: &Value| it["action"]["to"] == token || it["result"]["address"] == token;
    let expect = |wanted: &dyn Fn(&Value) -> bool| -> Vec<Value> {
        everything.iter().filter(|it| wanted(it)).cloned().collect()
    };
    let (senders, receivers) = (json!([deployer]), json!([token]));
    let union = json!({ "fromAddress": senders, "toAddress": receivers });
    let both = expect(&|it| from(it) || to(it));
    assert_eq!(filter(union.clone()), both);
    assert_eq!(filter(json!({ "fromAddress": senders })), expect(&from));
    assert_eq!(filter(json!({ "toAddress": receivers })), expect(&to));
    let intersection =
        json!({ "fromAddress": senders, "toAddress": receivers, "mode": "intersection" });
    assert_eq!(filter(intersection), expect(&|it| from(it) && to(it)));
    assert!(both.len() > 10);
    let mut paged = Vec::new();
    for after in (0..).step_by(7) {
        let mut page = union.clone();
        page["after"] = json!(after);
        page["count"] = json!(7);
        let found = filter(page);
        let is_last = found.len() < 7;
        paged.extend(found);
        if is_last {
            break;
        }
    }
    assert_eq!(paged, both);
}
