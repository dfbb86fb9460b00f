//! One segment, mapped: rows of an address, and rows as transfers.
//!
//! Everything is read where it lies. The head and the classes are checked against their
//! checksums when the file is opened, the other parts by [`Segment::check`] only; so each
//! access checks its bounds, and damage in between is an error ([`Error::Corrupt`]) or, if
//! it hits an amount, not seen: as with the node's own files.

mod check;
mod dictionary;
mod rows;

use crate::{
    builder::{BUCKET_BITS_MAX, kind_code, standard_code},
    column::Column,
    error::{Error, Result},
    layout::{
        BLOCKS_MAX, CLASS_BYTES, HAS_ID, HAS_TOKEN, HEAD_BYTES, Head, HeadError, IS_INTERNAL,
        ODD_BYTES, Part, STEP, VERSION,
    },
};
use alloy_primitives::Address;
use dictionary::{ADDRESS_BYTES, Adjacency, Choice, Dictionary, address_at};
use memmap2::Mmap;
pub(crate) use rows::Rows;
use std::{
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
};
use txgraph_reader::OddLogs;
use txgraph_transfers::{
    BlockRange, DecodeCounts, Direction, EIP7708_LOG_ADDRESS, Kind, TokenFilter, TokenStandard,
    TransferFilter,
};

/// The bytes of a segment: mapped from a file, or in memory for tests.
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// An open segment.
pub(crate) struct Segment {
    bytes: Bytes,
    path: PathBuf,
    head: Head,
    classes: Vec<Class>,
    /// Number of rows, addresses, blocks: as what they index memory.
    rows: usize,
    addresses: usize,
    block_count: usize,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment")
            .field("path", &self.path)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

/// What rows have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Class {
    pub(crate) token: Option<Address>,
    pub(crate) standard: TokenStandard,
    pub(crate) kind: Kind,
    has_id: bool,
    /// Whether no log tells of its rows.
    pub(crate) is_internal: bool,
    /// How many rows.
    pub(crate) rows: u64,
}

