//! Temporary files without a name, with a limit on their total size.

use crate::{Error, Result, Spill, StateOptions};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use txgraph_nodedb::BlockRange;

const WRITE_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 256 << 10;

/// A directory for temporary files.
#[derive(Clone, Debug)]
pub(crate) struct SpillDir {
    directory: Arc<Path>,
    bytes_max: u64,
    /// The size of all its files together.
    bytes: Arc<AtomicU64>,
    /// The blocks of the changes, for messages.
    blocks: BlockRange,
}

impl SpillDir {
    /// The directory of the options, for the changes of `blocks`.
    pub(crate) fn of(options: &StateOptions, blocks: BlockRange) -> Option<Self> {
        let spill = options.spill.as_ref()?;
        Some(Self::new(spill, blocks))
    }

    pub(crate) fn new(spill: &Spill, blocks: BlockRange) -> Self {
        Self {
            directory: spill.directory.as_path().into(),
            bytes_max: spill.bytes_max,
            bytes: Arc::default(),
            blocks,
        }
    }

    pub(crate) fn create(&self) -> Result<SpillFile> {
        let file = tempfile::tempfile_in(&self.directory)
            .map_err(|source| self.failure("create", source))?;
        Ok(SpillFile {
            dir: self.clone(),
            file: BufWriter::with_capacity(WRITE_BYTES, file),
            bytes: 0,
        })
    }

    #[cold]
    fn failure(&self, action: &'static str, source: io::Error) -> Error {
        let directory = self.directory.display();
        Error::Failed(format!(
            "cannot {action} a temporary file in {directory}: {source}"
        ))
    }
}

/// A temporary file. It is written first and then read.
#[derive(Debug)]
pub(crate) struct SpillFile {
    dir: SpillDir,
    file: BufWriter<File>,
    bytes: u64,
}

impl SpillFile {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let more = bytes.len() as u64;
        self.bytes += more;
        if self.dir.bytes.fetch_add(more, Ordering::Relaxed) + more > self.dir.bytes_max {
            return Err(Error::TooLarge {
                blocks: self.dir.blocks,
                bytes_max: self.dir.bytes_max,
                place: "in temporary files",
            });
        }
        self.file
            .write_all(bytes)
            .map_err(|source| self.dir.failure("write", source))
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.file
            .flush()
            .map_err(|source| self.dir.failure("write", source))
    }

    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> Result<()> {
        self.file
            .get_ref()
            .read_exact_at(into, offset)
            .map_err(|source| self.dir.failure("read", source))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.dir.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Reads the rows of a written file, from the first on.
#[derive(Debug)]
pub(crate) struct FileRows<const ROW: usize> {
    file: SpillFile,
    offset: u64,
    window: Vec<u8>,
    next: usize,
}

impl<const ROW: usize> FileRows<ROW> {
    pub(crate) const fn new(file: SpillFile) -> Self {
        Self {
            file,
            offset: 0,
            window: Vec::new(),
            next: 0,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<[u8; ROW]>> {
        if self.next == self.window.len() {
            let left = self.file.bytes - self.offset;
            let len = (READ_BYTES / ROW * ROW).min(usize::try_from(left).unwrap_or(usize::MAX));
            self.window.resize(len, 0);
            self.file.read_at(&mut self.window, self.offset)?;
            self.offset += len as u64;
            self.next = 0;
        }
        let row = self.window.get(self.next..).and_then(<[u8]>::first_chunk);
        if row.is_some() {
            self.next += ROW;
        }
        Ok(row.copied())
    }
}
