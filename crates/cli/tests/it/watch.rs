//! `watch`: the transfers of new blocks, beside a node that appends and removes blocks.

use crate::{
    harness::{Sample, bare},
    signals::{read_until, send, status},
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
};
use txgraph_chaingen::{Config, Layout, LiveNode, serve_if_asked};
use txgraph_testkit::rpc::read_request;

/// The process of the node.
#[test]
fn imitated_node() {
    serve_if_asked();
}

/// A transfer, as a line describes it.
type Row = (u64, u64, Option<u64>, String, String, String);

/// The lines of a process: the rows that hold.
struct Watched {
    child: Child,
    lines: BufReader<ChildStdout>,
    rows: Vec<Row>,
    removed: Vec<u64>,
}

impl Watched {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command: Command = bare(folder);
        command
            .arg("watch")
            .args(arguments)
            .args(["--datadir", "node"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The first block to watch is known when the note is there.
        let mut notes = BufReader::new(child.stderr.take().unwrap());
        read_until(&mut notes, "watching from block");
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            lines,
            rows: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Reads lines up to one about this transfer.
    fn read_to(&mut self, last: &Row) {
        while self.rows.last() != Some(last) {
            let mut line = String::new();
            assert_ne!(self.lines.read_line(&mut line).unwrap(), 0);
            let row: Value = serde_json::from_str(&line).unwrap();
            if let Some(first) = row["removed_from_block"].as_u64() {
                self.removed.push(first);
                self.rows.retain(|row| row.0 < first);
                continue;
            }
            let text = |column: &str| row[column].as_str().unwrap().to_owned();
            self.rows.push((
                row["block_number"].as_u64().unwrap(),
                row["transaction_index"].as_u64().unwrap(),
                row["log_index"].as_u64(),
                text("from_address").to_lowercase(),
                text("to_address").to_lowercase(),
                text("value"),
            ));
        }
    }
}

/// The transfers of some blocks that the addresses take part in, as the node has made them.
fn made(
    node: &mut LiveNode,
    blocks: std::ops::RangeInclusive<u64>,
    who: &BTreeSet<String>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for block in blocks {
        for it in node.transfers(block).unwrap() {
            let (from, to) = (
                format!("{:?}", it.from_address),
                format!("{:?}", it.to_address),
            );
            if who.contains(&from) || who.contains(&to) {
                rows.push((
                    block,
                    it.transaction_index.into(),
                    it.log_index.map(u64::from),
                    from,
                    to,
                    it.value.to_string(),
                ));
            }
        }
    }
    rows
}

#[test]
fn new_and_removed_blocks_are_reported() {
    for layout in [Layout::V1, Layout::V2] {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            txs_per_block: 8,
            blocks_per_file: 10,
            commit_blocks: 1,
            finality: 60,
            truth: false,
            ..Config::small(31, layout)
        };
        let place = dir.path().join("node");
        let mut node = LiveNode::start("watch::imitated_node", &place, config).unwrap();
        node.append(20).unwrap();
        let first = node.transfers(20).unwrap();
        let who: BTreeSet<String> = (first.iter())
            .flat_map(|it| [it.from_address, it.to_address])
            .map(|address| format!("{address:?}"))
            .collect();
        let list: Vec<_> = who.iter().map(String::as_str).collect();
        fs::write(dir.path().join("who.txt"), list.join("\n")).unwrap();

        let mut new = Watched::start(dir.path(), &["@who.txt"]);
        let mut old = Watched::start(dir.path(), &["@who.txt", "--blocks", "-5:"]);
        // More blocks are removed than were watched, then fewer.
        let mut from = 21;
        for (remove, append) in [(0, 6), (9, 12), (2, 3), (1, 1)] {
            if remove > 0 {
                let to = node.tip().number - remove;
                node.unwind(to).unwrap();
                from = from.min(to + 1);
            }
            node.append(append).unwrap();
            let tip = node.tip().number;
            let expected = made(&mut node, from..=tip, &who);
            let last = expected.last().unwrap();
            assert_eq!(last.0, tip, "the addresses are active");
            new.read_to(last);
            assert_eq!(new.rows, expected);
            old.read_to(last);
            assert_eq!(old.rows, made(&mut node, 16..=tip, &who));
        }
        assert_eq!(new.removed, [18, 28, 30]);
        for watched in [new, old] {
            send("-INT", &watched.child);
            assert_eq!(status(watched.child), Some(130));
        }

        let mut once = Watched::start(dir.path(), &["@who.txt", "--first"]);
        let before = node.tip().number;
        while once.child.try_wait().unwrap().is_none() && node.tip().number < before + 60 {
            node.append(1).unwrap();
        }
        assert_eq!(status(once.child), Some(0));
    }
}

/// As in `txgraph watch … | head -1`: a transfer that nothing reads may never come.
#[test]
fn it_ends_when_nothing_reads_it_any_more() {
    let sample = Sample::small();
    let mut command = sample.command();
    command.args(["watch", "0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    read_until(&mut notes, "watching from block");
    assert_eq!(child.try_wait().unwrap(), None);
    drop(child.stdout.take());
    assert_eq!(status(child), Some(0));
}

#[test]
fn blocks_that_end_at_a_block_or_a_date_are_refused() {
    let sample = Sample::small();
    for blocks in [
        "-b 3:5",
        "-b 3:41",
        "-b 3:100",
        "-b 3:,20:",
        "--to-block 40",
        "--until 2100-01-01",
    ] {
        let run = sample.run(&format!(
            "watch 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba {blocks}"
        ));
        run.ended(2).says("name blocks that go to the tip");
    }
    let run = sample.run("watch");
    run.ended(2);
}

/// A server that takes a request if `taken`, which gets its number and body. The bodies of all requests.
fn webhook(
    taken: impl Fn(usize, &str) -> bool + Send + 'static,
) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "http://{}/moved?key=SECRET99",
        listener.local_addr().unwrap()
    );
    let (send, bodies) = mpsc::channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let mut request = BufReader::new(stream);
            let body = read_request(&mut request).unwrap().unwrap();
            let body = String::from_utf8(body).unwrap();
            let status = if taken(number, &body) {
                "204 Taken"
            } else {
                "503 Busy"
            };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            request.get_mut().write_all(answer.as_bytes()).unwrap();
            if send.send(body).is_err() {
                return;
            }
        }
    });
    (url, bodies)
}

