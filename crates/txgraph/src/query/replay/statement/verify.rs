//! Comparing a statement in a file with the source.

use super::{AccountStatement, to_file::TABLES};
use crate::{BlockSpec, Error, Result, Source, words::number};
use alloy_primitives::Address;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The result of [`Source::verify_statement`].
#[derive(Debug)]
pub struct VerifiedStatement<'s> {
    /// The statement by the source.
    pub statement: AccountStatement<'s>,
    /// The first difference: where it is, and what the file and the source have there.
    pub difference: Option<String>,
}

/// The parts of a written statement that say what was asked.
#[derive(Deserialize)]
struct Written {
    metadata: WrittenMetadata,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

#[derive(Deserialize)]
struct WrittenMetadata {
    command: String,
    question: Question,
    chain: Map<String, Value>,
    #[serde(default)]
    requested: Value,
    #[serde(default)]
    scan: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Question {
    address: Address,
    blocks: Vec<String>,
    #[serde(default)]
    with_internal: bool,
}

impl Source {
    /// Makes a statement again that was written as JSON, and compares both.
    ///
    /// # Errors
    ///
    /// If the text is no statement, or of another chain, and as [`super::Statement::run`].
    pub fn verify_statement(&self, text: &[u8]) -> Result<VerifiedStatement<'_>> {
        let wrong = |error: serde_json::Error| {
            Error::usage(format!(
                "the file is no statement that was written as JSON: {error}"
            ))
        };
        let written: Written = serde_json::from_slice(text).map_err(wrong)?;
        let WrittenMetadata {
            command,
            question,
            chain,
            requested,
            scan,
        } = written.metadata;
        if command != "statement" {
            return Err(Error::usage(format!(
                "the file is the result of `{command}`, not a statement"
            )));
        }
        let own = serde_json::to_value(self.chain()?).map_err(wrong)?;
        if own != Value::Object(chain) {
            return Err(Error::usage(
                "the statement is of another chain than the source",
            ));
        }
        let mut query = self.statement(question.address);
        for blocks in &question.blocks {
            query = query.blocks(blocks.parse::<BlockSpec>()?);
        }
        if question.with_internal {
            query = query.every_block();
        }
        let statement = query.run()?;
        let own = serde_json::to_value(statement.metadata()?).map_err(wrong)?;
        let scanned = |name: &str| scan.get(name).unwrap_or(&Value::Null).clone();
        let read = [
            (
                "the last block has the hash",
                "/scan/last_block_hash",
                scanned("last_block_hash"),
            ),
            ("the blocks of the statement are", "/requested", requested),
            (
                "the blocks that were read are",
                "/scan/covered",
                scanned("covered"),
            ),
        ];
        let differs = |(what, path, written): &(&str, &str, Value)| {
            let own = own.pointer(path).unwrap_or(&Value::Null);
            (own != written)
                .then(|| format!("{what} {written} in the file, and {own} in the source"))
        };
        let difference = read.iter().find_map(differs);
        let fields = statement.fields();
        let difference = difference.or_else(|| difference_of_fields(&written.fields, &fields));
        Ok(VerifiedStatement {
            statement,
            difference,
        })
    }
}

/// The rows of a table in a document.
fn rows<'a>(fields: &'a Map<String, Value>, table: &str) -> &'a [Value] {
    let rows = fields.get(table).and_then(Value::as_array);
    rows.map_or(&[], Vec::as_slice)
}

/// The first difference between two statements: in a row, or in another field. No field may be missing or
/// unknown.
fn difference_of_fields(written: &Map<String, Value>, own: &Map<String, Value>) -> Option<String> {
    let in_tables = TABLES.iter().find_map(|table| {
        let (written, own) = (rows(written, table), rows(own, table));
        let lengths = (written.len() != own.len()).then(|| {
            format!(
                "`{table}` has {} in the file, and {} in the source",
                number(written.len() as u64, "row", "rows"),
                own.len()
            )
        });
        let mut pairs = written.iter().zip(own).zip(1..);
        let row = pairs.find_map(|((written, own), number)| {
            let differs = match written.as_object() {
                Some(written) => difference_of_values(written, own.as_object()?, &[])?,
                None => format!("it is {written} in the file, and {own} in the source"),
            };
            Some(format!("row {number} of `{table}`: {differs}"))
        });
        row.or(lengths)
    });
    in_tables.or_else(|| difference_of_values(written, own, &TABLES))
}

/// The first difference between the fields of two objects, except for some.
fn difference_of_values(
    written: &Map<String, Value>,
    own: &Map<String, Value>,
    except: &[&str],
) -> Option<String> {
    let mut names = own.keys().chain(written.keys());
    let name = names
        .find(|name| !except.contains(&name.as_str()) && written.get(*name) != own.get(*name))?;
    let shown = |of: &Map<String, Value>| of.get(name).unwrap_or(&Value::Null).to_string();
    let (written, own) = (shown(written), shown(own));
    Some(format!(
        "`{name}` is {written} in the file, and {own} in the source"
    ))
}
