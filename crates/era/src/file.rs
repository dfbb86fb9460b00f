//! One file of an archive.

use crate::{
    error::{Error, Result},
    index::Index,
    name::FileName,
    records::Fault,
};
use std::{
    fmt,
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// A file that was opened once, and is opened again by each thread that reads it.
#[derive(Clone, Debug)]
pub(crate) struct EraFile {
    pub(crate) path: PathBuf,
    pub(crate) name: Option<FileName>,
    pub(crate) len: u64,
    pub(crate) index: Index,
}

impl EraFile {
    /// Reads the block index of a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let io = |source: io::Error| Error::io(path, source);
        let file = File::open(path).map_err(io)?;
        let len = file.metadata().map_err(io)?.len();
        let index = Index::read(&file, len).map_err(|fault| match fault {
            Fault::Io(source) => io(source),
            Fault::Malformed(what) => Error::container(path, &what),
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            name: FileName::parse(path),
            len,
            index,
        })
    }

    /// Opens the file to read blocks.
    pub(crate) fn reopen(&self) -> Result<File> {
        let file = File::open(&self.path).map_err(|source| self.io(source))?;
        match file.metadata().map_err(|source| self.io(source))?.len() == self.len {
            true => Ok(file),
            false => Err(Error::Unreadable {
                path: self.path.clone(),
                what: "the file changed while it was read; ask again".to_owned(),
            }),
        }
    }

    fn io(&self, source: io::Error) -> Error {
        Error::io(&self.path, source)
    }

    pub(crate) fn block_error(&self, block: u64, what: impl fmt::Display) -> Error {
        Error::Unreadable {
            path: self.path.clone(),
            what: format!("block {block}: {what}"),
        }
    }

    pub(crate) fn fault(&self, block: u64, fault: Fault) -> Error {
        match fault {
            Fault::Io(source) => self.io(source),
            Fault::Malformed(what) => self.block_error(block, what),
        }
    }
}
