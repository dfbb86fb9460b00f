//! Bytes of a segment file that are checked against checksums when they are first read.
//!
//! The file is divided into blocks of [`BLOCK_BYTES`]. A table at its end has a CRC-32 of
//! each block. The table is checked in the same way: the root has checksums of the blocks
//! of the table, and the head has checksums of the root and of itself. Opening a segment
//! reads the head and the root only: some hundred bytes and a millionth of the file.
//!
//! Why no byte is read unchecked: the mapping is a private field of [`CheckedFile`], and
//! this module never returns it. Bytes leave the module in two ways. [`CheckedFile::new`]
//! returns the head after it was compared with its checksum. [`Span::read`], on which
//! [`Span::array`] is built, returns a slice after it checked every block that the slice
//! overlaps. All other modules only have these functions, so code that forgets the check
//! does not compile.
//!
//! A bit per block remembers that the block was checked, so each is checked once as long as
//! the file is open. The bits are atomic because threads share a segment; their order with
//! other memory does not matter, as a bit states a fact about bytes that nothing writes.
//! Two threads that read a block at the same time may both check it.
//!
//! Not detected: bytes that change between the first read and a later one in the same
//! process. Segments are never written after they have their name, so this takes another
//! program that writes into the file, or a page that the kernel drops and then reads
//! differently from a failing disk.

use crate::{
    error::{Error, Result, damaged},
    layout::{
        BLOCK_BYTES, BLOCK_SHIFT, CHECKSUM_BYTES, Format, Geometry, Head, HeadError, Part,
        PartLocation,
    },
};
use memmap2::Mmap;
use std::{
    fmt,
    fs::File,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};
use txgraph_stored::StoreKind;
use txgraph_transfers::SourceError;

/// The bytes of a segment: mapped from a file, or in memory for tests.
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

/// A segment file whose bytes are checked when they are first read.
pub(crate) struct CheckedFile {
    bytes: Bytes,
    path: PathBuf,
    head_bytes: usize,
    geometry: Geometry,
    parts: Box<[PartLocation]>,
    /// By block: whether it matched its checksum in the table.
    checked: Box<[AtomicU64]>,
    /// By block of the table: whether it matched its checksum in the root.
    table_checked: Box<[AtomicU64]>,
}

impl fmt::Debug for CheckedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedFile")
            .field("path", &self.path)
            .field("geometry", &self.geometry)
            .finish_non_exhaustive()
    }
}

/// Why bytes of a segment could not be read. Converts to [`Error`].
#[derive(Clone, Copy)]
pub(crate) struct Fault<'a> {
    file: &'a CheckedFile,
    kind: FaultKind,
}

/// Small, because every read of a number returns a `Result` with it.
#[derive(Clone, Copy)]
enum FaultKind {
    /// This block does not match its checksum.
    Block(u32),
    /// This block of the table does not match its checksum.
    TableBlock(u32),
    /// A number leads beyond the end of this part.
    Beyond(Part),
    /// The checksums match, but the content of this part is invalid.
    Invalid(Part),
}

impl fmt::Debug for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Fault<'_> {
    #[cold]
    fn describe(&self) -> String {
        let bytes = |block: u32, start: usize, end: usize| {
            let first = start + block as usize * BLOCK_BYTES;
            first..end.min(first + BLOCK_BYTES)
        };
        let geometry = &self.file.geometry;
        match self.kind {
            FaultKind::Block(block) => {
                let bytes = bytes(block, 0, geometry.data_end);
                let Range { start, end } = bytes.clone();
                let parts = self.file.parts_in(&bytes);
                format!("bytes {start}..{end} ({parts}) do not match their checksum")
            }
            FaultKind::TableBlock(block) => {
                let Range { start, end } = bytes(block, geometry.data_end, geometry.table_end);
                format!("bytes {start}..{end} (table of checksums) do not match their checksum")
            }
            FaultKind::Beyond(part) => format!("a reference leads beyond the end of {part:?}"),
            FaultKind::Invalid(part) => format!("the content of {part:?} is invalid"),
        }
    }
}

impl From<Fault<'_>> for Error {
    #[cold]
    fn from(fault: Fault<'_>) -> Self {
        damaged(&fault.file.path, fault.describe())
    }
}

impl From<Fault<'_>> for SourceError {
    fn from(fault: Fault<'_>) -> Self {
        Error::from(fault).into()
    }
}

