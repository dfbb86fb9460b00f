//! Exit statuses, and the messages with them.

use crate::harness::{CHAIN, ROOT, Sample, ask, bare, run};
use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::ffi::OsStrExt,
    process::{Child, Stdio},
};
use txgraph_chaingen::{Appender, Config, Layout};

/// Common mistakes, with their whole messages, are in `mistakes.rs`.
#[test]
fn wrong_queries_are_status_2() {
    let sample = Sample::small();
    let wrong = "0x4545AA9c2a6019f57de4d3c92661c6482e9ab8b0";
    for (line, message) in [
        ("transfers -b 5:5", "contains no block"),
        ("transfers -b 1.5", "is not a whole number"),
        (
            "transfers --from-block 9 --to-block 8",
            "is after last block",
        ),
        ("transfers --since 2024-1-5", "did you mean 2024-01-05?"),
        ("transfers -d in", "--address"),
        ("transfers --kind mint,fee", "--with-internal"),
        (
            &format!("graph -r {ROOT} --kind priority"),
            "--with-internal",
        ),
        ("analyze summary --kind internal", "--with-internal"),
        ("transfers --threads 0", "threads must be at least 1"),
        ("transfers --threads 100000", "100000 threads are too many"),
        ("info --threads 100000", "100000 threads are too many"),
        ("transfers -b 1 --from-block 2", "cannot be used with"),
        ("transfers -q -v", "cannot be used with"),
        (
            &format!("graph -r {ROOT} -d both --time-respecting"),
            "needs one direction",
        ),
        (
            "analyze cycles -f table -o x.csv",
            "human-readable tables go to standard output",
        ),
        ("nonsense", "unrecognized subcommand"),
        ("", "Usage:"),
    ] {
        let run = sample.run(line).ended(2);
        run.says(message);
        assert_eq!(run.stdout, "", "{line}");
    }
    let relaxed = sample.ok(&format!("graph -q -r {wrong} --allow-bad-checksum"));
    assert!(relaxed.stdout.lines().count() > 1);
}

#[test]
fn a_missing_source_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    ask(folder.path(), "info")
        .ended(2)
        .says("no source is named");
    ask(folder.path(), "info --datadir nowhere")
        .ended(1)
        .says("nowhere");
}

