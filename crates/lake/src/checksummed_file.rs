//! Files whose bytes are compared with checksums before they are used.

use crate::{
    error::{Error, Result, damaged},
    store::Blob,
};
use bytes::Bytes;
use parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::reader::{ChunkReader, Length},
};
use std::{
    fmt,
    io::{self, Read, Write},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The bytes that one checksum covers.
pub(crate) const BLOCK_BYTES: u64 = 1 << 14;

/// A file that is read in pieces, on several threads. The first read of a block of
/// [`BLOCK_BYTES`] compares it with its checksum.
#[derive(Clone, Debug)]
pub(crate) struct CheckedFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    blob: Blob,
    checksums: Vec<u32>,
    /// One bit for each block that was compared.
    compared: Box<[AtomicU64]>,
    /// Errors of reads for the Parquet reader, which passes on only their text.
    failures: Mutex<Vec<Error>>,
}

impl CheckedFile {
    /// Reads a file with the checksums of its blocks.
    pub(crate) fn new(blob: Blob, checksums: Vec<u32>) -> Result<Self> {
        if checksums.len() as u64 != blob.bytes().div_ceil(BLOCK_BYTES) {
            return Err(damaged(
                blob.path(),
                "its number of checksums does not fit its length",
            ));
        }
        let compared = (0..checksums.len().div_ceil(64)).map(|_| AtomicU64::new(0));
        Ok(Self(Arc::new(Inner {
            blob,
            compared: compared.collect(),
            failures: Mutex::default(),
            checksums,
        })))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.blob.path()
    }

    /// The error for one of the Parquet reader: a failed read of this file, else damage.
    pub(crate) fn failure(&self, error: &dyn fmt::Display) -> Error {
        let failed = self.failures().pop();
        failed.unwrap_or_else(|| damaged(self.path(), error.to_string()))
    }

    fn failures(&self) -> MutexGuard<'_, Vec<Error>> {
        let failures = self.0.failures.lock();
        failures.unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads bytes for the Parquet reader.
    fn pass(&self, start: u64, length: usize) -> std::result::Result<Bytes, String> {
        self.read(start, length).map_err(|error| {
            let text = error.to_string();
            self.failures().push(error);
            text
        })
    }

    /// Compares every block, also those that were compared before. Returns the CRC-32 of the
    /// file.
    pub(crate) fn check_all(&self) -> Result<u32> {
        let mut whole = crc32fast::Hasher::new();
        for block in 0..self.0.checksums.len() as u64 {
            let first = block * BLOCK_BYTES;
            let bytes = self
                .0
                .blob
                .read_at(first, BLOCK_BYTES.min(self.0.blob.bytes() - first))?;
            self.compare(block, &bytes)?;
            whole.update(&bytes);
        }
        Ok(whole.finalize())
    }

    fn compare(&self, block: u64, bytes: &[u8]) -> Result<()> {
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        if self.0.checksums.get(index) != Some(&crc32fast::hash(bytes)) {
            return Err(damaged(
                self.0.blob.path(),
                format!(
                    "bytes {} to {} do not match their checksum",
                    block * BLOCK_BYTES,
                    block * BLOCK_BYTES + bytes.len() as u64
                ),
            ));
        }
        self.0.compared[index / 64].fetch_or(1 << (index % 64), Ordering::Relaxed);
        Ok(())
    }

    fn is_compared(&self, block: u64) -> bool {
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        let bits = self.0.compared.get(index / 64);
        bits.is_some_and(|bits| bits.load(Ordering::Relaxed) >> (index % 64) & 1 == 1)
    }

    /// Reads bytes whose blocks are compared.
    pub(crate) fn read(&self, start: u64, length: usize) -> Result<Bytes> {
        let length = length as u64;
        let end = start
            .checked_add(length)
            .filter(|end| *end <= self.0.blob.bytes());
        let end =
            end.ok_or_else(|| damaged(self.0.blob.path(), "it refers to bytes behind its end"))?;
        if length == 0 {
            return Ok(Bytes::new());
        }
        let blocks = start / BLOCK_BYTES..(end - 1) / BLOCK_BYTES + 1;
        if blocks.clone().all(|block| self.is_compared(block)) {
            return self.0.blob.read_at(start, length);
        }
        let first = blocks.start * BLOCK_BYTES;
        let last = (blocks.end * BLOCK_BYTES).min(self.0.blob.bytes());
        let bytes = self.0.blob.read_at(first, last - first)?;
        let size = usize::try_from(BLOCK_BYTES).unwrap_or(usize::MAX);
        for (block, bytes) in blocks.zip(bytes.chunks(size)) {
            if !self.is_compared(block) {
                self.compare(block, bytes)?;
            }
        }
        let skip = usize::try_from(start - first).unwrap_or(usize::MAX);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Ok(bytes.slice(skip..skip + length))
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.0.blob.bytes()
    }
}

impl ChunkReader for CheckedFile {
    type T = Reading;

    fn get_read(&self, start: u64) -> ParquetResult<Reading> {
        Ok(Reading {
            file: self.clone(),
            at: start,
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.pass(start, length).map_err(ParquetError::General)
    }
}

/// Reads a file from a position on.
#[derive(Debug)]
pub(crate) struct Reading {
    file: CheckedFile,
    at: u64,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.file.len().saturating_sub(self.at);
        let length = buffer
            .len()
            .min(usize::try_from(rest).unwrap_or(usize::MAX));
        let bytes = self.file.pass(self.at, length).map_err(io::Error::other)?;
        buffer[..length].copy_from_slice(&bytes);
        self.at += length as u64;
        Ok(length)
    }
}

/// Computes checksums of what is written through it.
#[derive(Debug)]
pub(crate) struct Summed<W> {
    inner: W,
    bytes: u64,
    whole: crc32fast::Hasher,
    block: crc32fast::Hasher,
    checksums: Vec<u32>,
}

/// The checksums of a file that was written.
pub(crate) struct Sums {
    pub(crate) bytes: u64,
    pub(crate) crc32: u32,
    pub(crate) checksums: Vec<u32>,
}

impl<W: Write> Summed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            bytes: 0,
            whole: crc32fast::Hasher::new(),
            block: crc32fast::Hasher::new(),
            checksums: Vec::new(),
        }
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.whole.combine(&block);
        self.checksums.push(block.finalize());
    }

    /// Returns the writer and the checksums.
    pub(crate) fn finish(mut self) -> (W, Sums) {
        if !self.bytes.is_multiple_of(BLOCK_BYTES) {
            self.end_block();
        }
        let sums = Sums {
            bytes: self.bytes,
            crc32: self.whole.finalize(),
            checksums: self.checksums,
        };
        (self.inner, sums)
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BLOCK_BYTES - self.bytes % BLOCK_BYTES;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let written = self.inner.write(&bytes[..bytes.len().min(room)])?;
        self.block.update(&bytes[..written]);
        self.bytes += written as u64;
        if written > 0 && self.bytes.is_multiple_of(BLOCK_BYTES) {
            self.end_block();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
