//! Where commands refuse to write: into the data directory, into one file twice, and over
//! files that exist.

use crate::harness::{self, CHAIN, HUB, PEEL, ROOT, Run, Sample, run};
use std::{fs, os::unix::fs::symlink, path::Path};

/// Every verb that writes files, with `OUT` for the file.
fn verbs() -> Vec<String> {
    vec![
        "transfers -o OUT -f csv".to_owned(),
        "transfers -o OUT -f parquet".to_owned(),
        format!("graph -r {ROOT} -o OUT -f csv"),
        format!("graph -r {ROOT} -o OUT -f dot"),
        format!("graph -r {ROOT} -o free.csv --vertices OUT.csv"),
        "analyze degrees -o OUT -f json".to_owned(),
        "analyze degrees -o OUT -f csv".to_owned(),
        format!("replay transfers -o OUT -f csv {CHAIN}"),
        format!("replay trace call --tx 20:3 -o OUT -f jsonl {CHAIN}"),
        format!("replay trace struct --tx 20:3 -o OUT -f jsonl {CHAIN}"),
        "query cycles --set token=all -f json -o OUT".to_owned(),
        "evm asm code.txt -o OUT".to_owned(),
        "evm disasm code.hex -o OUT".to_owned(),
        "evm run --code 00 --trace=OUT".to_owned(),
        "index build --index OUT".to_owned(),
        "index update --index OUT".to_owned(),
        "index drop --index OUT".to_owned(),
    ]
}

fn sample() -> Sample {
    let sample = Sample::small();
    fs::write(sample.path("code.txt"), "STOP").unwrap();
    fs::write(sample.path("code.hex"), "00").unwrap();
    sample
}

fn ask(sample: &Sample, line: &str, data: &Path, out: &Path) -> Run {
    let line = line.replace("OUT", out.to_str().unwrap());
    let mut command = sample.command();
    command.args(line.split_whitespace());
    run(command.arg("--datadir").arg(data))
}

fn assert_refused(run: &Run, line: &str) {
    assert_eq!(run.status, 2, "{line}: {run:?}");
    run.says("where nothing is written");
    assert_eq!(run.stdout, "", "{line}");
}

