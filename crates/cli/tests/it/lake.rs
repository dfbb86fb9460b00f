//! `txgraph lake`, and queries that are answered from a lake.

use crate::harness::{CHAIN, ROOT, Run, Sample, ask as ask_in, bare, entry, run};
use serde_json::Value;
use std::fs;
use txgraph_chaingen::{Appender, Config, Layout};
use txgraph_testkit::says;

/// Returns the sender of a transfer in the middle of a chain.
fn sender(data_directory: &std::path::Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bare(folder.path());
    command.env("TXGRAPH_DATADIR", data_directory);
    let all = run(command.args(["transfers", "-q", "--kind", "transfer", "--format", "csv"]));
    let mut rows = csv::Reader::from_reader(all.stdout.as_bytes());
    let at = rows
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "from_address");
    let rows: Vec<_> = rows.records().map(Result::unwrap).collect();
    rows[rows.len() / 2][at.unwrap()].to_owned()
}

/// A query that names no blocks is about all blocks of the lake.
#[test]
fn a_lake_that_begins_later_is_asked_without_blocks() {
    let sample = Sample::small();
    sample.ok("lake build -q x.lake --from-block 10 --to-block 30");
    for query in [
        "transfers -q --format csv -o -".to_owned(),
        format!("graph -q -r {ROOT} -n 3 --format csv -o -"),
        "analyze degrees -q --format csv".to_owned(),
    ] {
        let found = sample.ok(&format!("{query} --source lake:x.lake")).stdout;
        let expected = sample.ok(&format!("{query} -b 10:31")).stdout;
        assert!(found.lines().count() > 2 && found == expected, "{query}");
    }
    sample
        .run("transfers --source lake:x.lake -b 5:20")
        .ended(3);
}

/// A result uses the state after the last block of the query.
#[test]
fn a_chain_that_grows_changes_no_answer_about_earlier_blocks() {
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(4, Layout::V2)).unwrap();
    appender.append(60).unwrap();
    let root = sender(chain.path());
    let folder = tempfile::tempdir().unwrap();
    let ask = |line: &str| -> String {
        let mut command = bare(folder.path());
        command.env("TXGRAPH_DATADIR", chain.path());
        let answer = run(command.args(line.split_whitespace())).ended(0);
        answer.stdout
    };
    let lines = [
        format!("graph -q -r {root} -n 2 -b 0:40 --format json -o -"),
        format!("graph -q -r {root} -n 2 -b 0:40 --format svg -o -"),
        format!("analyze summary -q -r {root} -b 0:40 --format json"),
        "transfers -q -b 0:40 --columns block_number,symbol --format csv -o -".to_owned(),
    ];
    let before = lines.each_ref().map(|line| ask(line));
    appender.append(40).unwrap();
    for (line, before) in lines.iter().zip(before) {
        assert!(ask(line) == before, "{line}");
    }
    ask("lake build -q x.lake --reorg-buffer 0");
    let stateless = ask(&format!("{} --source lake:x.lake", lines[0]));
    let state = |answer: &str| -> Value {
        let json: Value = serde_json::from_str(answer).unwrap();
        json["metadata"]["state"].clone()
    };
    assert_eq!(state(&stateless), serde_json::json!({ "block": null }));
    let sample = Sample::small();
    for (range, block) in [("-b 0:20", 19), ("", 40)] {
        let line = format!("graph -q -r {ROOT} {range} --format json -o -");
        let answer = sample.ok(&line).stdout;
        assert_eq!(state(&answer), serde_json::json!({ "block": block }));
    }
}

/// A lake and a node that has replaced its last blocks: the hashes differ, whatever is asked.
#[test]
fn joins_of_two_branches_are_refused() {
    let chain = tempfile::tempdir().unwrap();
    let mut appender = Appender::create(chain.path(), Config::small(6, Layout::V2)).unwrap();
    appender.append(40).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let node = format!("reth:{}", chain.path().display());
    let ask = |sources: &[&str], line: &str| -> Run {
        let line = format!("{line} --source {}", sources.join(" --source "));
        ask_in(folder.path(), &line)
    };
    let lake = |verb: &str| {
        let line = format!("lake {verb} -q x.lake --partition-blocks 16 --reorg-buffer 0");
        let line = line.replace("append -q x.lake --partition-blocks 16", "append -q x.lake");
        ask(&[&node], &line).ended(0);
    };
    lake("build");
    appender.unwind(30).unwrap();
    appender.append(20).unwrap();
    let all = "transfers -q --format csv -o -";
    let none = format!("{all} --min-value 1e60");
    for line in [all, &none] {
        for sources in [["lake:x.lake", &node], [&node, "lake:x.lake"]] {
            let mixed = ask(&sources, line).refused(1);
            mixed.says("different branches");
        }
    }
    lake("append");
    // The lake ends before the node.
    appender.append(5).unwrap();
    let root = sender(chain.path());
    let graph = format!("graph -q -r {root} -n 3 --format csv -o -");
    for line in [all, &graph] {
        let joined = ask(&["lake:x.lake", &node], line).ended(0);
        assert!(joined.stdout == ask(&[&node], line).stdout, "{line}");
    }
}

