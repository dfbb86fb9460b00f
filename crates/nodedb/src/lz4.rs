//! Decompresses LZ4 blocks of the headers jar (`lz4/doc/lz4_Block_format.md`), completely or
//! byte by byte. Tests compare with `lz4_flex`.
//!
//! One byte of a bloom filter usually shows that it excludes a token. Decompressing the whole
//! header would cost five times as much: each of about 40 copies begins with an
//! unpredictable branch, in any library.

use crate::compact::Malformed;

/// The buffer must have this many bytes more than the longest content: copies of a fixed
/// size write beyond their end.
pub(crate) const SLACK: usize = 32;

/// The size of a copy that takes two instructions.
const STEP: usize = 16;

const DAMAGED: Malformed = "an LZ4 block is damaged";

/// Decompresses `block` into `out` and returns the number of bytes. More than
/// `out.len() - SLACK` bytes are an error.
pub(crate) fn unpack(block: &[u8], out: &mut [u8]) -> Result<usize, Malformed> {
    let capacity = out.len().checked_sub(SLACK).ok_or(DAMAGED)?;
    let (mut read, mut written) = (0, 0);
    loop {
        let token = byte(block, &mut read)?;
        let literals = length(token >> 4, block, &mut read)?;
        if literals > capacity - written {
            return Err(DAMAGED);
        }
        match block.get(read..read + STEP) {
            Some(step) if literals <= STEP => out[written..][..STEP].copy_from_slice(step),
            _ => {
                let literal = block.get(read..read + literals).ok_or(DAMAGED)?;
                out[written..][..literals].copy_from_slice(literal);
            }
        }
        read += literals;
        written += literals;
        // The last sequence has no match.
        if read == block.len() {
            return Ok(written);
        }
        let offset = offset(block, &mut read)?;
        let matched = length(token & 0xf, block, &mut read)? + 4;
        if offset == 0 || offset > written || matched > capacity - written {
            return Err(DAMAGED);
        }
        repeat(out, written, offset, matched);
        written += matched;
    }
}

/// A run of literals and the match after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    /// The position of the literals in the content.
    start: usize,
    /// The position of the literals in the block.
    literals: usize,
    /// The position of the match in the content.
    matched: usize,
    /// The distance back to the bytes that the match copies.
    offset: usize,
}

/// Reads single bytes of the content of a block without decompressing it.
pub(crate) struct Peek<'a> {
    block: &'a [u8],
    /// The sequences that were read so far.
    sequences: &'a mut Vec<Sequence>,
    read: usize,
    /// The end of the last sequence in the content.
    end: usize,
}

impl<'a> Peek<'a> {
    /// `sequences` is a reusable buffer.
    pub(crate) fn new(block: &'a [u8], sequences: &'a mut Vec<Sequence>) -> Self {
        sequences.clear();
        Self {
            block,
            sequences,
            read: 0,
            end: 0,
        }
    }

    /// Returns the byte at a position of the content. Sequences are read up to that position,
    /// so low positions are cheaper.
    #[inline]
    pub(crate) fn byte(&mut self, at: usize) -> Result<u8, Malformed> {
        while self.end <= at {
            self.step()?;
        }
        let (mut at, mut index) = (at, self.sequences.len());
        loop {
            // Always found: the first sequence starts at 0 and `at` is below `end`.
            let sequence = loop {
                index = index.checked_sub(1).ok_or(DAMAGED)?;
                let sequence = self.sequences[index];
                if sequence.start <= at {
                    break sequence;
                }
            };
            if at < sequence.matched {
                let at = sequence.literals + (at - sequence.start);
                return self.block.get(at).copied().ok_or(DAMAGED);
            }
            // A match that overlaps itself repeats the bytes before it. The source may be
            // in the literals of the same sequence.
            let mut along = at - sequence.matched;
            if along >= sequence.offset {
                along %= sequence.offset;
            }
            at = sequence.matched - sequence.offset + along;
            index += 1;
        }
    }

    /// Reads one sequence.
    #[inline]
    fn step(&mut self) -> Result<(), Malformed> {
        let Self { block, .. } = *self;
        let mut read = self.read;
        let token = byte(block, &mut read)?;
        let literals = length(token >> 4, block, &mut read)?;
        let mut sequence = Sequence {
            start: self.end,
            literals: read,
            matched: self.end + literals,
            offset: 1,
        };
        read += literals;
        self.end = sequence.matched;
        // The last sequence has no match.
        if read < block.len() {
            sequence.offset = offset(block, &mut read)?;
            if sequence.offset == 0 || sequence.offset > sequence.matched {
                return Err(DAMAGED);
            }
            self.end += length(token & 0xf, block, &mut read)? + 4;
        }
        self.read = read;
        self.sequences.push(sequence);
        Ok(())
    }
}

