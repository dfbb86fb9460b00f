//! SQL and measures of whole chains, compared with naive ones on the rows of the local engine.

use crate::harness::{Cluster, driver, ok, run};
use alloy_primitives::{U256, aliases::U320};
use datafusion::{
    arrow::{csv::Writer, ipc::reader::FileReader},
    parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use txgraph_testkit::fixtures;

/// Token, sender, receiver and amount.
type Row = (String, String, String, U256);

/// All transfers, by the local engine.
fn rows(folder: &Path, source: &str) -> Vec<Row> {
    let line = format!("transfers -q --format csv -o - {source}");
    let local = ok(folder, &line);
    let lines = local.stdout.lines().skip(1).map(|line| {
        let cells: Vec<_> = line.split(',').map(str::to_owned).collect();
        let value = cells[9].parse().unwrap();
        (cells[6].clone(), cells[7].clone(), cells[8].clone(), value)
    });
    lines.collect()
}

/// The cells of a CSV without its header.
fn cells(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip(1);
    lines
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect()
}

/// Statements whose plan has stages, on both kinds of input.
pub(crate) fn check(cluster: &Cluster, source: &str, local: &str) {
    let folder = cluster.folder.path();
    let rows = rows(folder, local);
    let ask = |line: &[&str]| {
        let mut command = driver(folder, "");
        command.args(line).args(source.split_whitespace());
        let found = run(command.arg("--cluster").arg(cluster.address()));
        assert_eq!(found.status, 0, "{line:?}: {found:?}\n{}", cluster.logs());
        cells(&found.stdout)
    };

    // Exact sums.
    let mut sums: BTreeMap<&str, (u64, U320)> = BTreeMap::new();
    for (token, .., value) in &rows {
        let sum = sums.entry(token.as_str()).or_default();
        sum.0 += 1;
        sum.1 += U320::from_limbs_slice(value.as_limbs());
    }
    let found = ask(&[
        "sql",
        "SELECT coalesce(hex(token_address), ''), count(*), sum_u256(value) FROM transfers \
         GROUP BY 1 ORDER BY 1",
    ]);
    let expected: Vec<_> = sums
        .iter()
        .map(|(token, (count, sum))| vec![(*token).to_owned(), count.to_string(), sum.to_string()])
        .collect();
    assert_eq!(found, expected);

    // Conditions that restrict what is read.
    let (_, sender, ..) = &rows[rows.len() / 2];
    let sql = format!(
        "SELECT count(*), min(block_number) FROM transfers WHERE from_address = X'{}' \
         AND block_number > 0",
        &sender[2..]
    );
    let count = rows.iter().filter(|row| row.1 == *sender).count();
    assert_eq!(ask(&["sql", &sql])[0][0], count.to_string());

    // Components equal the local engine's.
    let line = format!("analyze components -q --format csv {local}");
    let local = run(&mut driver(folder, &line));
    let expected: Vec<_> = cells(&local.stdout)
        .into_iter()
        .map(|row| vec![row[4].clone(), row[1].clone(), row[2].clone()])
        .collect();
    let found: Vec<_> = ask(&["components"])
        .into_iter()
        .map(|row| row[..3].to_vec())
        .collect();
    assert_eq!(found, expected);

    // PageRank, to a tolerance: the order of additions differs.
    let edges: BTreeSet<(&str, &str)> = rows
        .iter()
        .map(|row| (row.1.as_str(), row.2.as_str()))
        .collect();
    let expected = pagerank(&edges, 8);
    let found = ask(&["pagerank", "--rounds", "8"]);
    assert_eq!(found.len(), expected.len());
    for row in &found {
        let (ours, theirs) = (row[1].parse::<f64>().unwrap(), expected[row[0].as_str()]);
        assert!((ours - theirs).abs() < 1e-12, "{row:?} {theirs}");
    }

    // Motifs.
    let cycles = edges
        .iter()
        .filter(|(a, b)| a < b && edges.contains(&(*b, *a)));
    let many = |end: fn(&(&str, &str)) -> String| {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for edge in edges.iter().filter(|(a, b)| a != b) {
            *counts.entry(end(edge)).or_default() += 1;
        }
        counts.values().filter(|count| **count >= 10).count()
    };
    let expected = [
        ("fan-in of 10", many(|edge| edge.1.to_owned())),
        ("fan-out of 10", many(|edge| edge.0.to_owned())),
        ("loops", edges.iter().filter(|(a, b)| a == b).count()),
        ("two-cycles", cycles.count()),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, count)| vec![(*name).to_owned(), count.to_string()])
        .collect();
    assert_eq!(ask(&["motifs"]), expected);

    // Tokens: sums, addresses and edges.
    let mut addresses_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut edges_of: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for (token, from, to, _) in &rows {
        addresses_of
            .entry(token)
            .or_default()
            .extend([from.as_str(), to]);
        edges_of.entry(token).or_default().insert((from, to));
    }
    let found = ask(&["tokens"]);
    assert_eq!(found.len(), sums.len());
    for row in &found {
        let token = if row[0] == "native" {
            ""
        } else {
            row[0].as_str()
        };
        let (count, sum) = &sums[token];
        let (addresses, edges) = (&addresses_of[token], &edges_of[token]);
        let expected = [
            count.to_string(),
            sum.to_string(),
            addresses.len().to_string(),
            edges.len().to_string(),
        ];
        assert_eq!(row[1..5], expected, "{token}");
        let concentration: f64 = row[6].parse().unwrap();
        assert!(concentration > 0.0 && concentration <= 1.0, "{row:?}");
    }
}

