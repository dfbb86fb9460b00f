//! Writes what was found: transfers as rows, graphs in the formats of other
//! programmes, pictures. In: finished transfers, graphs and tables. Out: files
//! that appear under their name only when they are complete. It reads no chain
//! and decides nothing about what an answer holds.

// What callers say.
mod error;
mod format;
mod metadata;
mod options;
mod schema;
mod target;
mod tokens;
// Bytes on their way.
mod decimal;
mod json_text;
mod line;
mod lines;
mod output;
mod pieces;
mod text;
mod text_output;
// Rows.
mod table;
mod value;
// Graphs.
mod arrows;
mod dot;
mod draw;
#[cfg(test)]
mod fixtures;
mod gexf;
mod graph;
mod graphml;
mod json;
mod views;
mod xml;

pub use error::{Error, Result};
pub use format::{DocumentFormat, GraphFormat, Schema, TableFormat, U256Type};
pub use graph::{write_graph, write_json, write_table, write_vertices};
pub use lines::LineWriter;
pub use metadata::Metadata;
pub use options::{Drawing, GraphOptions, TransferTableOptions};
pub use table::{TableWriter, TransferWriter};
pub use target::{Target, Written};
pub use text::printable;
pub use tokens::{Token, TokenList};
pub use value::{Column, ColumnType, Value};