#[inline]
fn offset(block: &[u8], read: &mut usize) -> Result<usize, Malformed> {
    let bytes = [byte(block, read)?, byte(block, read)?];
    Ok(u16::from_le_bytes(bytes).into())
}

#[inline]
fn byte(block: &[u8], read: &mut usize) -> Result<u8, Malformed> {
    let byte = *block.get(*read).ok_or(DAMAGED)?;
    *read += 1;
    Ok(byte)
}

/// Reads a length whose first four bits are `nibble`. After 15, more bytes follow.
#[inline]
fn length(nibble: u8, block: &[u8], read: &mut usize) -> Result<usize, Malformed> {
    let mut length = usize::from(nibble);
    if nibble == 15 {
        // Cannot overflow: at most 255 for each byte of the block.
        loop {
            let more = byte(block, read)?;
            length += usize::from(more);
            if more != u8::MAX {
                break;
            }
        }
    }
    Ok(length)
}

/// Copies `len` bytes that begin `offset` before `to` to position `to`. Overlapping bytes
/// are repeated.
#[inline]
fn repeat(out: &mut [u8], to: usize, offset: usize, len: usize) {
    if offset >= STEP && len <= 2 * STEP {
        for at in [to, to + STEP] {
            let step: [u8; STEP] = *out[at - offset..].first_chunk().expect("before `to`");
            out[at..][..STEP].copy_from_slice(&step);
        }
    } else if offset == 1 {
        // Mostly zeros, which are most of a bloom filter.
        let byte = out[to - 1];
        if len <= STEP {
            out[to..][..STEP].fill(byte);
        } else {
            out[to..][..len].fill(byte);
        }
    } else if offset >= len {
        out.copy_within(to - offset..to - offset + len, to);
    } else {
        for at in to..to + len {
            out[at] = out[at - offset];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEN_MAX: usize = 2000;

    fn unpacked(block: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut out = vec![0xee; LEN_MAX + SLACK];
        let len = unpack(block, &mut out)?;
        out.truncate(len);
        Ok(out)
    }

    /// Content like that of a header: hashes, runs of zeros, repeated pieces.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..40),
            (any::<u8>(), 0..300usize).prop_map(|(byte, len)| vec![byte; len]),
            (proptest::collection::vec(any::<u8>(), 1..20), 0..8usize)
                .prop_map(|(piece, times)| piece.repeat(times)),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| {
            let mut bytes = pieces.concat();
            bytes.truncate(LEN_MAX);
            bytes
        })
    }

    fn places() -> impl Strategy<Value = Vec<usize>> {
        proptest::collection::vec(0..LEN_MAX, 0..30)
    }

    proptest! {
        #[test]
        fn round_trips(content in content(), places in places()) {
            let block = lz4_flex::block::compress(&content);
            prop_assert_eq!(unpacked(&block).unwrap(), content.clone());
            let mut sequences = Vec::new();
            let mut peek = Peek::new(&block, &mut sequences);
            for at in places {
                prop_assert_eq!(peek.byte(at).ok(), content.get(at).copied());
            }
        }

        /// `unpack` and `lz4_flex` accept the same damaged blocks, with the same content.
        #[test]
        fn damaged_blocks_give_what_the_library_gives(
            content in content(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let mut block = lz4_flex::block::compress(&content);
            let at = at.index(block.len());
            if cut {
                block.truncate(at);
            } else {
                block[at] = byte;
            }
            let ours = unpacked(&block).ok();
            let theirs = lz4_flex::block::decompress(&block, LEN_MAX).ok();
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn any_block_is_read_without_panic(block in proptest::collection::vec(any::<u8>(), 0..200), places in places()) {
            let content = unpacked(&block);
            let mut sequences = Vec::new();
            let mut peek = Peek::new(&block, &mut sequences);
            for at in places {
                let byte = peek.byte(at);
                if let Ok(content) = &content {
                    prop_assert_eq!(byte.ok(), content.get(at).copied());
                }
            }
        }
    }
}
