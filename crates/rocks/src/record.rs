//! Records of logs and manifests (`db/log_format.h`): blocks of 32 KiB, each with physical
//! records that have a checksum. A logical record is one of them, or a sequence of fragments.
//!
//! The writer may append while we read, so the end can be in the middle of a record. Reading
//! continues there next time. Nothing else is tolerated: RocksDB itself drops what follows a
//! damaged record when a database opens, but then knows that no writer is at work. Reused files
//! (`recycle_log_file_num`, which reth does not set) are refused.

use crate::{
    bytes::Input,
    checksum,
    error::{Decoded, Error, Fault, Result},
    source::Source,
};
use std::path::Path;

/// The unit of the format.
const BLOCK_BYTES: usize = 32 << 10;
/// Read at once; a multiple of the block.
const CHUNK_BYTES: usize = 1 << 20;
/// Checksum, length and type.
const HEADER_BYTES: usize = 7;
/// With the number of the log, in a file that is reused.
const RECYCLABLE_HEADER_BYTES: usize = HEADER_BYTES + 4;

/// How the readable part of a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// After a record.
    Complete,
    /// Within a record, which is being written, or was when the writer stopped.
    Torn,
}

/// Where in a file reading continues.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// The next physical record.
    offset: u64,
    /// Fragments of the current record.
    fragments: Vec<u8>,
    in_record: bool,
}

/// A physical record, or the reason why there is none.
enum Physical<'a> {
    Record {
        kind: u8,
        payload: &'a [u8],
        len: usize,
    },
    /// The rest of a block that no header fits into.
    Trailer(usize),
    /// The input ends here, perhaps within a record.
    End(End),
    /// Only zeros may follow.
    Zeros,
}

impl Records {
    /// The bytes that were read, up to a torn record.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads all records that were not read yet. After an error, begin again.
    pub(crate) fn read(
        &mut self,
        source: &dyn Source,
        path: &Path,
        mut each: impl FnMut(&[u8]) -> Decoded<()>,
    ) -> Result<End> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            // Up to the end of a block, which no physical record crosses.
            let in_block = in_block(self.offset);
            let wanted = &mut chunk[..CHUNK_BYTES - in_block];
            let read = source
                .read_up_to(wanted, self.offset)
                .map_err(|error| Error::io("read", path, error))?;
            let last = read < wanted.len();
            let start = self.offset;
            let mut at = 0;
            let end = loop {
                let rest = &chunk[at..read];
                if rest.is_empty() && !last {
                    break None;
                }
                let left = BLOCK_BYTES - (in_block + at) % BLOCK_BYTES;
                let physical = physical(&rest[..rest.len().min(left)], left)
                    .map_err(|fault| place(fault, start + at as u64, path))?;
                match physical {
                    Physical::Record { kind, payload, len } => {
                        self.logical(kind, payload, &mut each)
                            .map_err(|fault| place(fault, start + at as u64, path))?;
                        at += len;
                    }
                    Physical::Trailer(len) => at += len,
                    Physical::End(end) => break Some(end),
                    Physical::Zeros => {
                        self.offset = start + at as u64;
                        self.check_zeros(source, path)?;
                        break Some(End::Complete);
                    }
                }
            };
            self.offset = start + at as u64;
            if let Some(end) = end {
                return Ok(if self.in_record { End::Torn } else { end });
            }
        }
    }

    /// Handles the payload of a physical record.
    fn logical(
        &mut self,
        kind: u8,
        payload: &[u8],
        each: &mut impl FnMut(&[u8]) -> Decoded<()>,
    ) -> Decoded<()> {
        match kind {
            // Early versions could write an empty first fragment at the end of a block.
            1 | 2 if self.in_record && !self.fragments.is_empty() => {
                Err(Fault::damaged("the record before it has no end"))
            }
            1 => {
                self.in_record = false;
                each(payload)
            }
            2 => {
                self.in_record = true;
                self.fragments.clear();
                self.fragments.extend_from_slice(payload);
                Ok(())
            }
            3 | 4 if !self.in_record => Err(Fault::damaged("its first part is missing")),
            3 => {
                self.fragments.extend_from_slice(payload);
                Ok(())
            }
            4 => {
                self.fragments.extend_from_slice(payload);
                self.in_record = false;
                let record = std::mem::take(&mut self.fragments);
                each(&record)?;
                self.fragments = record;
                self.fragments.clear();
                Ok(())
            }
            5..=8 | 11 | 131 => Err(Fault::unsupported("a reused log (recycle_log_file_num)")),
            9 if payload == [0; 4] => Ok(()),
            9 => Err(Fault::unsupported("a compressed log (kSetCompressionType)")),
            10 if payload.is_empty() => Ok(()),
            10 => Err(Fault::unsupported(
                "user-defined timestamps (kUserDefinedTimestampSizeType)",
            )),
            // About the log before this one; and records that readers may ignore.
            128.. => Ok(()),
            other => Err(Fault::unsupported(format!("log records of type {other}"))),
        }
    }

    /// Checks that a preallocated end has only zeros.
    fn check_zeros(&self, source: &dyn Source, path: &Path) -> Result<()> {
        let mut buffer = vec![0; BLOCK_BYTES];
        let mut offset = self.offset;
        loop {
            let read = source
                .read_up_to(&mut buffer, offset)
                .map_err(|error| Error::io("read", path, error))?;
            if buffer[..read].iter().any(|byte| *byte != 0) {
                let fault = Fault::damaged("zeros in the middle of the file");
                return Err(place(fault, offset, path));
            }
            if read < buffer.len() {
                return Ok(());
            }
            offset += read as u64;
        }
    }
}

