//! Writing measures.

use super::{Analysis, MeasuredGraph, Result};
use crate::{
    Error, MeasureAnswer, Source,
    outputs::{Format, Planned},
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, path::Path, str::FromStr};
use txgraph_analysis::{Column, ColumnType, Table, Value as Cell};
use txgraph_export::{Metadata, TableFormat, Target, Written};
use txgraph_labels::Labels;

/// The format of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisFormat {
    /// Human-readable tables, which the caller draws.
    Tables,
    /// One document with everything.
    Json,
    /// One of the tables, as data.
    Table(TableFormat),
}

impl AnalysisFormat {
    /// The words for the formats.
    pub fn words() -> Vec<&'static str> {
        let tables = TableFormat::ALL.iter().map(|format| format.as_str());
        ["table", "json"].into_iter().chain(tables).collect()
    }
}

impl Format for AnalysisFormat {
    const ON_STDOUT: Self = Self::Tables;

    fn by_extension(path: &Path) -> Option<Self> {
        if path.extension()? == "json" {
            return Some(Self::Json);
        }
        TableFormat::from_extension(path).map(Self::Table)
    }

    /// The words of data formats.
    fn words() -> Vec<&'static str> {
        Self::words().split_off(1)
    }
}

impl FromStr for AnalysisFormat {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "table" => Ok(Self::Tables),
            "json" => Ok(Self::Json),
            _ => word.parse().map(Self::Table).map_err(|_| {
                let known = Self::words().join(", ");
                let word = crate::grammar::shortened(word);
                Error::usage(format!("unknown format `{word}`; one of {known}"))
            }),
        }
    }
}

/// Where an analysis is written, and how.
#[derive(Clone, Debug)]
pub struct AnalysisOutput {
    /// The file, or standard output.
    pub target: Target,
    /// The format.
    pub format: AnalysisFormat,
    /// The table by its name, for formats that contain one; absent: the main one.
    pub table: Option<String>,
    /// Whether a file that exists is replaced.
    pub overwrite: bool,
}

impl Planned for AnalysisOutput {
    fn targets(&self) -> Vec<(&Target, bool)> {
        let side = matches!(
            self.format,
            AnalysisFormat::Table(format) if format.has_metadata_file()
        );
        vec![(&self.target, side)]
    }

    fn overwrite(&self) -> bool {
        self.overwrite
    }
}

impl Analysis<'_> {
    /// Writes the analysis to each output, except as human-readable tables: those the caller
    /// draws. Returns the files in order of the outputs.
    ///
    /// # Errors
    ///
    /// If an output cannot be written, or there is no such table. The outputs before it are
    /// complete then.
    pub fn write(&self, outputs: &[AnalysisOutput]) -> Result<Vec<Written>> {
        let MeasuredGraph {
            chain,
            blocks,
            scan,
            limits,
            ..
        } = &self.graph;
        let mut about = (self.description).of_graph(chain, blocks, scan, limits, &self.branch_ends);
        about.notes.clone_from(&self.notes);
        about.add_names(None, Some(&self.labels));
        let document = Document {
            metadata: &about,
            fields: &|| MeasureFields {
                measure: self.measure.as_str(),
                result: &self.result,
            },
            table: &|name| {
                let table = self.table(name)?;
                Ok(match self.labels.is_empty() {
                    true => Cow::Borrowed(table),
                    false => Cow::Owned(with_labels(table, &self.labels)),
                })
            },
        };
        write_document(self.source, outputs, &document)
    }
}

/// The fields of the JSON document of a measure.
#[derive(Serialize)]
struct MeasureFields<'a> {
    measure: &'static str,
    result: &'a MeasureAnswer,
}

/// Adds the names of addresses to a table: `label` for `address`, `from_label` for `from_address`.
fn with_labels(table: &Table, labels: &Labels) -> Table {
    let mut table = table.clone();
    let named: Vec<_> = (table.columns.iter().enumerate())
        .filter(|(_, it)| it.column_type == ColumnType::Address && it.name != "token_address")
        .map(|(at, it)| match it.name.strip_suffix("address") {
            Some(start) => (at, format!("{start}label")),
            None => (at, format!("{}_label", it.name)),
        })
        .filter(|(_, name)| table.columns.iter().all(|it| it.name != *name))
        .collect();
    for (at, name) in named {
        table.columns.push(Column::new(name, ColumnType::Text));
        for row in &mut table.rows {
            let name = match row[at] {
                Cell::Address(address) => labels.name(address).map(str::to_owned),
                _ => None,
            };
            row.push(name.into());
        }
    }
    table
}

