//! Writes the parts of a segment, one after the other, and its head last.

use crate::{
    column,
    error::{Error, Result},
    layout::{ALIGN, HEAD_BYTES, Head, PARTS, Part, Place},
};
use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::Path,
};

/// Writes parts one after the other.
pub(crate) struct Writer<'a> {
    file: &'a mut File,
    path: &'a Path,
    /// The part under way.
    pub(crate) buffer: Vec<u8>,
    pub(crate) places: [Place; PARTS],
    end: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(file: &'a mut File, path: &'a Path) -> Result<Self> {
        let writer = Self {
            file,
            path,
            buffer: Vec::new(),
            places: [Place::default(); PARTS],
            end: HEAD_BYTES as u64,
        };
        writer
            .file
            .seek(SeekFrom::Start(writer.end))
            .map_err(|error| Error::io("write", path, error))?;
        Ok(writer)
    }

    pub(crate) fn column(
        &mut self,
        part: Part,
        numbers: impl Iterator<Item = u64>,
        max: u64,
    ) -> Result<()> {
        let width = column::write(numbers, max, &mut self.buffer);
        self.part(part, width)
    }

    pub(crate) fn numbers(&mut self, part: Part, numbers: &[u32]) -> Result<()> {
        let max = numbers.iter().copied().max().unwrap_or(0);
        self.column(part, numbers.iter().copied().map(u64::from), max.into())
    }

    /// Ends the part in the buffer.
    pub(crate) fn part(&mut self, part: Part, width: usize) -> Result<()> {
        let bytes = self.buffer.len();
        self.places[part as usize] = Place {
            offset: self.end,
            bytes: bytes as u64,
            width: u32::try_from(width).unwrap_or(0),
            crc: crc32fast::hash(&self.buffer),
        };
        if part as usize + 1 < PARTS {
            self.buffer.resize(bytes.next_multiple_of(ALIGN), 0);
        }
        self.file
            .write_all(&self.buffer)
            .map_err(|error| Error::io("write", self.path, error))?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the head. The length of the file.
    pub(crate) fn finish(self, head: &Head) -> Result<u64> {
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(&head.encode()));
        written.map_err(|error| Error::io("write", self.path, error))?;
        Ok(self.end)
    }
}
