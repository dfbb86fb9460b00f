//! One open segment: the rows of an address, and rows as transfers.
//!
//! Everything is read in place through [`CheckedFile`], so each block of the file is
//! compared with its checksum before its first byte is used. What the checksums cannot
//! exclude is content that contradicts itself, because a defect of the writer (or someone
//! who computes checksums, too) put it there. So every access also checks its bounds, and
//! invalid content gives an error instead of a panic.

mod check;
mod classes;
mod dictionary;
mod places;
mod rows;

use crate::{
    builder::BUCKET_BITS_MAX,
    checksummed_file::{CheckedFile, Fault, Span},
    column::{Column, partition_point},
    error::{Error, Result, damaged},
    layout::{ANOMALY_BYTES, BLOCKS_MAX, CLASS_BYTES, Head, Part, STEP},
};
use alloy_primitives::Address;
use classes::Class;
use dictionary::{ADDRESS_BYTES, Adjacency, Choice, Dictionary};
use std::{ops::Range, path::Path, sync::OnceLock};
use txgraph_transfers::{
    AnomalousLogs, BlockRange, DecodeCounts, Direction, EIP7708_LOG_ADDRESS, TokenFilter,
};
pub(crate) use {classes::Wanted, places::Participants, rows::Rows};

pub(crate) struct Segment {
    file: CheckedFile,
    head: Head,
    /// CRC-32 of the head.
    checksum: u32,
    /// The number of classes.
    class_count: usize,
    /// Decoded when many are used: most segments have few rows of an ordinary address.
    classes: OnceLock<Box<[Class]>>,
    /// Whether it may have rows that are movements inside of transactions.
    may_have_internal: bool,
    /// The number of rows.
    rows: usize,
    /// The number of addresses.
    addresses: usize,
    /// The number of blocks.
    block_count: usize,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment")
            .field("file", &self.file)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

impl Segment {
    /// Maps a file and checks its head. `may_have_internal` is false if its manifest excludes
    /// movements inside of transactions.
    pub(crate) fn open(path: &Path, may_have_internal: bool) -> Result<Self> {
        let mut segment = Self::new(CheckedFile::open(path)?)?;
        segment.may_have_internal = may_have_internal;
        Ok(segment)
    }

    /// The same for bytes in memory.
    pub(crate) fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        Self::new(CheckedFile::from_bytes(bytes, path)?)
    }

    fn new((file, head, checksum): (CheckedFile, Head, u32)) -> Result<Self> {
        let invalid = || damaged(file.path(), "its head is invalid");
        let count = |number: u64| usize::try_from(number).map_err(|_| invalid());
        if head.bucket_bits > BUCKET_BITS_MAX || head.blocks.blocks() > BLOCKS_MAX {
            return Err(invalid());
        }
        let class_bytes = file.span(Part::Classes).len();
        if !class_bytes.is_multiple_of(CLASS_BYTES) {
            return Err(invalid());
        }
        Ok(Self {
            class_count: class_bytes / CLASS_BYTES,
            classes: OnceLock::new(),
            may_have_internal: true,
            rows: count(head.rows)?,
            addresses: count(head.addresses)?,
            block_count: count(head.blocks.blocks())?,
            checksum,
            head,
            file,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) const fn head(&self) -> &Head {
        &self.head
    }

    /// CRC-32 of the head, which pins every byte of the file.
    pub(crate) const fn checksum(&self) -> u32 {
        self.checksum
    }

    pub(crate) const fn blocks(&self) -> BlockRange {
        self.head.blocks
    }

    pub(crate) const fn row_count(&self) -> usize {
        self.rows
    }

    #[cold]
    pub(crate) fn damaged(&self, what: impl Into<String>) -> Error {
        damaged(self.path(), what)
    }

    /// Compares every block of the file with its checksum.
    pub(crate) fn check(&self) -> Result<()> {
        self.file.check_all()
    }

    fn column(&self, part: Part, len: usize) -> Result<Column<'_>, Fault<'_>> {
        let width = self.head.parts[part as usize].width as usize;
        Column::new(self.file.span(part), width, len)
    }

    fn address_bytes(&self) -> Result<Span<'_>, Fault<'_>> {
        let span = self.file.span(Part::Addresses);
        match self.addresses.checked_mul(ADDRESS_BYTES) == Some(span.len()) {
            true => Ok(span),
            false => Err(span.invalid()),
        }
    }

    /// Returns the rows of consecutive blocks, all of which are in the segment.
    pub(crate) fn rows_of(&self, blocks: BlockRange) -> Result<Range<usize>, Fault<'_>> {
        let starts = self.column(Part::BlockRows, self.block_count.saturating_add(1))?;
        let offsets = self.offsets(blocks).ok_or_else(|| starts.invalid())?;
        let (start, end) = (starts.index(offsets.start)?, starts.index(offsets.end)?);
        match start <= end && end <= self.rows {
            true => Ok(start..end),
            false => Err(starts.invalid()),
        }
    }

    /// Returns the places of blocks in the columns by block; `None` if they are not in it.
    fn offsets(&self, blocks: BlockRange) -> Option<Range<usize>> {
        let start = usize::try_from(blocks.first.checked_sub(self.head.blocks.first)?).ok()?;
        let last = usize::try_from(blocks.last.checked_sub(self.head.blocks.first)?).ok()?;
        (last < self.block_count).then_some(start..last + 1)
    }

    /// Returns what the decoder counted in consecutive blocks, all their transfers included.
    pub(crate) fn counts(&self, blocks: BlockRange) -> Result<DecodeCounts, Fault<'_>> {
        if blocks == self.head.blocks {
            return Ok(self.head.counts);
        }
        let rows = self.rows_of(blocks)?;
        let mut counts = DecodeCounts {
            blocks: blocks.blocks(),
            transfers: (rows.end - rows.start) as u64,
            ..DecodeCounts::default()
        };
        let offsets = self.offsets(blocks).unwrap_or_default();
        for (part, sum) in [
            (Part::Transactions, &mut counts.transactions),
            (Part::Logs, &mut counts.logs),
        ] {
            let column = self.column(part, self.block_count)?;
            for at in offsets.clone() {
                *sum = sum.saturating_add(column.get(at)?);
            }
        }
        for logs in self.anomalies(blocks)? {
            add_anomalies(&mut counts, &logs.counts);
        }
        Ok(counts)
    }

