//! Exports that were damaged so that they contradict themselves, or lack what they state.
//!
//! An answer is whole, or says what is missing, or fails. It never is less in silence. More cases:
//! `TXGRAPH_MUTATIONS=20000`.

use crate::{
    model::{FIRST, LAYOUTS, Layout, TableText, tables},
    support::{Files, mainnet, try_read},
};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use std::{fmt::Write as _, io::Write as _, sync::Arc};
use txgraph_import::{Family, ImportedFiles};
use txgraph_transfers::{BlockRange, BlockRanges, Kind, Transfer};

const FORMATS: [&str; 6] = ["csv", "csv.gz", "jsonl", "json", "jsonl.zst", "parquet"];

/// A table in one of the formats.
fn bytes(table: &TableText, format: &str) -> Vec<u8> {
    match format {
        "csv" => csv(table).into_bytes(),
        "csv.gz" => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(csv(table).as_bytes()).unwrap();
            gz.finish().unwrap()
        }
        "jsonl" => json(table).join("\n").into_bytes(),
        "json" => format!("[{}\n]", json(table).join(",\n")).into_bytes(),
        "jsonl.zst" => zstd::encode_all(json(table).join("\n").as_bytes(), 1).unwrap(),
        _ => parquet(table),
    }
}

fn csv(table: &TableText) -> String {
    let mut text = table.header.join(",") + "\n";
    for row in &table.rows {
        let cell = |cell: &Option<String>| match cell {
            Some(cell) if cell.contains([',', '"']) => format!("\"{}\"", cell.replace('"', "\"\"")),
            Some(cell) => cell.clone(),
            None => String::new(),
        };
        let cells: Vec<_> = row.iter().map(cell).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

/// Objects, whose lists are arrays.
fn json(table: &TableText) -> Vec<String> {
    let field = |(name, cell): (&&str, &Option<String>)| {
        let Some(cell) = cell else {
            return format!("\"{name}\": null");
        };
        match *name {
            "topics" => format!("\"{name}\": [\n \"{}\"]", cell.replace(',', "\",\n \"")),
            "trace_address" if !cell.contains('_') => format!("\"{name}\": [{cell}]"),
            "withdrawals" => format!("\"{name}\": {cell}"),
            _ => format!("\"{name}\": \"{cell}\""),
        }
    };
    let object = |row: &Vec<Option<String>>| {
        let fields: Vec<_> = table.header.iter().zip(row).map(field).collect();
        format!("{{{}}}", fields.join(", "))
    };
    table.rows.iter().map(object).collect()
}

fn parquet(table: &TableText) -> Vec<u8> {
    let column = |at: usize| {
        let cells = table.rows.iter().map(|row| row[at].as_deref());
        Arc::new(StringArray::from_iter(cells)) as ArrayRef
    };
    let columns = table.header.iter().enumerate();
    let columns = columns.map(|(at, name)| (*name, column(at), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// An answer: the transfers, the blocks they are from, and whether something is said to be missing.
#[derive(Debug)]
struct Answer {
    transfers: Vec<Transfer>,
    covered: BlockRanges,
    caveats: Vec<String>,
}

fn ask(files: &[(String, Vec<u8>)], layout: Layout) -> Result<Answer, String> {
    let folder = Files::new();
    for (name, bytes) in files {
        folder.add(name, bytes);
    }
    let family = match layout {
        Layout::Cryo => Family::Cryo,
        Layout::Etl | Layout::EtlReceipts => Family::Etl,
    };
    let opened = ImportedFiles::open(folder.path(), &mainnet(family));
    let opened = opened.map_err(|error| error.to_string())?;
    let (transfers, report) = try_read(opened, |_| {}).map_err(|error| error.to_string())?;
    Ok(Answer {
        transfers,
        covered: report.covered,
        caveats: report.caveats,
    })
}

/// Damages the rows of a table. Returns what was done; `None` if it does not apply.
fn damage_rows(
    random: &mut StdRng,
    layout: Layout,
    table: &mut TableText,
    other: &TableText,
) -> Option<String> {
    if table.rows.is_empty() {
        return None;
    }
    let row = random.random_range(0..table.rows.len());
    let column = random.random_range(0..table.header.len());
    let what = random.random_range(0..6);
    match what {
        0 => drop(table.rows.remove(row)),
        1 => table.rows.push(table.rows[row].clone()),
        2 => table.rows.shuffle(random),
        3 => {
            // In this column, no value is a statement: the call succeeded.
            if layout == Layout::Cryo && table.header[column] == "error" {
                return None;
            }
            table.rows[row][column] = None;
        }
        4 => {
            // The row twice, once as another chain has it.
            let twin = other.rows.get(row)?;
            table.rows.push(twin.clone());
        }
        _ => table.rows[row] = other.rows.get(row)?.clone(),
    }
    let names = [
        "drop",
        "double",
        "reorder",
        "null",
        "add foreign",
        "replace by foreign",
    ];
    Some(format!(
        "{} row {row}, {}",
        names[what], table.header[column]
    ))
}

/// One damaged export. Returns whether the answer was an error, partial, or whole.
fn case(seed: u64) -> &'static str {
    let mut random = StdRng::seed_from_u64(seed);
    let layout = LAYOUTS[random.random_range(0..LAYOUTS.len())];
    let format = FORMATS[random.random_range(0..FORMATS.len())];
    let blocks = random.random_range(2..6);
    let mut all = tables(&mut random, layout, blocks);
    let foreign = tables(&mut random, layout, blocks);
    let encode = |all: &[TableText]| -> Vec<(String, Vec<u8>)> {
        let file = |table: &TableText| (format!("{}.{format}", table.name), bytes(table, format));
        // An object without rows is not a table in JSON.
        let has_rows = |table: &&TableText| !table.rows.is_empty();
        all.iter().filter(has_rows).map(file).collect()
    };
    let honest = encode(&all);
    let whole = match ask(&honest, layout) {
        Ok(whole) => whole,
        // Blocks without any transaction have no tables.
        Err(error) => {
            assert!(error.contains("no file with transfers"), "{seed}: {error}");
            return "empty";
        }
    };
    let range = BlockRange::from_to(FIRST, FIRST + blocks - 1);
    let at = random.random_range(0..all.len());
    let mut files = honest.clone();
    let done = if random.random_ratio(1, 4) {
        let at = at % files.len();
        let (name, bytes) = &mut files[at];
        bytes.truncate(random.random_range(0..bytes.len()));
        Some(format!("truncate {name} to {}", bytes.len()))
    } else {
        let done = damage_rows(&mut random, layout, &mut all[at], &foreign[at]);
        files = encode(&all);
        done.map(|done| format!("{done} of {}", all[at].name))
    };
    let Some(done) = done else {
        return "none";
    };
    let found = match ask(&files, layout) {
        Err(_) => return "refused",
        Ok(found) => found,
    };
    let is_new = |caveat: &String| !whole.caveats.contains(caveat);
    let is_said = found.caveats.iter().any(is_new) || found.covered != whole.covered;
    assert!(whole.covered.contains(range.first), "{seed}");
    if found.transfers == whole.transfers {
        return "whole";
    }
    assert!(
        is_said,
        "seed {seed}, {layout:?}, {format}: {done}: {} of {} transfers, and only {:?} is said",
        found.transfers.len(),
        whole.transfers.len(),
        found.caveats
    );
    "partial"
}

#[test]
fn no_damage_is_silent() {
    let cases = std::env::var("TXGRAPH_MUTATIONS").ok();
    let cases: u64 = cases.map_or(1500, |text| text.parse().unwrap());
    let mut counts = std::collections::BTreeMap::<_, u64>::new();
    for seed in 0..cases {
        *counts.entry(case(seed)).or_default() += 1;
    }
    for outcome in ["refused", "partial", "whole"] {
        assert!(counts[outcome] > cases / 50, "{counts:?}");
    }
}

#[test]
fn whole_exports_are_read_alike_in_all_formats() {
    let mut random = StdRng::seed_from_u64(7);
    for layout in LAYOUTS {
        let all = tables(&mut random, layout, 20);
        let mut answers = FORMATS.map(|format| {
            let file =
                |table: &TableText| (format!("{}.{format}", table.name), bytes(table, format));
            let files: Vec<_> = all.iter().map(file).collect();
            ask(&files, layout).unwrap()
        });
        for answer in &answers {
            assert_eq!(answer.transfers, answers[0].transfers, "{layout:?}");
        }
        // A JSON file has no line break at its end, and need not have one.
        let [csv, ..] = &mut answers;
        let no_withdrawals = csv.caveats.iter().filter(|it| it.contains("deposits"));
        assert_eq!(no_withdrawals.count(), 0);
        assert_eq!(csv.caveats, [""; 0], "{layout:?}");
        let count = |kind: Kind| csv.transfers.iter().filter(|it| it.kind == kind).count();
        assert!(
            count(Kind::Transfer) > 5 && count(Kind::Value) > 5,
            "{layout:?}"
        );
        assert_eq!(count(Kind::Internal) > 5, layout != Layout::EtlReceipts);
        assert_eq!(count(Kind::Withdrawal) > 5, layout != Layout::Cryo);
    }
}
