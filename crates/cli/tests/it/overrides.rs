//! Overrides of `replay`, `call` and `evm run --block`.

use crate::harness::{CHAIN, Sample};
use serde_json::{Value, json};
use std::fs;

const HOLDER: &str = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";

fn write(sample: &Sample, overrides: &Value) {
    fs::write(sample.path("if.json"), overrides.to_string()).unwrap();
}

/// The hash of a transfer of a token, and the token.
fn transfer(sample: &Sample) -> (String, String) {
    let edge = &sample.fixture.truth["scenarios"]["peel-chain-token"]["edges"][0];
    let text = |name: &str| edge[name].as_str().unwrap().to_owned();
    let hash = text("tx");
    let token = sample.fixture.truth["tokens"]["usd6"]["address"].as_str();
    (hash, token.unwrap().to_owned())
}

#[test]
fn transactions_are_replayed_as_if() {
    for sample in Sample::both() {
        let (hash, token) = transfer(&sample);
        let line = format!("replay trace call --tx {hash} {CHAIN} -q");
        let plain = sample.json(&line);
        let ask = |overrides: Value| -> Value {
            write(&sample, &overrides);
            sample.json(&format!("{line} --override if.json"))
        };
        let mut same = ask(json!({}));
        let none = json!({"without": {}, "with": {}});
        assert_eq!(
            same.as_object_mut().unwrap().remove("difference"),
            Some(none)
        );
        assert_eq!(same, plain);
        // The token answers with its first word of storage, or reverts.
        let frame = |trace: &Value| trace.get("result").cloned().unwrap_or(trace.clone());
        assert!(frame(&plain)["error"].is_null(), "{plain}");
        let reverting = ask(json!({"state": {&token: {"code": "0x5f5ffd"}}}));
        assert_eq!(
            frame(&reverting)["error"],
            "execution reverted",
            "{reverting}"
        );
        let answering = ask(json!({"state": {&token: {
            "code": "0x5f545f5260205ff3", "stateDiff": {"0x0": "0x2a"},
        }}}));
        let output = frame(&answering)["output"].as_str().unwrap().to_owned();
        assert!(output.ends_with("002a"), "{answering}");
        // Another call by another account, with the nonce of its account.
        let other = ask(json!({
            "state": {"0x1111111111111111111111111111111111111111": {"balance": "1000000000000000000"}},
            "transaction": {"from": "0x1111111111111111111111111111111111111111", "input": "0x"},
        }));
        assert_eq!(
            frame(&other)["from"],
            "0x1111111111111111111111111111111111111111"
        );
        assert_eq!(frame(&other)["input"], "0x");
        // Logs follow the changed execution.
        write(&sample, &json!({"state": {&token: {"code": "0x5f5ffd"}}}));
        let poor = json!({"state": {frame(&plain)["from"].as_str().unwrap(): {"balance": 0}}});
        write(&sample, &poor);
        sample.fails(&format!("{line} --override if.json"), 1, "balance");
    }
}