/// A result that consists of tables.
pub(in crate::query) struct Document<'a, F> {
    pub(in crate::query) metadata: &'a Metadata,
    /// The fields of the JSON document, after the metadata.
    pub(in crate::query) fields: &'a dyn Fn() -> F,
    /// A table by its id; without one, the main table.
    pub(in crate::query) table: &'a dyn Fn(Option<&str>) -> Result<Cow<'a, Table>>,
}

/// Writes a result to each output, except as human-readable tables.
pub(in crate::query) fn write_document<F: Serialize>(
    source: &Source,
    outputs: &[AnalysisOutput],
    document: &Document<'_, F>,
) -> Result<Vec<Written>> {
    source.check_outputs(outputs)?;
    let written = outputs.iter().map(|output| write_one(output, document));
    written.filter_map(Result::transpose).collect()
}

/// Writes a result that is one table. In JSON, its rows follow `fields`.
pub(in crate::query) fn write_table(
    source: &Source,
    outputs: &[AnalysisOutput],
    metadata: &Metadata,
    fields: &[(&str, Value)],
    table: &Table,
) -> Result<Vec<Written>> {
    let document = Document {
        metadata,
        fields: &|| TableFields { fields, table },
        table: &|_| Ok(Cow::Borrowed(table)),
    };
    write_document(source, outputs, &document)
}

/// The fields of the JSON document of one table.
struct TableFields<'a> {
    fields: &'a [(&'a str, Value)],
    table: &'a Table,
}

impl Serialize for TableFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.fields {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry(self.table.id, &Rows(self.table))?;
        map.end()
    }
}

/// The rows of a table, each as an object with the names of the columns.
struct Rows<'a>(&'a Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.rows.iter().map(|row| row_as_json(self.0, row)))
    }
}

/// A JSON document.
#[derive(Serialize)]
struct Whole<'a, F> {
    metadata: &'a Metadata,
    #[serde(flatten)]
    fields: F,
}

fn write_one<F: Serialize>(
    output: &AnalysisOutput,
    document: &Document<'_, F>,
) -> Result<Option<Written>> {
    let AnalysisOutput {
        target,
        format,
        table,
        overwrite,
    } = output;
    let about = document.metadata;
    Ok(match format {
        AnalysisFormat::Tables => None,
        AnalysisFormat::Json => {
            let whole = Whole {
                metadata: about,
                fields: (document.fields)(),
            };
            Some(txgraph_export::write_json(&whole, target, *overwrite)?)
        }
        AnalysisFormat::Table(format) => {
            let table = (document.table)(table.as_deref())?;
            Some(txgraph_export::write_table(
                &table, *format, about, target, *overwrite,
            )?)
        }
    })
}

/// The rows of a table, each as an object with the names of the columns.
pub(in crate::query) fn rows_as_json(table: &Table) -> Value {
    let rows = table.rows.iter().map(|row| row_as_json(table, row));
    rows.map(Value::from).collect()
}

fn row_as_json(table: &Table, row: &[Cell<'_>]) -> Map<String, Value> {
    let cells = table.columns.iter().zip(row);
    let cells = cells.map(|(column, value)| (column.name.clone(), cell(value)));
    cells.collect()
}

/// A cell in JSON. Amounts are text: readers of JSON keep 53 bits of a number.
fn cell(value: &Cell<'_>) -> Value {
    match value {
        Cell::Absent => Value::Null,
        Cell::U32(number) => json!(number),
        Cell::U64(number) => json!(number),
        Cell::F64(number) => json!(number),
        Cell::Bool(is) => json!(is),
        Cell::Address(address) => json!(address),
        other => json!(txgraph_export::plain_text(other)),
    }
}