impl CheckedFile {
    /// Maps a file and checks its head and the root of its checksums. Returns the head and
    /// its checksum, too.
    pub(crate) fn open(path: &Path) -> Result<(Self, Head, u32)> {
        let failed = |action| move |error| Error::io(action, path, error);
        let file = File::open(path).map_err(failed("open"))?;
        if !file.metadata().map_err(failed("open"))?.is_file() {
            return Err(damaged(path, "it is not a regular file"));
        }
        // SAFETY: the mapping is sound as long as no one shortens or rewrites the file.
        // Segments never change after they have their name: they are written under another
        // name, renamed, and deleted by unlink, none of which changes the bytes of a mapped
        // file. Another program could write into the directory. What it writes is compared
        // with checksums and read as plain bytes; a file that it shortens ends this process
        // (SIGBUS), as in every program that maps its files.
        #[expect(unsafe_code, reason = "mapping a file that is never written again")]
        let map = unsafe { Mmap::map(&file) }.map_err(failed("map"))?;
        Self::new(Bytes::Mapped(map), path)
    }

    /// The same for bytes in memory.
    pub(crate) fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<(Self, Head, u32)> {
        Self::new(Bytes::Owned(bytes), path)
    }

    fn new(bytes: Bytes, path: &Path) -> Result<(Self, Head, u32)> {
        let all = bytes.all();
        let (head, checksum, geometry) = Head::decode(all).map_err(|error| match error {
            HeadError::Damaged(what) => damaged(path, what),
            HeadError::Version(found) => Error::Version {
                kind: StoreKind::Index,
                path: path.parent().unwrap_or(path).to_owned(),
                found,
                known: Format::NEWEST,
            },
        })?;
        let root = &all[geometry.table_end..];
        if crc32fast::hash(root) != head.root_checksum {
            return Err(damaged(
                path,
                "the root of its checksums does not match the head",
            ));
        }
        let file = Self {
            bytes,
            path: path.to_owned(),
            head_bytes: head.format.head_bytes(),
            geometry,
            parts: head.parts.into(),
            checked: bits(geometry.blocks()),
            table_checked: bits(geometry.table_blocks()),
        };
        Ok((file, head, checksum))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A part, to be read in pieces.
    pub(crate) fn span(&self, part: Part) -> Span<'_> {
        let PartLocation { offset, bytes, .. } = self.parts[part as usize];
        // `Head::decode` has checked that the part is inside of the file.
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
        let bytes = self.bytes.all().get(start..end).unwrap_or_default();
        Span {
            file: self,
            checked: &self.checked,
            bytes,
            start,
            part,
        }
    }

    /// Checks every block, also those that were checked before.
    pub(crate) fn check_all(&self) -> Result<()> {
        for block in 0..self.geometry.table_blocks() {
            self.check_table_block(block)?;
        }
        for block in 0..self.geometry.blocks() {
            self.check_block(block)?;
        }
        Ok(())
    }

    /// Checks the blocks that were not checked before.
    #[cold]
    fn check_new(&self, blocks: RangeInclusive<usize>) -> Result<(), Fault<'_>> {
        for block in blocks {
            if !is_set(&self.checked, block) {
                let table_block = block * CHECKSUM_BYTES / BLOCK_BYTES;
                if !is_set(&self.table_checked, table_block) {
                    self.check_table_block(table_block)?;
                }
                self.check_block(block)?;
            }
        }
        Ok(())
    }

    /// Compares a block with its checksum in the table, which was checked before.
    fn check_block(&self, block: usize) -> Result<(), Fault<'_>> {
        let end = self.geometry.data_end.min((block + 1) * BLOCK_BYTES);
        // The head has a checksum of its own.
        let start = self.head_bytes.max(block * BLOCK_BYTES);
        let entry = self.geometry.data_end + block * CHECKSUM_BYTES;
        if !self.matches(start..end, entry) {
            return Err(self.fault(FaultKind::Block(u32::try_from(block).unwrap_or(u32::MAX))));
        }
        set(&self.checked, block);
        Ok(())
    }

    /// Compares a block of the table with its checksum in the root.
    fn check_table_block(&self, block: usize) -> Result<(), Fault<'_>> {
        let start = self.geometry.data_end + block * BLOCK_BYTES;
        let end = self.geometry.table_end.min(start + BLOCK_BYTES);
        let entry = self.geometry.table_end + block * CHECKSUM_BYTES;
        if !self.matches(start..end, entry) {
            let block = u32::try_from(block).unwrap_or(u32::MAX);
            return Err(self.fault(FaultKind::TableBlock(block)));
        }
        set(&self.table_checked, block);
        Ok(())
    }

    /// Whether the CRC-32 of a byte range is the one stored at `entry`.
    fn matches(&self, range: Range<usize>, entry: usize) -> bool {
        let all = self.bytes.all();
        let stored = all.get(entry..).and_then(|rest| rest.first_chunk());
        match (all.get(range), stored) {
            (Some(bytes), Some(stored)) => crc32fast::hash(bytes).to_le_bytes() == *stored,
            _ => false,
        }
    }

    const fn fault(&self, kind: FaultKind) -> Fault<'_> {
        Fault { file: self, kind }
    }

    /// The names of the parts that overlap a byte range.
    fn parts_in(&self, bytes: &Range<usize>) -> String {
        let overlaps = |location: &PartLocation| {
            location.offset < bytes.end as u64
                && location.offset + location.bytes > bytes.start as u64
        };
        let names: Vec<_> = Part::ALL
            .into_iter()
            .filter(|part| overlaps(&self.parts[*part as usize]))
            .map(|part| format!("{part:?}"))
            .collect();
        match names.is_empty() {
            true => "head".to_owned(),
            false => names.join(", "),
        }
    }
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A part of a file. Its bytes can be read only through the check.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    file: &'a CheckedFile,
    /// The marks of `file`.
    checked: &'a [AtomicU64],
    /// Not checked yet: private, and only sliced by [`Self::read`].
    bytes: &'a [u8],
    /// Offset of `bytes` in the file.
    start: usize,
    part: Part,
}

