//! Where output goes.

use std::{
    convert::Infallible,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

/// Where output goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Standard output, as it comes.
    Stdout,
    /// A file. It gets its name when it is complete and on disk.
    File(PathBuf),
}

impl Target {
    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File(path) => Some(path),
        }
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
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file; absent for standard output.
    pub path: Option<PathBuf>,
    /// The file beside it with the metadata, for formats that cannot hold it.
    pub metadata_path: Option<PathBuf>,
    /// Rows; for graph formats, edges.
    pub rows: u64,
    /// Bytes, without those of the metadata file.
    pub bytes: u64,
}
