//! `txgraph replay`, `txgraph call`, and transfers inside of transactions.

use crate::harness::{CHAIN, Row, Sample, json_lines, rows};
use serde_json::Value;
use std::fs;
use txgraph_testkit::{edit, or_skip};

/// The rules of a chain that is not built in are found in its data directory.
#[test]
fn genesis_files_are_found() {
    let sample = Sample::small();
    let (data, query) = (sample.fixture.path(), "replay transfers -q --blocks 10:12");
    let file = sample.path("genesis.json");
    let expected = sample.ok(&format!("{query} {CHAIN}")).stdout;
    sample.fails(query, 2, "genesis.json");
    let inside = data.join("genesis.json");
    fs::copy(&file, &inside).unwrap();
    assert_eq!(sample.ok(query).stdout, expected);
    // The file of another chain is not used.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&inside, text.replace("0x65920c38", "0x65920c39")).unwrap();
    sample.fails(query, 2, "the given rules are for genesis");
}

#[test]
fn everything_that_a_node_stores_is_verified() {
    for sample in Sample::both() {
        let run = sample.ok(&format!("replay verify --explain {CHAIN}"));
        assert_eq!(run.stdout, "");
        run.says("plan: the state before each block");
        run.says("replayed 40 blocks, 521 transactions");
        assert!(!run.stderr.contains("warning"), "{run:?}");
    }
}

