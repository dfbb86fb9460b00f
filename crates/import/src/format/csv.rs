//! CSV files with a header.

use super::{
    Row, Stream, Visit,
    piece::{Piece, Pieces, Place, block_column, wrong_cell},
};
use crate::{Error, cell::Cell, column_role::ROLES, dialect::Slot};
use csv::{ByteRecord, Position, ReaderBuilder};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

/// The longest record. A log can have 24 KiB of data and more, in two digits per byte.
const BYTES_PER_RECORD_MAX: usize = 1 << 26;

/// The longest header. Tables have at most a hundred columns.
const BYTES_PER_HEADER_MAX: u64 = 1 << 20;

/// Reads until a row is longer than any. A quote that is not closed makes one row of the rest of a
/// file, which may not fit into the memory.
struct Bounded<R> {
    reader: R,
    /// The bytes until the row is too long.
    left: usize,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("it is longer than 64 MiB"));
        }
        let read = self.reader.read(buffer)?;
        self.left = self.left.saturating_sub(read);
        Ok(read)
    }
}

#[derive(Debug)]
pub(crate) struct Csv {
    stream: Stream,
    delimiter: u8,
    pub(super) header: Vec<String>,
}

impl Csv {
    pub(super) fn open(path: &Path, stream: Stream, delimiter: u8) -> Result<Self, Error> {
        let file = stream.open(path)?.take(BYTES_PER_HEADER_MAX);
        let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(file);
        let header = reader
            .headers()
            .map_err(|error| wrong(path, 0, &error))?
            .clone();
        if reader.position().byte() >= BYTES_PER_HEADER_MAX {
            return Err(Error::damaged(path, "the header is longer than 1 MiB"));
        }
        let mut header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        // Excel starts UTF-8 files with a byte order mark.
        if let Some(first) = header.first_mut() {
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        // Nothing at all is a table without rows, if something else states which one.
        if !header.is_empty() && header.iter().all(String::is_empty) {
            return Err(Error::damaged(path, "there is no header"));
        }
        Ok(Self {
            stream,
            delimiter,
            header,
        })
    }

    pub(super) fn pieces(&self, path: &Path, slots: &[Slot]) -> Result<Vec<Piece>, Error> {
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(Bounded {
                reader: self.stream.open(path)?,
                left: BYTES_PER_RECORD_MAX,
            });
        let column = block_column(slots);
        let mut pieces = Pieces::new();
        let mut record = ByteRecord::new();
        reader
            .byte_headers()
            .map_err(|error| wrong(path, 0, &error))?;
        loop {
            let offset = reader.position().byte();
            let more = reader.read_byte_record(&mut record);
            if !more.map_err(|error| wrong(path, pieces.row, &error))? {
                break;
            }
            let block = cell(record.get(column)).and_then(|cell| cell.u64());
            let block = block
                .map_err(|problem| wrong_cell(path, pieces.row, &self.header[column], problem))?;
            pieces.push(block, offset, reader.position().byte());
            reader.get_mut().left = BYTES_PER_RECORD_MAX;
        }
        Ok(pieces.finish(self.stream))
    }

    /// Whether the last row may be cut: writers end it with a line break. Inside of a quoted field
    /// it is cut for certain.
    pub(super) fn doubt(&self, path: &Path) -> Result<Option<String>, Error> {
        if self.stream != Stream::Plain {
            // A cut stream of compressed bytes is an error.
            return Ok(None);
        }
        let io = |error| Error::io(path, error);
        let mut file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut end = Vec::new();
        for bytes in [1, BYTES_PER_RECORD_MAX as u64] {
            file.seek(SeekFrom::Start(length.saturating_sub(bytes)))
                .map_err(io)?;
            end.clear();
            file.read_to_end(&mut end).map_err(io)?;
            if end.is_empty() || end.ends_with(b"\n") || end.ends_with(b"\r") {
                return Ok(None);
            }
        }
        let start = end
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let quotes = end[start..].iter().filter(|byte| **byte == b'"').count();
        match quotes.is_multiple_of(2) {
            true => Ok(Some(format!(
                "{} does not end with a line break, so that its last row may be cut",
                path.display()
            ))),
            false => Err(Error::damaged(
                path,
                "the file ends inside of a quoted field",
            )),
        }
    }

    pub(super) fn read(
        &self,
        path: &Path,
        piece: &Piece,
        slots: &[Slot],
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(matches!(piece.place, Place::Whole))
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(piece.open(path, self.stream)?);
        let mut record = ByteRecord::new();
        let mut number = piece.first_row;
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| wrong(path, number, &error))?
        {
            let (found, expected) = (record.len(), self.header.len());
            if found != expected {
                return Err(unequal(path, number + 1, found as u64, expected as u64));
            }
            let mut cells = [Cell::Null; ROLES];
            for (role, column) in slots {
                cells[*role as usize] = cell(record.get(*column))
                    .map_err(|problem| wrong_cell(path, number, &self.header[*column], problem))?;
            }
            visit(&Row::new(number, &cells))?;
            number += 1;
        }
        Ok(())
    }
}

/// An empty field is null. So are the words of common exporters.
fn cell(field: Option<&[u8]>) -> Result<Cell<'_>, crate::error::Problem> {
    match field {
        None | Some(b"" | b"null" | b"NULL" | b"None" | b"<nil>" | b"\\N") => Ok(Cell::Null),
        Some(field) => match std::str::from_utf8(field) {
            Ok(text) => Ok(Cell::Text(text)),
            Err(_) => Err("not UTF-8".into()),
        },
    }
}

fn wrong(path: &Path, row: u64, error: &csv::Error) -> Error {
    let row = error.position().map_or(row, Position::record);
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => unequal(path, row, *len, *expected_len),
        _ => Error::damaged(path, format_args!("row {}: {error}", row + 1)),
    }
}

/// The error of a row, counted from 1, with another number of fields than the header.
fn unequal(path: &Path, row: u64, found: u64, expected: u64) -> Error {
    let reason = format_args!("row {row}: {found} fields, but the header has {expected}");
    Error::damaged(path, reason)
}