/// A node that pruned the receipts of its first blocks. An index and a lake have no partial answers.
#[test]
fn builds_of_a_pruned_node_advise_blocks_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        blocks_per_file: 10,
        ..Config::small(7, Layout::V2)
    };
    let mut node = Appender::create(&folder.path().join("data"), config).unwrap();
    node.append(60).unwrap();
    assert_eq!(node.prune_receipts(30).unwrap(), Some(29));
    let run = |line: &str| {
        ask(
            folder.path(),
            &format!("{line} --datadir data --reorg-buffer 0"),
        )
    };
    for build in [
        "index build --index index --segment-blocks 8",
        "lake build x.lake --partition-blocks 8",
    ] {
        let answer = run(build).ended(3);
        for part in [
            ":30 (receipts pruned up to block 29)",
            "hint: store only blocks that exist: --from-block 30 (they end with block 60)",
        ] {
            answer.says(part);
        }
        run(&format!("{build} --from-block 30 --to-block 35")).ended(0);
    }
    assert_eq!(node.prune_receipts(50).unwrap(), Some(49));
    let answer = run("lake append x.lake").ended(3);
    answer.says("hint: a lake has no gaps");
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
    let line = format!("transfers --datadir {}", copy.path().display());
    let answer = sample.run(&line).ended(1);
    assert!(
        answer.stderr.starts_with("blocks ") && answer.stderr.contains("\nerror: "),
        "{answer:?}"
    );
    answer.says("receipts");
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
        sample.fails(line, 3, "40");
    }
    let answer = sample.run("transfers -b 30:100");
    answer.says("41:100");
    answer.says("0:41");
    answer.says("--allow-partial");
    assert_eq!(answer.stdout, "");

    let partial = sample.ok("transfers -b 30:100 --allow-partial -o part.csv");
    partial.says("warning: the answer is partial: 59 blocks are missing");
    let about = sample.read_json("part.csv.meta.json");
    assert_eq!(about["scan"]["missing"][0]["blocks"]["first"], 41);
    let whole = sample.ok("transfers -q -b 30:");
    assert_eq!(sample.read("part.csv"), whole.stdout);
    // Even with -q: the result is not complete.
    sample
        .ok("transfers -q -b 30:100 --allow-partial")
        .says("the answer is partial");
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
        let Some(sample) = Sample::named(&format!("pruned/{name}")) else {
            return;
        };
        let answers = &sample.fixture.chain_info["blocks_the_node_answers_for"]["receipts"];
        let lost = answers["last_block_without"].as_u64().unwrap();
        for blocks in [format!("{lost}"), format!("{lost}:"), "1:".to_owned()] {
            let answer = sample.run(&format!("transfers -b {blocks}")).refused(3);
            let available = answer.stderr.split("available: ").last().unwrap();
            assert!(available.starts_with("0:"), "{name} {blocks}: {answer:?}");
            answer.says(&format!("{} (", lost + 1));
        }
        let answer = sample.run(&format!("tx {lost}:0"));
        if answer.stderr.contains("are not stored") {
            answer
                .ended(3)
                .says("hint: `txgraph info` lists the blocks");
        }
        // The hint works.
        let answer = sample.run("transfers");
        let hint = answer.stderr.split("that exist: ").last().unwrap();
        sample.ok(&format!("transfers -q {hint} -o /dev/null -f csv"));
        let whole = sample.ok(&format!("transfers -q -b {}:", lost + 1)).stdout;
        let partial = sample.ok("transfers -b 1: --allow-partial -o partial.csv");
        partial.says("the answer is partial");
        // Some earlier blocks can have kept their receipts.
        let (_head, rows) = whole.split_once('\n').unwrap();
        assert!(sample.read("partial.csv").ends_with(rows), "{name}");
        let about: serde_json::Value = sample.read_json("partial.csv.meta.json");
        let missing = about["scan"]["missing"].as_array().unwrap();
        assert_eq!(missing.last().unwrap()["blocks"]["last"], lost, "{name}");
    }
}

/// Before the search: an empty result fails as well, and no file is made.
#[test]
fn repeated_types_are_a_usage_error() {
    let sample = Sample::small();
    for command in [
        "transfers -o t.parquet --columns all:binary+binary",
        "transfers -f jsonl -o t.parquet --columns value:string+f64+string",
        &format!("graph -r {ROOT} -o t.parquet --columns all:f64+f64"),
        "graph -r 0x0000000000000000000000000000000000000123 -o t.parquet --columns all:f64+f64",
    ] {
        sample.fails(command, 2, "twice");
        assert!(!sample.path("t.parquet").exists(), "{command}");
    }
}

#[test]
fn existing_files_stay() {
    let sample = Sample::small();
    fs::write(sample.path("t.csv"), "mine").unwrap();
    sample
        .run("transfers -o t.csv")
        .ended(1)
        .says("t.csv: already exists")
        .says("--overwrite");
    assert_eq!(sample.read("t.csv"), "mine");
    sample
        .run(&format!("graph -r {ROOT} -o new.csv -o t.csv"))
        .ended(1);
    assert!(
        !sample.path("new.csv").exists(),
        "refused before anything was read"
    );
    sample.run("analyze degrees -o t.csv").ended(1);
    sample.ok("transfers -o t.csv --overwrite");
    assert!(sample.read("t.csv").starts_with("block_number"));
    // So does the metadata file next to it, and it is checked before anything is read.
    fs::write(sample.path("u.csv.meta.json"), "mine").unwrap();
    sample
        .run(&format!("graph -r {ROOT} -o new.csv -o u.csv"))
        .ended(1);
    assert!(!sample.path("new.csv").exists());
    fs::create_dir(sample.path("folder.csv")).unwrap();
    sample.run("transfers -o folder.csv --overwrite").ended(1);
    sample.fails(
        "transfers -o no/such/folder/t.csv",
        1,
        "folder does not exist",
    );
}

