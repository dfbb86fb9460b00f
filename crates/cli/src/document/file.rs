//! The file of a document.

use crate::output::Terminal;
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use txgraph::{Error, LineWriter, ProtectedPaths, Result, Written};

/// A file that gets its name when its document is complete.
pub(crate) struct DocumentFile {
    path: PathBuf,
    out: LineWriter,
}

impl DocumentFile {
    /// Opens the file, before anything is read. Refuses paths that belong to sources.
    pub(crate) fn create(path: &Path, overwrite: bool, protected: &ProtectedPaths) -> Result<Self> {
        protected.check(path)?;
        Ok(Self {
            path: path.to_owned(),
            out: LineWriter::new(&path.to_path_buf().into(), overwrite)?,
        })
    }

    /// Writes the document, and says so.
    pub(crate) fn write(self, text: &[u8], terminal: &Terminal) -> Result<()> {
        let written = write_whole(self.out, &self.path, text)?;
        terminal.written(&[written]);
        Ok(())
    }
}

/// Writes a whole text to a file, which then gets its name.
pub(crate) fn write_whole(mut out: LineWriter, path: &Path, text: &[u8]) -> Result<Written> {
    let written = out.write_all(text);
    written.map_err(|error| Error::io(path, error))?;
    Ok(Written {
        rows: None,
        ..out.finish()?
    })
}
