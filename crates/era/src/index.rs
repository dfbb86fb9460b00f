//! The block index at the end of a file: which blocks it has, and where their records are.

use crate::{
    record::{
        BLOCKS_MAX, BODY, ERA1_INDEX, ERE_INDEX, Format, HEAD_BYTES, HEADER, RecordHead,
        SLIM_RECEIPTS, TOTAL_DIFFICULTY, VERSION,
    },
    records::Fault,
};
use std::{fs::File, os::unix::fs::FileExt};
use txgraph_transfers::BlockRange;

/// The bytes of a number in the index.
const WORD: u64 = 8;

/// The components of a block in an `.ere` file: header, body, receipts, difficulty, proof.
const COMPONENTS: std::ops::RangeInclusive<u64> = 2..=5;

/// The block index of a file. Only its ends are kept; positions are read where they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) format: Format,
    /// The position of its record. Positions of blocks are relative to it.
    pub(crate) position: u64,
    pub(crate) blocks: BlockRange,
    /// The number of positions of each block.
    components: u64,
    slots: Slots,
}

/// The columns of the index. `.era1` has only one, for headers.
#[derive(Clone, Copy, Debug, Default)]
struct Slots {
    header: usize,
    body: Option<usize>,
    receipts: Option<usize>,
    difficulty: Option<usize>,
}

/// The positions of the records of a block. In `.era1` only the first one is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positions {
    pub(crate) header: u64,
    pub(crate) body: Option<u64>,
    pub(crate) receipts: Option<u64>,
    pub(crate) difficulty: Option<u64>,
}

impl Index {
    /// Reads the index of a file of `len` bytes.
    pub(crate) fn read(file: &File, len: u64) -> Result<Self, Fault> {
        match head_at(file, len, 0) {
            Ok(head) if head.kind == VERSION => {}
            _ => return Err("it does not begin with a version record".into()),
        }
        let damaged = || Fault::from("it does not end with a block index");
        let tail = len.checked_sub(2 * WORD).ok_or_else(damaged)?;
        let [components, count] = words_at(file, tail, 2)?[..] else {
            return Err(damaged());
        };
        let ere = COMPONENTS.contains(&components).then_some(());
        let ere = ere.and_then(|()| locate(file, len, ERE_INDEX, count, components, 3));
        let found = ere.map(|at| (Format::Ere, at, components));
        let found = found.or_else(|| {
            let at = locate(file, len, ERA1_INDEX, count, 1, 2)?;
            Some((Format::Era1, at, 1))
        });
        let (format, position, components) = found.ok_or_else(damaged)?;
        let [first] = words_at(file, position + HEAD_BYTES as u64, 1)?[..] else {
            return Err(damaged());
        };
        if count == 0 || count > BLOCKS_MAX {
            return Err(Fault::Malformed(format!(
                "its block index has {count} blocks; files have 1 to {BLOCKS_MAX}"
            )));
        }
        let last = first.checked_add(count - 1);
        let blocks = last.and_then(|last| BlockRange::new(first, last));
        let mut index = Self {
            format,
            position,
            blocks: blocks.ok_or("the first block in its block index is too large")?,
            components,
            slots: Slots::default(),
        };
        index.slots = index.find_slots(file)?;
        Ok(index)
    }

    /// Finds the columns by the record types of the first block.
    fn find_slots(&self, file: &File) -> Result<Slots, Fault> {
        let mut slots = Slots::default();
        if self.format == Format::Era1 {
            return Ok(slots);
        }
        let mut has_header = false;
        let row = self.rows(file, self.blocks.first, 1)?;
        for (slot, position) in row.into_iter().enumerate() {
            let head = head_at(file, self.position, position)?;
            let place = match head.kind {
                HEADER if !has_header => {
                    (slots.header, has_header) = (slot, true);
                    continue;
                }
                BODY => &mut slots.body,
                SLIM_RECEIPTS => &mut slots.receipts,
                TOTAL_DIFFICULTY => &mut slots.difficulty,
                // Proofs, and components of later versions.
                _ => continue,
            };
            if place.replace(slot).is_some() {
                return Err("its block index has two columns of one kind".into());
            }
        }
        match has_header && slots.body.is_some() {
            true => Ok(slots),
            false => Err("its block index has no headers or no bodies".into()),
        }
    }

    /// Whether the file has receipts.
    pub(crate) const fn has_receipts(&self) -> bool {
        matches!(self.format, Format::Era1) || self.slots.receipts.is_some()
    }

    /// The positions of `count` blocks from `first` on.
    pub(crate) fn positions(
        &self,
        file: &File,
        blocks: BlockRange,
    ) -> Result<Vec<Positions>, Fault> {
        let count = blocks.blocks().min(BLOCKS_MAX);
        let rows = self.rows(file, blocks.first, count)?;
        // At most five.
        let components = usize::try_from(self.components).unwrap_or(1);
        let rows = rows.chunks_exact(components).map(|row| {
            let at = |slot: Option<usize>| slot.and_then(|slot| row.get(slot).copied());
            Positions {
                header: row[self.slots.header.min(row.len() - 1)],
                body: at(self.slots.body),
                receipts: at(self.slots.receipts),
                difficulty: at(self.slots.difficulty),
            }
        });
        Ok(rows.collect())
    }

    /// All positions of some blocks of the file, block by block.
    fn rows(&self, file: &File, first: u64, count: u64) -> Result<Vec<u64>, Fault> {
        let row = first - self.blocks.first;
        let begin = self.position + HEAD_BYTES as u64 + WORD + row * self.components * WORD;
        let mut positions = words_at(file, begin, count * self.components)?;
        for position in &mut positions {
            // Relative to the record of the index, in two's complement.
            *position = position.wrapping_add(self.position);
            if *position >= self.position {
                return Err("a position in its block index is outside of the file".into());
            }
        }
        Ok(positions)
    }
}

/// Returns where the index record begins, if the file ends with one of this type and size.
/// `words` are its numbers without positions.
fn locate(
    file: &File,
    len: u64,
    kind: u16,
    count: u64,
    components: u64,
    words: u64,
) -> Option<u64> {
    let positions = count.checked_mul(components)?;
    let length = positions.checked_add(words)?.checked_mul(WORD)?;
    let begin = len.checked_sub(length.checked_add(HEAD_BYTES as u64)?)?;
    let head = head_at(file, len, begin).ok()?;
    (head.kind == kind && u64::from(head.length) == length).then_some(begin)
}

/// Reads the head of the record at a position below `len`.
pub(crate) fn head_at(file: &File, len: u64, position: u64) -> Result<RecordHead, Fault> {
    let mut bytes = [0; HEAD_BYTES];
    if len.saturating_sub(position) < HEAD_BYTES as u64 {
        return Err("a record is outside of the file".into());
    }
    file.read_exact_at(&mut bytes, position)
        .map_err(Fault::Io)?;
    RecordHead::parse(bytes).ok_or_else(|| "a record has reserved bytes that are not zero".into())
}

/// Reads numbers. The caller bounds their count by the size of the file.
fn words_at(file: &File, position: u64, count: u64) -> Result<Vec<u64>, Fault> {
    let bytes = usize::try_from(count.saturating_mul(WORD)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; bytes];
    file.read_exact_at(&mut bytes, position)
        .map_err(Fault::Io)?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().copied().map(u64::from_le_bytes).collect())
}
