//! Files of other tools as a source: their options, and joined sources.

use crate::harness::{self, CHAIN, PEEL, Run, Sample};
use std::{collections::BTreeMap, path::Path};

fn ask(folder: &Path, source: &str, line: &str) -> Run {
    harness::ask(folder, &format!("{line} --source {source}"))
}

fn ok(folder: &Path, source: &str, line: &str) -> Run {
    harness::ok(folder, &format!("{line} --source {source}"))
}

/// The address that sends most, so that a graph around it is not empty.
fn busy(csv: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let zero = format!("0x{:040x}", 0);
    for line in csv.lines().skip(1) {
        let from = line.split(',').nth(7).unwrap();
        if from != zero {
            *counts.entry(from).or_default() += 1;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.unwrap().0.to_owned()
}

#[test]
fn tables_of_txgraph_are_read_back() {
    let sample = Sample::small();
    let folder = sample.path("");
    let all = "transfers -q --format csv -o -";
    let expected = sample.ok(all).stdout;
    for (name, options) in [
        ("t.csv", ""),
        ("t.jsonl", ""),
        ("t.parquet", "--columns all:string"),
        ("c.csv", "--columns cryo"),
        ("c.parquet", "--columns cryo:binary"),
    ] {
        sample.ok(&format!("transfers -q {options} -o {name}"));
        let found = ok(&folder, &format!("csv:{name}"), all);
        assert!(found.stdout == expected, "{name}");
        assert!(!found.stderr.contains("do not state"), "{name}: {found:?}");
        // They have what was asked for.
        for (line, what) in [
            ("transfers -q --with-internal", "inside of transactions"),
            (
                "transfers -q --wrapped-native none",
                "written with another choice",
            ),
        ] {
            ask(&folder, &format!("csv:{name}"), line)
                .ended(2)
                .says(what);
        }
    }
    sample.ok("transfers -q -b 3:5 -b 8:9 -o p.parquet");
    ask(&folder, "csv:p.parquet", "transfers -q -b 5:8").ended(3);
    let internal = "transfers -q --with-internal";
    let all = sample.ok(&format!("{internal} {CHAIN} --format csv"));
    sample.ok(&format!("{internal} {CHAIN} -o i.csv"));
    let read = ok(&folder, "csv:i.csv", &format!("{internal} --format csv"));
    assert!(read.stdout == all.stdout);
    let fees = format!("{internal} --kind fee");
    ask(&folder, "csv:i.csv", &fees)
        .ended(2)
        .says("a request for fees");
    sample.ok(&format!("{fees} {CHAIN} -o fees.csv"));
    ok(&folder, "csv:fees.csv", &fees);
    sample.ok("transfers -q --columns all,value:f64 -o f.csv");
    ask(&folder, "csv:f.csv", "transfers -q")
        .ended(1)
        .says("column value");
    // Lines of JSON, whatever the extension.
    sample.ok("transfers -q -o s.jsonl");
    for end in ["", ".meta.json"] {
        let [from, to] = ["s.jsonl", "s.json"].map(|name| sample.path(&format!("{name}{end}")));
        std::fs::rename(from, to).unwrap();
    }
    let common = format!("common {PEEL} -q -o s.json --overwrite");
    for (source, line) in [
        ("csv:t.csv", "transfers -q -o t.csv --overwrite"),
        ("csv:s.json", &common),
    ] {
        ask(&folder, source, line).ended(2).says("is an input");
    }
}

#[test]
fn coverage_and_columns_are_options() {
    let sample = Sample::small();
    let folder = sample.path("");
    let (a, b) = (format!("0x{:040x}", 0xaa), format!("0x{:040x}", 0xbb));
    let text = format!("height,sender,receiver,amount\n5,{a},{b},1000\n9,{b},{a},7\n");
    std::fs::write(folder.join("x.csv"), text).unwrap();
    let columns = "--source-columns block=height,from=sender,to=receiver,value=amount --chain-id 1";
    let plain = ok(&folder, "csv:x.csv", &format!("transfers -q {columns}"));
    assert_eq!(plain.stdout.lines().count(), 3);
    plain.says("do not state which blocks they cover; 5:10");
    let covered = ok(
        &folder,
        "csv:x.csv",
        &format!("transfers -o x.out.csv {columns} --covers 0:11"),
    );
    assert!(!covered.stderr.contains("do not state"), "{covered:?}");
    let meta = sample.read("x.out.csv.meta.json");
    assert!(
        meta.contains("caveats") && meta.contains("no tables of"),
        "{meta}"
    );
    for (line, status, message) in [
        (
            format!("transfers {columns} -b 5:20"),
            3,
            "blocks not available: 10:20",
        ),
        ("transfers --chain-id 1".to_owned(), 2, "no known table"),
        (
            format!("transfers {columns} --with-internal"),
            2,
            "csv:x.csv: no table has transfers inside of transactions; found: chosen columns. Add \
             for the same blocks: a table of traces, or transfers of txgraph",
        ),
        (
            format!("transfers {columns} --standard erc721"),
            2,
            "no table of the files contains any",
        ),
        (
            format!("transfers {columns} --covers 5:"),
            2,
            "name the first and the last",
        ),
        (
            "transfers --columns block=height,from=sender,to=receiver,value=amount".to_owned(),
            2,
            "no column `block=height`",
        ),
        (format!("info {columns}"), 2, "cannot describe"),
    ] {
        ask(&folder, "csv:x.csv", &line).ended(status).says(message);
    }
    // The default blocks are the blocks of the files.
    let answer = ok(
        &folder,
        "csv:x.csv",
        &format!("transfers {columns} -o y.csv"),
    );
    let note = "chosen columns: 1 file, 2 rows";
    answer.says("blocks 5:10 (5 in all");
    answer.says(&format!("read {note}"));
    assert!(sample.read("y.csv.meta.json").contains(note));
}

/// Writes the parts of a chain as files that cover `ranges`.
fn split(folder: &Path, sample: &Sample, ranges: &[(&str, u64, u64)]) {
    for (name, first, last) in ranges {
        let line = format!(
            "transfers -q --from-block {first} --to-block {last} -o {}",
            folder.join(name).display()
        );
        sample.ok(&line);
    }
}

#[test]
fn joined_sources_equal_the_whole() {
    let sample = Sample::small();
    let folder = sample.path("");
    let all = "transfers -q --format csv -o -";
    let expected = sample.ok(all).stdout;
    split(
        &folder,
        &sample,
        &[
            ("a.csv", 0, 15),
            ("b.csv", 10, 25),
            ("c.csv", 26, 40),
            ("d.csv", 30, 40),
        ],
    );
    let joined = |sources: &[&str], line: &str| {
        harness::ask(
            &folder,
            &format!("{line} --source {}", sources.join(" --source ")),
        )
    };
    // Blocks 10 to 15 are in two files.
    let three = joined(&["csv:a.csv", "csv:b.csv", "csv:c.csv"], all).ended(0);
    // Tables of transfers have no hashes of blocks.
    let unlinked = "no hash of a block shows that csv:a.csv and csv:b.csv are of the same branch";
    three.says(unlinked);
    assert!(three.stdout == expected);
    let node = format!("reth:{}", sample.fixture.path().display());
    let both = joined(&[&node, "csv:d.csv"], all);
    assert!(both.stdout == expected, "{both:?}");
    let root = busy(&expected);
    let graph = format!("graph -q -r {root} -n 3 --format csv -o -");
    let found = joined(&["csv:c.csv", "csv:a.csv", "csv:b.csv"], &graph);
    assert_eq!(found.stdout, sample.ok(&graph).stdout, "{found:?}");
    // A gap is stated.
    joined(&["csv:a.csv", "csv:d.csv"], &format!("{all} -b 0:41"))
        .ended(3)
        .says("16:30");
    joined(
        &["csv:a.csv", "csv:d.csv"],
        &format!("{all} -b 0:41 --allow-partial"),
    )
    .ended(0)
    .says("16:30");
    // An overlap that differs is refused.
    let changed = sample.read("b.csv");
    let at = changed
        .lines()
        .position(|line| line.starts_with("12,"))
        .unwrap();
    let changed: Vec<_> = changed
        .lines()
        .enumerate()
        .filter(|(n, _)| *n != at)
        .map(|(_, line)| line)
        .collect();
    std::fs::write(folder.join("b.csv"), changed.join("\n")).unwrap();
    joined(&["csv:a.csv", "csv:b.csv"], all)
        .ended(1)
        .says("block 12: the transfers in csv:a.csv and csv:b.csv differ");
    // Another chain.
    let id = sample.fixture.chain_id().unwrap();
    let other = sample.read("c.csv").replace(&format!(",{id}\n"), ",5\n");
    std::fs::write(folder.join("x.csv"), other).unwrap();
    joined(&["csv:a.csv", "csv:x.csv"], all)
        .ended(2)
        .says("belongs to chain 5");
}
