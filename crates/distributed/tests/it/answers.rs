//! Results of a cluster equal the local engine's, byte for byte.

use crate::harness::{Cluster, ROOT, TRANSFERS, driver, ok, run};
use std::path::Path;
use txgraph_testkit::fixtures;

/// Addresses of the committed chain.
const OTHER_ROOT: &str = "0x46090d05ee648274f4895bc27c1f97ec1dc51a0d";
const TOKEN: &str = "0xd601451207128971898aab8654521699f35222e2";

/// Queries of all kinds, with all limits of a search.
fn queries(root: &str, other: &str, token: &str) -> Vec<String> {
    let mut lines = vec![
        TRANSFERS.to_owned(),
        "transfers -q --from-block 10 --to-block 30 --format jsonl -o -".to_owned(),
        "transfers -q --blocks 3:9,20:40 --format csv -o -".to_owned(),
        // Blocks 10 to 29, whose executors find them.
        "transfers -q --since 2024-01-01T00:51:50 --until 2024-01-01T00:56:00 --format csv -o -"
            .to_owned(),
        format!("transfers -q --address {root} --format csv -o -"),
        "transfers -q --token eth --min-value 1 --format csv -o -".to_owned(),
        format!("transfers -q --token {token} --format csv -o -"),
    ];
    for search in [
        "-n 1",
        "-n 3",
        "-n all",
        "-n 3 -d in",
        "-n 2 -d both",
        "-n 3 --time-respecting",
        "-n 3 -d in --time-respecting",
        "-n 3 --max-degree 5",
        "-n 3 --max-vertices 20",
        "-n 3 --max-edges 30",
        "-n 2 --expand-zero",
        "-n 3 --min-value 1000",
        "-n 0",
    ] {
        lines.push(format!("graph -q -r {root} {search} --format csv -o -"));
    }
    lines.extend([
        format!("graph -q -r {root} -r {other} -n 3 --format json"),
        format!("graph -q -r {root} -n 3 --token {token},eth --format json"),
        format!("graph -q -r {root} -n 3 --stop-at stop.csv --format json"),
        format!("graph -q -r {root} -n 2 --merge --format csv -o -"),
        "analyze summary -q --format json".to_owned(),
        "analyze pairs -q --format csv".to_owned(),
        "analyze degrees -q --format json".to_owned(),
        // In partitions, whose first rows are merged.
        "analyze summary -q --limit 2 --format json".to_owned(),
        "analyze pairs -q --limit 3 --format json".to_owned(),
        "analyze pairs -q --limit 9 --order count --format csv".to_owned(),
        "analyze pairs -q --order address --format csv".to_owned(),
        "analyze degrees -q --limit 4 --format json".to_owned(),
        "analyze components -q --limit 2 --format json".to_owned(),
        format!("analyze pairs -q --token {token},eth --blocks 3:9,20:40 --format json"),
        format!("analyze summary -q --token {root} --min-value 5 --format json"),
        "analyze components -q --format json".to_owned(),
        "analyze cycles -q --format json".to_owned(),
        format!("analyze components -q -r {root} -n 3 --format json"),
        format!("analyze summary -q -r {root} -n 2 --format json"),
    ]);
    lines
}

/// A result in JSON without what only the state of a node shows: its block, and which addresses
/// are contracts. A driver has no state.
fn without_state(answer: &str) -> String {
    let mut text = answer.to_owned();
    for key in ["\"is_contract\":", "\"contracts\":", "\"state\":"] {
        let mut parts = text.split(key);
        let mut without = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // The value is a word, a number or an object without others in it.
            let ends: &[char] = match part.trim_start().starts_with('{') {
                true => &['}'],
                false => &[',', '}', '\n'],
            };
            without += key;
            without += part.find(ends).map_or("", |end| &part[end..]);
        }
        text = without;
    }
    text
}

/// Compares the results of a cluster with the results of `local`, which are options that name the
/// source.
fn compare(cluster: &Cluster, local: &str, on_cluster: &str, lines: &[String]) {
    let folder = cluster.folder.path();
    std::fs::write(folder.join("stop.csv"), format!("{OTHER_ROOT},exchange\n")).unwrap();
    cluster.configure("local-frontier = 0\nchunks = 7\npartitions = 11");
    let mut rows = 0;
    for line in lines {
        let expected = ok(folder, &format!("{line} {local}"));
        let found = cluster.ok(&format!("{line} {on_cluster}"));
        assert!(
            without_state(&found.stdout) == without_state(&expected.stdout),
            "{line}\nexpected {expected:?}\nfound {found:?}"
        );
        rows += found.stdout.lines().count();
    }
    assert!(rows > 1000, "{rows}");
    cluster.configure("");
}

#[test]
fn data_directories_of_executors() {
    let [v1, v2] = fixtures::committed();
    // The same chain in both layouts: chunks come from either.
    let cluster = Cluster::start(&[Some(v1.path()), Some(v2.path())]);
    let local = format!("--datadir {}", v2.path().display());
    compare(&cluster, &local, "", &queries(ROOT, OTHER_ROOT, TOKEN));
}

#[test]
fn lakes() {
    let [_, v2] = fixtures::committed();
    let cluster = Cluster::start(&[None, None]);
    let folder = cluster.folder.path();
    build_lake(folder, v2.path());
    let lake = "--source lake:x.lake";
    compare(&cluster, lake, lake, &queries(ROOT, OTHER_ROOT, TOKEN));
    // Small frontiers are read in the driver.
    let line = format!("graph -q -r {ROOT} -n 3 --format csv -o - {lake}");
    let local = run(&mut driver(folder, &line));
    let mut command = cluster.driver(&line);
    let mixed = run(command.env("RUST_LOG", "txgraph_distributed=debug"));
    assert_eq!(mixed.stdout, local.stdout, "{mixed:?}");
    mixed.says("in this process");
}

/// Builds a lake with several partitions.
pub(crate) fn build_lake(folder: &Path, data_directory: &Path) {
    let line = "lake build -q x.lake --reorg-buffer 0 --partition-blocks 16 --datadir";
    run(driver(folder, line).arg(data_directory)).ended(0);
}

#[test]
fn real_nodes() {
    for name in ["dev-v1", "dev-v2", "long-v2"] {
        let Some(fixture) = fixtures::fixture(name) else {
            continue;
        };
        let cluster = Cluster::start(&[Some(fixture.path()), Some(fixture.path())]);
        let local = format!("--datadir {}", fixture.path().display());
        let lines = [
            TRANSFERS.to_owned(),
            "analyze summary -q --format json".to_owned(),
            "analyze pairs -q --format json".to_owned(),
            "analyze degrees -q --format json".to_owned(),
            "analyze components -q --format json".to_owned(),
        ];
        compare(&cluster, &local, "", &lines);
    }
}
