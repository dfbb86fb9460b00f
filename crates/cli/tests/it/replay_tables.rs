//! The tables of `txgraph replay` in every format.

use crate::{
    frame::Frame,
    harness::{CHAIN, Row, Sample, rows},
};
use serde_json::Value;
use txgraph_testkit::or_skip;

/// Reads a Parquet or Arrow IPC file. Of a 256-bit number, the decimal column is read.
fn read(sample: &Sample, name: &str) -> Vec<Row> {
    let path = sample.path(name);
    let frame = if name.ends_with("parquet") {
        Frame::parquet(&path)
    } else {
        Frame::ipc(&path)
    };
    let names = frame.names();
    let row = |cells: Vec<String>| {
        let cells = names.iter().zip(cells);
        let cells = cells.filter(|(name, _)| !name.ends_with("_binary") && !name.ends_with("_f64"));
        cells
            .map(|(name, cell)| (name.trim_end_matches("_string").to_owned(), cell))
            .collect()
    };
    frame.rows().into_iter().map(row).collect()
}

/// Reads JSON lines. The steps of a trace address are joined as in CSV.
fn json_rows(lines: &str) -> Vec<Row> {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(steps) => {
            let steps: Vec<_> = steps.iter().map(Value::to_string).collect();
            steps.join("_")
        }
        other => other.to_string(),
    };
    let row = |line| {
        let object: serde_json::Map<String, Value> = serde_json::from_str(line).unwrap();
        let cells = object.iter();
        cells
            .map(|(name, value)| (name.clone(), cell(value)))
            .collect()
    };
    lines.lines().map(row).collect()
}

/// Asserts that all formats of a query contain the rows of its CSV.
fn assert_same_rows(sample: &Sample, query: &str) -> Vec<Row> {
    let csv = sample.rows(&format!("{query} -q -f csv"));
    let jsonl = sample.ok(&format!("{query} -q -f jsonl")).stdout;
    assert_eq!(json_rows(&jsonl), csv, "{query}");
    for name in ["t.parquet", "t.ipc", "t.arrow"] {
        sample.ok(&format!("{query} -o {name} --overwrite"));
        assert_eq!(read(sample, name), csv, "{query} -o {name}");
    }
    csv
}

#[test]
fn formats_contain_the_same_transfers() {
    let sample = Sample::small();
    let all = assert_same_rows(&sample, &format!("replay transfers --fees {CHAIN}"));
    let depth = |row: &Row| row["trace_address"].matches('_').count();
    assert!(all.iter().any(|row| depth(row) > 0));
    for kind in ["internal", "fee", "priority"] {
        assert!(all.iter().any(|row| row["kind"] == kind), "{kind}");
    }
    let one = all.iter().find(|row| row["kind"] == "internal").unwrap();
    let tx = format!("{}:{}", one["block_number"], one["transaction_index"]);
    let of_one = assert_same_rows(&sample, &format!("replay transfers --tx {tx} {CHAIN}"));
    assert!(of_one.contains(one));
    let run = sample.ok(&format!("replay transfers -o t.csv {CHAIN}"));
    let count = rows(&sample.read("t.csv")).len();
    run.says(&format!("{count} rows"));
    let about = sample.read_json("t.csv.meta.json");
    assert_eq!(about["command"], "replay transfers");
    assert_eq!(about["question"]["blocks"], serde_json::json!(["1:41"]));
    assert_eq!(about["scan"]["counts"]["transfers"], count);
    let block = &one["block_number"];
    sample.ok(&format!("replay transfers -b {block} -o b.csv {CHAIN}"));
    sample.ok(&format!("replay trace call --tx {tx} -o t.jsonl {CHAIN}"));
    let (of_block, about) = (
        sample.read_json("b.csv.meta.json"),
        sample.read_json("t.jsonl.meta.json"),
    );
    assert_eq!(about["question"]["trace"], "call");
    assert_eq!(about["requested"], of_block["requested"]);
    assert_eq!(
        about["scan"]["last_block_hash"],
        of_block["scan"]["last_block_hash"]
    );
    assert!(about["scan"]["last_block_hash"].is_string());
}

#[test]
fn formats_contain_the_same_traces() {
    let sample = Sample::small();
    for trace in ["call", "diff"] {
        // Without the blocks that nest calls deeper than serde reads.
        let query = format!("replay trace {trace} --blocks 10:14 {CHAIN}");
        let lines = sample.ok(&format!("{query} -q")).stdout;
        let csv = assert_same_rows(&sample, &query);
        assert!(csv.len() > 10);
        let result: Value = serde_json::from_str(&csv[0]["result"]).unwrap();
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!(result, first["result"]);
    }
}

#[test]
fn gas_is_written_as_stacks_or_as_table() {
    let sample = Sample::small();
    let query = format!("replay trace gas {CHAIN}");
    let table = assert_same_rows(&sample, &query);
    assert!(table.len() > 100);
    sample.ok(&format!("{query} -o stacks.txt"));
    let stacks = sample.read("stacks.txt");
    let lines = table
        .iter()
        .map(|row| format!("{} {}\n", row["stack"], row["gas"]));
    assert_eq!(stacks, lines.collect::<String>());
    assert_eq!(sample.ok(&format!("{query} -q")).stdout, stacks);
}

#[test]
fn formats_contain_the_same_balances() {
    let sample = or_skip!(Sample::named("dev-v2"));
    let tokens = &sample.fixture.truth["tokens"];
    let [first, second] = ["reb", "b32"].map(|key| tokens[key]["address"].as_str().unwrap());
    let query = format!("replay balances {first},{second} --blocks 120:135 {CHAIN}");
    let rows = assert_same_rows(&sample, &query);
    assert!(rows.iter().any(|row| row["actual_change"].starts_with('-')));
}

#[test]
fn refuses_formats_that_a_replay_does_not_have() {
    let sample = Sample::small();
    for (line, words) in [
        ("replay transfers -f svg", "csv, jsonl, parquet, ipc"),
        ("replay transfers -o t.txt", "csv, jsonl, parquet, ipc"),
        ("replay trace call -o t.dot", "csv, jsonl, parquet, ipc"),
        ("replay trace struct --tx 20:3 -o t.parquet", "EIP-3155"),
        ("replay trace struct --tx 20:3 -f csv", "EIP-3155"),
    ] {
        sample
            .run(&format!("{line} {CHAIN}"))
            .refused(2)
            .says(words);
    }
    assert!(sample.files().iter().all(|name| !name.starts_with("t.")));
}

/// The rules of the chain are known after the output is open.
#[test]
fn rejected_queries_print_nothing() {
    let sample = Sample::small();
    let mut genesis = sample.fixture.genesis.clone();
    genesis["config"]["chainId"] = 77.into();
    std::fs::write(sample.path("id.json"), genesis.to_string()).unwrap();
    for format in ["csv", "jsonl", "parquet", "ipc"] {
        sample
            .run(&format!("replay transfers -f {format} --chain id.json"))
            .refused(2);
    }
}
