//! Files that people write, read with a limit: `/dev/zero` must not fill the memory.

use crate::{Error, Result};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Bytes that are read of a configuration or a saved query at most.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Reads a file of text.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let mut file = Limited::open(path, TEXT_BYTES_MAX).map_err(|error| unreadable(path, error))?;
    file.read_to_string(&mut text)
        .map_err(|error| unreadable(path, error))?;
    Ok(text)
}

/// An error of reading a file. What is not text is a usage error, like every other content
/// that cannot be read.
pub(crate) fn unreadable(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
            Error::usage(path.display().to_string()).because(error)
        }
        _ => Error::io(path, error),
    }
}

/// A file that ends in an error after a number of bytes.
pub(crate) struct Limited {
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl Limited {
    pub(crate) fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            bytes: 0,
            bytes_max,
        })
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes += read as u64;
        if self.bytes > self.bytes_max {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("larger than {} bytes", self.bytes_max),
            ));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn refuses_large_and_binary_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a").unwrap();
        assert_eq!(read_text(&path).unwrap(), "a");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path).unwrap_err().kind, ErrorKind::Usage);
        for path in [Path::new("/dev/zero"), &folder.path().join("none")] {
            assert!(read_text(path).is_err());
        }
    }
}
