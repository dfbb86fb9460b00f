//! Exit statuses, and what a user is told with them.

use crate::harness::{Sample, bare, run};
use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
};
use txgraph_testkit::fixtures;

#[test]
fn wrong_questions_are_status_2() {
    let sample = Sample::small();
    let wrong = "0x4545AA9c2a6019f57de4d3c92661c6482e9ab8b0";
    for (line, message) in [
        ("graph", "a search needs an address to start from"),
        ("graph -r me", "`me` is not an address"),
        (&format!("graph -r {wrong}"), "has a wrong checksum"),
        ("transfers -b 5:5", "holds no block"),
        ("transfers -b 1.5", "is not a whole number"),
        ("transfers --from-block 9 --to-block 8", "lies behind"),
        ("transfers -t usdc", "`usdc` is not an address"),
        ("transfers --min-value lots", "is not a whole amount"),
        ("transfers -d in", "--address"),
        ("transfers -o out.xyz", "its name tells no format"),
        ("transfers --kind gift", "gift"),
        ("transfers --kind internal", "--with-internal"),
        ("transfers --kind mint,fee", "--with-internal"),
        (
            "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 --kind priority",
            "--with-internal",
        ),
        ("analyze summary --kind internal", "--with-internal"),
        ("transfers --threads 0", "threads must be at least 1"),
        ("transfers -b 1 --from-block 2", "cannot be used with"),
        ("transfers -q -v", "cannot be used with"),
        (
            "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -d both --time-respecting",
            "time runs one way",
        ),
        (
            "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -o a.csv -o a.csv",
            "named twice",
        ),
        (
            "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -o a.csv --vertices a.csv",
            "named twice",
        ),
        (
            "analyze loops -f table -o x.csv",
            "tables for people go to stdout",
        ),
        ("query nonsense", "no saved question `nonsense`"),
        ("nonsense", "unrecognized subcommand"),
        ("", "Usage:"),
    ] {
        let run = sample.run(line);
        assert_eq!(run.status, 2, "{line}: {run:?}");
        assert!(run.stderr.contains(message), "{line}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{line}");
    }
    let relaxed = sample.ok(&format!("graph -q -r {wrong} --no-checksum"));
    assert!(relaxed.stdout.lines().count() > 1);
}

#[test]
fn no_data_directory_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(bare(folder.path()).arg("info"));
    assert_eq!(told.status, 2);
    assert!(
        told.stderr.contains("no data directory is named"),
        "{told:?}"
    );
    let told = run(bare(folder.path()).args(["info", "--datadir", "nowhere"]));
    assert_eq!(told.status, 1);
    assert!(told.stderr.contains("nowhere"), "{told:?}");
}

#[test]
fn damage_is_status_1() {
    let sample = Sample::small();
    let copy = sample.fixture.unpack();
    let files = fs::read_dir(copy.path().join("static_files")).unwrap();
    let receipts = files.map(|entry| entry.unwrap().path()).find(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.contains("receipts") && !name.contains('.')
    });
    let receipts = receipts.unwrap();
    let bytes = fs::read(&receipts).unwrap();
    fs::write(&receipts, &bytes[..bytes.len() / 2]).unwrap();
    let told = run(sample
        .command()
        .arg("transfers")
        .arg("--datadir")
        .arg(copy.path()));
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.stderr.starts_with("blocks ") && told.stderr.contains("\nerror: "),
        "{told:?}"
    );
    assert!(told.stderr.contains("receipts"), "{told:?}");
}

