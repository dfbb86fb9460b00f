//! `balance`, `nonce`, `code`, `storage`, and calls by signature.

use crate::harness::{CHAIN, Sample, USD6};
use serde_json::Value;
use std::collections::BTreeMap;
use txgraph::U256;
use txgraph_testkit::{fixtures, or_skip, state_answers::wrong_answers};

/// A query to the node: the block, the arguments without it, and the result.
type Asked = (u64, Vec<String>, U256);

/// The node's answers to a method of JSON-RPC, by block.
fn answers(sample: &Sample, method: &str) -> BTreeMap<u64, Vec<Asked>> {
    let mut answers: BTreeMap<u64, Vec<Asked>> = BTreeMap::new();
    for line in sample.fixture.lines("state") {
        if line["method"] != method {
            continue;
        }
        let params = line["params"].as_array().unwrap().iter();
        let mut params: Vec<_> = params.map(|it| it.as_str().unwrap().to_owned()).collect();
        let block = params.pop().unwrap();
        let block = u64::from_str_radix(&block[2..], 16).unwrap();
        let result = line["result"].as_str().unwrap().parse().unwrap_or_default();
        answers
            .entry(block)
            .or_default()
            .push((block, params, result));
    }
    assert!(answers.len() > 2, "{method}");
    answers
}

fn asked(sample: &Sample, line: &str) -> Value {
    sample.json(&format!("{line} -q --json"))
}

#[test]
fn balances_and_nonces_are_those_of_the_node() {
    for sample in Sample::both() {
        for (method, command, list, field) in [
            ("eth_getBalance", "balance", "balances", "value"),
            ("eth_getTransactionCount", "nonce", "nonces", "nonce"),
        ] {
            for (block, asked_of) in answers(&sample, method) {
                let addresses: Vec<_> = asked_of.iter().map(|(_, it, _)| it[0].clone()).collect();
                let line = format!("{command} --block {block} {}", addresses.join(","));
                let answer = asked(&sample, &line);
                assert_eq!(answer["block"], block);
                let info = sample.json("info -q --json");
                assert_eq!(answer["chain"]["chain_id"], info["chain"]["chain_id"]);
                if block == info["tip"]["number"] {
                    assert_eq!(answer["block_hash"], info["tip"]["hash"]);
                }
                let found: BTreeMap<String, String> = answer[list]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|row| {
                        let address = row["address"].as_str().unwrap().to_lowercase();
                        (address, row[field].to_string().replace('"', ""))
                    })
                    .collect();
                for (_, params, expected) in asked_of {
                    let found = &found[&params[0].to_lowercase()];
                    assert_eq!(*found, expected.to_string(), "{method} {params:?} {block}");
                }
            }
        }
    }
}

#[test]
fn storage_and_code_are_those_of_the_node() {
    let sample = Sample::small();
    let mut slots = 0;
    for (block, asked_of) in answers(&sample, "eth_getStorageAt") {
        let mut by_address: BTreeMap<String, Vec<(String, U256)>> = BTreeMap::new();
        for (_, params, value) in asked_of {
            let slots = by_address.entry(params[0].clone()).or_default();
            slots.push((params[1].clone(), value));
        }
        for (address, expected) in by_address {
            let names: Vec<_> = expected.iter().map(|(slot, _)| slot.as_str()).collect();
            let line = format!("storage {address} {} --block {block}", names.join(" "));
            let answer = asked(&sample, &line);
            for (row, (slot, value)) in answer["slots"].as_array().unwrap().iter().zip(&expected) {
                let found: U256 = row["value"].as_str().unwrap().parse().unwrap();
                assert_eq!(found, *value, "{address} {slot} at {block}");
                slots += usize::from(!value.is_zero());
            }
        }
    }
    assert!(slots > 10, "{slots}");

    let mut contracts = 0;
    for line in sample.fixture.lines("state") {
        if line["method"] != "eth_getCode" || contracts == 5 {
            continue;
        }
        let (address, code) = (
            line["params"][0].as_str().unwrap(),
            line["result"].as_str().unwrap(),
        );
        let block = line["params"][1].as_str().unwrap();
        let block = u64::from_str_radix(&block[2..], 16).unwrap();
        let line = format!("code {address} --block {block} -q");
        if code == "0x" {
            sample.fails(&line, 1, "at the end of block");
            continue;
        }
        contracts += 1;
        assert_eq!(sample.ok(&line).stdout.trim(), code);
    }
    assert!(contracts > 2, "{contracts}");
}

