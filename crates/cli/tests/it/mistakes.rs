//! Mistakes that users make, with the exit status and the message of each. The answers are in
//! `testdata/golden/mistakes.txt`; `UPDATE_GOLDEN=1` writes them again.

use crate::harness::{CHAIN, HUB, ROOT, Sample, USD6};
use std::{env, fs};
use txgraph_testkit::fixtures;

/// One mistake per line. The chain ends with block 40.
const MISTAKES: &[&str] = &[
    "info --datadir /nonexistent",
    "info --datadir DATADIR/db",
    "graph",
    "graph -r 0x4545AA9c2a6019f57de4d3c92661c6482e9ab8b0",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b",
    "graph -r 0xzz45aa9c2a6019f57de4d3c92661c6482e9ab8b0",
    "graph -r vitalik.eth",
    "graph -q -r 4545aa9c2a6019f57de4d3c92661c6482e9ab8b",
    "graph -r 0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b",
    "graph -q -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hops -1",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hops two",
    "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --hop 2",
    "transfers --token USDT",
    "transfers -b 30:90",
    "transfers -b 100:",
    "transfers -b 500:400",
    "transfers -b 10-20",
    "transfers --min-value lots",
    "transfers --kind tranfer",
    "transfers --standard erc-20",
    "transfers --kind internal",
    "analyze sumary",
    "analyze summary --table nosuch",
    "transfers -f xlsx",
    "transfers -o out.xlsx",
    "transfers -o no/such/folder/t.csv",
    "query nonsense",
    "query who-funded",
    "query who-funded --set nosuch=1",
    "query who-funded --set root=me",
    "info --config nosuch.toml",
    "graph -r @nosuch",
    "replay transfers --tx 20",
    "replay transfers --tx 20:9999",
    "evm run",
    "evm run --code 00 --fork cancun --override nosuch.json",
    "storage 0xe6f6d16088d808c83d4a56dabd507f96f7a281bc 0 --block 8 -f json",
    "approvals 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --explain",
    "transfers --malformed --explain",
    "transfers --covers 0:41",
    "graph --method fifo",
    "transfers --source lake:x.lake --datadir.static-files s",
    "transfers --source era:x.ere --index i",
];

#[test]
fn mistakes_have_their_golden_messages() {
    let sample = Sample::small();
    let data = sample.fixture.path().display().to_string();
    let folder = sample.folder.path().display().to_string();
    let mut text = String::new();
    for line in MISTAKES {
        let run = sample.run(&line.replace("DATADIR", &data));
        assert_ne!(run.status, 0, "{line}: {run:?}");
        assert_eq!(run.stdout, "", "{line}");
        let message = run.stderr.replace(&data, "DATADIR");
        let message = message.replace(&folder, "FOLDER");
        text += &format!("$ txgraph {line}\n{message}exit status {}\n\n", run.status);
    }
    let golden = fixtures::testdata().join("golden/mistakes.txt");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&golden).unwrap());
}

/// Every end of a branch is stated, although the result is complete.
#[test]
fn ends_of_trails_are_stated() {
    let sample = Sample::small();
    let typo = "0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b1";
    let run = sample.ok(&format!("graph -r {typo} -n 3"));
    let stated =
        format!("no matching transfer sent by root {typo} in these blocks; it has no coin");
    assert!(run.stderr.to_lowercase().contains(&stated), "{run:?}");
    // A query is no better for being saved, or measured.
    for command in [
        format!("query trace-token-out --set root={typo}"),
        format!("analyze pairs -r {typo}"),
    ] {
        let run = sample.ok(&command);
        assert!(run.stderr.to_lowercase().contains(&stated), "{run:?}");
    }

    let run = sample.ok(&format!("graph -r {USD6} -n 3"));
    let stated = format!("root {USD6} is the contract of a token");
    assert!(run.stderr.to_lowercase().contains(&stated), "{run:?}");

    sample
        .ok(&format!("graph -r {ROOT}"))
        .says(" at the last hop: 0x");
    sample
        .ok(&format!("graph -r {ROOT} -n all"))
        .says("without a further matching transfer up to block 40: 0x");
    let run = sample.ok(&format!("graph -r {ROOT} -n 0 -t {HUB}"));
    run.says("1 branch ends at the last hop");
    assert!(!run.stderr.contains("no matching transfer"), "{run:?}");
    let quiet = sample.ok(&format!("graph -q -r {ROOT} -n all"));
    assert_eq!(quiet.stderr, "");
}

