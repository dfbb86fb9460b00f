//! Targets of output.

use crate::arrow_ipc::ArrowTarget;
use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
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
}

impl Target {
    /// Returns the file, if the target is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout | Self::Arrow(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// Whether what was written cannot be taken back: standard output, or a receiver that passes
    /// on what it gets.
    pub fn is_stream(&self) -> bool {
        match self {
            Self::Stdout => true,
            Self::File(_) => false,
            Self::Arrow(target) => target.is_stream(),
        }
    }

    /// Whether nothing more is wanted, as far as that is known without writing.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Arrow(target) if target.is_closed())
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
            Self::Arrow(_) => f.write_str("memory"),
        }
    }
}

/// The result of writing an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file; `None` for standard output and memory.
    pub path: Option<PathBuf>,
    /// The file next to it with the metadata, for formats that cannot hold it.
    pub metadata_path: Option<PathBuf>,
    /// The number of rows; of graphs, of edges.
    pub rows: u64,
    /// The number of bytes before a compression of the file, without the metadata file.
    pub bytes: u64,
    /// Notes on the form of the file that its reader must know: leaves that were folded, a
    /// layout that was replaced, a picture that was scaled down.
    pub notes: Vec<String>,
}
