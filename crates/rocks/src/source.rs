//! Bytes that are read by position: a file, or memory in tests and fuzzing.

use std::{fs::File, io, os::unix::fs::FileExt};

/// Bytes that are read by position.
pub(crate) trait Source: Send + Sync {
    /// Reads as many bytes as there are, at most the length of the buffer.
    fn read_up_to(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The current length in bytes.
    fn length(&self) -> io::Result<u64>;
}

impl Source for File {
    fn read_up_to(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < buffer.len() {
            match self.read_at(&mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Source for Vec<u8> {
    fn read_up_to(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).map_or(self.len(), |from| from.min(self.len()));
        let read = buffer.len().min(self.len() - from);
        buffer[..read].copy_from_slice(&self[from..from + read]);
        Ok(read)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}
