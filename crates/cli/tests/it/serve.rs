//! `txgraph serve`.

use crate::harness::{CHAIN, ROOT, Sample};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A server, its address, and the rest of its standard error.
fn start(sample: &Sample, more: &str) -> (Child, String, impl BufRead + use<>) {
    let mut command = sample.command();
    let listen = match more.contains("--listen") {
        true => "",
        false => "--listen 127.0.0.1:0",
    };
    command.args(format!("serve {listen} {CHAIN} {more}").split_whitespace());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at http://");
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    (child, address, stderr)
}

fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn answers_until_a_signal_and_logs_each_request() {
    for signal in ["-TERM", "-INT"] {
        let sample = Sample::small();
        let (mut child, address, mut stderr) = start(&sample, "");
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}"#;
        let answer = ask(
            &address,
            &format!(
                "POST /?token=secret HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            answer.ends_with(r#"{"jsonrpc":"2.0","id":1,"result":"0x28"}"#),
            "{answer}"
        );
        let kill = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let mut lines = String::new();
        stderr.read_to_string(&mut lines).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{lines}");
        assert!(lines.contains("POST / eth_blockNumber 200 "), "{lines}");
        assert!(!lines.contains("secret"), "{lines}");
        assert!(lines.ends_with("stopped\n"), "{lines}");
    }
}

#[test]
fn other_machines_need_a_token() {
    let sample = Sample::small();
    let refused = sample.run("serve --listen 0.0.0.0:0").ended(2);
    refused.says("other machines need a token");
    fs::write(sample.path("token"), "a long secret\n").unwrap();
    let (mut child, address, mut stderr) = start(&sample, "--listen 0.0.0.0:0 --token-file token");
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(
        line.starts_with("warning: other hosts can connect"),
        "{line}"
    );
    let address = address.replace("0.0.0.0", "127.0.0.1");
    let get = |more: &str| {
        let request = "GET /metrics HTTP/1.1\r\nconnection: close\r\n";
        ask(&address, &format!("{request}host: {address}\r\n{more}\r\n"))
    };
    assert!(get("").starts_with("HTTP/1.1 401"));
    assert!(get("authorization: Bearer a long secret\r\n").starts_with("HTTP/1.1 200"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn only_data_directories_are_served() {
    let sample = Sample::small();
    sample.ok("era export -q -o archives");
    sample.fails(
        "serve --source era:archives --listen 127.0.0.1:0",
        2,
        "cannot",
    );
}

/// The commands that answers of the own API state give the same when they are run.
#[test]
fn commands_of_answers_give_the_same() {
    let sample = Sample::small();
    let (mut child, address, _stderr) = start(&sample, "");
    let get = |path: &str| -> Value {
        let request = format!("GET /v1/{path} HTTP/1.1\r\nconnection: close\r\n");
        let answer = ask(&address, &format!("{request}host: {address}\r\n\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        serde_json::from_str(body).unwrap()
    };
    let run = |answer: &Value| -> String {
        let command = answer["command"].as_str().unwrap();
        let words = command.strip_prefix("txgraph ").unwrap();
        sample.ok(&format!("{words} -q {CHAIN}")).stdout
    };
    let json = |answer: &Value| -> Value { serde_json::from_str(&run(answer)).unwrap() };
    let len = |value: &Value| value.as_array().unwrap().len();
    let end = "0x5149f9591ad4bba78320c6e8f09fca122bd2441e";

    let info = get("info");
    assert_eq!(json(&info)["tip"]["hash"], info["tip"]["hash"]);
    let who = get(&format!("address?address={ROOT}&blocks=5:&internal=true"));
    let shown = json(&who);
    assert_eq!(shown["sent"]["transfers"], who["sent"]);
    assert_eq!(shown["received"]["transfers"], who["received"]);
    assert_eq!(shown["state"]["account"]["nonce"], who["nonce"]);
    let near = get(&format!(
        "neighbors?address={ROOT}&direction=both&limit=10000"
    ));
    let pairs = json(&near);
    let pairs = pairs["result"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), len(&near["edges"]));
    for edge in near["edges"].as_array().unwrap() {
        let same = |pair: &&Value| {
            let token = pair["token_address"].as_str().unwrap_or("native");
            pair["from_address"] == edge["from"]
                && pair["to_address"] == edge["to"]
                && edge["token"] == token
                && edge["kind"] == pair["token_standard"]
        };
        let pair = pairs.iter().find(same).unwrap();
        assert_eq!(pair["count"], edge["count"]);
        assert_eq!(pair["sum"], edge["amount"]);
    }
    let graph = get(&format!(
        "graph?root={ROOT}&hops=3&token=native&min=1000&blocks=-35:"
    ));
    let drawn = json(&graph);
    assert_eq!(len(&drawn["vertices"]), len(&graph["vertices"]));
    assert_eq!(len(&drawn["edges"]), len(&graph["edges"]));
    let path = get(&format!("path?from={ROOT}&to={end}"));
    assert_eq!(len(&json(&path)["shortest"]), len(&path["transfers"]));
    let trace = get(&format!("trace?root={ROOT}&method=lifo"));
    assert_eq!(json(&trace)["result"], trace["result"]);
    let common = get(&format!("common?address={ROOT}&address={end}"));
    assert_eq!(
        len(&json(&common)["counterparties"]),
        len(&common["addresses"])
    );
    let list = get(&format!(
        "transfers?address={ROOT}&direction=out&limit=10000"
    ));
    assert_eq!(run(&list).lines().count(), len(&list["transfers"]));
    let hash = list["transfers"][0]["transaction"].as_str().unwrap();
    let transaction = get(&format!("transaction?hash={hash}"));
    let shown = json(&transaction);
    assert_eq!(shown["fee"], transaction["fee"]);
    assert_eq!(len(&shown["transfers"]), len(&transaction["transfers"]));
    child.kill().unwrap();
    child.wait().unwrap();
}
