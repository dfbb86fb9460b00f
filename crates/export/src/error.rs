//! Errors of exports.

use crate::{ColumnType, TableFormat};
use std::{io, path::PathBuf, time::Duration};

/// Result of an export.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an export. No file under the final name was created or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file exists already.
    #[error("{}: already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The folder of the file does not exist.
    #[error("{}: its folder does not exist", path.display())]
    NoFolder {
        /// The file to write.
        path: PathBuf,
    },
    /// The disk (or the quota) is full.
    #[error("{}: no space left", path.display())]
    NoSpace {
        /// The file to write.
        path: PathBuf,
    },
    /// The reader of the output has closed it. Command lines do not report this.
    #[error("the reader of the output has closed it")]
    BrokenPipe,
    /// Reading or writing failed otherwise.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A column cannot have a type, or has it twice.
    #[error("`{entry}`: the column cannot have this type, or has it twice; its types: {known}")]
    WrongType {
        /// The column, or the set of columns, and the type.
        entry: String,
        /// The types that it can have.
        known: String,
    },
    /// A chosen column does not exist.
    #[error("no column `{name}`; one of {known}")]
    UnknownColumn {
        /// The name.
        name: String,
        /// The names of all columns.
        known: String,
    },
    /// A column is chosen twice.
    #[error("the column `{0}` is chosen twice")]
    ColumnTwice(String),
    /// A block number is too large for a table of cryo.
    #[error(
        "block {0} does not fit into the 32 bits of cryo's block numbers; choose another schema"
    )]
    BlockNumber(u64),
    /// Every column is left out.
    #[error("no column is left")]
    NoColumns,
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
    /// Types of columns are chosen for a format that has none.
    #[error("rich types are written to Parquet only, not to {0}")]
    TypesOnlyInParquet(TableFormat),
    /// Encoding Parquet failed.
    #[error("writing Parquet failed: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A writer was used again after it had failed.
    #[error("nothing can be written after a failure")]
    AfterFailure,
    /// The thread that encodes columns could not be started.
    #[error("cannot start the thread that encodes columns: {0}")]
    Thread(io::Error),
    /// The threads that format could not be started.
    #[error(transparent)]
    Threads(#[from] txgraph_work::ThreadsError),
    /// The graph has too many vertices or edges for a readable drawing.
    #[error("{count} {what} are too many to draw (limit {limit})")]
    TooLargeToDraw {
        /// `vertices` or `edges`.
        what: &'static str,
        /// The number of them.
        count: usize,
        /// [`crate::Drawing::vertices_max`] or [`crate::Drawing::edges_max`].
        limit: usize,
    },
    /// GraphSense does not have the chain of a graph.
    #[error(
        "a save file of GraphSense is for Ethereum mainnet (chain 1), not for chain {chain_id}"
    )]
    NotInGraphSense {
        /// The chain id of the graph.
        chain_id: u64,
    },
    /// Graphviz is not installed.
    #[error("{}: not found; drawing SVG or PNG needs Graphviz", program.display())]
    NoGraphviz {
        /// The program that was not found.
        program: PathBuf,
    },
    /// Graphviz failed.
    #[error("{} failed: {reason}", program.display())]
    Graphviz {
        /// The program that ran.
        program: PathBuf,
        /// Its message, or what was wrong with its output.
        reason: String,
    },
    /// Graphviz took too long and was stopped.
    #[error("{} did not finish within {} s", program.display(), limit.as_secs())]
    GraphvizTooSlow {
        /// The program that ran.
        program: PathBuf,
        /// [`crate::Drawing::time_max`].
        limit: Duration,
    },
    /// Encoding columns failed.
    #[error("encoding columns failed: {0}")]
    Columns(#[from] arrow_schema::ArrowError),
    /// Encoding JSON failed.
    #[error("encoding JSON failed: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// Whether the request itself is wrong, so that it would fail again.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::WrongType { .. }
                | Self::UnknownColumn { .. }
                | Self::ColumnTwice(_)
                | Self::NoColumns
                | Self::TypesOnlyInParquet(_)
                | Self::NotInGraphSense { .. }
        )
    }

    /// Returns what to do about the error, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("choose another name, or allow the file to be replaced"),
            Self::NoFolder { path } if path.to_string_lossy().contains(":/") => Some(
                "files are written to folders of this computer; copy them to other places afterwards",
            ),
            Self::NoFolder { .. } => Some("make the folder first, e.g. with mkdir -p"),
            Self::NoSpace { .. } => {
                Some("free some space, or write elsewhere; Parquet is the smallest format")
            }
            Self::TooLargeToDraw { .. } => Some(
                "ask for less (fewer hops, larger amounts, smaller limits), or write DOT, GraphML or \
                 GEXF and open it in Gephi",
            ),
            Self::NotInGraphSense { .. } => {
                Some("write GraphML, GEXF or HTML, which hold graphs of every chain")
            }
            Self::NoGraphviz { .. } => Some(
                "install it (apt install graphviz; brew install graphviz) or write DOT and draw \
                 it elsewhere",
            ),
            Self::GraphvizTooSlow { .. } => {
                Some("choose the layout `force`, ask for less, or write DOT and draw it with sfdp")
            }
            Self::ColumnTwice(_) => {
                Some("name it once; several types of a number are one entry: value:binary+string")
            }
            _ => None,
        }
    }
}