#[test]
fn a_full_disk_is_reported() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let sample = Sample::small();
    fs::write(sample.path("asm"), "stop").unwrap();
    for line in [
        "transfers",
        &format!("graph -r {ROOT}"),
        "info",
        "analyze summary",
        "evm run --code 00",
        "evm asm asm -o /dev/full",
        "help",
        "graph --help",
        "--version",
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
            stderr.contains(": no space left\nhint: free some space"),
            "{line}: {stderr}"
        );
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_reported() {
    let sample = Sample::small();
    // Blocks of 512 bytes: more than the lock file of the database, less than the output.
    let line = format!("replay trace call -o t.jsonl {CHAIN}");
    let run = shell(&sample, "ulimit -f 2100;", &line, "");
    run.ended(1).says("t.jsonl: File too large");
    assert!(sample.files().is_empty(), "{:?}", sample.files());
}

#[test]
fn pipes_and_devices_are_not_replaced() {
    let sample = Sample::small();
    sample.ok("transfers -q -o /dev/null -f csv");
    assert!(sample.files().is_empty());
}

#[test]
fn a_dash_is_stdout() {
    let sample = Sample::small();
    let plain = sample.ok("transfers -q").stdout;
    assert_eq!(sample.ok("transfers -q -o -").stdout, plain);
    let dot = sample.ok(&format!("graph -q -r {ROOT} -f dot -o -")).stdout;
    assert!(
        dot.starts_with("digraph") || dot.contains("digraph"),
        "{dot}"
    );
    // Names of tokens come from a past state, and are not kept.
    assert!(sample.files().is_empty());
}

/// Starts a command with more output than a pipe holds.
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
fn a_closed_pipe_is_not_an_error() {
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
fn a_reader_that_has_ended_is_not_an_error() {
    let sample = Sample::small();
    for line in [
        "info --json",
        "transfers",
        &format!("graph -f svg -r {ROOT}"),
        "analyze summary",
        "evm run --code 5b00 --trace=-",
        &format!("replay trace struct --tx 20:3 {CHAIN}"),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = sample.command();
        let child = command.args(line.split_whitespace()).stdout(writer);
        let child = child.stderr(Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
        assert!(!stderr.contains("error"), "{line}: {stderr}");
    }
}

#[test]
fn results_and_messages_do_not_mix() {
    let sample = Sample::small();
    let loud = sample.ok("-vv transfers");
    let quiet = sample.ok("-q transfers");
    assert_eq!(loud.stdout, quiet.stdout);
    assert_eq!(quiet.stderr, "");
    assert!(loud.stderr.lines().count() > 2);
    assert!(!loud.stderr.contains('\u{1b}'), "colors only for terminals");
    let logged = run(sample
        .command()
        .env("RUST_LOG", "txgraph=info")
        .args(["transfers", "-q"]));
    assert_eq!(logged.stdout, quiet.stdout);
    logged.says("opening");
}

/// A shell line that starts `txgraph` with the arguments, after a prefix.
fn shell(sample: &Sample, prefix: &str, args: &str, suffix: &str) -> crate::harness::Run {
    let program = env!("CARGO_BIN_EXE_txgraph");
    let line = format!("{prefix} exec '{program}' {args} {suffix}");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]);
    let asked = sample.command();
    command.current_dir(sample.folder.path());
    for (name, value) in asked.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    run(&mut command)
}

#[test]
fn a_closed_stdout_is_an_error() {
    let sample = Sample::small();
    for args in [
        "info",
        "info --json",
        "transfers",
        &format!("graph -r {ROOT}"),
        "analyze summary",
        "analyze summary -f csv",
        "query --list",
        "completions bash",
        "man",
        "evm run --code 00",
        &format!("replay transfers {CHAIN}"),
    ] {
        shell(&sample, "", args, ">&-")
            .ended(1)
            .says("standard output is closed");
        // Discarded on purpose.
        shell(&sample, "", args, ">/dev/null").ended(0);
    }
    // Files need no stdout.
    shell(&sample, "", "transfers -o t.csv", ">&-").ended(0);
}

