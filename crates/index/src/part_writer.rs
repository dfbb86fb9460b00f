//! Writes the parts of a segment one after the other, then the checksums, then the head.

use crate::{
    checksummed_file::Checksums,
    column,
    error::{Error, Result},
    layout::{ALIGN, Format, Head, PARTS, Part, PartLocation},
};
use std::{
    io::{self, Seek, SeekFrom, Write},
    path::Path,
};
use txgraph_stored::folder::step;

/// Writes the parts of a segment in order.
pub(crate) struct Writer<'a, W> {
    file: &'a mut W,
    path: &'a Path,
    /// The bytes of the current part.
    pub(crate) buffer: Vec<u8>,
    parts: [PartLocation; PARTS],
    checksums: Checksums,
    end: u64,
}

impl<'a, W: Write + Seek> Writer<'a, W> {
    /// Begins after the head, which is written last.
    pub(crate) fn new(file: &'a mut W, path: &'a Path, format: Format) -> Result<Self> {
        let mut writer = Self {
            file,
            path,
            buffer: Vec::new(),
            parts: [PartLocation::default(); PARTS],
            checksums: Checksums::after_head(format),
            end: format.head_bytes() as u64,
        };
        let start = SeekFrom::Start(writer.end);
        writer.io(|file| file.seek(start).map(drop))?;
        Ok(writer)
    }

    /// Writes a column of `numbers`, none above `max`.
    pub(crate) fn column(
        &mut self,
        part: Part,
        numbers: impl Iterator<Item = u64>,
        max: u64,
    ) -> Result<()> {
        let width = column::write(numbers, max, &mut self.buffer);
        self.part(part, width)
    }

    /// Writes a column of numbers.
    pub(crate) fn numbers(&mut self, part: Part, numbers: &[u32]) -> Result<()> {
        let max = numbers.iter().copied().max().unwrap_or(0);
        self.column(part, numbers.iter().copied().map(u64::from), max.into())
    }

    /// Writes the buffer as a part, and clears it.
    pub(crate) fn part(&mut self, part: Part, width: usize) -> Result<()> {
        let bytes = self.buffer.len();
        self.parts[part as usize] = PartLocation {
            offset: self.end,
            bytes: bytes as u64,
            width: u32::try_from(width).unwrap_or(0),
        };
        self.buffer.resize(bytes.next_multiple_of(ALIGN), 0);
        self.checksums.update(&self.buffer);
        let buffer = std::mem::take(&mut self.buffer);
        self.io(|file| file.write_all(&buffer))?;
        self.end += buffer.len() as u64;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the checksums and the head, of which it fills in the parts and the checksum of
    /// the root. Returns the head and the length of the file.
    pub(crate) fn finish(mut self, head: Head) -> Result<(Head, u64)> {
        let (table, root) = std::mem::take(&mut self.checksums).finish();
        let head = Head {
            parts: self.parts,
            root_checksum: crc32fast::hash(&root),
            ..head
        };
        self.io(|file| {
            file.write_all(&table)?;
            file.write_all(&root)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&head.encode())
        })?;
        Ok((head, self.end + (table.len() + root.len()) as u64))
    }

    fn io(&mut self, work: impl FnOnce(&mut W) -> io::Result<()>) -> Result<()> {
        step("write", self.path);
        work(self.file).map_err(|error| Error::io("write", self.path, error))
    }
}

/// A segment in memory that has `bytes` as one part, and nothing else.
#[cfg(test)]
pub(crate) fn one_part(part: Part, bytes: &[u8]) -> Vec<u8> {
    use alloy_primitives::B256;
    use txgraph_transfers::{BlockRange, DecodeCounts};

    let mut file = io::Cursor::new(Vec::new());
    let format = Format::Transfers;
    let mut writer = Writer::new(&mut file, "test".as_ref(), format).unwrap();
    for each in &Part::ALL[..format.parts()] {
        if *each == part {
            writer.buffer.extend(bytes);
        }
        writer.part(*each, 0).unwrap();
    }
    let head = Head {
        format,
        genesis_hash: B256::ZERO,
        chain_id: 1,
        blocks: BlockRange { first: 0, last: 0 },
        parent_hash: B256::ZERO,
        last_hash: B256::ZERO,
        rows: 0,
        addresses: 0,
        min_timestamp: 0,
        counts: DecodeCounts::default(),
        bucket_bits: 0,
        parts: [PartLocation::default(); PARTS],
        root_checksum: 0,
    };
    writer.finish(head).unwrap();
    file.into_inner()
}