impl fmt::Debug for Span<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Span").field(&self.part).finish()
    }
}

impl<'a> Span<'a> {
    /// The number of bytes.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns `len` bytes from `at` on, after checking the blocks that hold them.
    #[inline]
    pub(crate) fn read(&self, at: usize, len: usize) -> Result<&'a [u8], Fault<'a>> {
        let bytes = at
            .checked_add(len)
            .and_then(|end| self.bytes.get(at..end))
            .ok_or_else(|| self.beyond())?;
        if len > 0 {
            let first = (self.start + at) >> BLOCK_SHIFT;
            let last = (self.start + at + len - 1) >> BLOCK_SHIFT;
            if first != last || !is_set(self.checked, first) {
                self.file.check_new(first..=last)?;
            }
        }
        Ok(bytes)
    }

    /// Returns `N` bytes from `at` on, after checking the blocks that hold them.
    #[inline]
    pub(crate) fn array<const N: usize>(&self, at: usize) -> Result<&'a [u8; N], Fault<'a>> {
        self.read(at, N)?.first_chunk().ok_or_else(|| self.beyond())
    }

    /// The error for a reference beyond the end of this part.
    #[cold]
    pub(crate) const fn beyond(&self) -> Fault<'a> {
        self.file.fault(FaultKind::Beyond(self.part))
    }

    /// The error for content that contradicts itself although its checksums match.
    #[cold]
    pub(crate) const fn invalid(&self) -> Fault<'a> {
        self.file.fault(FaultKind::Invalid(self.part))
    }
}

/// As many bits, all off.
fn bits(count: usize) -> Box<[AtomicU64]> {
    (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect()
}

#[inline]
fn is_set(bits: &[AtomicU64], at: usize) -> bool {
    bits.get(at / 64)
        .is_some_and(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 == 1)
}

fn set(bits: &[AtomicU64], at: usize) {
    if let Some(word) = bits.get(at / 64) {
        word.fetch_or(1 << (at % 64), Ordering::Relaxed);
    }
}

/// Computes the table and the root of a file while its bytes are written in order.
#[derive(Debug, Default)]
pub(crate) struct Checksums {
    /// Checksums of the blocks that are complete.
    table: Vec<u8>,
    /// The checksum of the current block.
    hasher: crc32fast::Hasher,
    /// Bytes of the current block so far; the first block starts with the head, which is
    /// not hashed.
    filled: usize,
}

impl Checksums {
    pub(crate) fn after_head(format: Format) -> Self {
        const { assert!(Format::Transactions.head_bytes() < BLOCK_BYTES) }
        Self {
            filled: format.head_bytes(),
            ..Self::default()
        }
    }

    /// Adds the bytes that follow in the file.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
            self.hasher.update(now);
            self.filled += now.len();
            if self.filled == BLOCK_BYTES {
                self.end_block();
            }
            bytes = rest;
        }
    }

    fn end_block(&mut self) {
        let hasher = std::mem::take(&mut self.hasher);
        self.table.extend(hasher.finalize().to_le_bytes());
        self.filled = 0;
    }

    /// Returns the table and the root.
    pub(crate) fn finish(mut self) -> (Vec<u8>, Vec<u8>) {
        if self.filled > 0 {
            self.end_block();
        }
        let blocks = self.table.chunks(BLOCK_BYTES);
        let root = blocks.flat_map(|block| crc32fast::hash(block).to_le_bytes());
        let root = root.collect();
        (self.table, root)
    }
}