#[test]
fn a_lake_is_extended_compacted_and_described() {
    let sample = Sample::small();
    for last in [5, 9, 20, 31] {
        let verb = if last == 5 {
            "build --partition-blocks 16"
        } else {
            "append"
        };
        sample.ok(&format!("lake {verb} -q x.lake --to-block {last}"));
    }
    let status = sample.ok("lake status x.lake").stdout;
    says(&status, "`txgraph lake compact` joins the last 5");
    let joined = sample.ok("lake compact x.lake").stderr;
    says(&joined, "5 partitions were joined into 2");
    let json = sample.json("lake status --json x.lake");
    assert_eq!(json["partitions"], 2);
    assert_eq!(json["unsettled_partitions"], 0);
    assert_eq!(json["blocks"][0]["last"], 31);
    ask_in(sample.folder.path(), "lake verify --quick x.lake")
        .ended(0)
        .says("2 partitions are valid");
    // Blocks behind the end are missing, not empty.
    sample.fails(
        "transfers -q --source lake:x.lake --to-block 35 --format csv -o -",
        3,
        "32:36 (not in the lake)",
    );
    let partition = entry(&sample.path("x.lake/partitions"), "");
    fs::remove_file(partition.join("transfers.parquet")).unwrap();
    for line in ["status", "append --to-block 31"] {
        let missing = "transfers.parquet is damaged: it does not exist; build the lake again";
        sample.fails(&format!("lake {line} x.lake"), 1, missing);
    }
}

/// A lake with internal transfers answers both kinds of queries without a replay.
#[test]
fn a_lake_can_contain_internal_transfers() {
    let sample = Sample::small();
    sample.ok(&format!(
        "lake build -q x.lake --with-internal --partition-blocks 64 --to-block 20 {CHAIN}"
    ));
    sample.ok(&format!("lake append -q x.lake --reorg-buffer 0 {CHAIN}"));
    for command in ["lake status x.lake", "lake compact -q x.lake"] {
        sample.ok(command);
        internal_answers_equal_the_node(&sample);
    }
    sample.ok(&format!("lake verify -q x.lake {CHAIN}"));
}

fn internal_answers_equal_the_node(sample: &Sample) {
    for line in [
        "transfers -q --with-internal --format csv -o -",
        "transfers -q --with-internal --kind internal --format csv -o -",
        "transfers -q --format csv -o -",
    ] {
        let expected = sample.ok(&format!("{line} {CHAIN} --index off")).stdout;
        let found = sample.ok(&format!("{line} --source lake:x.lake")).stdout;
        assert!(expected.lines().count() > 10 && found == expected, "{line}");
    }
}

/// A hint is none if the lake refuses the query with it, too.
#[test]
fn hints_lead_to_queries_that_a_lake_answers() {
    let sample = Sample::small();
    sample.ok("lake build -q x.lake --reorg-buffer 0");
    sample.ok(&format!(
        "lake build -q y.lake --with-internal --to-block 20 {CHAIN}"
    ));
    let root = format!("graph -r {ROOT} -n 1");
    for query in ["transfers", root.as_str(), "analyze summary"] {
        let refused = |lake: &str, kind: &str| {
            let run = sample
                .run(&format!("{query} --source lake:{lake} --kind {kind}"))
                .ended(2);
            run.stderr
        };
        for (lake, kind, reason) in [
            ("x.lake", "internal", "built without internal transfers"),
            ("x.lake", "fee", "built without internal transfers"),
            ("y.lake", "fee", "a lake does not contain them"),
        ] {
            let text = refused(lake, kind);
            let is_hinted = text.contains("add --with-internal");
            assert!(text.contains(reason) && !is_hinted, "{query}: {text}");
        }
        let hinted = refused("y.lake", "internal");
        assert!(hinted.contains("add --with-internal"), "{query}: {hinted}");
    }
}

#[test]
fn errors_have_the_right_status() {
    let sample = Sample::small();
    sample.ok("lake build -q x.lake --reorg-buffer 0");
    let failed = |line: &str, status: i32, message: &str| {
        sample.fails(line, status, message);
    };
    failed("lake append nowhere", 2, "is not a lake");
    failed(
        "transfers --source lake:nowhere -o x.csv",
        2,
        "is not a lake",
    );
    failed(
        "transfers --source lake:x.lake --with-internal -o x.csv",
        2,
        "built without internal transfers",
    );
    failed(
        "transfers --source lake:x.lake --check-roots -o x.csv",
        2,
        "leave --check-roots out",
    );
    failed(
        "transfers --source lake:x.lake --chain-id 5 -o x.csv",
        2,
        "not of chain 5",
    );
    failed(
        "transfers --source lake:x.lake --not-by-owner -o x.csv",
        2,
        "are read from the data directory of a node",
    );
    failed(
        "info --source lake:x.lake",
        2,
        "cannot describe the data of a node",
    );
    failed(
        "transfers --source lake:x.lake -o x.lake/y.csv",
        2,
        "x.lake",
    );
    // A flipped byte.
    let partition = entry(&sample.path("x.lake/partitions"), "");
    let file = partition.join("transfers.parquet");
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 1;
    fs::write(&file, bytes).unwrap();
    failed(
        "transfers --source lake:x.lake -o x.csv",
        1,
        "transfers.parquet is damaged",
    );
    failed("lake verify x.lake", 1, "transfers.parquet is damaged");
    let run = sample.run("transfers --source lake:x.lake -q");
    let stated = "transfers.parquet is damaged: bytes 0 to ";
    assert_eq!(run.stderr.matches(stated).count(), 1, "{run:?}");
    assert_eq!(
        run.stderr.matches("transfers.parquet").count(),
        1,
        "{run:?}"
    );
    assert!(!sample.path("x.csv").exists());
}
