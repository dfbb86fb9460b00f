//! Writes transfers and other rows as tables, graphs in the formats of other programs,
//! and drawings.
//!
//! Input: finished transfers, graphs and tables. Output: streams, and files that appear
//! under their name only when they are complete. This crate reads no chain.

// What callers choose.
mod alike;
mod arrow_ipc;
mod choice;
mod claimed_metadata;
mod error;
mod fields;
mod format;
mod metadata;
mod options;
mod prices;
mod schema;
mod target;
mod tokens;
mod transactions;
// Bytes and text.
mod atomic_file;
mod compression;
mod decimal;
mod json_text;
mod label_text;
mod line_writer;
mod output;
mod parallel_text;
mod row_buffer;
mod text;
mod text_output;
// Tables.
mod table;
mod value;
// Graphs.
mod draw;
mod drawn_edges;
#[cfg(test)]
mod fixtures;
mod gexf;
mod graph;
mod graph_rows;
mod graphml;
mod json;
mod legend;
mod picture;
mod xml;

pub use arrow_array::RecordBatch;
pub use arrow_ipc::{
    ArrowCollector, ArrowReceiver, ArrowTable, ArrowTarget, transfer_batch, transfer_schema,
};
pub use arrow_schema::SchemaRef;
pub use atomic_file::{DiscardedFiles, discard_partial_files};
pub use choice::ColumnChoice;
pub use claimed_metadata::{ClaimedMetadata, CounterfeitToken};
pub use draw::check_graphviz;
pub use error::{Error, Result};
pub use format::{ColumnWord, DocumentFormat, GraphFormat, Layout, Schema, TableFormat};
pub use graph::{write_graph, write_json, write_table, write_vertices};
pub use line_writer::LineWriter;
pub use metadata::Metadata;
pub use options::{Drawing, GraphOptions, TransferTableOptions};
pub use picture::{Fold, Link, WrongFold, WrongLink, rounded_amount, short_addresses};
pub use prices::Prices;
pub use table::{TableWriter, TransferWriter};
pub use target::{Target, Written};
pub use text::printable;
pub use tokens::{Token, TokenList};
pub use transactions::{TransactionFacts, Transactions};
pub use txgraph_analysis::{Column, ColumnType, Value};
pub use txgraph_work::Threads;
pub use value::{json_value, plain_text};