impl Segment {
    /// Maps a file and checks its head and its classes.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |action| move |error| Error::io(action, path, error);
        let file = File::open(path).map_err(failed("open"))?;
        let length = file.metadata().map_err(failed("open"))?.len();
        if length < HEAD_BYTES as u64 {
            return Err(Error::corrupt(path, "it is shorter than its head"));
        }
        // SAFETY: the map stays sound as long as nobody shortens or rewrites the file
        // under it. Segments never change after they got their name: they are written
        // under another one, replaced by rename and deleted by unlink, none of which
        // touches the bytes of a file that is mapped. Somebody else's program could
        // write into the directory; what it writes is read as bytes that every access
        // checks, and a file cut short ends the process (SIGBUS) as it would for every
        // program that maps its files.
        #[expect(unsafe_code, reason = "mapping a file that is never written again")]
        let map = unsafe { Mmap::map(&file) }.map_err(failed("map"))?;
        Self::new(Bytes::Mapped(map), path)
    }

    /// The same over bytes in memory.
    pub(crate) fn from_bytes(bytes: Vec<u8>, path: &Path) -> Result<Self> {
        Self::new(Bytes::Owned(bytes), path)
    }

    fn new(bytes: Bytes, path: &Path) -> Result<Self> {
        let corrupt = |what: &str| Error::corrupt(path, what);
        let all = bytes.all();
        let head = Head::decode(all, all.len() as u64).map_err(|error| match error {
            HeadError::Corrupt(what) => corrupt(what),
            HeadError::Version(found) => Error::Version {
                path: path.to_owned(),
                found,
                known: VERSION,
            },
        })?;
        let count = |number: u64| usize::try_from(number).map_err(|_| corrupt("it is too large"));
        let mut segment = Self {
            rows: count(head.rows)?,
            addresses: count(head.addresses)?,
            block_count: count(head.blocks.blocks())?,
            bytes,
            path: path.to_owned(),
            head,
            classes: Vec::new(),
        };
        if segment.head.bucket_bits > BUCKET_BITS_MAX || segment.head.blocks.blocks() > BLOCKS_MAX {
            return Err(corrupt("its head makes no sense"));
        }
        segment.check_part(Part::Classes)?;
        let (classes, rest) = segment.part(Part::Classes).as_chunks::<CLASS_BYTES>();
        let classes: Option<Vec<_>> = classes.iter().map(Class::decode).collect();
        segment.classes = classes
            .filter(|_| rest.is_empty())
            .ok_or_else(|| corrupt("its list of tokens makes no sense"))?;
        Ok(segment)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn head(&self) -> &Head {
        &self.head
    }

    pub(crate) const fn blocks(&self) -> BlockRange {
        self.head.blocks
    }

    pub(crate) fn classes(&self) -> &[Class] {
        &self.classes
    }

    pub(crate) const fn row_count(&self) -> usize {
        self.rows
    }

    #[cold]
    pub(crate) fn corrupt(&self, what: impl Into<String>) -> Error {
        Error::corrupt(&self.path, what)
    }

    /// The bytes of a part.
    fn part(&self, part: Part) -> &[u8] {
        let place = &self.head.places[part as usize];
        // Inside of the file: the head was checked.
        let slice = |offset: u64, bytes: u64| {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(bytes).ok()?)?;
            self.bytes.all().get(start..end)
        };
        slice(place.offset, place.bytes).unwrap_or_default()
    }

    /// That a part has the checksum of the head.
    fn check_part(&self, part: Part) -> Result<()> {
        if crc32fast::hash(self.part(part)) == self.head.places[part as usize].crc {
            return Ok(());
        }
        Err(self.corrupt(format!("{part:?} does not have its checksum")))
    }

    /// That every part has its checksum.
    pub(crate) fn check(&self) -> Result<()> {
        Part::ALL
            .into_iter()
            .try_for_each(|part| self.check_part(part))
    }

    fn column(&self, part: Part, len: usize) -> Result<Column<'_>> {
        let width = self.head.places[part as usize].width as usize;
        Column::new(self.part(part), width, len)
            .ok_or_else(|| self.corrupt(format!("{part:?} is not as long as it should be")))
    }

    fn address_bytes(&self) -> Result<&[u8]> {
        let bytes = self.part(Part::Addresses);
        if self.addresses.checked_mul(ADDRESS_BYTES) == Some(bytes.len()) {
            return Ok(bytes);
        }
        Err(self.corrupt("its list of addresses is not as long as it should be"))
    }

    /// Rows of a run of blocks, all of which the segment has.
    pub(crate) fn rows_of(&self, blocks: BlockRange) -> Result<Range<usize>> {
        let starts = self.column(Part::BlockRows, self.block_count.saturating_add(1))?;
        let range = self.offsets(blocks).and_then(|offsets| {
            let (start, end) = (starts.index(offsets.start)?, starts.index(offsets.end)?);
            (start <= end && end <= self.rows).then_some(start..end)
        });
        range.ok_or_else(|| self.corrupt(format!("the rows of blocks {blocks} make no sense")))
    }

    /// Places of blocks in the columns by block.
    fn offsets(&self, blocks: BlockRange) -> Option<Range<usize>> {
        let start = usize::try_from(blocks.first.checked_sub(self.head.blocks.first)?).ok()?;
        let last = usize::try_from(blocks.last.checked_sub(self.head.blocks.first)?).ok()?;
        (last < self.block_count).then_some(start..last + 1)
    }

    /// What the decoder counted in a run of blocks, the transfers being all there are.
    pub(crate) fn counts(&self, blocks: BlockRange) -> Result<DecodeCounts> {
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
            let numbers = offsets.clone().map(|at| column.get(at).unwrap_or(0));
            *sum = numbers.fold(0, u64::saturating_add);
        }
        for odd in self.odd(blocks) {
            add_odd(&mut counts, &odd.counts);
        }
        Ok(counts)
    }

    /// The same, of odd logs only those of the tokens that are asked for.
    pub(crate) fn counts_of(
        &self,
        blocks: BlockRange,
        tokens: &TokenFilter,
    ) -> Result<DecodeCounts> {
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
        for odd in self.odd(blocks) {
            let of_chain = odd.emitter == EIP7708_LOG_ADDRESS;
            if tokens.wants(Some(&odd.emitter)) || (of_chain && tokens.wants(None)) {
                add_odd(&mut of_tokens, &odd.counts);
            }
        }
        Ok(of_tokens)
    }

    /// Odd logs of a run of blocks.
    pub(crate) fn odd(&self, blocks: BlockRange) -> impl Iterator<Item = OddLogs> {
        let (all, _) = self.part(Part::Odd).as_chunks::<ODD_BYTES>();
        let offsets = self.offsets(blocks).unwrap_or_default();
        let number = |entry: &[u8; ODD_BYTES], at: usize| {
            let bytes = entry[4 * at..].first_chunk().copied();
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        let first = all.partition_point(|entry| (number(entry, 0) as usize) < offsets.start);
        let first_block = self.head.blocks.first;
        all[first..]
            .iter()
            .take_while(move |entry| (number(entry, 0) as usize) < offsets.end)
            .map(move |entry| OddLogs {
                block: first_block.saturating_add(number(entry, 0).into()),
                emitter: address_at(&entry[20..], 0).unwrap_or_default(),
                counts: DecodeCounts {
                    malformed: number(entry, 1).into(),
                    malformed_erc1155: number(entry, 2).into(),
                    dirty_addresses: number(entry, 3).into(),
                    wraps_deduplicated: number(entry, 4).into(),
                    ..DecodeCounts::default()
                },
            })
    }

    /// Time and counts of one block, the transfers being all there are.
    pub(crate) fn block(&self, block: u64) -> Result<(u64, DecodeCounts)> {
        let blocks = BlockRange {
            first: block,
            last: block,
        };
        let offset = self.offsets(blocks).unwrap_or_default().start;
        let time = self.column(Part::Times, self.block_count)?.get(offset);
        let time = self.head.min_timestamp.saturating_add(time.unwrap_or(0));
        Ok((time, self.counts(blocks)?))
    }

    /// Which classes a filter wants, by number.
    pub(crate) fn wanted(&self, filter: &TransferFilter) -> Vec<bool> {
        let wants = |class: &Class| {
            filter.tokens.wants(class.token.as_ref())
                && filter.wants_sort(class.standard, class.kind)
                && (filter.internal || !class.is_internal)
        };
        self.classes.iter().map(wants).collect()
    }

    /// Fills `rows` with those in `within` that have one of `addresses`, which are sorted,
    /// at the end that `direction` names, and a class that is `wanted`; ascending, each once.
    pub(crate) fn rows_touching(
        &self,
        addresses: &[Address],
        direction: Direction,
        wanted: &[bool],
        within: Range<usize>,
        rows: &mut Vec<u32>,
    ) -> Result<()> {
        let out = self.adjacency(Part::OutStarts, Part::OutRows)?;
        let into = self.adjacency(Part::InStarts, Part::InRows)?;
        let ways: &[&Adjacency<'_>] = match direction {
            Direction::Out => &[&out],
            Direction::In => &[&into],
            Direction::Both => &[&out, &into],
        };
        let dictionary = self.dictionary()?;
        let classes = self.column(Part::RowClass, self.rows)?;
        let choice = Choice::new(classes, wanted, within, self.rows);
        rows.clear();
        let mut runs = 0;
        for address in addresses {
            let Some(number) = dictionary.find(address) else {
                continue;
            };
            for way in ways {
                let run = way.of(number).ok_or_else(|| self.bad_rows(address))?;
                let taken = way.choose(run, &choice, rows);
                runs += taken.ok_or_else(|| self.bad_rows(address))?;
            }
        }
        if runs > 1 {
            rows.sort_unstable();
        }
        // A damaged list may hold anything; what it may not do is to make rows come out
        // of order, or from blocks that were not asked for.
        let (first, last) = (rows.first(), rows.last());
        let within = &choice.within;
        if first.is_some_and(|row| (*row as usize) < within.start)
            || last.is_some_and(|row| *row as usize >= within.end)
            || !rows.is_sorted()
        {
            return Err(self.corrupt("the rows of an address are not in order"));
        }
        // Of a transfer between two of the addresses there are two.
        rows.dedup();
        Ok(())
    }

    #[cold]
    fn bad_rows(&self, address: &Address) -> Error {
        self.corrupt(format!("the rows of address {address} make no sense"))
    }

    fn adjacency(&self, starts: Part, rows: Part) -> Result<Adjacency<'_>> {
        Ok(Adjacency {
            starts: self.column(starts, self.addresses.saturating_add(1))?,
            rows: self.column(rows, self.rows)?,
        })
    }

    fn dictionary(&self) -> Result<Dictionary<'_>> {
        let bits = self.head.bucket_bits;
        Ok(Dictionary {
            bits,
            buckets: self.column(Part::Buckets, (1 << bits) + 1)?,
            addresses: self.address_bytes()?,
        })
    }

    /// How many rows each address has at the end that `direction` names (with `Both`, at
    /// either end, those to itself twice). Zero for addresses that are not there.
    pub(crate) fn degrees(
        &self,
        addresses: &[Address],
        direction: Direction,
        degrees: &mut [u64],
    ) -> Result<()> {
        let dictionary = self.dictionary()?;
        for (wanted, starts) in [
            (direction != Direction::In, Part::OutStarts),
            (direction != Direction::Out, Part::InStarts),
        ] {
            let starts = self.column(starts, self.addresses.saturating_add(1))?;
            for (address, degree) in addresses.iter().zip(&mut *degrees).filter(|_| wanted) {
                if let Some(number) = dictionary.find(address) {
                    let (start, end) = starts
                        .bounds(number)
                        .ok_or_else(|| self.bad_rows(address))?;
                    *degree += (end - start) as u64;
                }
            }
        }
        Ok(())
    }

    /// The columns of all rows.
    pub(crate) fn rows(&self) -> Result<Rows<'_>> {
        let column = |part| self.column(part, self.rows);
        column(Part::RowLength)?;
        Ok(Rows {
            segment: self,
            block: column(Part::RowBlock)?,
            transaction: column(Part::RowTransaction)?,
            log: column(Part::RowLog)?,
            sub: column(Part::RowSub)?,
            class: column(Part::RowClass)?,
            from: column(Part::RowFrom)?,
            to: column(Part::RowTo)?,
            times: self.column(Part::Times, self.block_count)?,
            addresses: self.address_bytes()?,
            lengths: self
                .part(Part::RowLength)
                .get(..self.rows)
                .ok_or_else(|| self.corrupt("its lengths are cut short"))?,
            anchors: self.column(Part::Anchors, self.rows.div_ceil(STEP))?,
            amounts: self.part(Part::Amounts),
        })
    }
}