/// The account was destroyed in the next block, for which the node stored a wrong previous value.
#[test]
fn storage_that_the_node_has_wrong_is_replayed() {
    let mut wrong = 0;
    for sample in Sample::full() {
        for (block, address, slot, answer, truth) in wrong_answers(&sample.fixture) {
            let line = format!("storage {address} {slot} --block {block}");
            let word = |value: U256| format!("{value:#066x}");
            let found = asked(&sample, &format!("{line} {CHAIN}"));
            assert_eq!(found["slots"][0]["value"], word(truth), "{line}");
            assert_eq!(found["slots"][0]["caveat"], Value::Null);
            // Without the rules of the chain the result says that it may be wrong.
            let found = asked(&sample, &line);
            assert_eq!(found["slots"][0]["value"], word(answer), "{line}");
            let caveat = found["slots"][0]["caveat"].as_str().unwrap();
            assert!(caveat.contains("may be wrong"), "{caveat}");
            let shown = sample.ok(&line).stderr;
            assert!(shown.contains("may be wrong"), "{shown}");
            wrong += 1;
        }
    }
    assert!(wrong > 0 || fixtures::root().is_none());
}

/// The rows of a history are the values of `storage`, in every format.
#[test]
fn a_history_of_a_slot_is_printed() {
    for sample in Sample::both() {
        let (address, slot) = answers(&sample, "eth_getStorageAt")
            .into_values()
            .flatten()
            .find(|(_, _, value)| !value.is_zero())
            .map(|(_, params, _)| (params[0].clone(), params[1].clone()))
            .unwrap();
        let line = format!("storage {address} {slot} --history");
        let rows = sample.rows(&format!("{line} -f csv -q"));
        assert!(!rows.is_empty());
        let json = sample.json(&format!("{line} -f json -q"));
        assert_eq!(json["changes"].as_array().unwrap().len(), rows.len());
        let mut value = json["value_before"].as_str().unwrap().to_owned();
        let mut rows = rows.iter().peekable();
        for block in 1..=40 {
            if let Some(row) = rows.next_if(|it| it["block_number"] == block.to_string()) {
                assert_eq!(row["value_before"], value);
                value.clone_from(&row["value_after"]);
            }
            let state = asked(
                &sample,
                &format!("storage {address} {slot} --block {block}"),
            );
            assert_eq!(
                state["slots"][0]["value"], value,
                "{address} {slot} {block}"
            );
        }
        assert!(rows.next().is_none());
        let page = sample.ok(&line);
        page.prints("Changes of slot 0x").prints(" value after ");
        page.says(" in blocks 1:41; before them, the value was 0x");
        let other = sample.ok(&format!("{line} -b 40"));
        other.says("in block");
        for (line, message) in [
            (format!("storage {address} 0 1 --history"), "one slot"),
            (format!("storage {address} 0 -b 10"), "--history"),
            (format!("{line} --block 10"), "--block"),
            (format!("{line} -b 1:5,7:9"), "consecutive"),
        ] {
            sample.fails(&line, 2, message);
        }
    }
    let pruned = or_skip!(Sample::named("pruned/dev-v2-distance"));
    let line = format!("storage 0x{} 0 --history", "11".repeat(20));
    pruned.fails(&line, 3, "hint: ");
    pruned.ok(&format!("{line} -b 500:"));
}