#[cold]
fn place(fault: Fault, offset: u64, path: &Path) -> Error {
    let at = |what| format!("record at byte {offset}: {what}");
    match fault {
        Fault::Damaged(what) => Fault::Damaged(at(what)),
        Fault::Unsupported(what) => Fault::Unsupported(at(what)),
    }
    .at(path)
}

/// Parses the front of the rest of a block, of which `left` bytes would be complete.
fn physical(rest: &[u8], left: usize) -> Decoded<Physical<'_>> {
    let complete = rest.len() == left;
    if left < HEADER_BYTES && complete {
        return Ok(Physical::Trailer(left));
    }
    if rest.iter().take(HEADER_BYTES).all(|byte| *byte == 0) {
        return Ok(match rest.is_empty() {
            true => Physical::End(End::Complete),
            false => Physical::Zeros,
        });
    }
    let Some(record) = Header::parse(rest) else {
        return Ok(Physical::End(End::Torn));
    };
    let Header {
        crc,
        kind,
        header_len,
        payload_len,
    } = record;
    let Some(payload) = rest.get(header_len..header_len + payload_len) else {
        if complete {
            return Err(Fault::damaged("it is longer than its block"));
        }
        if crc_of_shorter(&rest[6..], header_len - 6, crc) {
            return Err(Fault::damaged("its length is wrong"));
        }
        if header_len > HEADER_BYTES && HEADER_BYTES + payload_len <= rest.len() {
            return Err(Fault::damaged("its type is wrong"));
        }
        return Ok(Physical::End(End::Torn));
    };
    let len = header_len + payload_len;
    if checksum::masked_crc(&rest[6..len]) != crc {
        return Err(Fault::damaged("its checksum is wrong"));
    }
    Ok(Physical::Record { kind, payload, len })
}

/// How far into its block an offset is.
fn in_block(offset: u64) -> usize {
    usize::try_from(offset % BLOCK_BYTES as u64).unwrap_or(0)
}

/// The header of a physical record.
struct Header {
    crc: u32,
    kind: u8,
    header_len: usize,
    payload_len: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let crc = input.fixed32()?;
        let payload_len = usize::from(input.byte()?) | usize::from(input.byte()?) << 8;
        let kind = input.byte()?;
        let header_len = match kind {
            5..=8 | 11 | 131 => RECYCLABLE_HEADER_BYTES,
            _ => HEADER_BYTES,
        };
        Some(Self {
            crc,
            kind,
            header_len,
            payload_len,
        })
    }
}

