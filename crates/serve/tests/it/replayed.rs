//! Two forms of what a transaction changed agree, and so does the state that it began with.

use crate::harness::{Served, number, small};
use serde_json::{Map, Value, json};

fn before(served: &Served, block: &str) -> Vec<Value> {
    let tracer = json!({ "tracer": "prestateTracer" });
    let found = served.result("debug_traceBlockByNumber", json!([block, tracer]));
    found.as_array().unwrap().clone()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

#[test]
fn states_before_transactions_have_what_changed() {
    let fixture = small();
    let served = Served::new(&fixture);
    let diff = json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } });
    let (mut accounts, mut slots, mut delegates) = (0, 0, 0);
    for block in fixture.lines("blocks").skip(1) {
        let at = block["number"].as_str().unwrap();
        let diffs = served.result("debug_traceBlockByNumber", json!([at, diff]));
        let parent = format!("{:#x}", number(&block["number"]) - 1);
        for (index, one) in before(&served, at).iter().enumerate() {
            let (changed, found) = (&diffs[index]["result"]["pre"], &one["result"]);
            let it = &block["transactions"][index];
            for (address, fields) in object(changed) {
                // The difference also has accounts that were empty.
                if *fields == json!({ "balance": "0x0" }) {
                    assert!(found.get(address).is_none(), "{at} {index} {address}");
                    continue;
                }
                let all = object(&found[address]);
                for (name, value) in object(fields).iter().filter(|(name, _)| *name != "storage") {
                    assert_eq!(all.get(name), Some(value), "{at} {index} {address} {name}");
                }
                let changed = fields.get("storage").map(object).into_iter().flatten();
                for (slot, value) in changed {
                    assert_eq!(&found[address]["storage"][slot], value);
                    slots += 1;
                }
            }
            let signer = it["from"].as_str().unwrap();
            assert!(found[signer]["balance"].is_string(), "{at} {index}");
            for (address, fields) in object(found) {
                accounts += 1;
                let code = fields["code"].as_str().unwrap_or_default();
                if let Some(contract) = code.strip_prefix("0xef0100") {
                    delegates += 1;
                    let contract = format!("0x{contract}");
                    let is_called = it["to"] == *address;
                    assert!(
                        !is_called || object(found).contains_key(&contract),
                        "{contract}"
                    );
                }
                if index == 0 {
                    let balance = served.result("eth_getBalance", json!([address, parent]));
                    assert_eq!(fields["balance"], balance, "{at} {address}");
                    let code = served.result("eth_getCode", json!([address, parent]));
                    assert_eq!(code, *fields.get("code").unwrap_or(&json!("0x")));
                }
            }
            let options = json!({ "disableCode": true, "disableStorage": true });
            let tracer = json!({ "tracer": "prestateTracer", "tracerConfig": options });
            let without = served.result("debug_traceTransaction", json!([it["hash"], tracer]));
            assert_eq!(object(&without).len(), object(found).len());
            let mut fields = object(&without).values();
            assert!(fields.all(|it| it.get("code").is_none() && it.get("storage").is_none()));
        }
    }
    assert!(
        accounts > 1_000 && slots > 200 && delegates > 2,
        "{accounts} {slots} {delegates}"
    );
}

#[test]
fn replays_are_traces_and_differences() {
    let fixture = small();
    let served = Served::new(&fixture);
    let tracer = json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } });
    let both = json!(["trace", "stateDiff"]);
    let mut kinds = std::collections::BTreeSet::new();
    for block in fixture.lines("blocks").skip(1) {
        let at = &block["number"];
        let replays = served.result("trace_replayBlockTransactions", json!([at, both]));
        let replays = replays.as_array().unwrap();
        assert_eq!(
            replays.len(),
            block["transactions"].as_array().unwrap().len()
        );
        let diffs = served.result("debug_traceBlockByNumber", json!([at, tracer]));
        for (index, replay) in replays.iter().enumerate() {
            let hash = &replay["transactionHash"];
            assert_eq!(hash, &block["transactions"][index]["hash"]);
            let mut alone = served.result("trace_replayTransaction", json!([hash, both]));
            alone["transactionHash"] = hash.clone();
            assert_eq!(&alone, replay);
            assert_eq!(replay["vmTrace"], Value::Null);
            let mut traces = served.result("trace_transaction", json!([hash]));
            for trace in traces.as_array_mut().unwrap() {
                let fields = trace.as_object_mut().unwrap();
                for place in [
                    "blockHash",
                    "blockNumber",
                    "transactionHash",
                    "transactionPosition",
                ] {
                    fields.remove(place);
                }
            }
            assert_eq!(replay["trace"], traces);
            let (pre, post) = (
                &diffs[index]["result"]["pre"],
                &diffs[index]["result"]["post"],
            );
            for (address, fields) in object(&replay["stateDiff"]) {
                let balance = &fields["balance"];
                let (old, new) = (&pre[address]["balance"], &post[address]["balance"]);
                let kind = match balance.as_object().and_then(|it| it.keys().next()) {
                    None => "=",
                    Some(kind) => kind.as_str(),
                };
                kinds.insert(kind.to_owned());
                match kind {
                    "*" => assert_eq!(balance["*"], json!({ "from": old, "to": new })),
                    "-" => assert_eq!(&balance["-"], old),
                    "+" => assert!(pre.get(address).is_none(), "{hash} {address}"),
                    _ => assert!(new.is_null(), "{hash} {address}"),
                }
                let slots = fields["storage"].as_object().unwrap();
                for (slot, change) in slots.iter().filter(|(_, change)| change.get("*").is_some()) {
                    let zero = json!(format!("0x{:064x}", 0));
                    for (side, of) in [("from", pre), ("to", post)] {
                        let value = of[address]["storage"].get(slot).unwrap_or(&zero);
                        assert_eq!(&change["*"][side], value, "{hash} {address} {slot}");
                    }
                }
            }
        }
    }
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    let hash = json!(fixture.lines("blocks").nth(5).unwrap()["transactions"][0]["hash"]);
    let none = served.result("trace_replayTransaction", json!([hash, []]));
    assert_eq!(
        (&none["trace"], &none["stateDiff"]),
        (&json!([]), &Value::Null)
    );
    served.refuses(
        "trace_replayTransaction",
        json!([hash, ["vmTrace"]]),
        -32000,
    );
    served.refuses("trace_replayTransaction", json!([hash, ["state"]]), -32602);
    served.refuses("trace_replayTransaction", json!([hash]), -32602);
}
