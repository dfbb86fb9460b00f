//! Answers as data frames equal the same answers as CSV.

use crate::{OZA, PEELER, open, small};
use polars::prelude::{AnyValue, DataFrame};
use std::path::Path;
use txgraph::{GraphOutputs, Measure, Source, TransfersOutput, parse::GraphQuery};

#[path = "../../examples/polars.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod example;

fn cell(cell: &AnyValue<'_>) -> String {
    let hex = |bytes: &[u8]| {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        format!("0x{}", digits.collect::<String>())
    };
    match cell {
        AnyValue::Null => String::new(),
        AnyValue::Binary(bytes) => hex(bytes),
        // A frame of a single row.
        AnyValue::BinaryOwned(bytes) => hex(bytes),
        AnyValue::StringOwned(text) => text.to_string(),
        AnyValue::String(text) => (*text).to_owned(),
        AnyValue::UInt32(number) => number.to_string(),
        AnyValue::UInt64(number) => number.to_string(),
        AnyValue::Float64(number) => number.to_string(),
        AnyValue::Boolean(value) => value.to_string(),
        other => panic!("a cell of type {other:?}"),
    }
}

/// The header and the rows of a frame. Of a 256-bit number, the decimal column.
fn cells(frame: &DataFrame) -> Vec<Vec<String>> {
    let columns = frame.columns().iter();
    let columns = columns.filter_map(|column| {
        let name = column.name().as_str();
        let name = match name.strip_suffix("_string") {
            Some(base) => base,
            None if name.ends_with("_binary") || name.ends_with("_f64") => return None,
            None => name,
        };
        Some((name.to_owned(), column))
    });
    let columns: Vec<_> = columns.collect();
    let header = columns.iter().map(|(name, _)| name.clone()).collect();
    let row = |at| {
        let cells = columns.iter();
        let cells = cells.map(|(_, column)| cell(&column.get(at).unwrap()));
        cells.collect()
    };
    let rows = (0..frame.height()).map(row);
    std::iter::once(header).chain(rows).collect()
}

fn csv(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_path(path)
        .unwrap();
    let rows = reader.records();
    rows.map(|row| row.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

#[test]
fn transfers_equal_their_csv() {
    let fixture = small();
    let source = open(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    source.transfers().write(&path).unwrap();
    let frame = source.transfers().to_polars().unwrap();
    let expected = csv(&path);
    assert!(expected.len() > 100);
    assert_eq!(cells(&frame), expected);
    // Native transfers have no token, and most transfers no id.
    for name in ["token_address", "token_id_string"] {
        let nulls = frame.column(name).unwrap().null_count();
        assert!(nulls > 0 && nulls < frame.height(), "{name}: {nulls}");
    }
    let value = frame.column("value_binary").unwrap().get(0).unwrap();
    assert!(matches!(value, AnyValue::Binary(bytes) if bytes.len() == 32));
}

#[test]
fn columns_can_be_chosen() {
    let fixture = small();
    let source = open(&fixture);
    let columns = ["value:string", "symbol"].map(|it| it.parse().unwrap());
    let prepared = source.transfers().prepare().unwrap();
    let frame = prepared.to_polars(&columns).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = TransfersOutput {
        columns: columns.into(),
        ..TransfersOutput::to(folder.path().join("t.csv")).unwrap()
    };
    prepared.write(&output).unwrap();
    assert_eq!(cells(&frame), csv(output.target.path().unwrap()));
    assert_eq!(cells(&frame)[0], ["value", "symbol"]);
}

#[test]
fn an_answer_without_rows_has_columns() {
    let fixture = small();
    let source = open(&fixture);
    let unused = txgraph::Address::repeat_byte(0xdd);
    let all = source.transfers().to_polars().unwrap();
    let none = source.transfers().address(unused).to_polars().unwrap();
    assert_eq!((none.height(), none.width()), (0, all.width()));
    assert_eq!(none.dtypes(), all.dtypes());
}

fn write_graph(source: &Source, outputs: impl FnOnce(GraphOutputs) -> GraphOutputs) {
    let answer = source.search(PEELER).hops(3).run().unwrap();
    let query = GraphQuery::default();
    let done = answer
        .write_all(&outputs(query.outputs(source, None, None).unwrap()))
        .unwrap();
    assert!(done.failed.is_empty());
}

#[test]
fn graphs_equal_their_csv() {
    let fixture = small();
    let source = open(&fixture);
    let answer = source.search(PEELER).hops(3).run().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.csv");
    answer.write(&path).unwrap();
    assert_eq!(cells(&answer.to_polars().unwrap()), csv(&path));

    let path = folder.path().join("merged.csv");
    write_graph(&source, |outputs| GraphOutputs {
        merge: true,
        files: GraphOutputs::to(&path).unwrap().files,
        ..outputs
    });
    assert_eq!(cells(&answer.merged_to_polars().unwrap()), csv(&path));

    let path = folder.path().join("vertices.csv");
    write_graph(&source, |outputs| GraphOutputs {
        files: Vec::new(),
        vertices: Some((txgraph::TableFormat::Csv, path.clone().into())),
        ..outputs
    });
    let vertices = answer.vertices_to_polars().unwrap();
    assert_eq!(vertices.height(), answer.graph.node_count());
    assert_eq!(cells(&vertices), csv(&path));
}

#[test]
fn tables_of_an_analysis_equal_their_csv() {
    use txgraph::{AnalysisFormat, AnalysisOutput, TableFormat};
    let fixture = small();
    let source = open(&fixture);
    let folder = tempfile::tempdir().unwrap();
    let analysis = source.analyze(Measure::Summary).token(OZA).run().unwrap();
    assert!(analysis.tables().len() > 1);
    for table in analysis.tables() {
        let path = folder.path().join(format!("{}.csv", table.id));
        let output = AnalysisOutput {
            target: path.clone().into(),
            format: AnalysisFormat::Table(TableFormat::Csv),
            table: Some(table.id.to_owned()),
            overwrite: false,
        };
        analysis.write(&[output]).unwrap();
        let frame = analysis.to_polars(Some(table.id)).unwrap();
        assert_eq!(cells(&frame), csv(&path), "{}", table.id);
    }
    assert!(analysis.to_polars(Some("no such table")).is_err());
}

#[test]
fn the_example_prints_a_frame() {
    let fixture = small();
    let datadir = fixture.path().display().to_string();
    let frame = example::transfers(&datadir, 10).unwrap();
    assert!(frame.height() > 0);
    assert!(frame.to_string().starts_with("shape: ("), "{frame}");
}