/// Returns whether a record that seems to continue after the end of the file is complete, and
/// only its length is wrong. `checked` begins with the type.
fn crc_of_shorter(checked: &[u8], at_least: usize, crc: u32) -> bool {
    let Some((front, rest)) = checked.split_at_checked(at_least) else {
        return false;
    };
    let mut sum = crc32c::crc32c(front);
    if checksum::mask(sum) == crc {
        return true;
    }
    rest.iter().any(|byte| {
        sum = crc32c::crc32c_append(sum, &[*byte]);
        checksum::mask(sum) == crc
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A physical record with its checksum.
    fn physical(kind: u8, payload: &[u8]) -> Vec<u8> {
        let checked = [&[kind], payload].concat();
        let len = u16::try_from(payload.len()).unwrap();
        let crc = checksum::masked_crc(&checked);
        [&crc.to_le_bytes()[..], &len.to_le_bytes(), &checked].concat()
    }

    fn read(records: &mut Records, bytes: &[u8]) -> Result<(Vec<Vec<u8>>, End)> {
        let mut found = Vec::new();
        let end = records.read(&bytes.to_vec(), Path::new("log"), |record| {
            found.push(record.to_vec());
            Ok(())
        })?;
        Ok((found, end))
    }

    fn error(bytes: &[u8]) -> String {
        read(&mut Records::default(), bytes)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn joins_fragments_and_skips_the_ends_of_blocks() {
        let first = vec![1; BLOCK_BYTES - HEADER_BYTES];
        let second = vec![2; BLOCK_BYTES - HEADER_BYTES - 5];
        let mut bytes = physical(2, &first);
        bytes.extend(physical(4, &second));
        // No header fits into the last five bytes.
        bytes.extend([0; 5]);
        bytes.extend(physical(1, b"next"));
        bytes.extend(physical(130, b"about the log before"));
        let whole = vec![[first, second].concat(), b"next".to_vec()];
        let (found, end) = read(&mut Records::default(), &bytes).unwrap();
        assert_eq!((found, end), (whole.clone(), End::Complete));
        // In two parts, cut anywhere.
        for cut in (0..bytes.len())
            .step_by(997)
            .chain([BLOCK_BYTES, 2 * BLOCK_BYTES - 3])
        {
            let mut records = Records::default();
            let (mut found, _) = read(&mut records, &bytes[..cut]).unwrap();
            found.extend(read(&mut records, &bytes).unwrap().0);
            assert_eq!(found, whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_cut_record_is_not_damage() {
        let mut bytes = physical(1, b"first");
        let whole = bytes.len();
        bytes.extend(physical(1, b"second"));
        for len in whole + 1..bytes.len() {
            let (found, end) = read(&mut Records::default(), &bytes[..len]).unwrap();
            assert_eq!((found.len(), end), (1, End::Torn), "{len}");
        }
        // A block that was allocated, but not written.
        bytes.truncate(whole);
        bytes.extend([0; 70_000]);
        let (found, end) = read(&mut Records::default(), &bytes).unwrap();
        assert_eq!((found.len(), end), (1, End::Complete));
        *bytes.last_mut().unwrap() = 1;
        assert!(error(&bytes).contains("zeros in the middle"));
    }

    #[test]
    fn every_changed_byte_is_found() {
        let mut bytes = physical(1, b"first");
        bytes.extend(physical(1, b"second"));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let text = error(&changed);
                assert!(
                    text.starts_with("log is damaged: record at byte"),
                    "{at} {bit}: {text}"
                );
            }
        }
    }

    #[test]
    fn refuses_by_name() {
        for (kind, payload, words) in [
            (9, &[7, 0, 0, 0][..], "kSetCompressionType"),
            (10, &[0, 0, 0, 0, 8, 0], "kUserDefinedTimestampSizeType"),
            (12, &[], "log records of type 12"),
            (3, &[], "its first part is missing"),
        ] {
            let text = error(&physical(kind, payload));
            assert!(text.contains(words), "{text}");
        }
    }
}
