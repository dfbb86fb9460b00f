//! Every kind of source gives the bytes that the node gives.

use crate::harness::{Run, bare, run};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tempfile::TempDir;
use txgraph_chaingen::{Appender, Config, Layout};
use txgraph_testkit::{
    exports::{ExportLayout, write_export},
    fixtures::{self, Fixture},
    rpc::RpcServer,
};

/// Queries about the transfers of a chain, and about those around an address.
pub(crate) fn queries(root: &str) -> [String; 8] {
    [
        format!("graph -q -r {root} -n 3 --format csv -o -"),
        format!("graph -q -r {root} -n 2 -d both --format jsonl -o -"),
        format!("graph -q -r {root} -n 2 -d both --max-degree 20 --format jsonl -o -"),
        format!("transfers -q --address {root} --format csv -o -"),
        "transfers -q --from-block 10 --to-block 30 --format jsonl -o -".to_owned(),
        "transfers -q --token eth --min-value 1 --format csv -o -".to_owned(),
        "transfers -q --format csv -o -".to_owned(),
        "transfers -q -t eth".to_owned(),
    ]
}

/// A data directory, and the folder to run in.
struct Chain {
    data: PathBuf,
    /// The answers of its node, if it has some.
    fixture: Option<Fixture>,
    tip: u64,
    folder: TempDir,
}

