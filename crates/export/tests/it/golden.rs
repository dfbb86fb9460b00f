//! Every text format of one small graph, byte by byte. `UPDATE_GOLDEN=1` rewrites the files;
//! read the difference before committing it.

use crate::tiny::{
    csv_rows, golden_folder, metadata, options, options_merged, tiny, tiny_transfers, write,
    written,
};
use crate::unpack::unpack;
use std::fs;
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::{
    DocumentFormat, GraphFormat, Metadata, Schema, TableFormat, Target, Threads, TokenList,
    TransferTableOptions, TransferWriter, write_json, write_table, write_vertices,
};
use txgraph_graph::{AmountSum, testing::address};
use txgraph_transfers::BlockTime;

fn check(name: &str, bytes: &[u8]) {
    let path = golden_folder().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, bytes).unwrap();
    }
    let golden = fs::read(&path).unwrap_or_default();
    let (ours, golden) = (
        String::from_utf8_lossy(bytes),
        String::from_utf8_lossy(&golden),
    );
    for (i, (ours, golden)) in ours.lines().zip(golden.lines()).enumerate() {
        assert_eq!(ours, golden, "{name}, line {}", i + 1);
    }
    assert!(
        ours == golden,
        "{name}: different lengths ({} and {})",
        ours.len(),
        golden.len()
    );
}

/// Calls `write` to make a file of this name, and checks it.
fn check_file(name: &str, write: impl FnOnce(&Target)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write(&Target::File(path.clone()));
    check(name, &fs::read(path).unwrap());
}

#[test]
fn graphs() {
    let graph = tiny();
    let plain = options();
    let merged = options_merged(true);
    for format in ["csv", "jsonl", "json", "dot", "graphml", "gexf"] {
        let parsed: GraphFormat = format.parse().unwrap();
        check(&format!("graph.{format}"), &written(&graph, parsed, &plain));
        if format != "dot" {
            check(
                &format!("merged.{format}"),
                &written(&graph, parsed, &merged),
            );
        }
    }
    for (name, options) in [("graph", &plain), ("merged", &merged)] {
        let file = written(&graph, DocumentFormat::GraphSense, options);
        check(&format!("{name}.gs.json"), &unpack(&file));
    }
    let mut every = options();
    every.drawing.every_transfer = true;
    every.table.tokens = TokenList::default();
    check(
        "every_transfer.dot",
        &written(&graph, DocumentFormat::Dot, &every),
    );
}

#[test]
fn metadata_file_is_next_to_formats_that_cannot_hold_it() {
    let (folder, graph) = (tempfile::tempdir().unwrap(), tiny());
    let path = folder.path().join("graph.csv");
    let target = Target::File(path.clone());
    let write = |format: GraphFormat| write(&graph, format, &options(), &target, false);
    let metadata_path = write(TableFormat::Csv.into())
        .unwrap()
        .metadata_path
        .unwrap();
    assert_eq!(metadata_path, folder.path().join("graph.csv.meta.json"));
    check("graph.csv.meta.json", &fs::read(&metadata_path).unwrap());
    fs::remove_file(path).unwrap();
    fs::remove_file(metadata_path).unwrap();
    assert_eq!(
        write(DocumentFormat::Json.into()).unwrap().metadata_path,
        None
    );
}

#[test]
fn vertices_with_totals() {
    let (graph, options) = (tiny(), options());
    let metadata = metadata(&graph);
    check_file("vertices.csv", |target| {
        let written =
            write_vertices(&graph, TableFormat::Csv, &options, &metadata, target, false).unwrap();
        assert_eq!(written.rows, Some(5));
    });
    check_file("vertices.jsonl", |target| {
        write_vertices(
            &graph,
            TableFormat::Jsonl,
            &options,
            &metadata,
            target,
            false,
        )
        .unwrap();
    });
}

#[test]
fn transfers_by_schema() {
    let metadata = Metadata::new("transfers", serde_json::Value::Null);
    for schema in Schema::ALL {
        for format in [TableFormat::Csv, TableFormat::Jsonl] {
            let name = format!("transfers_{schema:?}.{format}").to_lowercase();
            check_file(&name, |target| {
                let options = TransferTableOptions {
                    columns: vec![(*schema).into()],
                    ..TransferTableOptions::new(1)
                };
                let mut writer = TransferWriter::new(format, &options, target, false).unwrap();
                tiny_transfers()
                    .chunks(2)
                    .for_each(|batch| writer.write(batch).unwrap());
                assert_eq!(writer.finish(&metadata).unwrap().rows, Some(9));
            });
        }
    }
}