#[test]
fn few_file_descriptors_are_an_error() {
    let sample = Sample::small();
    // What runs the tests may pass on descriptors of its own, as `make` and `flock` do.
    let close = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
    for limit in [5, 6, 8, 10] {
        let run = shell(&sample, &format!("{close}; ulimit -n {limit};"), "info", "").ended(1);
        run.says("error: ");
        assert!(!run.stderr.contains("panicked"), "{limit}: {run:?}");
        assert!(!run.stderr.contains("unknown error"), "{limit}: {run:?}");
    }
}

#[test]
fn lists_are_read_with_a_limit() {
    let sample = Sample::small();
    for line in [
        "graph -r @/dev/zero",
        "transfers -t @/dev/zero",
        "transfers -b @/dev/zero",
    ] {
        sample.fails(line, 2, "/dev/zero");
    }
    // A long value is not repeated whole.
    fs::write(sample.path("long"), "x".repeat(1 << 20)).unwrap();
    for line in [
        "graph -r @long",
        "transfers -t @long",
        "transfers -b @long",
        "transfers --wrapped-native @long",
    ] {
        let run = sample.run(line).ended(2);
        assert!(run.stderr.len() < 2000, "{line}: {}", run.stderr.len());
    }
    // Text that is not UTF-8 is a usage error, like other text that cannot be read.
    fs::write(sample.path("binary"), [0xff, 0xff]).unwrap();
    for line in [
        "graph -r @binary",
        "query ./binary",
        "info --config binary",
        "evm asm binary",
    ] {
        sample.run(line).ended(2);
    }
    // Nor is the name of a file.
    for option in ["-o", "--vertices", "--labels", "--token-list", "--prices"] {
        let mut command = sample.command();
        let name = OsStr::from_bytes(b"\xf6.csv");
        command.args(["graph", "-r", ROOT, option]).arg(name);
        run(&mut command)
            .ended(2)
            .says("<FILE>': the path is not UTF-8");
    }
    fs::write(sample.path("latin1"), b"address,name\n0x01,B\xf6rse\n").unwrap();
    for option in ["--labels", "--stop-at", "--token-list", "--prices"] {
        sample
            .run(&format!("graph -r {ROOT} -o x.svg {option} latin1"))
            .ended(2)
            .says("latin1: line 2: the byte 0xf6 is not UTF-8");
    }
}

#[test]
fn sources_are_named_by_kind() {
    let sample = Sample::small();
    let data = sample.fixture.path().display().to_string();
    let plain = sample.ok("transfers -q").stdout;
    for source in [data.clone(), format!("reth:{data}")] {
        let asked = ask(
            sample.folder.path(),
            &format!("transfers -q --source {source}"),
        );
        assert_eq!((asked.status, &asked.stdout), (0, &plain), "{asked:?}");
        let mut command = bare(sample.folder.path());
        let asked = run(command
            .env("TXGRAPH_SOURCE", &source)
            .args(["transfers", "-q"]));
        assert_eq!((asked.status, &asked.stdout), (0, &plain), "{asked:?}");
    }
    sample.fails("info --source pond:x", 2, "known are reth:");
    sample
        .run(&format!("info --source {data} --datadir {data}"))
        .ended(2);
}

/// A file that does not exist has the same status wherever it is named.
#[test]
fn missing_files_are_status_1() {
    let sample = Sample::small();
    for line in [
        "info --config no.toml".to_owned(),
        "graph -r @no.csv".to_owned(),
        format!("graph -r {ROOT} --stop-at no.csv"),
        format!("graph -r {ROOT} --token-list no.json"),
        "transfers -t @no.csv".to_owned(),
        "query ./no.toml".to_owned(),
        "replay verify --chain no.json".to_owned(),
        "replay verify --source bundle:no.json.zst".to_owned(),
        "evm run no.hex".to_owned(),
        "evm run --program no.txt".to_owned(),
        "evm asm no.asm".to_owned(),
        "evm disasm no.hex".to_owned(),
    ] {
        sample.run(&line).refused(1).says("no.");
    }
}
