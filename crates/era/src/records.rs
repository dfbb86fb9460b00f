//! Reads and decompresses records at known positions of a file.

use crate::{
    error::Malformed,
    record::{HEAD_BYTES, RecordHead, name_of},
};
use snap::read::FrameDecoder;
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
};

/// The first chunk of every compressed stream.
const SNAPPY_START: &[u8] = b"\xff\x06\x00\x00sNaPpY";

/// The longest data of a record after decompression. The receipts of a block with a billion gas
/// have half of it.
const BYTES_PER_RECORD_MAX: u64 = 1 << 28;

/// Bytes that are read at once, if the caller reads on.
pub(crate) const AHEAD_MAX: u64 = 1 << 20;

/// Bytes that are read at once for a single record.
const AHEAD_MIN: u64 = 4096;

/// A failure to read a record, without its place.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(io::Error),
    Malformed(String),
}

impl From<Malformed> for Fault {
    fn from(what: Malformed) -> Self {
        Self::Malformed(what.to_owned())
    }
}

/// Reads records of one file, mostly in ascending order.
#[derive(Debug)]
pub(crate) struct Records {
    decoder: FrameDecoder<Window>,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            decoder: FrameDecoder::new(Window::default()),
        }
    }
}

/// A part of a file, and the record in it that is read.
#[derive(Debug, Default)]
struct Window {
    bytes: Vec<u8>,
    /// The position of `bytes` in the file.
    start: u64,
    /// The data of the record that was not read yet.
    at: usize,
    end: usize,
    /// Bytes after a record that will be read soon.
    ahead: u64,
}

impl Records {
    /// Sets how many bytes from the next record on will be read.
    pub(crate) fn read_ahead(&mut self, bytes: u64) {
        self.decoder.get_mut().ahead = bytes;
    }

    /// Forgets what was read, before another file is read.
    pub(crate) fn forget(&mut self) {
        self.decoder.get_mut().bytes.clear();
    }

    /// Reads the record at `position` and replaces `out` by its decompressed data. Returns the
    /// position of the next record. `len` is the length of the file.
    pub(crate) fn inflate(
        &mut self,
        (file, len): (&File, u64),
        position: u64,
        kind: u16,
        out: &mut Vec<u8>,
    ) -> Result<u64, Fault> {
        let next = self.decoder.get_mut().load((file, len), position, kind)?;
        if !self.decoder.get_mut().rest().starts_with(SNAPPY_START) {
            return Err("its data is not a snappy frame stream".into());
        }
        out.clear();
        let limited = &mut (&mut self.decoder).take(BYTES_PER_RECORD_MAX + 1);
        let problem = match limited.read_to_end(out) {
            Ok(count) if count as u64 <= BYTES_PER_RECORD_MAX => return Ok(next),
            Ok(_) => format!(
                "its snappy data has more than {} MiB",
                BYTES_PER_RECORD_MAX >> 20
            ),
            Err(error) => format!("its snappy data is damaged: {error}"),
        };
        // The decoder is in the middle of a stream.
        *self = Self::default();
        Err(Fault::Malformed(problem))
    }

    /// Reads the data of the record at `position`. Returns it with the position of the next one.
    pub(crate) fn raw(
        &mut self,
        (file, len): (&File, u64),
        position: u64,
        kind: u16,
    ) -> Result<(&[u8], u64), Fault> {
        let window = self.decoder.get_mut();
        let next = window.load((file, len), position, kind)?;
        Ok((window.rest(), next))
    }

    /// Returns the position after the record at `position`.
    pub(crate) fn skip(
        &mut self,
        (file, len): (&File, u64),
        position: u64,
        kind: u16,
    ) -> Result<u64, Fault> {
        let (head, _) = self.decoder.get_mut().head((file, len), position, kind)?;
        Ok(after(position, head))
    }
}

/// The position after a record. Lengths have 32 bits, and positions are below the file's length.
const fn after(position: u64, head: RecordHead) -> u64 {
    position
        .saturating_add(HEAD_BYTES as u64)
        .saturating_add(head.length as u64)
}

impl Window {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// Makes the data of a record readable. Returns the position of the next record.
    fn load(&mut self, (file, len): (&File, u64), position: u64, kind: u16) -> Result<u64, Fault> {
        let (head, _) = self.head((file, len), position, kind)?;
        let next = after(position, head);
        if next > len {
            return Err(Fault::Malformed(format!(
                "the {} record at byte {position} ends after the file",
                name_of(kind)
            )));
        }
        let at = self.fill((file, len), position, next - position)?;
        self.at = at + HEAD_BYTES;
        // A length of 32 bits fits.
        self.end = self.at + head.length as usize;
        Ok(next)
    }

    /// Reads the head of a record, which must have this type.
    fn head(
        &mut self,
        (file, len): (&File, u64),
        position: u64,
        kind: u16,
    ) -> Result<(RecordHead, usize), Fault> {
        let at = self.fill((file, len), position, HEAD_BYTES as u64)?;
        let head = self.bytes[at..].first_chunk().copied();
        let head = head.and_then(RecordHead::parse);
        match head {
            Some(head) if head.kind == kind => Ok((head, at)),
            other => {
                let found = other.map_or("damaged record", |head| name_of(head.kind));
                Err(Fault::Malformed(format!(
                    "at byte {position} is a {found} where a {} record is expected",
                    name_of(kind)
                )))
            }
        }
    }

    /// Makes `count` bytes from `position` on available, and returns where they begin.
    fn fill(
        &mut self,
        (file, len): (&File, u64),
        position: u64,
        count: u64,
    ) -> Result<usize, Fault> {
        let rest = len.checked_sub(position).filter(|rest| *rest >= count);
        let Some(rest) = rest else {
            return Err(Fault::Malformed(format!(
                "a record at byte {position} is after the end of the file, which has {len} bytes"
            )));
        };
        let held = self.start..self.start + self.bytes.len() as u64;
        if held.start > position || held.end < position + count {
            let ahead = self.ahead.clamp(AHEAD_MIN, AHEAD_MAX);
            let wanted = count.max(ahead).min(rest);
            // At most the length of the file.
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            self.bytes.resize(wanted, 0);
            if let Err(error) = file.read_exact_at(&mut self.bytes, position) {
                self.bytes.clear();
                return Err(Fault::Io(error));
            }
            self.start = position;
            self.ahead = self.ahead.saturating_sub(wanted as u64);
        }
        // Inside of a buffer.
        Ok(usize::try_from(position - self.start).unwrap_or(usize::MAX))
    }
}

impl Read for Window {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.rest().len().min(out.len());
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BODY;
    use std::io::Write;

    #[test]
    fn long_data_is_refused_before_it_fills_the_memory() {
        let mut snappy = snap::write::FrameEncoder::new(Vec::new());
        let zeros = vec![0; 1 << 20];
        for _ in 0..=BYTES_PER_RECORD_MAX >> 20 {
            snappy.write_all(&zeros).unwrap();
        }
        let data = snappy.into_inner().unwrap();
        let head = RecordHead {
            kind: BODY,
            length: u32::try_from(data.len()).unwrap(),
        };
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&head.to_bytes()).unwrap();
        file.write_all(&data).unwrap();
        let len = file.metadata().unwrap().len();
        let mut out = Vec::new();
        let result = Records::default().inflate((&file, len), 0, BODY, &mut out);
        let Err(Fault::Malformed(problem)) = result else {
            panic!("the record is not refused");
        };
        assert_eq!(problem, "its snappy data has more than 256 MiB");
    }
}
