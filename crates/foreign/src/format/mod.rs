//! File formats: rows of cells from Parquet, CSV and JSON.

mod arrow;
mod csv;
mod json;
mod objects;
mod parquet;
mod stream;

use self::stream::Stream;
use crate::{Error, Role, cell::Cell, dialect::Slot, role::ROLES};
use std::path::Path;
use txgraph_transfers::BlockRange;

pub(crate) use objects::Objects;

/// The rows of a piece of a CSV or JSON file. Small enough that reading a chunk rereads little.
const ROWS_PER_PIECE: u64 = 16_384;

/// The format of a file, with what is needed to read it.
#[derive(Debug)]
pub(crate) enum Format {
    Parquet(parquet::Parquet),
    Csv(csv::Csv),
    Json(json::Json),
}

/// Consecutive rows of a file that are read together.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The number of the first row, from 0.
    pub(crate) first_row: u64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The blocks between the lowest and the highest row.
    pub(crate) blocks: BlockRange,
    place: Place,
}

#[cfg(test)]
impl Piece {
    /// A piece that cannot be read.
    pub(crate) const fn for_plan(blocks: BlockRange, rows: u64) -> Self {
        let place = Place::RowGroup(0);
        Self {
            first_row: 0,
            rows,
            blocks,
            place,
        }
    }
}

/// Where a piece is.
#[derive(Clone, Copy, Debug)]
enum Place {
    RowGroup(usize),
    Bytes {
        offset: u64,
        length: u64,
    },
    /// The whole file, which is compressed.
    Whole,
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
    /// Opens a file by its extension. `None` if that is of no format.
    pub(crate) fn open(path: &Path) -> Result<Option<(Self, Vec<String>)>, Error> {
        let (extension, stream) = Stream::of(path);
        Ok(Some(match extension.as_str() {
            "parquet" | "pq" if stream == Stream::Plain => {
                let (file, header) = parquet::Parquet::open(path)?;
                (Self::Parquet(file), header)
            }
            "csv" => {
                let (file, header) = csv::Csv::open(path, stream, b',')?;
                (Self::Csv(file), header)
            }
            "tsv" => {
                let (file, header) = csv::Csv::open(path, stream, b'\t')?;
                (Self::Csv(file), header)
            }
            "json" | "jsonl" | "ndjson" => {
                let (file, header) = json::Json::open(path, stream)?;
                (Self::Json(file), header)
            }
            _ => return Ok(None),
        }))
    }

    /// What the bytes of the file say against it, in words.
    pub(crate) fn doubt(&self, path: &Path) -> Result<Option<String>, Error> {
        match self {
            Self::Csv(file) => file.doubt(path),
            Self::Parquet(_) | Self::Json(_) => Ok(None),
        }
    }

    /// Divides the file into pieces. Adds columns to `header` that were not found before: JSON has
    /// names in every row, and some rows leave out nulls.
    pub(crate) fn pieces(
        &mut self,
        path: &Path,
        slots: &[Slot],
        header: &mut Vec<String>,
    ) -> Result<Vec<Piece>, Error> {
        match self {
            Self::Parquet(file) => file.pieces(path, slots),
            Self::Csv(file) => file.pieces(path, slots),
            Self::Json(file) => file.pieces(path, slots, header),
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

/// Collects the rows of a file into pieces.
struct Pieces {
    pieces: Vec<Piece>,
    open: Option<Piece>,
    row: u64,
}

impl Pieces {
    const fn new() -> Self {
        Self {
            pieces: Vec::new(),
            open: None,
            row: 0,
        }
    }

    /// Adds a row that begins at `offset` and ends before `end`.
    fn push(&mut self, block: u64, offset: u64, end: u64) {
        let piece = self.open.get_or_insert(Piece {
            first_row: self.row,
            rows: 0,
            blocks: BlockRange::one(block),
            place: Place::Bytes { offset, length: 0 },
        });
        piece.rows += 1;
        piece.blocks.first = piece.blocks.first.min(block);
        piece.blocks.last = piece.blocks.last.max(block);
        if let Place::Bytes { offset, length } = &mut piece.place {
            *length = end - *offset;
        }
        self.row += 1;
        if piece.rows >= ROWS_PER_PIECE {
            self.pieces.extend(self.open.take());
        }
    }

    /// The pieces. A compressed file is one piece, because it cannot be read from the middle.
    fn finish(mut self, stream: Stream) -> Vec<Piece> {
        self.pieces.extend(self.open);
        if stream == Stream::Plain {
            return self.pieces;
        }
        let whole = self.pieces.into_iter().reduce(|one, other| Piece {
            rows: one.rows + other.rows,
            blocks: BlockRange {
                first: one.blocks.first.min(other.blocks.first),
                last: one.blocks.last.max(other.blocks.last),
            },
            ..one
        });
        let whole = whole.map(|piece| Piece {
            place: Place::Whole,
            ..piece
        });
        whole.into_iter().collect()
    }
}

/// The position of the column of blocks, which every dialect needs.
fn block_column(slots: &[Slot]) -> usize {
    let block = slots.iter().find(|(role, _)| *role == Role::Block);
    block.map_or(0, |(_, at)| *at)
}

/// An error in the column of blocks.
fn wrong_block(path: &Path, row: u64, column: &str, problem: crate::error::Problem) -> Error {
    Error::Cell {
        path: path.to_path_buf(),
        row: row + 1,
        column: column.to_owned(),
        problem: problem.into_owned(),
    }
}