/// PageRank by its definition.
fn pagerank<'a>(edges: &BTreeSet<(&'a str, &'a str)>, rounds: usize) -> BTreeMap<&'a str, f64> {
    let vertices: BTreeSet<&str> = edges.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let n = vertices.len() as f64;
    let mut degrees: BTreeMap<&str, f64> = vertices.iter().map(|v| (*v, 0.0)).collect();
    for (from, _) in edges {
        *degrees.get_mut(from).unwrap() += 1.0;
    }
    let mut ranks: BTreeMap<&str, f64> = vertices.iter().map(|v| (*v, 1.0 / n)).collect();
    for _ in 0..rounds {
        let dangling: f64 = vertices
            .iter()
            .filter(|v| degrees[*v] == 0.0)
            .map(|v| ranks[v])
            .sum();
        let mut next: BTreeMap<&str, f64> = vertices
            .iter()
            .map(|v| (*v, 0.15 / n + 0.85 * dangling / n))
            .collect();
        for (a, b) in edges {
            *next.get_mut(b).unwrap() += 0.85 * ranks[a] / degrees[a];
        }
        ranks = next;
    }
    ranks
}

#[test]
fn measures_of_data_directories() {
    let [v1, v2] = fixtures::committed();
    let cluster = Cluster::start(&[Some(v1.path()), Some(v2.path())]);
    let local = format!("--datadir {}", v1.path().display());
    check(&cluster, "", &local);
}

#[test]
fn measures_of_lakes() {
    let [_, v2] = fixtures::committed();
    let cluster = Cluster::start(&[None, None]);
    crate::answers::build_lake(cluster.folder.path(), v2.path());
    check(&cluster, "--source lake:x.lake", "--source lake:x.lake");
}

#[test]
fn wrong_statements_are_usage_errors() {
    let (_v2, cluster) = Cluster::small(1);
    for (sql, expected) in [
        ("SELECT nothing FROM transfers", "nothing"),
        ("DROP TABLE transfers", "DDL not supported"),
        ("SELEC 1", "SELEC"),
        (
            "SELECT 1 FROM transfers WHERE token_address = '0x12'",
            "X'…'",
        ),
        (
            "SELECT kind, sum_u256(value), sum_u256(DISTINCT value) FROM transfers GROUP BY kind",
            "SELECT DISTINCT",
        ),
    ] {
        let mut command = driver(cluster.folder.path(), "");
        command.args(["sql", sql, "--cluster"]);
        let found = run(command.arg(cluster.address())).ended(2);
        found.says(expected);
    }
}