    /// The same, but anomalous logs count only if they belong to the wanted tokens.
    pub(crate) fn counts_of(
        &self,
        blocks: BlockRange,
        tokens: &TokenFilter,
    ) -> Result<DecodeCounts, Fault<'_>> {
        let counts = self.counts(blocks)?;
        if matches!(tokens, TokenFilter::All) {
            return Ok(counts);
        }
        let mut of_tokens = DecodeCounts {
            malformed: 0,
            malformed_erc1155: 0,
            dirty_addresses: 0,
            wraps_deduplicated: 0,
            ..counts
        };
        for logs in self.anomalies(blocks)? {
            let of_chain = logs.emitter == EIP7708_LOG_ADDRESS;
            if tokens.matches(Some(&logs.emitter)) || (of_chain && tokens.matches(None)) {
                add_anomalies(&mut of_tokens, &logs.counts);
            }
        }
        Ok(of_tokens)
    }

    pub(crate) fn anomalies(&self, blocks: BlockRange) -> Result<Vec<AnomalousLogs>, Fault<'_>> {
        let span = self.file.span(Part::Anomalies);
        let offsets = self.offsets(blocks).unwrap_or_default();
        let entry = |at: usize| span.array::<ANOMALY_BYTES>(at * ANOMALY_BYTES);
        let number = |entry: &[u8; ANOMALY_BYTES], at: usize| {
            let bytes = entry[4 * at..].first_chunk().copied();
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        let block = |at: usize| entry(at).map(|entry| number(entry, 0) as usize);
        let count = span.len() / ANOMALY_BYTES;
        let first = partition_point(0..count, |at| Ok(block(at)? < offsets.start))?;
        let mut anomalies = Vec::new();
        for at in first..count {
            if block(at)? >= offsets.end {
                break;
            }
            let entry = entry(at)?;
            anomalies.push(AnomalousLogs {
                block: self
                    .head
                    .blocks
                    .first
                    .saturating_add(number(entry, 0).into()),
                emitter: Address::from_slice(&entry[ANOMALY_BYTES - ADDRESS_BYTES..]),
                counts: DecodeCounts {
                    malformed: number(entry, 1).into(),
                    malformed_erc1155: number(entry, 2).into(),
                    dirty_addresses: number(entry, 3).into(),
                    wraps_deduplicated: number(entry, 4).into(),
                    ..DecodeCounts::default()
                },
            });
        }
        Ok(anomalies)
    }

    /// Returns time and counts of one block, all its transfers included.
    pub(crate) fn block(&self, block: u64) -> Result<(u64, DecodeCounts), Fault<'_>> {
        let blocks = BlockRange::one(block);
        let offset = self.offsets(blocks).unwrap_or_default().start;
        let time = self.column(Part::Times, self.block_count)?.get(offset)?;
        let time = self.head.min_timestamp.saturating_add(time);
        Ok((time, self.counts(blocks)?))
    }

    /// Returns the numbers of the addresses that the segment has, in the order of `addresses`.
    pub(crate) fn numbers_of(&self, addresses: &[Address]) -> Result<Vec<usize>, Fault<'_>> {
        let dictionary = self.dictionary()?;
        let found = addresses.iter().map(|address| dictionary.find(address));
        found.filter_map(Result::transpose).collect()
    }

    /// Fills `rows` with the rows in `within` that have a class that is `wanted` and one of the
    /// addresses with these `numbers`, which are ascending, on the side that `direction`
    /// selects. The rows are ascending and distinct.
    pub(crate) fn rows_touching<'a>(
        &'a self,
        numbers: &[usize],
        direction: Direction,
        wanted: &Wanted<'a>,
        within: Range<usize>,
        rows: &mut Vec<u32>,
    ) -> Result<(), Fault<'a>> {
        let out = self.adjacency(Part::OutStarts, Part::OutRows)?;
        let into = self.adjacency(Part::InStarts, Part::InRows)?;
        let sides: &[&Adjacency<'_>] = match direction {
            Direction::Out => &[&out],
            Direction::In => &[&into],
            Direction::Both => &[&out, &into],
        };
        let classes = self.column(Part::RowClass, self.rows)?;
        let choice = Choice::new(classes, wanted, within, self.rows);
        rows.clear();
        let mut runs = 0;
        for number in numbers {
            for side in sides {
                runs += side.choose(side.of(*number)?, &choice, rows)?;
            }
        }
        if runs > 1 {
            rows.sort_unstable();
        }
        // Invalid content must not make rows come out of order, or from other blocks.
        let (first, last) = (rows.first(), rows.last());
        let within = &choice.within;
        if first.is_some_and(|row| (*row as usize) < within.start)
            || last.is_some_and(|row| *row as usize >= within.end)
            || !rows.is_sorted()
        {
            return Err(out.rows.invalid());
        }
        // A transfer between two of the addresses was found twice.
        rows.dedup();
        Ok(())
    }

    fn adjacency(&self, starts: Part, rows: Part) -> Result<Adjacency<'_>, Fault<'_>> {
        Ok(Adjacency {
            starts: self.column(starts, self.addresses.saturating_add(1))?,
            rows: self.column(rows, self.rows)?,
        })
    }

    fn dictionary(&self) -> Result<Dictionary<'_>, Fault<'_>> {
        let bits = self.head.bucket_bits;
        Ok(Dictionary {
            bits,
            buckets: self.column(Part::Buckets, (1 << bits) + 1)?,
            addresses: self.address_bytes()?,
        })
    }

    /// Adds to `degrees` how many rows each address has on the side that `direction`
    /// selects. With `Both` rows of an address to itself count twice.
    pub(crate) fn degrees(
        &self,
        addresses: &[Address],
        direction: Direction,
        degrees: &mut [u64],
    ) -> Result<(), Fault<'_>> {
        let dictionary = self.dictionary()?;
        for (wanted, starts) in [
            (direction != Direction::In, Part::OutStarts),
            (direction != Direction::Out, Part::InStarts),
        ] {
            let starts = self.column(starts, self.addresses.saturating_add(1))?;
            for (address, degree) in addresses.iter().zip(&mut *degrees).filter(|_| wanted) {
                if let Some(number) = dictionary.find(address)? {
                    let (start, end) = starts.bounds(number)?;
                    *degree += (end - start) as u64;
                }
            }
        }
        Ok(())
    }

    /// Returns the columns of all rows, of which about `uses` are read.
    pub(crate) fn rows(&self, uses: usize) -> Result<Rows<'_>, Fault<'_>> {
        let column = |part| self.column(part, self.rows);
        column(Part::RowLength)?;
        Ok(Rows {
            segment: self,
            classes: self.classes_for(uses)?,
            block: column(Part::RowBlock)?,
            transaction: column(Part::RowTransaction)?,
            log: column(Part::RowLog)?,
            sub: column(Part::RowSub)?,
            class: column(Part::RowClass)?,
            from: column(Part::RowFrom)?,
            to: column(Part::RowTo)?,
            times: self.column(Part::Times, self.block_count)?,
            addresses: self.address_bytes()?,
            lengths: self.file.span(Part::RowLength),
            anchors: self.column(Part::Anchors, self.rows.div_ceil(STEP))?,
            amounts: self.file.span(Part::Amounts),
        })
    }
}

fn add_anomalies(counts: &mut DecodeCounts, anomalies: &DecodeCounts) {
    counts.malformed += anomalies.malformed;
    counts.malformed_erc1155 += anomalies.malformed_erc1155;
    counts.dirty_addresses += anomalies.dirty_addresses;
    counts.wraps_deduplicated += anomalies.wraps_deduplicated;
}
