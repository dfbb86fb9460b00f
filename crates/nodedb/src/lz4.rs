//! Single bytes of LZ4 blocks of the headers jar (`lz4/doc/lz4_Block_format.md`), without
//! decompressing them.
//!
//! One byte of a bloom filter usually shows that it excludes a token. Finding it takes 50 ns.
//! Decompressing the whole header takes 385 ns, as each of about 40 copies begins with an
//! unpredictable branch. Whole headers are decompressed with `lz4_flex`.

use crate::compact::Malformed;

const DAMAGED: Malformed = "an LZ4 block is damaged";

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEN_MAX: usize = 2000;

    /// The content of a block according to the library.
    fn decompressed(block: &[u8]) -> Option<Vec<u8>> {
        lz4_flex::block::decompress(block, LEN_MAX).ok()
    }

    /// Checks single bytes of a block. Where the library refuses the block, a byte before the
    /// damage may still be found.
    fn check(block: &[u8], places: Vec<usize>) {
        let content = decompressed(block);
        let mut sequences = Vec::new();
        let mut peek = Peek::new(block, &mut sequences);
        for at in places {
            let byte = peek.byte(at);
            if let Some(content) = &content {
                assert_eq!(byte.ok(), content.get(at).copied(), "byte {at}");
            }
        }
    }

    /// Content like a header's: hashes, runs of zeros, repeated pieces.
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
        fn finds_every_byte_of_compressed_content(content in content(), places in places()) {
            let block = lz4_flex::block::compress(&content);
            prop_assert_eq!(decompressed(&block), Some(content));
            check(&block, places);
        }

        #[test]
        fn damaged_blocks_give_the_bytes_that_the_library_gives(
            content in content(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
            places in places(),
        ) {
            let mut block = lz4_flex::block::compress(&content);
            let at = at.index(block.len());
            if cut {
                block.truncate(at);
            } else {
                block[at] = byte;
            }
            check(&block, places);
        }

        #[test]
        fn arbitrary_blocks_give_the_bytes_that_the_library_gives(
            block in proptest::collection::vec(any::<u8>(), 0..200),
            places in places(),
        ) {
            check(&block, places);
        }
    }
}
