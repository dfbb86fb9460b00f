//! `txgraph serve`.

use crate::{harness::Sample, replay::chain};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A server, its address, and the rest of its standard error.
fn start(sample: &Sample, more: &str) -> (Child, String, impl BufRead + use<>) {
    let mut command = sample.command();
    command.args(format!("serve --listen 127.0.0.1:0 {} {more}", chain()).split_whitespace());
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
    let (mut child, address, _stderr) = start(&sample, "--token-file token");
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
    let refused = sample
        .run("serve --source era:archives --listen 127.0.0.1:0")
        .ended(2);
    refused.says("cannot");
}