impl Chain {
    fn of(fixture: Fixture) -> Self {
        Self {
            data: fixture.path().to_path_buf(),
            tip: fixture.tip().unwrap(),
            fixture: Some(fixture),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn ok(&self, line: &str) -> Run {
        self.ask(line, Some(&self.data))
    }

    fn ask(&self, line: &str, node: Option<&Path>) -> Run {
        let mut command = bare(self.folder.path());
        if let Some(node) = node {
            command.env("TXGRAPH_DATADIR", node);
        }
        run(command.args(line.split_whitespace())).ended(0)
    }
}

struct Kind {
    /// The command that writes it.
    write: Option<String>,
    /// The options that name it.
    options: String,
    /// Whether the node is there, too.
    needs_node: bool,
    /// Queries for this kind only, with `ROOT` for the address.
    more: Vec<&'static str>,
    /// The part of a result that is the same.
    same: fn(&str) -> String,
    /// The command that compares it with the node, and a part of its report.
    verify: Option<(&'static str, &'static str)>,
}

impl Kind {
    fn new(write: Option<String>, options: &str) -> Self {
        Self {
            write,
            options: options.to_owned(),
            needs_node: false,
            more: MEASURES.to_vec(),
            same: str::to_owned,
            verify: None,
        }
    }

    fn asks(mut self, more: &[&'static str]) -> Self {
        self.more.extend(more);
        self
    }
}

/// A result without what only the state of a node says: which ends of branches are contracts.
fn stateless(answer: &str) -> String {
    let Ok(mut json) = serde_json::from_str::<Value>(answer) else {
        return answer.to_owned();
    };
    if let Some(ends) = json.pointer_mut("/metadata/ends") {
        assert!(!ends.take().as_array().unwrap().is_empty());
    }
    // Which state that is.
    if let Some(state) = json.pointer_mut("/metadata/state") {
        assert!(state.take().is_object());
    }
    json.to_string()
}

/// cryo has no withdrawals.
fn without_withdrawals(answer: &str) -> String {
    let lines = answer.lines().filter(|line| !line.contains("withdrawal"));
    lines.map(|line| format!("{line}\n")).collect()
}

const MEASURES: [&str; 2] = [
    "analyze degrees -q --format csv",
    "analyze pairs -q --format csv -o -",
];
const SUMMARY: &str = "analyze summary -q -r ROOT --format json";
const IN_PARTS: &str = "transfers -q --threads 3 --chunk-blocks 5";
const VERIFIED: &str = "transfers -q --check-roots";

/// The kinds that the program writes itself.
fn written(chain: &Chain) -> Vec<Kind> {
    let (eighth, half) = (chain.tip / 8 + 1, chain.tip / 2);
    let index = |verify, options: &str, blocks: String| Kind {
        needs_node: true,
        verify: Some((verify, "")),
        ..Kind::new(Some(format!("index build -q {options} {blocks}")), options).asks(&[
            SUMMARY,
            IN_PARTS,
            "graph -q -r ROOT -n 3 --max-degree 2 --format dot -o -",
        ])
    };
    let lake = format!("lake build -q x.lake --reorg-buffer 0 --partition-blocks {eighth}");
    vec![
        index(
            "index verify --index whole",
            "--index whole",
            format!("--reorg-buffer 0 --segment-blocks {eighth}"),
        ),
        // The node answers for the rest.
        index(
            "index verify --index part",
            "--index part",
            format!("--to-block {half} --segment-blocks {eighth}"),
        ),
        Kind {
            same: stateless,
            verify: Some(("lake verify x.lake", "agree with the node")),
            ..Kind::new(Some(lake), "--source lake:x.lake").asks(&[SUMMARY])
        },
        Kind::new(
            Some("era export -q -o archive".to_owned()),
            "--source era:archive",
        )
        .asks(&[IN_PARTS, VERIFIED]),
    ]
}

/// The kinds that others write, from the answers of the node.
fn of_others(chain: &Chain, fixture: &Fixture, server: &RpcServer) -> Vec<Kind> {
    let folder = chain.folder.path();
    write_export(&folder.join("etl"), fixture, ExportLayout::Etl, 100);
    write_export(&folder.join("cryo"), fixture, ExportLayout::Cryo, 200);
    let id = fixture.chain_id().unwrap();
    vec![
        Kind::new(None, &format!("--source rpc:{}/KEY", server.url())).asks(&[IN_PARTS, VERIFIED]),
        Kind::new(None, &format!("--source etl:etl --chain-id {id}")),
        Kind {
            same: without_withdrawals,
            more: Vec::new(),
            ..Kind::new(None, "--source cryo:cryo")
        },
    ]
}

fn compare(chain: &Chain, kinds: &[Kind]) {
    let all = chain.ok("transfers -q").rows();
    // The address that sends most, and a token of it.
    let mut sent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in all.iter().filter(|row| row["kind"] == "transfer") {
        let tokens = sent.entry(&row["from_address"]).or_default();
        tokens.push(&row["token_address"]);
    }
    let busiest = sent.iter().max_by_key(|(_, tokens)| tokens.len());
    let (root, token) = busiest.map(|(root, tokens)| (*root, tokens[0])).unwrap();
    let mut common = queries(root).to_vec();
    common.push(format!("transfers -q -t {token} -b 3:"));
    common.push(format!("graph -q -r {root} -n 2 -t {token} -f csv -o -"));
    common.push(format!("graph -q -r {root} -n 3 -d both -f csv -o -"));
    let ask = |line: &String| chain.ok(line).stdout;
    let expected: Vec<String> = common.iter().map(ask).collect();
    assert!(expected[0].lines().count() > 1, "{}", expected[0]);
    let long = expected.iter().filter(|answer| answer.lines().count() > 10);
    assert!(long.count() >= 6, "{expected:?}");
    assert!(all.iter().all(|row| !row["block_timestamp"].is_empty()));
    assert!(all.iter().any(|row| row["transaction_hash"].len() == 66));
    for kind in kinds {
        if let Some(write) = &kind.write {
            chain.ok(write);
        }
        let more = kind.more.iter().map(|line| {
            let line = line.replace("ROOT", root);
            (chain.ok(&line).stdout, line)
        });
        let more: Vec<(String, String)> = more.collect();
        let common = expected.iter().zip(&common);
        let more = more.iter().map(|(answer, line)| (answer, line));
        for (expected, line) in common.chain(more) {
            let line = format!("{line} {}", kind.options);
            let found = chain.ask(&line, kind.needs_node.then_some(&*chain.data));
            let (found, expected) = ((kind.same)(&found.stdout), (kind.same)(expected));
            let lines = expected.lines().zip(found.lines());
            let different = { lines }.find(|(expected, found)| expected != found);
            assert!(found == expected, "{line}: {different:?}");
        }
        if let Some((verify, report)) = kind.verify {
            chain.ok(verify).says(report);
        }
    }
}

fn compare_all(fixture: Fixture) {
    let chain = Chain::of(fixture);
    compare(&chain, &written(&chain));
    if let Some(fixture) = chain.fixture.as_ref().filter(|it| it.has("blocks")) {
        let server = RpcServer::start(fixture);
        let kinds = of_others(&chain, fixture, &server);
        compare(&chain, &kinds);
        // Names and blocks state the coverage.
        let etl = chain.ask(&format!("transfers -q {}", kinds[1].options), None);
        assert_eq!(etl.stderr, "", "no warning");
    }
}

#[test]
fn committed_chains() {
    fixtures::committed().into_iter().for_each(compare_all);
}

#[test]
fn large_chains() {
    for name in ["dev-v1", "dev-v2", "long-v2"] {
        fixtures::fixture(name).into_iter().for_each(compare_all);
    }
}

#[test]
fn a_chain_that_was_appended_to() {
    let data = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(data.path(), Config::small(4, Layout::V2)).unwrap();
    appender.append(120).unwrap();
    drop(appender);
    let chain = Chain {
        data: data.path().to_path_buf(),
        fixture: None,
        tip: 120,
        folder: tempfile::tempdir().unwrap(),
    };
    compare(&chain, &written(&chain));
}
