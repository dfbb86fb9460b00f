//! File formats: rows of cells from Parquet, CSV and JSON.

mod arrow_ipc;
mod csv;
mod json;
mod objects;
mod parquet;
mod piece;
mod stream;

use self::stream::Stream;
use crate::{Error, Role, cell::Cell, column_role::ROLES, dialect::Slot};
use std::path::Path;

pub(crate) use objects::Objects;
pub(crate) use piece::{Piece, wrong_cell};

/// Whether the bytes of a file are compressed, by its name.
pub(crate) fn is_compressed(path: &Path) -> bool {
    Stream::of(path).1 != Stream::Plain
}

/// The format of a file, with what is needed to read it.
#[derive(Debug)]
pub(crate) enum Format {
    Parquet(parquet::Parquet),
    Csv(csv::Csv),
    Json(json::Json),
}

/// One row, with a cell for each role. Roles without a column have [`Cell::Null`].
pub(crate) struct Row<'a> {
    /// From 0.
    pub(crate) number: u64,
    cells: &'a [Cell<'a>; ROLES],
}

impl<'a> Row<'a> {
    pub(crate) fn new(number: u64, cells: &'a [Cell<'a>; ROLES]) -> Self {
        Self { number, cells }
    }

    #[inline]
    pub(crate) fn cell(&self, role: Role) -> Cell<'a> {
        self.cells[role as usize]
    }
}

/// Receives the rows of a piece.
pub(crate) type Visit<'v> = dyn FnMut(&Row<'_>) -> Result<(), Error> + 'v;

impl Format {
    /// Opens a file by its extension. `None` if the extension is of no format.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, Error> {
        let (extension, stream) = Stream::of(path);
        Ok(Some(match extension.as_str() {
            "parquet" | "pq" if stream == Stream::Plain => {
                Self::Parquet(parquet::Parquet::open(path)?)
            }
            "csv" => Self::Csv(csv::Csv::open(path, stream, b',')?),
            "tsv" => Self::Csv(csv::Csv::open(path, stream, b'\t')?),
            "json" | "jsonl" | "ndjson" => Self::Json(json::Json::open(path, stream)?),
            _ => return Ok(None),
        }))
    }

    /// The names of the columns, which a file without rows may not have.
    pub(crate) fn header(&self) -> &[String] {
        match self {
            Self::Parquet(file) => &file.header,
            Self::Csv(file) => &file.header,
            Self::Json(file) => &file.header,
        }
    }

    /// The part that is missing in a file without names of columns.
    pub(crate) const fn lacks(&self) -> &'static str {
        match self {
            Self::Json(_) => "there are no objects",
            Self::Parquet(_) | Self::Csv(_) => "there is no header",
        }
    }

    /// A doubt that the bytes of the file raise, in words.
    pub(crate) fn doubt(&self, path: &Path) -> Result<Option<String>, Error> {
        match self {
            Self::Csv(file) => file.doubt(path),
            Self::Parquet(_) | Self::Json(_) => Ok(None),
        }
    }

    /// Divides the file into pieces. Adds columns to the header that were not found before: JSON has
    /// names in every row, and some rows leave out nulls.
    pub(crate) fn pieces(&mut self, path: &Path, slots: &[Slot]) -> Result<Vec<Piece>, Error> {
        match self {
            Self::Parquet(file) => file.pieces(path, slots),
            Self::Csv(file) => file.pieces(path, slots),
            Self::Json(file) => file.pieces(path, slots),
        }
    }

    /// Calls `visit` for each row of a piece, in order.
    pub(crate) fn read(
        &self,
        path: &Path,
        piece: &Piece,
        slots: &[Slot],
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        match self {
            Self::Parquet(file) => file.read(path, piece, slots, visit),
            Self::Csv(file) => file.read(path, piece, slots, visit),
            Self::Json(file) => file.read(path, piece, slots, visit),
        }
    }
}