#[test]
fn statements_need_no_cluster() {
    let [_, v2] = fixtures::committed();
    let folder = tempfile::tempdir().unwrap();
    crate::answers::build_lake(folder.path(), v2.path());
    let local = format!("--datadir {}", v2.path().display());
    let rows = rows(folder.path(), &local);
    for source in [
        format!("reth:{}", v2.path().display()),
        "lake:x.lake".to_owned(),
    ] {
        let ask = |line: &[&str]| {
            let mut command = driver(folder.path(), "");
            let found = run(command.args(line).args(["--source", &source])).ended(0);
            cells(&found.stdout)
        };
        let sum = rows
            .iter()
            .map(|row| U320::from_limbs_slice(row.3.as_limbs()));
        let sum = sum.fold(U320::ZERO, |sum, value| sum + value);
        let found = ask(&["sql", "SELECT count(*), sum_u256(value) FROM transfers"]);
        assert_eq!(found, [[rows.len().to_string(), sum.to_string()]]);
        assert!(ask(&["tokens"]).len() > 1);
        let values: BTreeSet<U256> = rows.iter().map(|row| row.3).collect();
        let values = values.iter();
        let sum = values.fold(U320::ZERO, |sum, it| {
            sum + U320::from_limbs_slice(it.as_limbs())
        });
        let distinct = ask(&["sql", "SELECT sum_u256(DISTINCT value) FROM transfers"]);
        assert_eq!(distinct, [[sum.to_string()]]);
    }
    let help = ok(folder.path(), "--help");
    let of_one = ok(folder.path(), "help sql");
    of_one.prints("sum_u256");
    for command in ["sql", "runs", "components"] {
        help.prints(&format!("\n  {command} "));
    }
    let mut command = driver(folder.path(), "sql X --source executors:");
    let refused = run(&mut command).ended(2);
    refused.says("--cluster");
}

#[test]
fn results_are_written_in_every_format() {
    let [_, v2] = fixtures::committed();
    let folder = tempfile::tempdir().unwrap();
    let ask = |sql: &str, more: &str| {
        let mut command = driver(folder.path(), "");
        command.args(["sql", sql, "--source"]);
        command.arg(format!("reth:{}", v2.path().display()));
        run(command.args(more.split_whitespace()))
    };
    let sql = "SELECT block_number, hex(to_address) AS receiver, decimal(value) AS amount \
               FROM transfers ORDER BY block_number, log_index, amount";
    let printed = ask(sql, "").ended(0);
    let files = "-o a.csv -o a.jsonl -o a.parquet -o a.arrow";
    let written = ask(sql, files);
    assert_eq!((written.status, &*written.stdout), (0, ""), "{written:?}");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("a.csv"), printed.stdout.as_bytes());
    let parquet = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(read("a.parquet")));
    let parquet: Vec<_> = parquet.unwrap().build().unwrap().collect();
    let arrow = FileReader::try_new(std::io::Cursor::new(read("a.arrow")), None).unwrap();
    for batches in [parquet, arrow.collect()] {
        let mut csv = Writer::new(Vec::new());
        for batch in batches {
            csv.write(&batch.unwrap()).unwrap();
        }
        assert_eq!(csv.into_inner(), printed.stdout.as_bytes());
    }
    let lines = String::from_utf8(read("a.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), cells(&printed.stdout).len());

    // A reader that has seen enough is no error.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = driver(folder.path(), "");
    command.args(["sql", sql, "--source"]);
    command.arg(format!("reth:{}", v2.path().display()));
    let closed = command.stdout(writer).output().unwrap();
    let stderr = String::from_utf8_lossy(&closed.stderr);
    assert!(
        closed.status.success() && !stderr.contains("error"),
        "{stderr}"
    );

    // Without rows, there are columns.
    let none = format!("SELECT * FROM ({sql}) WHERE block_number > 1000000");
    assert_eq!(ask(&none, "").stdout, "block_number,receiver,amount\n");

    for (more, status, reason) in [
        (files, 2, "replace it with --overwrite"),
        ("-o b.xlsx", 2, "ends with .csv, .jsonl"),
        ("-o none/b.csv", 1, "No such file"),
    ] {
        let refused = ask(sql, more).ended(status);
        refused.says(reason);
    }
    ask("SELECT 1 AS one", "-o a.csv --overwrite").ended(0);
    assert_eq!(read("a.csv"), b"one\n1\n");
}
