//! The file of a document.

use crate::output::{Terminal, number};
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use txgraph::{Config, Error, LineWriter, Result};

/// A file that gets its name when its document is complete.
pub(crate) struct DocumentFile {
    path: PathBuf,
    out: LineWriter,
}

impl DocumentFile {
    /// Opens the file, before anything is read. Refuses paths that belong to sources.
    pub(crate) fn create(path: &Path, overwrite: bool, config: &Config) -> Result<Self> {
        config.protected_paths().check(path)?;
        Ok(Self {
            path: path.to_owned(),
            out: LineWriter::new(&path.to_path_buf().into(), overwrite)?,
        })
    }

    /// Writes the document, and says so.
    pub(crate) fn write(self, text: &[u8], terminal: &Terminal) -> Result<()> {
        write_whole(self.out, &self.path, text)?;
        let bytes = number(text.len() as u64, "byte", "bytes");
        terminal.note(format_args!("wrote {} ({bytes})", self.path.display()));
        Ok(())
    }
}

/// Writes a whole text to a file, which then gets its name.
pub(crate) fn write_whole(mut out: LineWriter, path: &Path, text: &[u8]) -> Result<()> {
    let written = out.write_all(text);
    written.map_err(|error| Error::io(path, error))?;
    out.finish()?;
    Ok(())
}
