//! CSV files with a header.

use super::{Piece, Pieces, Place, Row, Visit, block_column, wrong_block};
use crate::{Error, cell::Cell, dialect::Slot, role::ROLES};
use csv::{ByteRecord, Position, ReaderBuilder};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

/// The longest record. A log can have 24 KiB of data and more, in two digits per byte.
const BYTES_PER_RECORD_MAX: usize = 1 << 26;

/// A CSV file.
#[derive(Debug)]
pub(crate) struct Csv {
    delimiter: u8,
    header: Vec<String>,
}

impl Csv {
    pub(super) fn open(path: &Path, delimiter: u8) -> Result<(Self, Vec<String>), Error> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(file);
        let header = reader.headers().map_err(|error| wrong(path, 0, &error))?;
        let mut header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        // Excel starts UTF-8 files with a byte order mark.
        if let Some(first) = header.first_mut() {
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        if header.iter().all(String::is_empty) {
            return Err(Error::damaged(path, "there is no header"));
        }
        let csv = Self {
            delimiter,
            header: header.clone(),
        };
        Ok((csv, header))
    }

    pub(super) fn pieces(&self, path: &Path, slots: &[Slot]) -> Result<Vec<Piece>, Error> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(file);
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
                .map_err(|problem| wrong_block(path, pieces.row, &self.header[column], problem))?;
            pieces.push(block, offset, reader.position().byte());
        }
        Ok(pieces.finish())
    }

    pub(super) fn read(
        &self,
        path: &Path,
        piece: &Piece,
        slots: &[Slot],
        visit: &mut Visit<'_>,
    ) -> Result<(), Error> {
        let Place::Bytes { offset, length } = piece.place else {
            return Ok(());
        };
        let mut file = File::open(path).map_err(|error| Error::io(path, error))?;
        file.seek(SeekFrom::Start(offset))
            .map_err(|error| Error::io(path, error))?;
        rows(path, file.take(length), self, piece.first_row, slots, visit)
    }
}

/// Reads records without a header.
pub(super) fn rows(
    path: &Path,
    reader: impl Read,
    csv: &Csv,
    first_row: u64,
    slots: &[Slot],
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    let mut reader = ReaderBuilder::new()
        .delimiter(csv.delimiter)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(reader);
    let mut record = ByteRecord::new();
    let mut number = first_row;
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| wrong(path, number, &error))?
    {
        if record.len() != csv.header.len() || record.as_slice().len() > BYTES_PER_RECORD_MAX {
            let (found, expected) = (record.len(), csv.header.len());
            return Err(Error::damaged(
                path,
                format_args!(
                    "row {}: {found} fields, but the header has {expected}",
                    number + 1
                ),
            ));
        }
        let mut cells = [Cell::Null; ROLES];
        for (role, column) in slots {
            cells[*role as usize] = cell(record.get(*column))
                .map_err(|problem| wrong_block(path, number, &csv.header[*column], problem))?;
        }
        visit(&Row::new(number, &cells))?;
        number += 1;
    }
    Ok(())
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
        } => Error::damaged(
            path,
            format_args!("row {row}: {len} fields, but the header has {expected_len}"),
        ),
        _ => Error::damaged(path, format_args!("row {}: {error}", row + 1)),
    }
}
