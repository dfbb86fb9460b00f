//! `txgraph case` on cases of other people: everything in them can be made up.

use crate::harness::{ROOT, Sample, USD6, run, words};
use alloy_primitives::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{fs, os::unix::fs::symlink};

/// A case with one answer.
fn case() -> Sample {
    let sample = Sample::small();
    sample.ok("case new c");
    sample.ok(&format!("case add c -- graph -r {ROOT} -n 3"));
    sample
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Changes the record of the answer, and the hashes so that they fit.
fn forge(sample: &Sample, change: impl FnOnce(&mut Value)) {
    let path = sample.path("c/answers/01-graph/answer.json");
    let mut record = sample.read_json("c/answers/01-graph/answer.json");
    change(&mut record);
    for file in record["files"].as_array_mut().unwrap() {
        let name = file["name"].as_str().unwrap();
        let bytes = fs::read(path.with_file_name(name)).unwrap();
        (file["bytes"], file["sha256"]) = (bytes.len().into(), sha256(&bytes).into());
    }
    let text = record.to_string();
    fs::write(path, &text).unwrap();
    let mut case = sample.read_json("c/case.json");
    case["answers"][0]["sha256"] = sha256(text.as_bytes()).into();
    fs::write(sample.path("c/case.json"), case.to_string()).unwrap();
}

/// Changes a file of the answer, and the hashes so that they fit.
fn forge_file(sample: &Sample, name: &str, [old, new]: [&str; 2]) {
    let path = format!("c/answers/01-graph/{name}");
    let text = sample.read(&path);
    assert!(text.contains(old), "{text}");
    fs::write(sample.path(&path), text.replace(old, new)).unwrap();
    forge(sample, |_| {});
}

#[test]
fn an_edited_report_is_noticed() {
    let sample = case();
    for name in ["report.html", "report.md"] {
        let path = format!("c/{name}");
        sample.ok(&format!("case report c -o {path}"));
        let report = sample.read(&path);
        sample
            .ok("case verify c")
            .prints(&format!("{name}: as the case gives it"));
        fs::write(sample.path(&path), report.replace("8,790", "8,791") + " ").unwrap();
        let differs = format!("{path}: the report differs");
        sample.fails("case verify c", 1, &differs);
        sample.fails("case verify c --rerun", 1, &differs);
        fs::write(sample.path(&path), report).unwrap();
    }
    // A report from before the last note is not the one of the case.
    sample.ok("case note c late");
    sample.fails("case verify c", 1, "`txgraph case report DIR --overwrite`");
}

#[test]
fn forged_notes_and_pictures_are_noticed_by_a_rerun() {
    let sample = case();
    let done = sample.ok("case verify c --rerun");
    done.prints("the same but for times: stderr.txt");
    forge_file(&sample, "stderr.txt", ["at the last hop", "at exchanges"]);
    sample.ok("case verify c");
    let failed = sample.run("case verify c --rerun").ended(1);
    failed.says("the command gives another answer: stderr.txt");
    failed.says("only one stderr.txt has the line `2 branches end at");
    forge_file(&sample, "stderr.txt", ["at exchanges", "at the last hop"]);
    sample.ok("case verify c --rerun");

    forge_file(&sample, "graph.svg", ["</svg>", "<!-- other --></svg>"]);
    sample.fails("case verify c --rerun", 1, "another answer: graph.svg");
    forge(&sample, |record| record["last_block_hash"] = "0x11".into());
    let failed = sample.run("case verify c --rerun").ended(1);
    failed.says("the last block had the hash 0x11, and has 0x5aab93eb36231dd5");
    forge(&sample, |record| record["program"] = "txgraph 0.0.1".into());
    sample.ok("case verify c");
    let failed = sample.run("case verify c --rerun").ended(1);
    failed.says("not compared: graph.svg");
}

#[test]
fn a_rerun_uses_no_server_index_or_configuration_of_the_record() {
    let sample = case();
    let options = json!([
        "--index=./idx",
        "--head=http://127.0.0.1:9/key",
        "--config=other.toml",
        "--source=rpc:http://127.0.0.1:9/",
        "--source=lake:s3://bucket/x",
        "--source=csv:c/labels.csv",
        "--datadir.static-files=c/answers",
        "--threads=2"
    ]);
    forge(&sample, |record| record["options"] = options.clone());
    let done = sample.ok("case verify c --rerun");
    done.says("01-graph: txgraph --threads=2 graph --root=0x4545");
    // What is given again is used, and shown without keys.
    sample
        .run("case verify c --rerun --source rpc:http://a:b@127.0.0.1:9/key")
        .ended(1)
        .says("txgraph --threads=2 '--source=rpc:http://127.0.0.1:9/…' graph");
    let data = sample.fixture.path().display().to_string();
    forge(&sample, |record| {
        record["options"] = json!(["--source=csv:x.csv", "--source-columns=from=to,to=from"]);
    });
    let done = sample.ok(&format!("case verify c --rerun --datadir {data}"));
    done.says(&format!("01-graph: txgraph --datadir={data} graph"));
    // Nor can they be among the arguments that the case added.
    forge(&sample, |record| {
        record["options"] = json!([]);
        let added = record["added"].as_array_mut().unwrap();
        added.push("--index=./idx".into());
    });
    sample.fails("case verify c --rerun", 1, "options of every command");
}

/// A case can have files beside its answers.
#[test]
fn a_configuration_in_a_case_is_used_only_if_it_is_named() {
    let sample = case();
    fs::write(sample.path("c/txgraph.toml"), "[run]\nindex = 'idx'\n").unwrap();
    sample.ok("case verify c --rerun");
    let inner = sample.path("c/answers/01-graph");
    fs::copy(sample.path("c/txgraph.toml"), inner.join("txgraph.toml")).unwrap();
    let in_folder = |folder: &str, line: &str| {
        let mut command = sample.command();
        run(command.args(words(line)).current_dir(sample.path(folder)))
    };
    for (folder, line) in [
        ("c", "case verify . --rerun"),
        ("c", "transfers"),
        ("c/answers/01-graph", "transfers"),
    ] {
        let refused = in_folder(folder, line).ended(2);
        refused.says("txgraph.toml: this configuration is in the case /");
        refused.says("name it: --config txgraph.toml");
    }
    let named = in_folder("c", "transfers --config txgraph.toml");
    named.ended(1).says("idx");
}

#[test]
fn only_regular_files_are_read() {
    for name in [
        "case.json",
        "labels.csv",
        "answers/01-graph/answer.json",
        "answers/01-graph/graph.csv",
        "report.html",
    ] {
        let sample = case();
        sample.ok("case report c");
        let path = sample.path("c").join(name);
        fs::remove_file(&path).unwrap();
        // One of these is a regular file to those who follow links, and one has no end.
        for target in ["/proc/self/status", "/dev/zero"] {
            symlink(target, &path).unwrap();
            let (status, why) = match (name, target) {
                ("case.json", "/dev/zero") => (2, "not a case"),
                _ => (1, "this is not a regular file"),
            };
            sample.fails("case verify c", status, why);
            if name != "report.html" {
                sample.fails("case report c -o c/other.html", status, why);
            }
            fs::remove_file(&path).unwrap();
        }
    }
    let sample = case();
    let table = sample.path("c/answers/01-graph/graph.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text + "more").unwrap();
    sample.fails("case verify c", 1, "it has more than 1794 bytes");
}

#[test]
fn urls_with_keys_are_refused() {
    let sample = case();
    for (option, shown) in [
        ("--source rpc:https://user:pass@127.0.0.1:9", "ETH_RPC_URL"),
        ("--source rpc:https://127.0.0.1:9/pass", "ETH_RPC_URL"),
        ("--source rpc:https://127.0.0.1:9?key=pass", "ETH_RPC_URL"),
        ("--head https://user:pass@127.0.0.1:9", "TXGRAPH_HEAD"),
    ] {
        for line in [
            format!("case add c {option} -- transfers"),
            format!("case add c -- transfers {option}"),
        ] {
            let run = sample.run(&line).ended(2);
            run.says("may contain a key or a password").says(shown);
            assert!(!run.stderr.contains("pass@") && !run.stderr.contains("/pass"));
        }
    }
    // Without a key, only the server is missing.
    let run = sample.run("case add c --source rpc:http://127.0.0.1:9/ -- tx 1:0");
    run.ended(1);
}

/// The content of lists of names is a part of the query, wherever they are.
#[test]
fn answers_state_the_names_that_they_used() {
    let sample = case();
    let list = |decimals: u32| format!("address,symbol,decimals\n{USD6},USD6,{decimals}\n");
    for (path, text) in [
        ("six.csv", list(6)),
        ("copy.csv", list(6)),
        ("three.csv", list(3)),
        ("names.csv", format!("address,name\n{ROOT},Thief\n")),
        (
            "txgraph.toml",
            "[output]\ntoken-list = 'three.csv'\n".into(),
        ),
    ] {
        fs::write(sample.path(path), text).unwrap();
    }
    let question = |name: &str, options: &str| {
        let line = format!("case add c --name {name} -- transfers -o t.csv {options}");
        sample.ok(&line);
        let path = format!("c/answers/{name}");
        assert_eq!(
            sample.read_json(&format!("{path}/t.csv.meta.json"))["command"],
            "transfers"
        );
        let question = &sample.read_json(&format!("{path}/t.csv.meta.json"))["question"];
        let record = sample.read_json(&format!("{path}/answer.json"));
        let inputs = record["inputs"].as_array().unwrap().iter();
        let inputs: Vec<_> = inputs
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect();
        (question.clone(), inputs)
    };
    let columns = "--columns all,amount,symbol";
    let (six, inputs) = question("six", &format!("{columns} --token-list six.csv"));
    assert_eq!(inputs, ["six.csv", "txgraph.toml"]);
    let (copy, _) = question("copy", &format!("{columns} --token-list copy.csv"));
    let (three, inputs) = question("three", columns);
    assert_eq!(inputs, ["three.csv", "txgraph.toml"]);
    assert_eq!(six, copy);
    assert_ne!(six, three);
    assert_eq!(six["token-list"]["keccak256"].as_str().unwrap().len(), 66);
    // Without amounts, the list has no effect.
    let (plain, _) = question("plain", "");
    assert_eq!(plain.get("token-list"), None);

    let labels = "--columns all,from_label --labels names.csv";
    let (named, _) = question("named", labels);
    assert!(named["labels"]["keccak256"].is_string(), "{named}");
    let graph = |options: &str| {
        sample.ok(&format!("graph -r {ROOT} -o g.json --overwrite {options}"));
        sample.read_json("g.json")["metadata"]["question"].clone()
    };
    let named = graph("--labels names.csv");
    assert!(named["labels"]["keccak256"].is_string(), "{named}");
    assert_ne!(named, graph(""));
    let json = sample.json(&format!("address {ROOT} --json --labels names.csv"));
    let question = &json["metadata"]["question"];
    assert_eq!(question["labels"], named["labels"]);
    assert!(question["token-list"].is_object(), "{question}");
}
