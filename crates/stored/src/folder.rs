//! A directory that one process writes at a time.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// The name of the file that a writer locks.
pub const LOCK_FILE: &str = "LOCK";

/// An error of the operating system, or another writer.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The operating system returned an error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The operation: "open", "write", "sync" …
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process writes into the directory.
    #[error("{} is being written by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
}

impl FolderError {
    /// Wraps an error of the system.
    pub fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.into(),
            source,
        }
    }
}

/// The lock of a directory. It is released when this is dropped.
#[derive(Debug)]
pub struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that another thread has just started has a
        // copy of it, until it executes its program.
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "the lock is released when the file is closed");
        }
    }
}

/// Locks a directory for writing.
///
/// # Errors
///
/// [`FolderError::Locked`] if another process holds the lock.
pub fn lock(folder: &Path) -> Result<FolderLock, FolderError> {
    let path = folder.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| FolderError::io("open", &path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock(file)),
        Err(TryLockError::WouldBlock) => Err(FolderError::Locked {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(FolderError::io("lock", &path, error)),
    }
}

/// Announces a reader: while the returned lock exists, [`lock_unread`] returns `None`. `None` if
/// the file system has no locks; a writer may then delete files that are being read.
///
/// The directory itself is locked, so a reader needs no permission to write.
pub fn lock_for_reading(folder: &Path) -> Option<FolderLock> {
    let locked = File::open(folder).and_then(|file| {
        file.lock_shared()?;
        Ok(FolderLock(file))
    });
    let note = |error: &io::Error| {
        tracing::debug!(path = %folder.display(), %error, "read without a lock");
    };
    locked.inspect_err(note).ok()
}

/// Keeps readers of a directory away while files are deleted that they may have found in an
/// older list. `None` if there are readers.
pub fn lock_unread(folder: &Path) -> Result<Option<FolderLock>, FolderError> {
    let file = File::open(folder).map_err(|error| FolderError::io("open", folder, error))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) => Ok(Some(FolderLock(file))),
        // No reader has a lock either.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(path = %folder.display(), %error, "deleted from without a lock");
            Ok(Some(FolderLock(file)))
        }
    }
}

/// Returns the names in a directory; `None` if it does not exist.
pub fn names(folder: &Path) -> Result<Option<Vec<OsString>>, FolderError> {
    let failed = |error| FolderError::io("list", folder, error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let names = entries.map(|entry| Ok(entry.map_err(failed)?.file_name()));
    names.collect::<Result<_, _>>().map(Some)
}

/// Marks a step of a writer: what it is about to do, and where. After a process is killed between any
/// two steps, the next writer continues; tests end processes here.
pub fn step(action: &'static str, path: &Path) {
    tracing::trace!(path = %path.display(), action);
}

/// Deletes a file, if it exists.
pub fn remove(path: &Path) -> Result<(), FolderError> {
    step("remove", path);
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(FolderError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Deletes a file that could not be completed, so that a full disk does not stay full. The
/// error that is returned is the one that stopped the writer; the next writer deletes what
/// this could not.
pub fn discard(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::debug!(path = %path.display(), %error, "an unfinished file was not removed");
    }
}

/// Replaces a file as a whole: writes `NAME.tmp`, syncs it and renames it. When this returns
/// the new content is on disk. On failure the old content is unchanged.
pub fn replace(folder: &Path, name: &str, content: &[u8]) -> Result<(), FolderError> {
    let path = folder.join(format!("{name}.tmp"));
    let write = || {
        step("create", &path);
        let mut file = File::create(&path)?;
        step("write", &path);
        io::Write::write_all(&mut file, content)?;
        file.sync_all()?;
        step("rename", &path);
        fs::rename(&path, folder.join(name))
    };
    write().map_err(|error| {
        discard(&path);
        FolderError::io("write", &path, error)
    })?;
    sync_folder(folder)
}

/// Gives a file or folder that is complete and on disk its name, and makes the name durable.
pub fn publish(unfinished: &Path, folder: &Path, name: &str) -> Result<(), FolderError> {
    step("rename", unfinished);
    fs::rename(unfinished, folder.join(name))
        .map_err(|error| FolderError::io("rename", unfinished, error))?;
    sync_folder(folder)
}

/// Makes the names in a directory durable, as the files are.
pub fn sync_folder(folder: &Path) -> Result<(), FolderError> {
    step("sync", folder);
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| FolderError::io("sync", folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        process::Command,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    /// Processes that start at the same time do not keep a lock that was released.
    #[test]
    fn locks_are_released_while_processes_start() {
        let folder = tempfile::tempdir().unwrap();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100 {
                    Command::new("true").status().unwrap();
                }
                is_done.store(true, Ordering::Relaxed);
            });
            while !is_done.load(Ordering::Relaxed) {
                drop(lock(folder.path()).unwrap());
            }
        });
    }

    #[test]
    fn readers_keep_writers_from_deleting() {
        let folder = tempfile::tempdir().unwrap();
        let unread = || lock_unread(folder.path()).unwrap();
        drop(unread().expect("no readers"));
        let readers = [0, 1].map(|_| lock_for_reading(folder.path()).unwrap());
        assert!(unread().is_none());
        // Readers do not keep a writer from writing.
        drop(lock(folder.path()).unwrap());
        drop(readers);
        assert!(unread().is_some());
    }

    #[test]
    fn a_directory_is_locked_once() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        let error = lock(folder.path()).unwrap_err();
        assert!(matches!(error, FolderError::Locked { .. }), "{error}");
        drop(held);
        lock(folder.path()).unwrap();
    }
}
