//! Targets of output.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::{
    convert::Infallible,
    fmt, hash, io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

/// A target of output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file. It gets its name when it is complete and on disk.
    File(PathBuf),
    /// A program that takes tables in memory, in the columns of Arrow IPC.
    Arrow(ArrowTarget),
    /// The bytes of a file, in memory.
    Memory(MemoryFile),
}

impl Target {
    /// Returns the file, if the target is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout | Self::Arrow(_) | Self::Memory(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// Whether what was written cannot be taken back: standard output, or a receiver that passes
    /// on what it gets.
    pub fn is_stream(&self) -> bool {
        match self {
            Self::Stdout => true,
            Self::File(_) | Self::Memory(_) => false,
            Self::Arrow(target) => target.0.is_stream(),
        }
    }

    /// Whether nothing more is wanted, as far as that is known without writing.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Arrow(target) if target.0.is_closed())
    }
}

/// `-` is standard output.
impl From<PathBuf> for Target {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" {
            Self::Stdout
        } else {
            Self::File(path)
        }
    }
}

/// `-` is standard output.
impl FromStr for Target {
    type Err = Infallible;
    fn from_str(path: &str) -> Result<Self, Infallible> {
        Ok(PathBuf::from(path).into())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("standard output"),
            Self::File(path) => path.display().fmt(f),
            Self::Arrow(_) | Self::Memory(_) => f.write_str("memory"),
        }
    }
}

/// Receives a table, one record batch at a time. The methods are called one after the other, on
/// any thread.
pub trait ArrowReceiver: Send + Sync {
    /// A table begins. What came before it belongs to an attempt that is repeated.
    fn start(&self, columns: &SchemaRef);

    /// The next rows. Returns whether more are wanted.
    fn batch(&self, batch: RecordBatch) -> bool;

    /// The table is complete. `metadata` is JSON: the source and the coverage of the result.
    fn finish(&self, metadata: Option<&str>);

    /// Whether rows are passed on as they come, so that an attempt cannot be repeated.
    fn is_stream(&self) -> bool {
        false
    }

    /// Whether no more rows are wanted. Asked between batches, too, so that a scan that finds
    /// nothing ends.
    fn is_closed(&self) -> bool {
        false
    }
}

/// A receiver as a [`Target`]. Equal are only clones of the same.
#[derive(Clone)]
pub struct ArrowTarget(pub(crate) Arc<dyn ArrowReceiver>);

impl ArrowTarget {
    /// A target that passes everything to `receiver`.
    pub fn new(receiver: Arc<dyn ArrowReceiver>) -> Self {
        Self(receiver)
    }

    fn address(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }
}

impl fmt::Debug for ArrowTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArrowTarget").finish_non_exhaustive()
    }
}

impl PartialEq for ArrowTarget {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for ArrowTarget {}

impl hash::Hash for ArrowTarget {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

/// A file in memory. Clones share their bytes, and only they are equal.
#[derive(Clone, Default)]
pub struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl MemoryFile {
    /// Takes the bytes that were written.
    pub fn take(&self) -> Vec<u8> {
        self.with(std::mem::take)
    }

    /// Ignores poisoning: nothing panics under the lock.
    fn with<T>(&self, act: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl io::Write for MemoryFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.with(|bytes| bytes.extend_from_slice(data));
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryFile").finish_non_exhaustive()
    }
}

impl PartialEq for MemoryFile {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for MemoryFile {}

impl hash::Hash for MemoryFile {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// The result of writing an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file; `None` for standard output and memory.
    pub path: Option<PathBuf>,
    /// The file next to it with the metadata, for formats that cannot hold it.
    pub metadata_path: Option<PathBuf>,
    /// The number of rows; of graphs, of edges. `None`: a document without rows.
    pub rows: Option<u64>,
    /// The number of bytes before a compression of the file, without the metadata file.
    pub bytes: u64,
    /// Notes on the form of the file that its reader must know: leaves that were folded, a
    /// layout that was replaced, a picture that was scaled down.
    pub notes: Vec<String>,
}