#[test]
fn blocks_above_the_tip_are_status_3() {
    let sample = Sample::small();
    for line in [
        "transfers -b 30:100",
        "transfers --to-block 99",
        "transfers -b 500",
        "transfers -b 500:",
    ] {
        let told = sample.run(line);
        assert_eq!(told.status, 3, "{line}: {told:?}");
        assert!(told.stderr.contains("40"), "{line}: {}", told.stderr);
    }
    let told = sample.run("transfers -b 30:100");
    assert!(told.stderr.contains("41..=99"), "{}", told.stderr);
    assert!(told.stderr.contains("0..=40"), "{}", told.stderr);
    assert!(told.stderr.contains("--allow-partial"), "{}", told.stderr);
    assert_eq!(told.stdout, "");

    let partial = sample.ok("transfers -b 30:100 --allow-partial -o part.csv");
    assert!(
        partial
            .stderr
            .contains("warning: the answer is partial: 59 blocks are missing")
    );
    let about = sample.read("part.csv.meta.json");
    let about: serde_json::Value = serde_json::from_str(&about).unwrap();
    assert_eq!(about["scan"]["missing"][0]["blocks"]["first"], 41);
    let whole = sample.ok("transfers -q -b 30:");
    assert_eq!(sample.read("part.csv"), whole.stdout);
    // Even when told to be quiet: the answer is not whole.
    let quiet = sample.ok("transfers -q -b 30:100 --allow-partial");
    assert!(quiet.stderr.contains("the answer is partial"));
}

#[test]
fn pruned_blocks_are_status_3() {
    for name in [
        "small-v1-logfilter",
        "small-v2-logfilter",
        "dev-v1-receipts",
        "dev-v2-distance",
        "long-v2-full",
    ] {
        let Some(fixture) = fixtures::fixture(&format!("pruned/{name}")) else {
            return;
        };
        let answers = &fixture.chain_info["blocks_the_node_answers_for"]["receipts"];
        let lost = answers["last_block_without"].as_u64().unwrap();
        let sample = Sample::new(fixture);
        for blocks in [format!("{lost}"), format!("{lost}:"), "1:".to_owned()] {
            let told = sample.run(&format!("transfers -b {blocks}"));
            assert_eq!(told.status, 3, "{name} {blocks}: {told:?}");
            assert_eq!(told.stdout, "");
            let available = told.stderr.split("available: ").last().unwrap();
            assert!(available.starts_with("0..="), "{name} {blocks}: {told:?}");
            assert!(
                told.stderr.contains(&format!("{lost} (")),
                "{name} {blocks}: {told:?}"
            );
        }
        // The advice is good.
        let told = sample.run("transfers");
        let advice = told.stderr.split("that are there: ").last().unwrap();
        sample.ok(&format!("transfers -q {advice} -o /dev/null -f csv"));
        let whole = sample.ok(&format!("transfers -q -b {}:", lost + 1)).stdout;
        let partial = sample.ok("transfers -b 1: --allow-partial -o partial.csv");
        assert!(
            partial.stderr.contains("the answer is partial"),
            "{name}: {partial:?}"
        );
        // Some earlier blocks may have kept their receipts.
        let (_head, rows) = whole.split_once('\n').unwrap();
        assert!(sample.read("partial.csv").ends_with(rows), "{name}");
        let about: serde_json::Value =
            serde_json::from_str(&sample.read("partial.csv.meta.json")).unwrap();
        let missing = about["scan"]["missing"].as_array().unwrap();
        assert_eq!(missing.last().unwrap()["blocks"]["last"], lost, "{name}");
    }
}

/// Before the search: an empty answer fails as well, and no file is made.
#[test]
fn repeated_u256_types_are_a_usage_error() {
    let sample = Sample::small();
    for command in [
        "transfers -o t.parquet --u256-types binary,binary",
        "transfers -f jsonl -o t.parquet --u256-types string,f64,string",
        "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -o t.parquet --u256-types f64,f64",
        "graph -r 0x0000000000000000000000000000000000000123 -o t.parquet --u256-types f64,f64",
    ] {
        let run = sample.run(command);
        assert_eq!(run.status, 2, "{command}: {}", run.stderr);
        assert!(run.stderr.contains("twice"), "{command}: {}", run.stderr);
        assert!(!sample.path("t.parquet").exists(), "{command}");
    }
}

