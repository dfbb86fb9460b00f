//! Why an export failed.

use crate::{ColumnType, U256Type};
use std::{io, path::PathBuf, time::Duration};

/// Result of an export.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an export failed. No file of the final name was made or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is there already.
    #[error("{}: already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// There is no such folder to write into.
    #[error("{}: its folder does not exist", path.display())]
    NoFolder {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// The disk (or the quota) is full.
    #[error("{}: no space left", path.display())]
    NoSpace {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// Whoever read the output has closed it. Not a failure for a command line.
    #[error("the reader of the output has closed it")]
    BrokenPipe,
    /// Reading or writing failed otherwise.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A way to write 256-bit numbers is listed twice.
    #[error("256-bit numbers cannot be written as {0} twice")]
    U256TypeTwice(U256Type),
    /// No way to write 256-bit numbers is listed.
    #[error("no type is given for 256-bit numbers")]
    NoU256Type,
    /// A row has another number of values than its table has columns.
    #[error("a row of {values} values in a table of {columns} columns")]
    RowLength {
        /// Columns of the table.
        columns: usize,
        /// Values of the row.
        values: usize,
    },
    /// A value is not of the type of its column.
    #[error("a value of type {found:?} in column `{column}` of type {wanted:?}")]
    RowType {
        /// Name of the column.
        column: String,
        /// Type of the column.
        wanted: ColumnType,
        /// Type of the value.
        found: ColumnType,
    },
    /// A writer was used again after it had failed.
    #[error("nothing can be written after a failure")]
    AfterFailure,
    /// The thread that encodes columns could not be started.
    #[error("cannot start the thread that encodes columns: {0}")]
    Thread(io::Error),
    /// A token list does not say what it should.
    #[error("{}: {reason}", path.display())]
    TokenList {
        /// The file.
        path: PathBuf,
        /// Which entry, and what is wrong with it.
        reason: String,
    },
    /// The graph has more vertices or edges than a readable picture.
    #[error("{count} {what} are too many to draw (limit {limit})")]
    TooLargeToDraw {
        /// `vertices` or `edges`.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// [`crate::Drawing::vertices_max`] or [`crate::Drawing::edges_max`].
        limit: usize,
    },
    /// The DOT that was to be drawn does not parse; this is a bug of txgraph.
    #[error("the drawing is no valid DOT: {0}; write DOT and report it")]
    DotSyntax(String),
    /// The programme that draws is not installed.
    #[error("{}: not found; drawing SVG or PNG needs Graphviz", program.display())]
    NoGraphviz {
        /// What was looked for.
        program: PathBuf,
    },
    /// The programme that draws failed.
    #[error("{} failed: {reason}", program.display())]
    Graphviz {
        /// What was run.
        program: PathBuf,
        /// What it said, or what was wrong with it.
        reason: String,
    },
    /// The programme that draws took too long and was stopped.
    #[error("{} did not finish within {} s", program.display(), limit.as_secs())]
    GraphvizTooSlow {
        /// What was run.
        program: PathBuf,
        /// [`crate::Drawing::time_max`].
        limit: Duration,
    },
    /// Encoding columns failed.
    #[error("encoding columns failed: {0}")]
    Columns(#[from] polars::error::PolarsError),
    /// Encoding JSON failed.
    #[error("encoding JSON failed: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// Whether only the reader of the output went away.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::BrokenPipe)
    }

    /// Whether the request itself is wrong, so that it would fail again.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::U256TypeTwice(_) | Self::NoU256Type)
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("choose another name, or allow the file to be replaced"),
            Self::NoFolder { .. } => Some("make the folder first: mkdir -p"),
            Self::NoSpace { .. } => {
                Some("free some space, or write elsewhere; Parquet is the smallest format")
            }
            Self::TooLargeToDraw { .. } => Some(
                "ask for less (fewer hops, larger amounts, smaller limits), or write DOT, GraphML or \
                 GEXF and open it in Gephi",
            ),
            Self::NoGraphviz { .. } => Some(
                "install it (apt install graphviz; brew install graphviz) or write DOT and draw \
                 it elsewhere",
            ),
            Self::GraphvizTooSlow { .. } => {
                Some("ask for less, or write DOT and draw it with sfdp")
            }
            _ => None,
        }
    }
}