#[test]
fn calls_by_signature_are_encoded_and_decoded() {
    let sample = Sample::small();
    let holder = "0x02313044651ff0b1160f47dc0fafa1c07e6a10fe";
    let ask = |signature: &str, rest: &str| {
        sample.run(&format!("call {USD6} {signature} {rest} {CHAIN}"))
    };
    let decimals = ask("decimals()(uint8)", "");
    assert_eq!(decimals.stdout, "6\n", "{decimals:?}");
    let symbol = ask("symbol()(string)", "");
    assert_eq!(symbol.stdout, "\"USD6\"\n", "{symbol:?}");
    let raw = ask("decimals()", "");
    assert_eq!(raw.stdout, format!("0x{}06\n", "00".repeat(31)), "{raw:?}");

    let units: u64 = ask("balanceOf(address)(uint256)", holder)
        .stdout
        .trim()
        .parse()
        .unwrap();
    assert!(units > 0);
    let balance = sample.ok(&format!("balance {holder} -t {USD6} {CHAIN} -q"));
    assert!(balance.stdout.ends_with(" USD6\n"), "{balance:?}");
    // Another token claims the same symbol.
    let other = "0x942c2bd6ba43edecce22aa6624bd63956c8f3657";
    let both = sample.ok(&format!("balance {holder} -t {USD6},{other} {CHAIN} -q"));
    for (line, token) in both.stdout.lines().zip([USD6, other]) {
        let line = line.to_lowercase();
        assert!(line.ends_with(&format!(" usd6 ({token})")), "{both:?}");
    }
    let json = asked(&sample, &format!("balance {holder} -t {USD6} {CHAIN}"));
    assert_eq!(json["balances"][0]["value"], units.to_string());
    // A call of an account without code succeeds and returns nothing.
    let signer =
        &sample.rows("transfers -q -f csv --columns transaction_from")[0]["transaction_from"];
    let refused = sample.run(&format!("balance {holder} -t {signer} {CHAIN} -q"));
    assert_ne!(refused.status, 0, "{refused:?}");
    refused.says("is no ERC-20 or ERC-721 token: it does not answer balanceOf");
    let empty = sample.ok(&format!("balance {holder} -t {holder} {CHAIN}"));
    empty.says("has no code at the end of block");
    let slot = sample.run(&format!("storage {holder} 0x {CHAIN}"));
    slot.ended(2);

    for (signature, rest, status, message) in [
        (
            "balanceOf(address)(uint256)",
            "",
            2,
            "has 1 arguments, and 0 are given",
        ),
        (
            "balanceOf(address)(uint256)",
            "5",
            2,
            "is not of type address",
        ),
        ("balanceOf", holder, 2, "is not a signature"),
        (
            "decimals()(string)",
            "",
            1,
            "the 32 returned bytes are not (string)",
        ),
    ] {
        ask(signature, rest).ended(status).says(message);
    }
}

#[test]
fn call_trees_have_names_events_and_returned_values() {
    let sample = Sample::small();
    let all = sample
        .ok(&format!("replay trace call --format tree -q {CHAIN}"))
        .stdout;
    let json = sample.ok(&format!("replay trace call -q {CHAIN}")).stdout;
    // A header for each transaction, a line for each call.
    let calls = json.matches("\"type\":\"").count();
    let lines = |word: &str| all.lines().filter(|line| line.contains(word)).count();
    assert_eq!(lines(" gas]") + lines("SELFDESTRUCT "), calls);
    assert!(lines("event Transfer(from: ") > 50, "{all}");
    assert!(lines("transfer(to: ") > 20);
    assert!(lines("└─ ") > 50 && !all.contains('\u{1b}'));

    let folder = sample.folder.path();
    std::fs::write(
        folder.join("names.txt"),
        "error Odd(uint256 x)\nfunction pay(\n",
    )
    .unwrap();
    let one = sample.ok(&format!(
        "replay trace call --tx 20:3 --format tree --abi names.txt {CHAIN}"
    ));
    assert!(one.stdout.starts_with("20:3 0x"), "{one:?}");
    one.says("names.txt:2: ");
    for (options, message) in [
        (
            "trace diff --format tree",
            "only call frames are written as a tree",
        ),
        ("trace diff --abi names.txt", "names to call trees only"),
        (
            "trace call --format tree -o x.txt",
            "written to standard output",
        ),
        ("trace call --format tree --abi none.txt", "none.txt"),
    ] {
        let refused = sample.run(&format!("replay {options} {CHAIN}"));
        assert!(refused.status == 2 || refused.status == 1, "{refused:?}");
        refused.says(message);
    }
}