/// Every path below a folder, with its length.
fn tree(folder: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = fs::symlink_metadata(entry.path()).unwrap();
        found.push((entry.path().display().to_string(), meta.len()));
        if meta.is_dir() {
            found.extend(tree(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn every_verb_refuses_outputs_inside_the_data_directory() {
    let sample = sample();
    let copy = sample.fixture.unpack();
    let data = copy.path();
    symlink(data.join("static_files"), sample.path("link")).unwrap();
    // Opening MDBX makes its lock file.
    ask(&sample, "info", data, data);
    let before = tree(data);
    for line in verbs() {
        for out in [
            data.join("new"),
            data.join("db/new"),
            sample.path("link/new"),
        ] {
            assert_refused(&ask(&sample, &line, data, &out), &line);
        }
        // Over a file of the node, also with leave to replace files.
        if line.starts_with("index") || line.contains("--vertices") {
            continue;
        }
        let line = format!("{line} --overwrite");
        let database = data.join("db/mdbx.dat");
        assert_refused(&ask(&sample, &line, data, &database), &line);
    }
    assert_eq!(tree(data), before);
    assert!(
        !sample.path("free.csv").exists(),
        "refused before anything was read"
    );
}

#[test]
fn parts_of_the_data_directory_elsewhere_are_refused_too() {
    let sample = sample();
    let copy = sample.fixture.unpack();
    let data = copy.path();
    let moved = sample.path("elsewhere");
    fs::rename(data.join("static_files"), &moved).unwrap();
    fs::create_dir(sample.path("rocks")).unwrap();
    for line in verbs() {
        let line = format!(
            "{line} --datadir.static-files {} --datadir.rocksdb {}",
            moved.display(),
            sample.path("rocks").display()
        );
        for folder in [&moved, &sample.path("rocks")] {
            assert_refused(&ask(&sample, &line, data, &folder.join("new")), &line);
        }
    }
    // The same directory by a link in the place of the part.
    symlink(&moved, data.join("static_files")).unwrap();
    for line in verbs() {
        assert_refused(&ask(&sample, &line, data, &moved.join("new")), &line);
    }
}

#[test]
fn verbs_without_a_node_recognize_data_directories() {
    let sample = sample();
    let out = sample.fixture.path().join("db/new");
    for line in verbs().iter().filter(|line| line.starts_with("evm")) {
        let line = line.replace("OUT", out.to_str().unwrap());
        let run = harness::ask(sample.folder.path(), &line);
        assert_refused(&run, &line);
    }
}

#[test]
fn one_file_by_two_names_is_refused() {
    let sample = sample();
    fs::create_dir(sample.path("folder")).unwrap();
    for line in [
        format!("graph -r {ROOT} -o s.csv --vertices ./s.csv --overwrite"),
        format!("graph -r {ROOT} -o s.csv --vertices folder/../s.csv"),
        format!(
            "graph -r {ROOT} -o s.csv -o {}",
            sample.path("s.csv").display()
        ),
        format!("graph -r {ROOT} -o s.csv -f csv --vertices -"),
    ] {
        let run = sample.run(&line);
        if line.ends_with(" -") {
            assert_eq!(run.status, 0, "{line}: {run:?}");
            continue;
        }
        assert_eq!(run.status, 2, "{line}: {run:?}");
        run.says("named twice");
        assert!(!sample.path("s.csv").exists());
    }
}

#[test]
fn verbs_without_a_node_replace_files_only_when_asked() {
    let sample = sample();
    for line in verbs().iter().filter(|line| line.starts_with("evm")) {
        fs::write(sample.path("mine"), "mine").unwrap();
        let line = line.replace("OUT", "mine");
        sample.fails(&line, 1, "mine: already exists");
        assert_eq!(sample.read("mine"), "mine");
        sample.ok(&format!("{line} --overwrite"));
        assert_ne!(sample.read("mine"), "mine");
    }
}

/// A file that the command reads is not replaced, whatever names it.
#[test]
fn inputs_are_not_replaced() {
    let sample = Sample::small();
    let text = format!("address,name\n{ROOT},x\n");
    fs::write(sample.path("in.csv"), &text).unwrap();
    let query = format!(
        "purpose = 'x'\nask = {{ command = 'graph', root = '{ROOT}', labels = ['in.csv'] }}\n"
    );
    fs::write(sample.path("q.toml"), query).unwrap();
    fs::write(sample.path("c.toml"), "[output]\ntoken-list = 'in.csv'\n").unwrap();
    let graph = format!("graph -r {ROOT} --overwrite");
    for line in [
        format!("{graph} --labels in.csv -o in.csv"),
        format!("{graph} --labels . -o in.csv"),
        format!("{graph} --stop-at in.csv -o x.csv --vertices in.csv"),
        format!("{graph} --prices in.csv -o x.svg --stats in.csv"),
        format!("{graph} -r {HUB},@in.csv -o ./in.csv"),
        format!("{graph} --config c.toml -o in.csv"),
        "query ./q.toml -o in.csv --overwrite".to_owned(),
        "evm asm in.csv -o in.csv --overwrite".to_owned(),
        "transfers --source csv:in.csv --stats in.csv".to_owned(),
    ] {
        sample.run(&line).ended(2).says("in.csv is an input");
        assert_eq!(sample.read("in.csv"), text, "{line}");
    }
    assert!(!sample.path("x.csv").exists());
    sample.ok("transfers -q -o t.csv");
    let before = sample.read("t.csv");
    sample
        .run("transfers -q --source csv:. --stats t.csv")
        .ended(2)
        .says("t.csv is an input");
    assert_eq!(sample.read("t.csv"), before);
}

/// `--stats` states the cost of every command, also of one that fails.
#[test]
fn stats_are_written() {
    let sample = Sample::small();
    let read = |line: &str, status: i32| -> serde_json::Value {
        sample
            .run(&format!("{line} --stats stats.json"))
            .ended(status);
        sample.read_json("stats.json")
    };
    let stats = read(
        "transfers -b 10:20 -o t.csv --threads 1 --chunk-blocks 3",
        0,
    );
    let rows = crate::harness::rows(&sample.read("t.csv")).len();
    assert_eq!(
        (&stats["blocks"], &stats["transfers"]),
        (&10.into(), &rows.into())
    );
    assert_eq!(
        (&stats["threads"], &stats["chunk_blocks"]),
        (&1.into(), &3.into())
    );
    assert_eq!(stats["files"][0]["rows"], rows);
    let hash = stats["last_block_hash"].as_str();
    assert!(hash.is_some_and(|hash| hash.starts_with("0x")), "{stats}");
    assert_eq!(stats["files"][0]["bytes"], sample.read("t.csv").len());
    for line in [
        format!("graph -r {ROOT}"),
        "analyze summary".to_owned(),
        "info".to_owned(),
        format!("query who-funded --set root={ROOT}"),
        "completions bash".to_owned(),
    ] {
        let stats = read(&line, 0);
        let phases = stats["phases"].as_array().unwrap();
        let sum: f64 = phases
            .iter()
            .map(|phase| phase["seconds"].as_f64().unwrap())
            .sum();
        let all = stats["seconds"].as_f64().unwrap();
        assert!(sum <= all && sum > 0.99 * all - 0.01, "{line}: {stats}");
        assert!(
            line.starts_with(stats["command"].as_str().unwrap()),
            "{stats}"
        );
        assert!(stats["error"].is_null(), "{stats}");
    }
    let failed = read("transfers -b 100:", 3);
    assert!(
        failed["error"].as_str().unwrap().contains("block 40"),
        "{failed}"
    );
    // An output stays, and so does its metadata.
    for name in ["u.csv", "u.csv.meta.json"] {
        let run = sample.run(&format!("transfers -o u.csv --overwrite --stats {name}"));
        run.ended(2).says("an output has this name");
        assert!(sample.read("u.csv").starts_with("block_number,"));
        assert!(sample.read_json("u.csv.meta.json")["chain"].is_object());
    }
    let stats = read(&format!("address {ROOT} -o a.json"), 0);
    assert_eq!(stats["files"][0]["path"], "a.json");
    // Not in the data directory.
    let path = sample.fixture.path().join("stats.json");
    let run = sample.run(&format!("info --stats {}", path.display()));
    assert_ne!(run.status, 0, "{run:?}");
    assert!(!path.exists());
}

/// One query writes several files, each as if it were the only one.
#[test]
fn several_files_are_written_at_once() {
    let sample = Sample::small();
    let tables = ["csv", "jsonl", "parquet"];
    let columns = "transfers --columns block_number,symbol,amount,transaction_from";
    for (query, extensions) in [
        (columns.to_owned(), &tables[..]),
        (format!("graph -r {ROOT}"), &["csv", "dot", "gexf"]),
        (
            "analyze degrees --table hubs".to_owned(),
            &["json", "csv", "parquet"],
        ),
        ("query cycles --set token=all".to_owned(), &["json", "csv"]),
        (format!("replay transfers {CHAIN}"), &tables),
        (
            format!("replay trace call --tx 20:3 {CHAIN}"),
            &["json", "csv"],
        ),
        (
            format!("replay trace struct --tx 20:3 {CHAIN}"),
            &["json", "txt"],
        ),
        (format!("replay trace gas {CHAIN}"), &["txt", "csv"]),
    ] {
        let named = |name: &str, extension: &&str| format!("{name}.{extension}");
        let outputs = extensions.iter().map(|it| format!(" -o all.{it}"));
        let all = sample.ok(&format!(
            "{query} --overwrite{}",
            outputs.collect::<String>()
        ));
        for extension in extensions {
            let (file, alone) = (named("all", extension), named("alone", extension));
            all.says(&file);
            sample.ok(&format!("{query} -q --overwrite -o {alone}"));
            let read = |name: &str| fs::read(sample.path(name)).unwrap();
            assert!(!read(&file).is_empty(), "{query}: {file}");
            assert!(read(&file) == read(&alone), "{query}: {file}");
        }
    }
    for query in [
        "transfers".to_owned(),
        "analyze degrees".to_owned(),
        format!("replay transfers {CHAIN}"),
    ] {
        for (outputs, message) in [
            ("-o x.csv -o x.csv", "x.csv"),
            (
                "-o x.csv -o y.csv -f csv",
                "a format applies to a single output",
            ),
        ] {
            sample.fails(&format!("{query} {outputs}"), 2, message);
            assert!(!sample.path("x.csv").exists());
        }
    }
}

/// Files have the document of `--json`, and standard output has what was asked for.
#[test]
fn answers_about_addresses_are_also_files() {
    let sample = Sample::small();
    for line in [
        format!("path {PEEL}"),
        format!("path {PEEL} --max-flow"),
        format!("common {PEEL}"),
        format!("address {ROOT}"),
    ] {
        let printed = |options: &str| sample.ok(&format!("{line} -q {options}")).stdout;
        let (text, json) = (printed(""), printed("--json"));
        assert_eq!(printed("-o a.json"), "");
        assert_eq!(printed("-o b.json -o -"), text);
        assert_eq!(printed("-o b.json --json --overwrite"), json);
        for name in ["a.json", "b.json"] {
            assert_eq!(sample.read(name), json, "{line}");
        }
        sample.fails(&format!("{line} -o a.json"), 1, "a.json: already exists");
        sample.fails(&format!("{line} -o a.csv"), 2, "name a file .json");
        let inside = sample.fixture.path().join("a.json");
        let run = sample.run(&format!("{line} -o {}", inside.display()));
        assert_refused(&run, &line);
        sample.ok(&format!("{line} --explain -o c.json"));
        assert!(line.starts_with("address") || !sample.path("c.json").exists());
        for name in ["a.json", "b.json"] {
            fs::remove_file(sample.path(name)).unwrap();
        }
    }
}