/// Enough rows that threads share them: one thread writes the same bytes, in every text
/// format.
#[test]
fn many_rows_are_the_same_on_any_number_of_threads() {
    let mut all = Vec::new();
    for block in 0..2500 {
        for (i, mut transfer) in tiny_transfers().into_iter().enumerate() {
            transfer.block_number = 1000 + block;
            transfer.block_timestamp = BlockTime::new(5_000_000 + 12 * block);
            transfer.log_index = transfer.log_index.map(|_| u32::try_from(i).unwrap());
            all.push(transfer);
        }
    }
    let metadata = Metadata::new("transfers", serde_json::Value::Null);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let target = Target::File(path.clone());
    for format in [TableFormat::Csv, TableFormat::Jsonl] {
        let write = |threads: usize, batch: usize| {
            let options = TransferTableOptions {
                threads: Threads::new(threads).unwrap(),
                ..TransferTableOptions::new(1)
            };
            let mut writer = TransferWriter::new(format, &options, &target, true).unwrap();
            all.chunks(batch)
                .for_each(|batch| writer.write(batch).unwrap());
            let written = writer.finish(&metadata).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert_eq!(written.rows, Some(all.len() as u64));
            assert_eq!(written.bytes, bytes.len() as u64);
            bytes
        };
        let plain = write(1, 1000);
        assert!(plain == write(1, usize::MAX), "{format}");
        assert!(plain == write(2, usize::MAX), "{format}");
        assert!(plain == write(5, 10_000), "{format}");
    }
    let graph = txgraph_graph::testing::graph(all);
    for format in [
        GraphFormat::from(TableFormat::Csv),
        DocumentFormat::Json.into(),
        DocumentFormat::Dot.into(),
    ] {
        let write = |threads| {
            let mut options = options();
            options.drawing.every_transfer = true;
            options.table.threads = Threads::new(threads).unwrap();
            written(&graph, format, &options)
        };
        assert!(write(1) == write(3), "{format}");
    }
}

fn table() -> Table {
    let mut table = Table::new(
        "senders",
        "senders",
        &[
            ("name", ColumnType::Text),
            ("address", ColumnType::Address),
            ("count", ColumnType::U64),
            ("sum", ColumnType::Amount),
            ("share", ColumnType::F64),
        ],
    );
    let row = |name: &'static str, sum: AmountSum, share: Option<f64>| {
        vec![
            name.into(),
            address("a").into(),
            7u64.into(),
            sum.into(),
            share.into(),
        ]
    };
    table.push(row("=cmd|' /C calc'!A0", AmountSum::MAX, Some(0.25)));
    table.push(row("a, \"b\"\n", AmountSum::ZERO, None));
    table
}

#[test]
fn tables_of_an_analysis() {
    let metadata = Metadata::new("analyze", serde_json::Value::Null);
    for format in [TableFormat::Csv, TableFormat::Jsonl] {
        check_file(&format!("table.{format}"), |target| {
            write_table(&table(), format, &metadata, target, false).unwrap();
        });
    }
    check_file("table.json", |target| {
        let text = fs::read(golden_folder().join("table.json")).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        write_json(&value, target, false).unwrap();
    });
}

/// The `csv` crate reads the golden files.
#[test]
fn golden_rows_read_back() {
    let read = |name: &str| csv_rows(&golden_folder().join(name));
    let (header, rows) = read("graph.csv");
    assert_eq!(header.last().map(String::as_str), Some("hop"));
    assert_eq!(rows.len(), tiny_transfers().len());
    for (row, transfer) in rows.iter().zip(tiny_transfers()) {
        assert_eq!(row[0], transfer.block_number.to_string());
        assert_eq!(row[9], transfer.value.to_string());
        assert_eq!(
            row[10],
            transfer
                .token_id
                .map(|id| id.to_string())
                .unwrap_or_default()
        );
    }
    let (header, rows) = read("vertices.csv");
    let label = header.iter().position(|name| name == "label").unwrap();
    assert!(
        rows.iter()
            .any(|row| &row[label] == "Carol's =exchange, \"hot\"")
    );
    assert!(golden_folder().join("graph.csv.meta.json").exists());
}
