//! Writes transfers and other rows as tables, graphs in the formats of other programs,
//! and drawings.
//!
//! Input: finished transfers, graphs and tables. Output: streams, and files that appear
//! under their name only when they are complete. This crate reads no chain.
//!
//! Modules, each using only those before it: text, decimal, atomic_file, compression, format, error,
//! csv_file, json_text, metadata, target, output, parallel_text, text_output, line_writer, row_buffer,
//! fields, value, schema, choice, alike, claimed_metadata, tokens, token_file, prices, transactions,
//! link, drawing, options, table, arrow_ipc, graph_rows, drawn_edges, label_text, legend, xml, gexf,
//! graphml, json, graphviz, picture, draw, graphsense, graph.

mod alike;
mod arrow_ipc;
mod atomic_file;
mod choice;
mod claimed_metadata;
mod compression;
mod csv_file;
mod decimal;
mod draw;
mod drawing;
mod drawn_edges;
mod error;
mod fields;
#[cfg(test)]
mod fixtures;
mod format;
mod gexf;
mod graph;
mod graph_rows;
mod graphml;
mod graphsense;
mod graphviz;
mod json;
mod json_text;
mod label_text;
mod legend;
mod line_writer;
mod link;
mod metadata;
mod options;
mod output;
mod parallel_text;
mod picture;
mod prices;
mod row_buffer;
mod schema;
mod table;
mod target;
mod text;
mod text_output;
mod token_file;
mod tokens;
mod transactions;
mod value;
mod xml;

pub use arrow_array::RecordBatch;
pub use arrow_ipc::{ArrowCollector, ArrowTable, transfer_batch, transfer_schema};
pub use arrow_schema::SchemaRef;
pub use atomic_file::{DiscardedFiles, discard_partial_files};
pub use choice::ColumnChoice;
pub use claimed_metadata::{ClaimedMetadata, CounterfeitToken, Token};
pub use drawing::{Drawing, Fold, WrongFold};
pub use error::{Error, Result};
pub use format::{ColumnWord, DocumentFormat, GraphFormat, Layout, Schema, TableFormat};
pub use graph::{write_graph, write_json, write_table, write_vertices};
pub use graphsense::check_chain;
pub use graphviz::check_graphviz;
pub use json_text::pretty_json;
pub use line_writer::LineWriter;
pub use link::{Link, WrongLink};
pub use metadata::Metadata;
pub use options::{GraphOptions, TransferTableOptions};
pub use picture::{Cell, cells, rounded_amount, short_addresses};
pub use prices::Prices;
pub use schema::column_names;
pub use table::{TableWriter, TransferWriter};
pub use target::{ArrowReceiver, ArrowTarget, MemoryFile, Target, Written};
pub use text::printable;
pub use tokens::TokenList;
pub use transactions::{TransactionFacts, Transactions};
pub use txgraph_analysis::{Attribute, Column, ColumnType, Value};
pub use txgraph_work::Threads;
pub use value::{json_value, plain_text};
