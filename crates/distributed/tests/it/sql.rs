//! SQL and measures of whole chains, compared with naive ones on the rows of the local engine.

use crate::harness::{Cluster, Run, driver, ok, run};
use alloy_primitives::{U256, aliases::U320};
use datafusion::{
    arrow::{csv::Writer, ipc::reader::FileReader},
    parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
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

    // Rows that tasks exchange in all ways: statements equal statements in one process.
    let own = local.replace("--datadir ", "--source reth:");
    let own = own.trim_end_matches(" --index off");
    for sql in [
        "SELECT hex(from_address), row_number() OVER (PARTITION BY token_address \
         ORDER BY count(*) DESC, from_address) AS place FROM transfers \
         GROUP BY token_address, from_address ORDER BY token_address, place",
        "SELECT count(*), count(DISTINCT a.to_address) FROM transfers a JOIN transfers b \
         ON a.to_address = b.from_address AND a.block_number < b.block_number",
        "SELECT kind, count(*) FROM (SELECT * FROM transfers WHERE block_number < 20 \
         UNION ALL SELECT * FROM transfers) GROUP BY kind ORDER BY kind",
        "SELECT decimal(value), (SELECT max(block_number) FROM transfers) FROM transfers \
         WHERE value = (SELECT max(value) FROM transfers) LIMIT 1",
        "SELECT block_number, hex(to_address) FROM transfers \
         ORDER BY block_number DESC, transaction_index, log_index, to_address LIMIT 5 OFFSET 3",
        "SELECT 1 AS one FROM transfers LIMIT 3",
        "SELECT max(block_number) - min(block_number) FROM transfers",
        "SELECT hex(from_address) FROM transfers EXCEPT SELECT hex(to_address) FROM transfers \
         ORDER BY 1",
    ] {
        let mut here = driver(folder, "");
        here.args(["sql", sql]).args(own.split_whitespace());
        let expected = cells(&run(&mut here).ended(0).stdout);
        assert_eq!(ask(&["sql", sql]), expected, "{sql}");
        assert!(!expected.is_empty(), "{sql}");
    }

    // Measures in partitions equal measures in one process. PageRank does to a tolerance: the order of
    // additions differs.
    let here = |line: &str| cells(&ok(folder, &format!("{line} -q {own}")).stdout);
    for line in ["motifs", "tokens", "tokens --limit 3"] {
        let expected = here(line);
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(ask(&words), expected, "{line}");
        assert!(expected.len() > 2, "{line}: {expected:?}");
    }
    let ranks = |rows: Vec<Vec<String>>| -> BTreeMap<String, f64> {
        let ranks = rows.into_iter();
        ranks
            .map(|row| (row[0].clone(), row[1].parse().unwrap()))
            .collect()
    };
    let expected = ranks(here("pagerank --rounds 8"));
    let found = ranks(ask(&["pagerank", "--rounds", "8"]));
    assert!(found.keys().eq(expected.keys()) && found.len() > 20);
    for (address, rank) in found {
        assert!((rank - expected[&address]).abs() < 1e-12, "{address}");
    }
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
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5)
             SELECT count(*) FROM n",
            "run it without --cluster",
        ),
    ] {
        let mut command = driver(cluster.folder.path(), "");
        command.args(["sql", sql, "--cluster"]);
        let found = run(command.arg(cluster.address())).ended(2);
        found.says(expected);
        assert!(!found.stderr.contains("Exec"), "{found:?}");
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

    // A run is continued from any folder. A measure of nothing has columns.
    let line = "tokens -q --to-block 0 --source lake:x.lake --run run";
    ok(
        folder.path(),
        &format!("{line} -o none.parquet -o none.csv"),
    );
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let columns = String::from_utf8(read("none.csv")).unwrap();
    assert_eq!(columns.lines().count(), 1, "{columns}");
    let parquet = bytes::Bytes::from(read("none.parquet"));
    let parquet = ParquetRecordBatchReaderBuilder::try_new(parquet).unwrap();
    let names: Vec<_> = (parquet.schema().fields().iter())
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(names.join(","), columns.trim_end());
    for name in ["none.parquet", "none.csv"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let mut resume = driver(elsewhere.path(), "runs resume");
    run(resume.arg(folder.path().join("run"))).ended(0);
    assert_eq!(read("none.csv"), columns.as_bytes());

    let help = ok(folder.path(), "--help");
    let of_one = ok(folder.path(), "help sql");
    of_one.prints("sum_u256");
    for command in ["sql", "runs", "tokens"] {
        help.prints(&format!("\n  {command} "));
    }
    let mut command = driver(folder.path(), "sql X --source executors:");
    let refused = run(&mut command).ended(2);
    refused.says("--cluster");
}

#[test]
fn a_statement_in_this_process_ends_on_a_signal() {
    let [_, v2] = fixtures::committed();
    let folder = tempfile::tempdir().unwrap();
    let mut command = driver(folder.path(), "sql --run run --source");
    command.arg(format!("reth:{}", v2.path().display())).arg(
        "SELECT count(*) FROM transfers a, transfers b, transfers c, transfers d \
         WHERE a.value < b.value AND b.value < c.value AND c.value < d.value",
    );
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    // The join begins after the first step.
    let steps = folder.path().join("run/steps");
    while !std::fs::read_dir(&steps).is_ok_and(|steps| {
        let files = steps.map(|step| step.unwrap().path().join("step.json"));
        files.into_iter().any(|file| file.exists())
    }) {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        thread::sleep(Duration::from_millis(100));
    }
    thread::sleep(Duration::from_secs(1));
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    let found = Run::new("join".to_owned(), child.wait_with_output().unwrap());
    // A process that was ended by force does not say it.
    found.says("continue with `txgraph-cluster runs resume");
    found.ended(130);
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
