//! Reads transfers from files that other tools write.
//!
//! Each tool has its own columns. A [`Dialect`] lists them for one table of one tool, so a new
//! tool is an entry in `dialect`. `format` reads Parquet, CSV and JSON into rows of cells, and
//! `rows` converts the cells. `assemble` restores the total order of a block: logs, and rows
//! that were decoded from logs, go through the [`Decoder`](txgraph_transfers::Decoder) of all
//! other sources. [`ForeignFiles`] divides the files into chunks, for a
//! [`StoredSource`](txgraph_stored::StoredSource).
//!
//! Values are exact or refused: a column of floating-point amounts is an error. What tables state
//! about each other is checked: rows that contradict each other are an error (`unique`, `parts`),
//! and rows that are missing are counted (`gaps`).
//!
//! Modules, each using only those before it: error, names, time, role, cell, dialect, format, file,
//! plan, coverage, rows, block, native, unique, gaps, order, files, parts, assemble, fill, stored,
//! fuzzing.

mod assemble;
mod block;
mod cell;
mod coverage;
mod dialect;
mod error;
mod file;
mod files;
mod fill;
mod format;
#[doc(hidden)]
pub mod fuzzing;
mod gaps;
mod names;
mod native;
mod order;
mod parts;
mod plan;
mod role;
mod rows;
mod stored;
mod time;
mod unique;

pub use dialect::{Dialect, Family, Table};
pub use error::Error;
pub use files::{ForeignFiles, ForeignOptions};
pub use role::{Columns, Role};
pub use stored::Scratch;
