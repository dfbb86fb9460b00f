//! Documents that the command line writes, as answers.

use crate::fault::{Answer, Fault};
use serde_json::{Map, Value};
use txgraph::{AnalysisFormat, AnalysisOutput, MemoryFile, Target, Written};

/// About how many bytes a row of these documents has.
pub(super) const ROW_BYTES: usize = 500;

/// The bytes that the command line writes in a format.
pub(super) fn written(
    format: AnalysisFormat,
    table: Option<&str>,
    write: impl FnOnce(&[AnalysisOutput]) -> txgraph::Result<Vec<Written>>,
) -> Answer<Vec<u8>> {
    let file = MemoryFile::default();
    let output = AnalysisOutput {
        target: Target::Memory(file.clone()),
        format,
        table: table.map(str::to_owned),
        overwrite: false,
    };
    write(&[output])?;
    Ok(file.take())
}

/// The fields of the document that the command line writes.
pub(super) fn fields(
    write: impl FnOnce(&[AnalysisOutput]) -> txgraph::Result<Vec<Written>>,
) -> Answer<Map<String, Value>> {
    let document = written(AnalysisFormat::Json, None, write)?;
    let fields = serde_json::from_slice(&document);
    fields.map_err(|error| Fault::Failed(error.to_string()))
}
