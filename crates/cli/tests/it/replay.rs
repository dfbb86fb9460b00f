//! `txgraph replay`, `txgraph call`, and transfers inside of transactions.

use crate::harness::{Sample, rows};
use serde_json::Value;
use std::fs;
use txgraph_testkit::fixtures;

/// The genesis file of the committed chain, which no list of chains knows. Both layouts
/// hold the same chain.
fn chain() -> String {
    let path = fixtures::testdata().join("small/v2/genesis.json");
    format!("--chain {}", path.display())
}

#[test]
fn everything_that_a_node_holds_is_proved() {
    for sample in Sample::both() {
        let chain = chain();
        let run = sample.ok(&format!("replay --verify-only {chain}"));
        assert_eq!(run.stdout, "");
        assert!(
            run.stderr.contains("replayed 40 blocks, 521 transactions"),
            "{run:?}"
        );
        assert!(!run.stderr.contains("warning"), "{run:?}");
    }
}

#[test]
fn internal_transfers_are_the_same_wherever_they_are_asked_for() {
    for sample in Sample::both() {
        let chain = chain();
        let replayed = rows(&sample.ok(&format!("replay -q --fees {chain}")).stdout);
        let internal = |row: &&_| {
            let row: &std::collections::BTreeMap<String, String> = row;
            row["kind"] == "internal" || row["kind"] == "burn"
        };
        let count = replayed.iter().filter(internal).count();
        assert!(count > 0);
        assert!(replayed.len() > count + 500, "fees of every transaction");
        let lines = sample.ok(&format!("replay -q -f jsonl {chain}")).stdout;
        assert_eq!(lines.lines().count(), count);

        let merged = format!("transfers -q -t eth --with-internal {chain}");
        let merged = rows(&sample.ok(&merged).stdout);
        let plain = rows(&sample.ok("transfers -q -t eth").stdout);
        assert_eq!(merged.len(), plain.len() + count);
        let key = |row: &std::collections::BTreeMap<String, String>| {
            let number = |name: &str| row[name].parse::<u64>().unwrap();
            ["block_number", "transaction_index", "sub_index"].map(number)
        };
        let mut keys: Vec<_> = merged.iter().map(key).collect();
        keys.dedup();
        assert_eq!(keys.len(), merged.len());
        assert!(keys.is_sorted());
        for row in replayed.iter().filter(internal) {
            let same = merged.iter().find(|other| key(other) == key(row)).unwrap();
            for column in [
                "from_address",
                "to_address",
                "value",
                "kind",
                "transaction_hash",
            ] {
                assert_eq!(same[column], row[column], "{row:?}");
            }
        }
    }
}

#[test]
fn a_graph_follows_coins_through_contracts() {
    let sample = Sample::small();
    let chain = chain();
    let inside = rows(&sample.ok(&format!("replay -q {chain}")).stdout);
    let from = &inside[0]["from_address"];
    let graph = format!("graph -q -r {from} -t eth -n 1 --format csv -o -");
    let without = sample.ok(&graph).stdout.lines().count();
    let with = sample
        .ok(&format!("{graph} --with-internal {chain}"))
        .stdout;
    assert!(with.lines().count() > without);
    // Times and hashes, too, are filled in behind the search.
    assert!(rows(&with).iter().all(|row| row["block_timestamp"] != "0"));
}

#[test]
fn traces_are_json_lines() {
    // Layout v1, where transactions are found by hash in every build.
    let [sample, _] = Sample::both();
    let chain = chain();
    let json = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    for trace in ["call", "diff"] {
        let run = sample.ok(&format!("replay -q --blocks 10:20 --trace {trace} {chain}"));
        let lines: Vec<Value> = run.stdout.lines().map(json).collect();
        assert!(lines.len() > 10);
        for line in &lines {
            let result = &line["result"];
            match trace {
                "call" => assert!(result["gasUsed"].is_string(), "{line}"),
                _ => assert!(result["pre"].is_object(), "{line}"),
            }
        }
        let first = &lines[0];
        let hash = first["txHash"].as_str().unwrap();
        for tx in [
            hash.to_owned(),
            format!("{}:{}", first["block"], first["index"]),
        ] {
            let one = sample.ok(&format!("replay -q --tx {tx} --trace {trace} {chain}"));
            assert_eq!(&json(&one.stdout), first, "{tx}");
        }
    }
    let all = sample.ok(&format!("replay -q --trace call {chain}")).stdout;
    // Not those that call themselves a thousand times: serde stops below that.
    let shallow = all
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let longest = shallow.max_by_key(|line: &Value| line.to_string().len());
    let tx = longest.unwrap()["txHash"].as_str().unwrap().to_owned();
    let steps = sample
        .ok(&format!("replay -q --tx {tx} --trace struct {chain}"))
        .stdout;
    let steps: Vec<Value> = steps.lines().map(json).collect();
    assert!(steps.len() > 100);
    assert!(
        steps[0]["pc"] == 0 && steps[0]["opName"].is_string(),
        "{}",
        steps[0]
    );
    assert!(steps.last().unwrap()["gasUsed"].is_string());
}

#[test]
fn contracts_answer_calls_on_any_state() {
    for sample in Sample::both() {
        let chain = chain();
        let token = sample.fixture.truth["tokens"].as_object().unwrap();
        let token = token
            .values()
            .find_map(|token| token["address"].as_str())
            .unwrap();
        let call = format!("call -q --to {token} --data 0x18160ddd {chain}");
        let now = sample.ok(&call).stdout;
        assert_eq!(now.len(), 2 + 64 + 1, "{now}");
        // Before the contract was there nothing answers.
        assert_eq!(sample.ok(&format!("{call} --block 0")).stdout, "0x\n");
        let reverts = sample.run(&format!("call --to {token} --data 0xdeadbeef {chain}"));
        assert_eq!(
            (reverts.status, reverts.stdout.as_str()),
            (1, ""),
            "{reverts:?}"
        );
        assert!(reverts.stderr.contains("revert"), "{reverts:?}");
        let above = sample.run(&format!("{call} --block 1000"));
        assert_eq!(above.status, 3, "{above:?}");
    }
}

#[test]
fn wrong_questions_and_wrong_rules_are_told() {
    let sample = Sample::small();
    let right = chain();
    for (line, status, word) in [
        ("replay --verify-only".to_owned(), 2, "--chain"),
        (format!("replay --blocks 30:50 {right}"), 3, "tip"),
        (format!("replay --tx 5:100 {right}"), 3, "block 5"),
        (format!("replay --tx 0x1234 {right}"), 2, "BLOCK:INDEX"),
        (format!("replay --trace struct {right}"), 2, "--tx"),
        (format!("replay -f parquet {right}"), 2, "--with-internal"),
        ("replay --chain nowhere.json".to_owned(), 2, "nowhere.json"),
    ] {
        let run = sample.run(&line);
        assert_eq!(run.status, status, "{line}: {run:?}");
        assert!(run.stderr.contains(word), "{line}: {run:?}");
    }
    // A chain file with another order of forks: the first block that shows it is named.
    let path = right.strip_prefix("--chain ").unwrap();
    let mut genesis: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let config = genesis["config"].as_object_mut().unwrap();
    config.retain(|key, _| key != "pragueTime" && key != "osakaTime");
    fs::write(sample.path("other.json"), genesis.to_string()).unwrap();
    let other = sample.run("replay --verify-only --chain other.json");
    assert_eq!(other.status, 1, "{other:?}");
    assert!(other.stderr.contains("block "), "{other:?}");
}