/// The parts of both runs agree with `tx` and with the traces of each run.
#[test]
fn a_replay_is_compared_with_the_run_without_overrides() {
    for sample in Sample::both() {
        let (hash, token) = transfer(&sample);
        let line = format!("replay trace diff --tx {hash} {CHAIN} -q");
        let plain = sample.json(&line);
        let original = sample.json(&format!("tx {hash} --json -q {CHAIN}"));
        let net = |of: &Value| of["net"].clone();
        let slots = |of: &Value, when: &str| {
            let accounts = of["result"][when].as_object().unwrap().iter();
            let slots = accounts.flat_map(|(address, fields)| {
                let slots = fields["storage"].as_object().into_iter().flatten();
                slots.map(move |(slot, value)| (address.clone(), slot.clone(), value.clone()))
            });
            slots.collect::<Vec<_>>()
        };
        // The slots of a run of the difference that have a value before or after it.
        let listed = |of: &Value, when: &str| {
            let changes = of["state"].as_array().unwrap().iter();
            let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
            let slots = changes.filter(|it| it["field"] == "slot");
            let slots = slots.map(|it| (text(it, "address"), text(it, "slot"), it[when].clone()));
            let zero = json!(format!("0x{}", "0".repeat(64)));
            slots
                .filter(|(_, _, value)| *value != zero)
                .collect::<Vec<_>>()
        };
        // Nothing is transferred, and the reason is a text.
        let reverting = format!(
            "0x7f08c379a0{}5f5260206004526005602452646e6f70652160d81b60445260645ffd",
            "00".repeat(28)
        );
        write(&sample, &json!({"state": {&token: {"code": reverting}}}));
        let changed = sample.json(&format!("{line} --override if.json"));
        let [without, with] = ["without", "with"].map(|run| changed["difference"][run].clone());
        assert_eq!(without["status"], "succeeded");
        assert_eq!(with["status"], "reverted: nope!");
        assert_eq!(without["gas_used"], original["gas_used"]);
        assert_eq!(without["transfers"], original["transfers"]);
        assert_eq!(net(&without), net(&original));
        assert_eq!(net(&with), Value::Null);
        assert!(with["gas_used"].as_u64() < without["gas_used"].as_u64());
        assert!(!slots(&plain, "post").is_empty());
        for (listed_as, when) in [("before", "pre"), ("after", "post")] {
            assert_eq!(listed(&without, listed_as), slots(&plain, when));
            assert_eq!(listed(&with, listed_as), slots(&changed, when));
        }
        // The same for people.
        let line = format!("--tx {hash} {CHAIN} --override if.json");
        for form in ["trace call -f tree", "transfers -f table"] {
            let page = sample.ok(&format!("replay {form} {line}"));
            for part in [
                "\ndiffers from the run without overrides: - without, + with them\n",
                "\n  - status    succeeded\n  + status    reverted: nope!\n  - gas ",
                "\n  - movement  0x",
                " USD6  transfer\n",
                "\n  - net       0x",
            ] {
                page.prints(part);
            }
        }
        write(&sample, &json!({}));
        sample
            .ok(&format!("replay transfers -f table {line}"))
            .prints("does not differ from the run without overrides\n");
    }
}

#[test]
fn calls_are_made_as_if() {
    let sample = Sample::small();
    let (_, token) = transfer(&sample);
    write(
        &sample,
        &json!({"state": {&token: {
            "code": "0x5f545f5260205ff3", "stateDiff": {"0": 42},
        }}}),
    );
    let answer = sample.ok(&format!(
        "call {token} any()(uint256) --override if.json {CHAIN} -q"
    ));
    assert_eq!(answer.stdout, "42\n");
    for (overrides, message) in [
        (
            json!({"transaction": {"value": 1}}),
            "a call is in no transaction",
        ),
        (json!({"accounts": {}}), "unknown field `accounts`"),
        (json!({"state": {&token: {"state": {}}}}), "stateDiff"),
    ] {
        write(&sample, &overrides);
        sample
            .run(&format!(
                "call {token} any()(uint256) --override if.json {CHAIN}"
            ))
            .ended(2)
            .says(message)
            .says("if.json");
    }
    sample
        .run(&format!(
            "replay transfers --blocks 3 --override if.json {CHAIN}"
        ))
        .ended(2);
}

#[test]
fn code_runs_on_the_state_of_a_block() {
    for sample in Sample::both() {
        // The balance of the holder, returned as a word.
        let code = format!("73{}315f5260205ff3", &HOLDER[2..]);
        for block in [5, 12, 20, 40] {
            let ran = sample.json(&format!(
                "evm run --code {code} --block {block} --json {CHAIN}"
            ));
            let mut output = ran.as_object().unwrap().values().filter_map(Value::as_str);
            let word = output.rfind(|text| text.len() == 66).unwrap();
            let balance = sample.json(&format!("balance {HOLDER} --block {block} --json -q"));
            let expected: u128 = balance["balances"][0]["value"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            assert_eq!(
                u128::from_str_radix(&word[34..], 16).unwrap(),
                expected,
                "{block}: {ran}"
            );
        }
        write(&sample, &json!({"state": {HOLDER: {"balance": "0x2a"}}}));
        let line = format!("evm run --code {code} --block 12 --override if.json {CHAIN}");
        sample.ok(&line).prints("000000000000002a\n");
        // NUMBER returns the number of the block.
        sample
            .ok(&format!("evm run --code 435f5260205ff3 --block 12 {CHAIN}"))
            .prints("000000000000000c\n");
        sample
            .ok(&format!("evm run --code 4300 --block 12 --trace {CHAIN}"))
            .says("\"NUMBER\"");
        sample
            .run(&format!("evm run --code 00 --block 99999 {CHAIN}"))
            .ended(3);
    }
}
