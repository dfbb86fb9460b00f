//! Files that do not have their final name yet, so that a process that must exit at once
//! can delete them.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tempfile::{Builder, NamedTempFile};

/// The path of every [`PartialFile`] of this process.
static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is valid whatever a panicking thread did with it.
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file that gets its final name when it is complete. Deleted when dropped.
pub(crate) struct PartialFile {
    /// Absent after [`Self::persist`].
    file: Option<NamedTempFile>,
    path: PathBuf,
}

impl PartialFile {
    pub(crate) fn create(builder: &Builder<'_, '_>, folder: &Path) -> io::Result<Self> {
        // Locked while the file is created: otherwise `discard_partial_files` could miss it.
        let mut paths = paths();
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_path_buf();
        paths.insert(path.clone());
        Ok(Self {
            file: Some(file),
            path,
        })
    }

    pub(crate) fn as_file(&self) -> &File {
        match &self.file {
            Some(file) => file.as_file(),
            None => unreachable!("`persist` consumes the file"),
        }
    }

    /// Gives the file its final name. Without `overwrite`, an existing file of that name is
    /// an error ([`io::ErrorKind::AlreadyExists`]).
    pub(crate) fn persist(mut self, path: &Path, overwrite: bool) -> io::Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let paths = paths();
        let renamed = match overwrite {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        };
        drop(paths);
        renamed.map(drop).map_err(|error| error.error)
    }
}

impl io::Write for PartialFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut self.as_file(), data)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::Write::flush(&mut self.as_file())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Deletes the file, unless it has its final name.
        self.file = None;
        paths().remove(&self.path);
    }
}

/// Deletes every output of this process that does not have its final name yet.
///
/// For a process that is about to exit without unwinding, for example on SIGTERM. No new
/// output can be opened, and none can get its final name, until the result is dropped.
pub fn discard_partial_files() -> DiscardedFiles {
    let mut paths = paths();
    for path in std::mem::take(&mut *paths) {
        // The process exits either way; a file that cannot be deleted stays.
        let _ = fs::remove_file(path);
    }
    DiscardedFiles { _paths: paths }
}

/// Blocks new outputs while it exists. See [`discard_partial_files`].
#[must_use = "new outputs can be opened as soon as this is dropped"]
pub struct DiscardedFiles {
    _paths: MutexGuard<'static, BTreeSet<PathBuf>>,
}

impl std::fmt::Debug for DiscardedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DiscardedFiles")
    }
}
