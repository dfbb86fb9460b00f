//! Opens files of a data directory. Only regular files are read: a named pipe would block
//! the reader, and a device such as `/dev/zero` answers with bytes that no node
//! wrote.

use crate::{Error, Result};
use std::{
    fs::{self, File, FileType, Metadata, OpenOptions},
    io,
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

/// Opens a regular file, or a symbolic link to one, for reading. Never blocks.
pub(crate) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    // Without `O_NONBLOCK`, opening a named pipe waits for a writer. It has no effect on
    // regular files.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, metadata))
}

/// The metadata of a regular file that is opened later.
pub(crate) fn regular_metadata(path: &Path) -> io::Result<Metadata> {
    let metadata = fs::metadata(path)?;
    check_regular(&metadata)?;
    Ok(metadata)
}

/// Refuses a file that libmdbx will open, unless it is regular or absent. Only looks at
/// it: closing a second descriptor of an MDBX file can release the locks of this process.
pub(crate) fn check_mdbx_file(path: &Path) -> Result<()> {
    match regular_metadata(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("open", path, error))
        }
        _ => Ok(()),
    }
}

fn check_regular(metadata: &Metadata) -> io::Result<()> {
    let file_type = metadata.file_type();
    if file_type.is_file() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {}, not a regular file", kind_of(file_type)),
    ))
}

fn kind_of(file_type: FileType) -> &'static str {
    if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_dir() {
        "a directory"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}
