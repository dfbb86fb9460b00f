//! The rows of a file that are read together.

use super::stream::Stream;
use crate::{Error, Role, dialect::Slot, error::Problem};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};
use txgraph_transfers::BlockRange;

/// The rows of a piece of a CSV or JSON file. Small enough that reading a chunk rereads little.
const ROWS_PER_PIECE: u64 = 16_384;

/// Consecutive rows of a file that are read together.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The number of the first row, from 0.
    pub(crate) first_row: u64,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The blocks between the lowest and the highest row.
    pub(crate) blocks: BlockRange,
    pub(super) place: Place,
}

impl Piece {
    /// Opens the bytes of this piece.
    pub(super) fn open(&self, path: &Path, stream: Stream) -> Result<Box<dyn Read>, Error> {
        let Place::Bytes { offset, length } = self.place else {
            return stream.open(path);
        };
        let io = |error| Error::io(path, error);
        let mut file = File::open(path).map_err(io)?;
        file.seek(SeekFrom::Start(offset)).map_err(io)?;
        Ok(Box::new(file.take(length)))
    }

    /// The error of a row whose block is not one of the piece.
    pub(crate) fn misplaced(&self, path: &Path, row: u64, block: u64) -> Error {
        let (row, blocks) = (row + 1, self.blocks);
        let reason = match self.place {
            Place::RowGroup(group) => format!(
                "row {row} is of block {block}, but the statistics of its row group ({group}) state \
                 blocks {blocks}; export the file again"
            ),
            Place::Bytes { .. } | Place::Whole => format!(
                "row {row} is of block {block}, but was not when the file was opened; read it again \
                 when nothing writes to it"
            ),
        };
        Error::damaged(path, reason)
    }
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
pub(super) enum Place {
    RowGroup(usize),
    Bytes {
        offset: u64,
        length: u64,
    },
    /// The whole file, which is compressed.
    Whole,
}

/// Collects the rows of a file into pieces.
pub(super) struct Pieces {
    pieces: Vec<Piece>,
    open: Option<Piece>,
    pub(super) row: u64,
}

impl Pieces {
    pub(super) const fn new() -> Self {
        Self {
            pieces: Vec::new(),
            open: None,
            row: 0,
        }
    }

    /// Adds a row that begins at `offset` and ends before `end`.
    pub(super) fn push(&mut self, block: u64, offset: u64, end: u64) {
        let piece = self.open.get_or_insert(Piece {
            first_row: self.row,
            rows: 0,
            blocks: BlockRange::one(block),
            place: Place::Bytes { offset, length: 0 },
        });
        piece.rows += 1;
        piece.blocks = piece.blocks.hull(&BlockRange::one(block));
        if let Place::Bytes { offset, length } = &mut piece.place {
            *length = end - *offset;
        }
        self.row += 1;
        if piece.rows >= ROWS_PER_PIECE {
            self.pieces.extend(self.open.take());
        }
    }

    /// The pieces. A compressed file is one piece, because it cannot be read from the middle.
    pub(super) fn finish(mut self, stream: Stream) -> Vec<Piece> {
        self.pieces.extend(self.open);
        if stream == Stream::Plain {
            return self.pieces;
        }
        let whole = self.pieces.into_iter().reduce(|one, other| Piece {
            rows: one.rows + other.rows,
            blocks: one.blocks.hull(&other.blocks),
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
pub(super) fn block_column(slots: &[Slot]) -> usize {
    let block = slots.iter().find(|(role, _)| *role == Role::Block);
    block.map_or(0, |(_, at)| *at)
}

pub(crate) fn wrong_cell(path: &Path, row: u64, column: &str, problem: Problem) -> Error {
    let (path, row) = (path.display(), row + 1);
    Error::Row(format!("{path}, row {row}, column {column}: {problem}"))
}
