//! A block of a table (`table/block_based/block.cc`): entries in the order of their keys, each
//! without the bytes that it shares with the one before, and restart points, whose keys are
//! complete.

use crate::{
    bytes::Input,
    error::{Decoded, Fault},
};
use std::{cmp::Ordering, ops::Range, sync::Arc};

/// Bytes after each block: its compression and its checksum.
pub(crate) const TRAILER_BYTES: usize = 5;
/// Whether a table of hashes follows the restart points, which is not used here.
const HASHES: u32 = 1 << 31;

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) offset: u64,
    /// Without the trailer.
    pub(crate) size: u64,
}

impl Handle {
    pub(crate) fn decode(input: &mut Input<'_>) -> Option<Self> {
        Some(Self {
            offset: input.varint64()?,
            size: input.varint64()?,
        })
    }
}

/// An uncompressed block.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: Box<[u8]>,
    /// The end of the entries and begin of the restart points.
    end: usize,
    restarts: usize,
}

impl Block {
    pub(crate) fn new(bytes: Box<[u8]>) -> Decoded<Self> {
        let parse = || {
            let (rest, footer) = bytes.split_last_chunk::<4>()?;
            let footer = u32::from_le_bytes(*footer);
            let mut end = rest.len();
            if footer & HASHES != 0 {
                let (rest, buckets) = rest.split_last_chunk::<2>()?;
                let buckets = usize::from(u16::from_le_bytes(*buckets));
                end = rest.len().checked_sub(buckets)?;
            }
            let restarts = usize::try_from(footer & !HASHES).ok()?;
            Some((end.checked_sub(restarts.checked_mul(4)?)?, restarts))
        };
        let (end, restarts) = parse().ok_or_else(|| bad("the end of a block"))?;
        Ok(Self {
            bytes,
            end,
            restarts,
        })
    }

    /// In bytes of memory.
    pub(crate) const fn size(&self) -> usize {
        self.bytes.len() + size_of::<Self>()
    }

    fn restart(&self, index: usize) -> Decoded<usize> {
        let at = self.end + 4 * index;
        let offset = self.bytes.get(at..at + 4).and_then(|bytes| {
            let offset = u32::from_le_bytes(bytes.try_into().ok()?);
            usize::try_from(offset).ok()
        });
        let offset = offset.filter(|offset| *offset <= self.end);
        offset.ok_or_else(|| bad("a restart point"))
    }
}

/// The kind of entries of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    /// Whether keys end with a sequence number and a type. Only the part before is compared:
    /// the newest row of a key is first.
    pub(crate) internal: bool,
    /// Whether values are places of blocks: without lengths, and as the difference to the value before.
    pub(crate) index: bool,
}

#[derive(Debug)]
pub(crate) struct BlockCursor {
    block: Arc<Block>,
    format: Format,
    /// The current key.
    key: Vec<u8>,
    value: Range<usize>,
    handle: Handle,
    /// The next entry.
    next: usize,
    valid: bool,
}

impl BlockCursor {
    /// Before the first entry.
    pub(crate) const fn new(block: Arc<Block>, format: Format) -> Self {
        Self {
            block,
            format,
            key: Vec::new(),
            value: 0..0,
            handle: Handle { offset: 0, size: 0 },
            next: 0,
            valid: false,
        }
    }

    /// Moves to another block, before its first entry.
    pub(crate) fn replace(&mut self, block: Arc<Block>) {
        self.block = block;
        self.key.clear();
        self.next = 0;
        self.valid = false;
    }

    pub(crate) const fn is_valid(&self) -> bool {
        self.valid
    }

    /// The current key, if the cursor is valid.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.block.bytes[self.value.clone()]
    }

    /// The current value of an index.
    pub(crate) const fn handle(&self) -> Handle {
        self.handle
    }

    /// Moves to the first entry whose key is >= `from`.
    pub(crate) fn seek(&mut self, from: &[u8]) -> Decoded<()> {
        // The last restart point with a key < `from`, or the first one.
        let (mut low, mut high) = (0, self.block.restarts);
        while high - low > 1 {
            let middle = low.midpoint(high);
            match self.restart_key(middle)?.cmp(from) {
                Ordering::Less => low = middle,
                _ => high = middle,
            }
        }
        self.next = match self.block.restarts {
            0 => self.block.end,
            _ => self.block.restart(low)?,
        };
        self.key.clear();
        loop {
            self.next()?;
            if !self.valid || self.compared(&self.key) >= from {
                return Ok(());
            }
        }
    }

    /// Moves to the next entry.
    #[inline]
    pub(crate) fn next(&mut self) -> Decoded<()> {
        if self.next >= self.block.end {
            self.valid = false;
            return Ok(());
        }
        let entries = &self.block.bytes[..self.block.end];
        let mut input = Input(&entries[self.next..]);
        let entry = Entry::decode(&mut input, self.format).ok_or_else(|| bad("an entry"))?;
        if entry.shared > self.key.len() {
            return Err(bad("the beginning of a key"));
        }
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(entry.rest);
        if self.format.internal && self.key.len() < 8 {
            return Err(bad("a key"));
        }
        let at = |input: &Input<'_>| entries.len() - input.0.len();
        if self.format.index {
            self.handle = match entry.shared {
                0 => Handle::decode(&mut input),
                _ => self.next_handle(&mut input),
            }
            .ok_or_else(|| bad("the place of a block"))?;
        } else {
            let start = at(&input);
            input.take(entry.value_len).ok_or_else(|| bad("a value"))?;
            self.value = start..start + entry.value_len;
        }
        self.next = at(&input);
        self.valid = true;
        Ok(())
    }

    /// The place of a block that follows the current one.
    fn next_handle(&self, input: &mut Input<'_>) -> Option<Handle> {
        let difference = input.signed64()?;
        let Handle { offset, size } = self.handle;
        Some(Handle {
            offset: offset
                .checked_add(size)?
                .checked_add(TRAILER_BYTES as u64)?,
            size: size.checked_add_signed(difference)?,
        })
    }

    fn restart_key(&self, index: usize) -> Decoded<&[u8]> {
        let entries = &self.block.bytes[..self.block.end];
        let mut input = Input(&entries[self.block.restart(index)?..]);
        match Entry::decode(&mut input, self.format) {
            Some(entry) if entry.shared == 0 && entry.rest.len() >= self.suffix() => {
                Ok(self.compared(entry.rest))
            }
            _ => Err(bad("the key of a restart point")),
        }
    }

    const fn suffix(&self) -> usize {
        if self.format.internal { 8 } else { 0 }
    }

    /// The part of a key that is compared.
    fn compared<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        &key[..key.len() - self.suffix()]
    }
}

struct Entry<'a> {
    /// The length of the common prefix with the key before, in bytes.
    shared: usize,
    rest: &'a [u8],
    value_len: usize,
}

impl<'a> Entry<'a> {
    #[inline]
    fn decode(input: &mut Input<'a>, format: Format) -> Option<Self> {
        let shared = input.length()?;
        let rest = input.length()?;
        let value_len = if format.index { 0 } else { input.length()? };
        Some(Self {
            shared,
            rest: input.take(rest)?,
            value_len,
        })
    }
}

#[cold]
fn bad(what: &str) -> Fault {
    Fault::damaged(format!("{what} is invalid"))
}