impl Part {
    /// All parts, in order.
    const ALL: [Self; crate::layout::PARTS] = [
        Self::Classes,
        Self::Buckets,
        Self::Addresses,
        Self::OutStarts,
        Self::OutRows,
        Self::InStarts,
        Self::InRows,
        Self::BlockRows,
        Self::Times,
        Self::Transactions,
        Self::Logs,
        Self::Odd,
        Self::RowBlock,
        Self::RowTransaction,
        Self::RowLog,
        Self::RowSub,
        Self::RowClass,
        Self::RowFrom,
        Self::RowTo,
        Self::RowLength,
        Self::Anchors,
        Self::Amounts,
    ];
}

impl Class {
    fn decode(bytes: &[u8; CLASS_BYTES]) -> Option<Self> {
        let (token, rest) = bytes.split_first_chunk::<20>()?;
        let [standard, kind, flags, 0, count @ ..] = rest else {
            return None;
        };
        let by_code = |code: u8| {
            let mut standards = TokenStandard::ALL.iter().copied();
            standards.find(|standard| standard_code(*standard) == code)
        };
        let kind = Kind::ALL
            .iter()
            .copied()
            .find(|it| kind_code(*it) == *kind)?;
        if flags & !(HAS_TOKEN | HAS_ID | IS_INTERNAL) != 0 {
            return None;
        }
        Some(Self {
            token: (flags & HAS_TOKEN != 0).then_some(Address::new(*token)),
            standard: by_code(*standard)?,
            kind,
            has_id: flags & HAS_ID != 0,
            is_internal: flags & IS_INTERNAL != 0,
            rows: u64::from_le_bytes(*count.first_chunk()?),
        })
    }
}

fn add_odd(counts: &mut DecodeCounts, odd: &DecodeCounts) {
    counts.malformed += odd.malformed;
    counts.malformed_erc1155 += odd.malformed_erc1155;
    counts.dirty_addresses += odd.dirty_addresses;
    counts.wraps_deduplicated += odd.wraps_deduplicated;
}