#[test]
fn a_webhook_gets_every_line() {
    let sample = Sample::small();
    let watch = "watch 0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba --blocks -30: --first --webhook";
    let (url, bodies) = webhook(|number, _| number >= 1);
    let lines = sample.ok(&format!("{watch} {url}")).stdout;
    assert!(lines.lines().count() > 1, "{lines}");
    let sent: Vec<String> = bodies.try_iter().collect();
    // The first attempt failed.
    assert_eq!(sent[0], sent[1]);
    assert_eq!(sent[1..].concat(), lines);

    sample.fails(&format!("{watch} localhost:9000"), 2, "must be a URL");
}

#[test]
fn a_webhook_that_fails_names_the_block_to_go_on_with() {
    let sample = Sample::small();
    let (url, bodies) = webhook(|_, _| false);
    let mut command = sample.command();
    command.args(["watch", "0x502f1f2f4b2abc8d86fc43da973c2c110206e2ba"]);
    command.args(["--blocks", "-30:", "--webhook", &url]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    bodies.recv().unwrap();
    send("-INT", &child);
    let mut text = String::new();
    let mut notes = child.stderr.take().unwrap();
    notes.read_to_string(&mut text).unwrap();
    assert_eq!(status(child), Some(130));
    assert!(text.contains("it answered with HTTP status 503"), "{text}");
    assert!(text.contains("go on with --blocks"), "{text}");
    assert!(!text.contains("SECRET99"), "{text}");
}

#[test]
fn a_webhook_that_misses_a_removal_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        txs_per_block: 8,
        commit_blocks: 1,
        truth: false,
        ..Config::small(31, Layout::V2)
    };
    let place = dir.path().join("node");
    let mut node = LiveNode::start("watch::imitated_node", &place, config).unwrap();
    node.append(20).unwrap();
    let who = format!("{:?}", node.transfers(20).unwrap()[0].from_address);
    let (url, bodies) = webhook(|_, body| !body.contains("removed_from_block"));
    let mut command = bare(dir.path());
    command.args(["watch", &who, "--blocks", "-1:", "--datadir", "node"]);
    command.args(["--webhook", &url]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    bodies.recv().unwrap();
    node.unwind(19).unwrap();
    node.append(2).unwrap();
    while !bodies.recv().unwrap().contains("removed_from_block") {}
    send("-INT", &child);
    let mut text = String::new();
    let mut notes = child.stderr.take().unwrap();
    notes.read_to_string(&mut text).unwrap();
    assert_eq!(status(child), Some(130));
    assert!(
        text.contains("the server may not know that block 20 and later ones were removed"),
        "{text}"
    );
}
