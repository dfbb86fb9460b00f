//! Comparing a statement in a file with the source.

use super::{
    AccountStatement,
    to_file::{PROOFS, TABLES},
};
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

/// A statement in a file, with the parts that say what was asked.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) metadata: WrittenMetadata,
    #[serde(flatten)]
    pub(super) fields: Map<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct WrittenMetadata {
    command: String,
    pub(super) question: Question,
    pub(super) chain: Map<String, Value>,
    #[serde(default)]
    requested: Value,
    #[serde(default)]
    scan: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Question {
    pub(super) address: Address,
    blocks: Vec<String>,
    #[serde(default)]
    with_internal: bool,
    #[serde(default)]
    proofs: bool,
}

impl Written {
    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        let written: Self = serde_json::from_slice(text).map_err(no_statement)?;
        match written.metadata.command.as_str() {
            "statement" => Ok(written),
            other => Err(Error::usage(format!(
                "the file is the result of `{other}`, not a statement"
            ))),
        }
    }
}

pub(super) fn no_statement(error: serde_json::Error) -> Error {
    Error::usage(format!(
        "the file is no statement that was written as JSON: {error}"
    ))
}

impl Source {
    /// Makes a statement again that was written as JSON, and compares both.
    ///
    /// # Errors
    ///
    /// If the text is no statement, or of another chain, and as [`super::Statement::run`].
    pub fn verify_statement(&self, text: &[u8]) -> Result<VerifiedStatement<'_>> {
        let Written { metadata, fields } = Written::parse(text)?;
        let WrittenMetadata {
            question,
            chain,
            requested,
            scan,
            ..
        } = metadata;
        let own = serde_json::to_value(self.chain()?).map_err(no_statement)?;
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
        if question.proofs {
            query = query.proofs();
        }
        let statement = query.run()?;
        let own = serde_json::to_value(statement.metadata()?).map_err(no_statement)?;
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
        let own = statement.fields();
        let difference = difference.or_else(|| difference_of_fields(&fields, &own));
        Ok(VerifiedStatement {
            statement,
            difference,
        })
    }
}

/// The rows of a table in a document.
pub(super) fn rows<'a>(fields: &'a Map<String, Value>, table: &str) -> &'a [Value] {
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
                Some(written) => {
                    difference_of_values(written, own.as_object()?, &[], "the source")?
                }
                None => format!("it is {written} in the file, and {own} in the source"),
            };
            Some(format!("row {number} of `{table}`: {differs}"))
        });
        row.or(lengths)
    });
    let except = [TABLES[0], TABLES[1], PROOFS];
    in_tables
        .or_else(|| difference_of_values(written, own, &except, "the source"))
        .or_else(|| difference_of_proofs(written.get(PROOFS), own.get(PROOFS)))
}

/// The first block whose proofs differ. They are too long to show.
fn difference_of_proofs(written: Option<&Value>, own: Option<&Value>) -> Option<String> {
    if written == own {
        return None;
    }
    let blocks = |of: Option<&Value>| of.and_then(Value::as_array).cloned().unwrap_or_default();
    let (written, own) = (blocks(written), blocks(own));
    let mut pairs = own.iter().zip(&written);
    let other = pairs.find(|(own, written)| own != written);
    let block = other.map(|(own, _)| own).or_else(|| own.get(written.len()));
    Some(match block {
        Some(block) => format!(
            "the proofs of block {} differ from the source",
            block["block_number"]
        ),
        None => "the file has proofs that the source does not have".to_owned(),
    })
}

/// The first difference between the fields of two objects, except for some.
pub(super) fn difference_of_values(
    written: &Map<String, Value>,
    own: &Map<String, Value>,
    except: &[&str],
    place: &str,
) -> Option<String> {
    let mut names = own.keys().chain(written.keys());
    let name = names
        .find(|name| !except.contains(&name.as_str()) && written.get(*name) != own.get(*name))?;
    let shown = |of: &Map<String, Value>| of.get(name).unwrap_or(&Value::Null).to_string();
    let (written, own) = (shown(written), shown(own));
    Some(format!(
        "`{name}` is {written} in the file, and {own} in {place}"
    ))
}