/// A token or an address that never occurs is stated, by every command that takes one.
#[test]
fn tokens_and_addresses_that_never_occur_are_stated() {
    let sample = Sample::small();
    let (token, absent) = (
        "0x1111111111111111111111111111111111111111",
        "0x2222222222222222222222222222222222222222",
    );
    for (command, kind, named) in [
        (format!("graph -r {ROOT} -t {token}"), "token", token),
        (format!("analyze summary -t {token}"), "token", token),
        (format!("analyze components -t {token}"), "token", token),
        (
            format!("analyze pairs -r {ROOT} -t {token}"),
            "token",
            token,
        ),
        (format!("transfers -t {token}"), "token", token),
        (format!("transfers -a {absent},{ROOT}"), "address", absent),
        (
            format!("query trace-token-out --set root={ROOT} --set token={token}"),
            "token",
            token,
        ),
    ] {
        let run = sample.ok(&command);
        let stated = format!("no matching transfer of {kind} {named} in these blocks");
        run.says(&stated);
        assert!(
            !run.stderr.contains(&format!("of address {ROOT}")),
            "{run:?}"
        );
    }
    sample.ok(&format!("transfers -t {token} -o t.csv"));
    let metadata = fs::read_to_string(sample.folder.path().join("t.csv.meta.json")).unwrap();
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    assert_eq!(metadata["unseen"]["first_tokens"][0], token, "{metadata}");
    // What is there is not mentioned.
    let run = sample.ok("transfers");
    assert!(!run.stderr.contains("no matching transfer"), "{run:?}");
}

/// The metadata, tables and pictures state what stderr does.
#[test]
fn ends_of_trails_are_in_metadata_and_pictures() {
    let sample = Sample::small();
    sample.ok(&format!(
        "graph -r {ROOT} -n 2 -o g.json -o g.dot -o g.csv --vertices v.csv \
         --columns is_contract,end_reason"
    ));
    let read = |name: &str| fs::read_to_string(sample.folder.path().join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("g.json")).unwrap();
    let vertices = json["vertices"].as_array().unwrap();
    // A naive count, vertex by vertex, from the columns that were there before.
    let mut expected = std::collections::BTreeMap::<String, u64>::new();
    for vertex in vertices {
        let is_contract = vertex["is_contract"].as_bool().unwrap();
        let nowhere = vertex["out_degree"] == 0;
        let reason = match vertex["expansion"].as_str().unwrap() {
            "expanded" if !nowhere => None,
            "expanded" if is_contract => Some("contract"),
            "expanded" => Some("no_transfers"),
            other => Some(other),
        };
        assert_eq!(vertex["end_reason"].as_str(), reason, "{vertex}");
        *expected.entry(reason.unwrap_or("").to_owned()).or_default() += 1;
    }
    expected.remove("");
    let stated: std::collections::BTreeMap<_, _> = json["metadata"]["ends"]
        .as_array()
        .unwrap()
        .iter()
        .map(|end| {
            let reason = end["reason"].as_str().unwrap().to_owned();
            (reason, end["addresses"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(stated, expected);
    assert!(expected.contains_key("last_hop"), "{expected:?}");
    // The same columns in the table of vertices, after the usual ones.
    let table = read("v.csv");
    let mut lines = table.lines();
    let head = lines.next().unwrap();
    assert!(head.ends_with(",chain_id,is_contract,end_reason"), "{head}");
    for (line, vertex) in lines.zip(vertices) {
        let end = vertex["end_reason"].as_str().unwrap_or_default();
        let tail = format!(",{},{end}", vertex["is_contract"]);
        assert!(line.ends_with(&tail), "{line} {vertex}");
    }
    assert!(read("g.dot").contains("branch ends: last hop; ask for more hops"));
    sample.fails(
        &format!("graph -r {ROOT} --columns end_reason"),
        2,
        "a vertex column",
    );
}

#[test]
fn accounts_without_code_are_stated() {
    let sample = Sample::small();
    let run = sample.run(&format!("token {ROOT} {USD6} {CHAIN}")).ended(1);
    run.says("is not a token: the account has no code");
    assert_eq!(run.stdout.lines().count(), 2, "{run:?}");
    for asked in [[USD6, HUB], [HUB, USD6]] {
        let answer = sample.run(&format!("token {} {CHAIN}", asked.join(" ")));
        let lines = answer.stdout.lines().map(str::to_lowercase);
        for (line, asked) in lines.zip(asked) {
            assert!(line.starts_with(asked), "{answer:?}");
        }
    }
    sample.ok(&format!("token {USD6} {CHAIN}"));

    sample
        .ok(&format!("call --to {ROOT} {CHAIN}"))
        .says("has no code at the end of block");
    let run = sample.ok(&format!("call --to {USD6} --data 0x18160ddd {CHAIN}"));
    assert!(!run.stderr.contains("has no code"), "{run:?}");
}

/// Twenty roots are looked up in the state. The result says how many are not.
#[test]
fn roots_that_are_not_looked_up_are_counted() {
    let sample = Sample::small();
    let roots = (1..=25).map(|number| format!("0x{:040x}\n", 0x1000_0000_u64 + number));
    std::fs::write(sample.path("roots.txt"), roots.collect::<String>()).unwrap();
    let answer = sample.ok("graph -r @roots.txt -f json");
    answer.says("5 roots were not looked up");
    let document = answer.json();
    assert_eq!(document["metadata"]["unchecked"]["roots"], 5);
    sample.run("graph -r @roots.txt --follow-top 0").ended(2);
}