#[test]
fn existing_files_stay() {
    let sample = Sample::small();
    fs::write(sample.path("t.csv"), "mine").unwrap();
    let told = sample.run("transfers -o t.csv");
    assert_eq!(told.status, 1);
    assert!(
        told.stderr.contains("t.csv: already exists"),
        "{}",
        told.stderr
    );
    assert!(told.stderr.contains("--overwrite"), "{}", told.stderr);
    assert_eq!(sample.read("t.csv"), "mine");
    let root = "-r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
    assert_eq!(
        sample
            .run(&format!("graph {root} -o new.csv -o t.csv"))
            .status,
        1
    );
    assert!(
        !sample.path("new.csv").exists(),
        "refused before anything was read"
    );
    assert_eq!(sample.run("analyze degrees -o t.csv").status, 1);
    sample.ok("transfers -o t.csv --overwrite");
    assert!(sample.read("t.csv").starts_with("block_number"));
    // What would stand beside it stays too, and is looked at before anything is read.
    fs::write(sample.path("u.csv.meta.json"), "mine").unwrap();
    assert_eq!(
        sample
            .run(&format!("graph {root} -o new.csv -o u.csv"))
            .status,
        1
    );
    assert!(!sample.path("new.csv").exists());
    fs::create_dir(sample.path("folder.csv")).unwrap();
    assert_eq!(sample.run("transfers -o folder.csv --overwrite").status, 1);
    let told = sample.run("transfers -o no/such/folder/t.csv");
    assert_eq!(told.status, 1);
    assert!(
        told.stderr.contains("folder does not exist"),
        "{}",
        told.stderr
    );
}

#[test]
fn a_full_disk_is_told() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let sample = Sample::small();
    for line in [
        "transfers",
        "graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0",
        "info",
        "analyze summary",
    ] {
        let full = fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = sample.command();
        let child = command
            .args(line.split_whitespace())
            .stdout(full)
            .stderr(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(
            stderr.to_lowercase().contains("no space left"),
            "{line}: {stderr}"
        );
    }
}

#[test]
fn pipes_and_devices_are_written_as_they_are() {
    let sample = Sample::small();
    sample.ok("transfers -q -o /dev/null -f csv");
    assert!(sample.files().is_empty());
}

#[test]
fn a_dash_is_stdout() {
    let sample = Sample::small();
    let plain = sample.ok("transfers -q").stdout;
    assert_eq!(sample.ok("transfers -q -o -").stdout, plain);
    let root = "-r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0";
    let dot = sample.ok(&format!("graph -q {root} -f dot -o -")).stdout;
    assert!(
        dot.starts_with("digraph") || dot.contains("digraph"),
        "{dot}"
    );
    assert!(sample.files().is_empty(), "{:?}", sample.files());
}

/// Starts a command whose output fills more than a pipe holds.
fn long_output(sample: &Sample) -> Child {
    let mut command = sample.command();
    command.args(["transfers", "--chunk-blocks", "1", "--threads", "1"]);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let sample = Sample::small();
    let mut child = long_output(&sample);
    let mut stdout = BufReader::with_capacity(256, child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    assert!(first.starts_with("block_number,"));
    drop(stdout);
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(
        !stderr.contains("error") && !stderr.contains("panicked"),
        "{stderr}"
    );
}

#[test]
fn results_and_talk_do_not_mix() {
    let sample = Sample::small();
    let loud = sample.ok("-vv transfers");
    let quiet = sample.ok("-q transfers");
    assert_eq!(loud.stdout, quiet.stdout);
    assert_eq!(quiet.stderr, "");
    assert!(loud.stderr.lines().count() > 2);
    assert!(
        !loud.stderr.contains('\u{1b}'),
        "colours only for terminals"
    );
    let logged = run(sample
        .command()
        .env("RUST_LOG", "txgraph=info")
        .args(["transfers", "-q"]));
    assert_eq!(logged.stdout, quiet.stdout);
    assert!(logged.stderr.contains("opening"), "{}", logged.stderr);
}
