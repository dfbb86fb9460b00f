//! Answers with documents that the command line writes.

use crate::harness::Served;
use serde_json::Value;
use txgraph::{AnalysisFormat, AnalysisOutput, MemoryFile, TableFormat, Target, Written};

/// The format of tables.
pub(super) const CSV: AnalysisFormat = AnalysisFormat::Table(TableFormat::Csv);

/// Writes a document by the library.
pub(super) fn written(
    format: AnalysisFormat,
    table: Option<&str>,
    write: impl FnOnce(&[AnalysisOutput]) -> txgraph::Result<Vec<Written>>,
) -> String {
    let file = MemoryFile::default();
    let output = AnalysisOutput {
        target: Target::Memory(file.clone()),
        format,
        table: table.map(str::to_owned),
        overwrite: false,
    };
    write(&[output]).unwrap();
    String::from_utf8(file.take()).unwrap()
}

/// Checks the bytes of a format, and their type.
pub(super) fn check_file(served: &Served, path: &str, kind: &str, wanted: &str) {
    let response = served.get(path);
    assert_eq!(response.status, 200, "{path}: {}", response.body);
    assert_eq!(response.headers["content-type"], kind, "{path}");
    assert_eq!(response.body, wanted, "{path}");
}

/// Checks that an answer has all fields of a document.
pub(super) fn check_fields(answer: &Value, document: &str) {
    let document: Value = serde_json::from_str(document).unwrap();
    for (name, field) in document.as_object().unwrap() {
        assert_eq!(&answer[name], field, "{name}");
    }
}
