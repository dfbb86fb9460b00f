//! Reads transfers from files that other tools write.
//!
//! Each tool has its own columns. A [`Dialect`] lists them for one table of one tool, so a new
//! tool is a paragraph in `dialect`. `format` reads Parquet, CSV and JSON into rows of cells, and
//! `rows` converts the cells. `assemble` restores the total order of a block: logs, and rows
//! that were decoded from logs, go through the [`Decoder`](txgraph_transfers::Decoder) of all
//! other sources. [`ImportedFiles`] divides the files into chunks, for a
//! [`StoredSource`](txgraph_stored::StoredSource).
//!
//! Values are exact or refused: a column of floating-point amounts is an error. What tables state
//! about each other is checked: rows that contradict each other are an error (`unique`, `parts`),
//! and rows that are missing are counted (`gaps`).
//!
//! Modules, each using only those before it: error, time, column_role, cell, dialect, format, metadata, path_facts,
//! file, plan, coverage, rows, block, native_transfers, unique, gaps, order, files, parts, assemble, fill_hashes, block_files,
//! fuzzing.

mod assemble;
mod block;
mod block_files;
mod cell;
mod column_role;
mod coverage;
mod dialect;
mod error;
mod file;
mod files;
mod fill_hashes;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod metadata;
mod native_transfers;
mod order;
mod parts;
mod path_facts;
mod plan;
mod rows;
mod time;
mod unique;

pub use block_files::Scratch;
pub use column_role::{Columns, Role};
pub use dialect::{Dialect, Family, Table};
pub use error::Error;
pub use files::{ImportOptions, ImportedFiles};
