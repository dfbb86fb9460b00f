//! Traces equal the call traces of the node.

use crate::harness::{Served, number, small};
use serde_json::{Value, json};
use txgraph_testkit::fixtures;

#[test]
fn call_traces_are_those_of_the_node() {
    for name in ["small/v1", "small/v2", "dev-v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            return;
        };
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
    let Some(fixture) = fixtures::fixture("small/v2") else {
        return;
    };
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
    let Some(fixture) = fixtures::fixture("small/v2") else {
        return;
    };
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
    let Some(fixture) = fixtures::fixture("small/v2") else {
        return;
    };
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