#[test]
fn replay_and_transfers_find_the_same_internal_transfers() {
    for sample in Sample::both() {
        let replayed = sample.rows(&format!("replay transfers -q --fees {CHAIN}"));
        let internal = |row: &&_| {
            let row: &Row = row;
            row["kind"] == "internal" || row["kind"] == "burn"
        };
        let count = replayed.iter().filter(internal).count();
        assert!(count > 0);
        assert!(replayed.len() > count + 500, "fees of every transaction");
        let lines = sample
            .ok(&format!("replay transfers -q -f jsonl {CHAIN}"))
            .stdout;
        assert_eq!(lines.lines().count(), count);

        let merged = format!("transfers -q -t eth --with-internal {CHAIN}");
        let merged = sample.rows(&merged);
        let plain = sample.rows("transfers -q -t eth");
        assert_eq!(merged.len(), plain.len() + count);
        let key = |row: &Row| {
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
    let inside = sample.rows(&format!("replay transfers -q {CHAIN}"));
    let from = &inside[0]["from_address"];
    let graph = format!("graph -q -r {from} -t eth -n 1 --format csv -o -");
    let without = sample.ok(&graph).stdout.lines().count();
    let with = sample
        .ok(&format!("{graph} --with-internal {CHAIN}"))
        .stdout;
    assert!(with.lines().count() > without);
    // The search fills in times and hashes, too.
    assert!(rows(&with).iter().all(|row| row["block_timestamp"] != "0"));
}

#[test]
fn traces_are_json_lines() {
    // Layout v1, where every build finds transactions by hash.
    let [sample, _] = Sample::both();
    let json = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    for trace in ["call", "diff"] {
        let run = sample.ok(&format!("replay trace {trace} -q --blocks 10:20 {CHAIN}"));
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
            let one = sample.ok(&format!("replay trace {trace} -q --tx {tx} {CHAIN}"));
            assert_eq!(&json(&one.stdout), first, "{tx}");
        }
    }
    let all = sample.ok(&format!("replay trace call -q {CHAIN}")).stdout;
    // Not those with a thousand nested calls: serde has a lower limit.
    let shallow = all
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let longest = shallow.max_by_key(|line: &Value| line.to_string().len());
    let tx = longest.unwrap()["txHash"].as_str().unwrap().to_owned();
    let steps = sample
        .ok(&format!("replay trace struct -q --tx {tx} {CHAIN}"))
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
fn finds_transactions_by_hash() {
    for sample in Sample::both() {
        let traces = format!("replay trace call -q --blocks 18:22 {CHAIN}");
        let traces = sample.ok(&traces).stdout;
        let lines: Vec<&str> = traces.lines().collect();
        for line in [lines[0], lines[lines.len() - 1]] {
            let trace: Value = serde_json::from_str(line).unwrap();
            let hash = trace["txHash"].as_str().unwrap();
            let ask = format!("replay trace call -q --tx {hash} {CHAIN}");
            assert_eq!(sample.ok(&ask).stdout.trim_end(), line);
            let inside = sample.ok(&format!("{ask} --from-block 18 --to-block 21"));
            assert_eq!(inside.stdout.trim_end(), line);
            let outside = sample.run(&format!("{ask} --blocks 22:"));
            assert_eq!(
                (outside.status, &outside.stdout[..]),
                (3, ""),
                "{outside:?}"
            );
            let message = format!("transaction {hash} is not in blocks 22");
            outside.says(&message);
        }
        let unknown = format!("0x{}", "ee".repeat(32));
        let run = sample
            .run(&format!("replay transfers --tx {unknown} {CHAIN}"))
            .ended(3);
        let message = format!("transaction {unknown} is not in blocks 0");
        run.says(&message);
        sample
            .run(&format!("replay transfers --tx 20:3 --blocks 20 {CHAIN}"))
            .ended(2);
    }
}

#[test]
fn contracts_answer_calls_on_any_state() {
    for sample in Sample::both() {
        let token = sample.fixture.truth["tokens"].as_object().unwrap();
        let token = token
            .values()
            .find_map(|token| token["address"].as_str())
            .unwrap();
        let call = format!("call -q --to {token} --data 0x18160ddd {CHAIN}");
        let now = sample.ok(&call).stdout;
        assert_eq!(now.len(), 2 + 64 + 1, "{now}");
        // Before the contract exists, the output is empty.
        assert_eq!(sample.ok(&format!("{call} --block 0")).stdout, "0x\n");
        let reverts = sample
            .run(&format!("call --to {token} --data 0xdeadbeef {CHAIN}"))
            .refused(1);
        reverts.says("revert");
        sample.run(&format!("{call} --block 1000")).ended(3);
    }
}

#[test]
fn wrong_queries_and_wrong_rules_are_reported() {
    let sample = Sample::small();
    for (line, status, word) in [
        ("replay verify".to_owned(), 2, "--chain"),
        (format!("replay transfers --blocks 30:50 {CHAIN}"), 3, "tip"),
        (format!("replay transfers --tx 5:100 {CHAIN}"), 3, "block 5"),
        (
            format!("replay transfers --tx 0x1234 {CHAIN}"),
            2,
            "BLOCK:INDEX",
        ),
        (format!("replay trace struct {CHAIN}"), 2, "--tx"),
        (
            "replay transfers --chain nowhere.json".to_owned(),
            1,
            "nowhere.json",
        ),
        (format!("replay transfers --tx 1000:0 {CHAIN}"), 3, "1000"),
        (format!("replay balances 0x12 {CHAIN}"), 2, "0x12"),
    ] {
        sample.fails(&line, status, word);
    }
    // The hash of block 0 does not depend on the chain id; transactions do.
    let mut genesis = sample.fixture.genesis.clone();
    genesis["config"]["chainId"] = 77.into();
    fs::write(sample.path("id.json"), genesis.to_string()).unwrap();
    let other = sample.run("replay verify --chain id.json").ended(2);
    other.says("for chain 77");
    if let Some(pruned) = Sample::named("pruned/dev-v2-distance") {
        pruned
            .run(&format!("replay transfers --blocks 100:120 {CHAIN}"))
            .refused(3)
            .says("pruned up to block 449");
    }
    // A chain file with other forks: the first block that differs is named.
    let mut genesis = sample.fixture.genesis.clone();
    let config = genesis["config"].as_object_mut().unwrap();
    config.retain(|key, _| key != "pragueTime" && key != "osakaTime");
    fs::write(sample.path("other.json"), genesis.to_string()).unwrap();
    sample.fails("replay verify --chain other.json", 1, "block ");
}

#[test]
fn balances_that_disagree_with_logs() {
    let [sample, _] = Sample::both();
    let token = |sample: &Sample, key: &str| {
        let token = &sample.fixture.truth["tokens"][key]["address"];
        token.as_str().unwrap().to_owned()
    };
    let [honest, wrapped, multi] = ["oza", "weth", "multi"].map(|key| token(&sample, key));
    let run = sample.ok(&format!(
        "replay balances {honest},{wrapped} {} {CHAIN}",
        token(&sample, "fee")
    ));
    assert_eq!(run.stdout.lines().count(), 1, "{run:?}");
    run.says("balances with the logs");
    sample
        .ok(&format!("replay balances {multi} {CHAIN}"))
        .says("did not answer balanceOf");

    let sample = or_skip!(Sample::named("dev-v2"));
    let tokens = ["reb", "b32"].map(|key| token(&sample, key));
    let query = format!("replay balances {} -q {CHAIN}", tokens.join(","));
    // One grows in a transaction, in the next the other is burnt without a log.
    let differing = sample.rows(&format!("{query} --blocks 128"));
    assert_eq!(differing.len(), 2, "{differing:?}");
    for (row, (token, index)) in differing.iter().zip(tokens.iter().zip(["9", "10"])) {
        assert_eq!(
            (&row["token_address"], &row["transaction_index"][..]),
            (token, index)
        );
        assert_eq!(row["logged_change"], "0");
    }
    assert_eq!(differing[1]["actual_change"], "-100000000000000000000");
    let line = sample.json(&format!("{query} --tx 128:10 -f jsonl"));
    for (column, value) in &differing[1] {
        let answer = line[column].as_str().map(str::to_owned);
        assert_eq!(&answer.unwrap_or_else(|| line[column].to_string()), value);
    }
}

#[test]
fn traces_of_other_clients() {
    let sample = Sample::small();
    sample.ok(&format!(
        "replay trace struct -q --tx 20:3 -o steps.txt {CHAIN}"
    ));
    let against = |file: &str| sample.run(&format!("replay compare {file} --tx 20:3 {CHAIN}"));
    let same = against("steps.txt");
    assert_eq!((same.status, same.stdout.as_str()), (0, ""), "{same:?}");
    same.says("steps agree");

    let mut lines = json_lines(&sample.read("steps.txt"));
    lines[7]["gas"] = "0x1".into();
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(sample.path("other.txt"), text.join("\n")).unwrap();
    lines.pop();
    for line in &mut lines {
        line["op"] = line["opName"].take();
    }
    let logs = serde_json::json!({"jsonrpc": "2.0", "result": {"structLogs": lines}});
    fs::write(sample.path("other.json"), logs.to_string()).unwrap();
    for file in ["other.txt", "other.json"] {
        let other = against(file).ended(1);
        for word in [
            "block 20, transaction 3 (0x",
            "step 7 differs in gas",
            "gas 1,",
        ] {
            other.says(word);
        }
    }
    fs::write(sample.path("none.txt"), "{}").unwrap();
    for (line, status, word) in [
        (
            format!("replay compare none.txt --tx 20:3 {CHAIN}"),
            2,
            "none.txt",
        ),
        (
            format!("replay compare absent.txt --tx 20:3 {CHAIN}"),
            1,
            "absent.txt",
        ),
        (format!("replay compare steps.txt {CHAIN}"), 2, "--tx"),
    ] {
        sample.fails(&line, status, word);
    }
}

/// A flipped bit of a signature changes the hash of a transaction, but not its execution.
#[test]
fn verification_proves_transactions() {
    let sample = Sample::small();
    let copy = sample.with_damaged_signature();
    for (line, status) in [
        ("replay transfers -q", 0),
        ("replay verify", 1),
        ("replay transfers -q --check-roots", 1),
    ] {
        let line = format!("{line} {CHAIN} --datadir {}", copy.path().display());
        let run = sample.run(&line).ended(status);
        assert_eq!(
            run.stderr.contains("transactions root"),
            status == 1,
            "{line}: {run:?}"
        );
    }
}

/// A database without blocks after the genesis is not a wrong command line.
#[test]
fn genesis_cannot_be_replayed() {
    let sample = Sample::small();
    sample.fails(
        &format!("replay verify --blocks 0 {CHAIN}"),
        2,
        "block 0 (genesis) cannot be replayed",
    );
    let copy = sample.fixture.unpack();
    edit::delete(copy.path(), "StageCheckpoints", b"Finish");
    let line = format!("replay verify {CHAIN} --datadir {}", copy.path().display());
    sample.fails(&line, 3, "block 0 (genesis) only");
}

/// Damage is status 1 and names file and row. What was complete before it stays printed.
#[test]
fn damage_ends_a_replay_where_it_is() {
    let sample = Sample::small();
    let whole = sample
        .ok(&format!("replay transfers -q --fees {CHAIN}"))
        .stdout;
    let copy = sample.fixture.unpack();
    let path = copy
        .path()
        .join("static_files/static_file_transactions_0_499999");
    let mut bytes = fs::read(&path).unwrap();
    // Not the last one, which contains the chain id.
    let (from, until) = (bytes.len() / 2, bytes.len() * 3 / 4);
    bytes[from..until].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let line = format!(
        "replay transfers -q --fees {CHAIN} --datadir {}",
        copy.path().display()
    );
    let broken = sample.run(&line).ended(1);
    broken.says("row ");
    assert!(broken.stdout.lines().count() > 10, "{broken:?}");
    assert!(whole.starts_with(&broken.stdout), "{broken:?}");
}
