//! Recognizes the format of a text and reads its rows.

mod chain;
mod fields;
mod json;
mod quote;
mod repeated;
mod table;
mod tagpack;

use crate::{Category, Label};
use alloy_primitives::Address;
use quote::shortened;
use std::fmt;
use txgraph_base::number;

/// The formats, in words for a message.
pub const FORMATS: &str = "CSV with a header such as address,name,category; JSON, an object from \
    address to name or a list of objects; a TagPack of GraphSense (YAML); the sanctions list of \
    OFAC; JSON of etherscan-labels; a token list; one address per line";

/// Bad rows that are quoted.
const QUOTED_MAX: usize = 3;

/// How a text is read.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Names the file in labels and messages.
    pub file: &'a str,
    /// Rows of other chains are skipped.
    pub chain_id: u64,
    /// Reads an address, or says why it is none.
    pub address: &'a dyn Fn(&str) -> Result<Address, String>,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({}, chain {})", self.file, self.chain_id)
    }
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows with a header, or addresses with or without names, one per line.
    Table,
    /// Objects by address, or a list of addresses or objects.
    Json,
    /// A TagPack of GraphSense.
    TagPack,
    /// The list of OFAC as JSON.
    Ofac,
    /// A token list of Uniswap's format.
    TokenList,
}

/// A row of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address.
    pub address: Address,
    /// Its label. The name is empty if the file has none.
    pub label: Label,
}

/// A row that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Where it is: `line 7`.
    pub place: String,
    /// Why it was not read.
    pub reason: String,
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// The rows of a file, and what was left out.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The format that was recognized.
    pub format: Format,
    /// The rows of this chain, in order.
    pub rows: Vec<Row>,
    /// The first bad rows.
    pub bad: Vec<BadRow>,
    /// The number of bad rows.
    pub bad_rows: u64,
    /// The number of rows that belong to other chains.
    pub other_chains: u64,
    /// Rows that were left out, in sentences that name the file.
    pub warnings: Vec<String>,
}

/// A text without labels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text looks like a format, but breaks its rules.
    #[error("not valid {format}: {reason}")]
    Syntax {
        /// JSON, YAML or CSV.
        format: &'static str,
        /// The problem and its place.
        reason: String,
    },
    /// There is no address in it.
    #[error("no address was found{}", first.as_ref().map_or_else(String::new, |row| format!("; {row}")))]
    NoAddress {
        /// The first bad row.
        first: Option<BadRow>,
    },
}

impl DecodeError {
    fn syntax(format: &'static str, error: &dyn fmt::Display) -> Self {
        Self::Syntax {
            format,
            reason: shortened(&error.to_string()),
        }
    }
}

/// Reads the labels in a text. Rows that are wrong are counted, and the first are quoted.
///
/// # Errors
///
/// If the text breaks the rules of its format, or has no address of any chain.
pub fn decode(text: &str, reader: &Reader<'_>) -> Result<Decoded, DecodeError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rows = Rows::new(reader);
    let format = match text.trim_start().chars().next() {
        Some('{' | '[') => json::read(text, &mut rows)?,
        _ if is_yaml(text) => tagpack::read(text, &mut rows)?,
        _ => table::read(text, &mut rows)?,
    };
    rows.finish(format)
}

/// Whether a text has the list of a TagPack.
fn is_yaml(text: &str) -> bool {
    let mut lines = text.lines();
    lines.any(|line| line == "tags:" || line.starts_with("tags: ") || line.starts_with("tags:\t"))
}

/// The cells of a row that say something about an address.
#[derive(Clone, Debug, Default)]
struct Cells<'a> {
    address: &'a str,
    name: &'a str,
    /// In any words, also several.
    category: &'a str,
    /// The chain in the words of the file.
    chain: &'a str,
    /// Where the file has the name from.
    source: &'a str,
}

/// Characters between the categories in one cell.
const BETWEEN: [char; 3] = [',', ';', '|'];

struct Rows<'a> {
    reader: &'a Reader<'a>,
    /// The kind that the name of the file states, for rows without a category.
    category: Option<Category>,
    rows: Vec<Row>,
    bad: Vec<BadRow>,
    bad_rows: u64,
    other_chains: u64,
}

impl<'a> Rows<'a> {
    fn new(reader: &'a Reader<'a>) -> Self {
        Self {
            reader,
            category: Category::of_file(reader.file),
            rows: Vec::new(),
            bad: Vec::new(),
            bad_rows: 0,
            other_chains: 0,
        }
    }

    /// Adds a row; `place` says where it is.
    fn add(&mut self, cells: &Cells<'_>, place: impl FnOnce() -> String) {
        let of_chain = chain::is(cells.chain.trim(), self.reader.chain_id);
        let address = cells.address.trim();
        match (self.reader.address)(address) {
            // An address of a chain with other rules is not wrong.
            _ if !of_chain => self.other_chains += 1,
            Ok(address) => {
                for category in self.categories(cells.category) {
                    let label = self.label(cells, category);
                    self.rows.push(Row { address, label });
                }
            }
            Err(reason) => self.refuse(&reason, place),
        }
    }

    fn refuse(&mut self, reason: &str, place: impl FnOnce() -> String) {
        self.bad_rows += 1;
        if self.bad.len() < QUOTED_MAX {
            self.bad.push(BadRow {
                place: place(),
                reason: shortened(reason),
            });
        }
    }

    /// The categories in a cell, of the kinds first that matter more; else the category that the
    /// file states. An exchange may be sanctioned.
    fn categories(&self, cell: &str) -> Vec<String> {
        let words = cell.split(BETWEEN).map(crate::category::normal);
        let mut words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        words.sort_by_key(|word| Category::of(word));
        words.dedup();
        // A kind says more than a word without one.
        let kinds = words.partition_point(|word| Category::of(word) != Category::Other);
        if kinds > 0 {
            words.truncate(kinds);
        }
        if words.is_empty() {
            let of_file = self.category.map(Category::as_str);
            words.push(of_file.unwrap_or_default().to_owned());
        }
        words
    }

    fn label(&self, cells: &Cells<'_>, category: String) -> Label {
        let file = self.reader.file;
        Label {
            name: cells.name.trim().to_owned(),
            category,
            source: match cells.source.trim() {
                "" => file.to_owned(),
                detail => format!("{file}: {detail}"),
            },
        }
    }

    fn finish(self, format: Format) -> Result<Decoded, DecodeError> {
        let Self {
            rows,
            bad,
            bad_rows,
            other_chains,
            reader,
            ..
        } = self;
        if rows.is_empty() && other_chains == 0 {
            return Err(DecodeError::NoAddress {
                first: bad.into_iter().next(),
            });
        }
        let file = reader.file;
        let mut warnings = Vec::new();
        if bad_rows > 0 {
            let rows = number(bad_rows, "row was not read", "rows were not read");
            let mut text = format!("{file}: {rows}");
            for row in &bad {
                text += &format!("; {row}");
            }
            if let more @ 1.. = bad_rows - bad.len() as u64 {
                text += &format!("; and {more} more");
            }
            warnings.push(text);
        }
        if other_chains > 0 {
            let names = if other_chains == 1 { "name" } else { "names" };
            warnings.push(format!(
                "{file}: {other_chains} {names} of other chains than {} left out",
                reader.chain_id
            ));
        }
        Ok(Decoded {
            format,
            rows,
            bad,
            bad_rows,
            other_chains,
            warnings,
        })
    }
}

#[cfg(test)]
mod tests;
