//! One segment, mapped: rows of an address, and rows as transfers.
//!
//! Everything is read where it lies. The head and the classes are checked against their
//! checksums when the file is opened, the other parts by [`Segment::check`] only; so each
//! access checks its bounds, and damage in between is an error ([`Error::Corrupt`]) or, if
//! it hits an amount, not seen: as with the node's own files.

use crate::{
    builder::{BUCKET_BITS_MAX, kind_code, leading_bits, standard_code},
    column::Column,
    error::{Error, Result},
    layout::{
        BLOCKS_MAX, CLASS_BYTES, HAS_ID, HAS_TOKEN, HEAD_BYTES, Head, HeadError, ODD_BYTES, Part,
        STEP, VERSION,
    },
};
use alloy_primitives::{Address, B256, U256};
use memmap2::Mmap;
use std::{
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
};
use txgraph_reader::OddLogs;
use txgraph_transfers::{
    BlockRange, DecodeCounts, Direction, EIP7708_LOG_ADDRESS, Kind, TokenFilter, TokenStandard,
    Transfer, TransferFilter,
};

/// Bytes of an address.
const ADDRESS_BYTES: usize = 20;

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
    /// How many rows.
    pub(crate) rows: u64,
}

/// The columns of the rows, looked up once for many rows.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    segment: &'a Segment,
    block: Column<'a>,
    transaction: Column<'a>,
    log: Column<'a>,
    sub: Column<'a>,
    class: Column<'a>,
    from: Column<'a>,
    to: Column<'a>,
    times: Column<'a>,
    addresses: &'a [u8],
    lengths: &'a [u8],
    anchors: Column<'a>,
    amounts: &'a [u8],
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
        };
        self.classes.iter().map(wants).collect()
    }

    /// Appends the rows in `within` that have one of `addresses`, which are sorted, at
    /// the end that `direction` names; ascending, each once.
    pub(crate) fn rows_touching(
        &self,
        addresses: &[Address],
        direction: Direction,
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
        let (before, mut runs) = (rows.len(), 0);
        for address in addresses {
            let Some(number) = dictionary.find(address) else {
                continue;
            };
            for way in ways {
                let run = way.of(number).ok_or_else(|| self.bad_rows(address))?;
                runs += usize::from(!run.is_empty());
                // Most addresses have few rows, most questions all blocks.
                let all = within.len() == self.rows;
                let run = if all { run } else { way.within(run, &within) };
                for at in run {
                    let row = way.rows.get(at).and_then(|row| u32::try_from(row).ok());
                    rows.push(row.ok_or_else(|| self.bad_rows(address))?);
                }
            }
        }
        let mut added = rows.split_off(before);
        if runs > 1 {
            added.sort_unstable();
            added.dedup();
        }
        // A damaged list may hold anything; what it may not do is to make rows come out
        // of order, or from blocks that were not asked for.
        if !added.is_sorted_by(|a, b| a < b)
            || added
                .first()
                .is_some_and(|row| (*row as usize) < within.start)
            || added.last().is_some_and(|row| *row as usize >= within.end)
        {
            return Err(self.corrupt("the rows of an address are not in order"));
        }
        rows.append(&mut added);
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

    /// What a checksum cannot show, as somebody could have computed it over nonsense:
    /// that addresses ascend, and that the rows of the two groupings are those of the
    /// rows' own ends.
    pub(crate) fn check_structure(&self) -> Result<()> {
        let dictionary = self.dictionary()?;
        let rows = self.rows()?;
        let mut before = None;
        for number in 0..self.addresses {
            let address = dictionary.address(number);
            if address <= before || address.map(|it| dictionary.find(&it)) != Some(Some(number)) {
                return Err(self.corrupt(format!("address {number} is not in its place")));
            }
            before = address;
        }
        for (starts, order, ends) in [
            (Part::OutStarts, Part::OutRows, &rows.from),
            (Part::InStarts, Part::InRows, &rows.to),
        ] {
            let adjacency = self.adjacency(starts, order)?;
            let mut seen = 0;
            for number in 0..self.addresses {
                let run = adjacency.of(number).filter(|run| run.start == seen);
                let run = run.ok_or_else(|| self.corrupt("the rows of an address overlap"))?;
                seen = run.end;
                let mut before = None;
                for at in run {
                    let row = adjacency.rows.index(at);
                    let own = row.is_some_and(|row| ends.index(row) == Some(number));
                    if row <= before || !own {
                        return Err(self.corrupt(format!("{order:?} holds a wrong row at {at}")));
                    }
                    before = row;
                }
            }
            if seen != self.rows {
                return Err(self.corrupt(format!("{order:?} does not hold every row")));
            }
        }
        let mut class_rows = vec![0; self.classes.len()];
        for row in 0..self.rows {
            class_rows[rows.class(row)?] += 1;
        }
        let stored: Vec<_> = self.classes.iter().map(|class| class.rows).collect();
        if class_rows != stored || !self.classes.is_sorted_by(|a, b| a < b) {
            return Err(self.corrupt("its list of tokens miscounts"));
        }
        let whole = self.rows_of(self.head.blocks)?;
        let odd: Vec<_> = self.odd(self.head.blocks).collect();
        if !odd.is_sorted_by_key(|odd| (odd.block, odd.emitter)) {
            return Err(self.corrupt("its odd logs are not in order"));
        }
        let mut sum = DecodeCounts::default();
        for block in self.head.blocks.first..=self.head.blocks.last {
            let (_, counts) = self.block(block)?;
            if counts.transactions.max(counts.logs) > u64::from(u32::MAX) {
                return Err(self.corrupt(format!("the account of block {block} makes no sense")));
            }
            sum += counts;
        }
        if whole != (0..self.rows) || sum != self.head.counts {
            return Err(self.corrupt("its accounts of blocks do not add up"));
        }
        Ok(())
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
        if flags & !(HAS_TOKEN | HAS_ID) != 0 {
            return None;
        }
        Some(Self {
            token: (flags & HAS_TOKEN != 0).then_some(Address::new(*token)),
            standard: by_code(*standard)?,
            kind,
            has_id: flags & HAS_ID != 0,
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

/// The sorted addresses, with a table that says where those with certain leading bits
/// begin. Addresses are hashes, so buckets are equally full, and one is found with two
/// cache misses whatever their number, where a binary search takes one for each of its
/// last dozen steps. Addresses ground to begin alike share a bucket; there it is a
/// binary search again.
struct Dictionary<'a> {
    bits: u32,
    buckets: Column<'a>,
    addresses: &'a [u8],
}

impl Dictionary<'_> {
    /// The number of an address; `None` if it is not there.
    #[inline]
    fn find(&self, address: &Address) -> Option<usize> {
        let bucket = usize::try_from(leading_bits(address, self.bits)).ok()?;
        let (start, end) = self.buckets.bounds(bucket)?;
        let bytes = self
            .addresses
            .get(start.checked_mul(ADDRESS_BYTES)?..end.checked_mul(ADDRESS_BYTES)?)?;
        let (bucket, _) = bytes.as_chunks::<ADDRESS_BYTES>();
        let at = bucket.binary_search(&address.0.0).ok()?;
        Some(start + at)
    }

    fn address(&self, number: usize) -> Option<Address> {
        address_at(self.addresses, number)
    }
}

#[inline]
fn address_at(addresses: &[u8], number: usize) -> Option<Address> {
    let start = number.checked_mul(ADDRESS_BYTES)?;
    let bytes = addresses.get(start..)?.first_chunk::<ADDRESS_BYTES>()?;
    Some(Address::new(*bytes))
}

/// Rows by address.
struct Adjacency<'a> {
    starts: Column<'a>,
    rows: Column<'a>,
}

impl Adjacency<'_> {
    /// Where the rows of an address stand.
    #[inline]
    fn of(&self, number: usize) -> Option<Range<usize>> {
        let (start, end) = self.starts.bounds(number)?;
        (end <= self.rows.len()).then_some(start..end)
    }

    /// Of a run of ascending rows, those in `within`.
    fn within(&self, run: Range<usize>, within: &Range<usize>) -> Range<usize> {
        let first_not_below = |limit: usize| {
            let (mut low, mut high) = (run.start, run.end);
            while low < high {
                let middle = low.midpoint(high);
                if self.rows.index(middle).is_some_and(|row| row < limit) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            low
        };
        first_not_below(within.start)..first_not_below(within.end)
    }
}

impl Rows<'_> {
    /// The number of a row's class.
    #[inline]
    pub(crate) fn class(&self, row: usize) -> Result<usize> {
        self.class
            .index(row)
            .filter(|class| *class < self.segment.classes.len())
            .ok_or_else(|| self.bad(row))
    }

    /// The block of a row.
    pub(crate) fn block(&self, row: usize) -> Result<u64> {
        let block = self.block.get(row);
        block
            .and_then(|offset| self.segment.head.blocks.first.checked_add(offset))
            .filter(|block| *block <= self.segment.head.blocks.last)
            .ok_or_else(|| self.bad(row))
    }

    /// The numbers of sender and receiver.
    #[inline]
    pub(crate) fn ends(&self, row: usize) -> Result<(usize, usize)> {
        match (self.from.index(row), self.to.index(row)) {
            (Some(from), Some(to)) => Ok((from, to)),
            _ => Err(self.bad(row)),
        }
    }

    /// The addresses with these numbers.
    pub(crate) fn addresses_of(&self, from: usize, to: usize) -> Result<(Address, Address)> {
        match (
            address_at(self.addresses, from),
            address_at(self.addresses, to),
        ) {
            (Some(from), Some(to)) => Ok((from, to)),
            _ => Err(self
                .segment
                .corrupt("a row names an address that is not there")),
        }
    }

    /// The amount of a row alone.
    pub(crate) fn value(&self, row: usize) -> Result<U256> {
        let class = self.segment.classes[self.class(row)?];
        Ok(self.amounts(row, class).ok_or_else(|| self.bad(row))?.0)
    }

    /// The transfer, its hash left zero.
    pub(crate) fn transfer(&self, row: usize) -> Result<Transfer> {
        let class = self.segment.classes[self.class(row)?];
        self.decode(row, class).ok_or_else(|| self.bad(row))
    }

    fn decode(&self, row: usize, class: Class) -> Option<Transfer> {
        let offset = self.block.index(row)?;
        let small = |column: &Column<'_>| u32::try_from(column.get(row)?).ok();
        let (value, token_id) = self.amounts(row, class)?;
        Some(Transfer {
            block_number: self.segment.head.blocks.first.checked_add(offset as u64)?,
            block_timestamp: self
                .segment
                .head
                .min_timestamp
                .checked_add(self.times.get(offset)?)?,
            transaction_index: small(&self.transaction)?,
            log_index: match self.log.get(row)? {
                0 => None,
                log => Some(u32::try_from(log - 1).ok()?),
            },
            sub_index: small(&self.sub)?,
            transaction_hash: B256::ZERO,
            token_address: class.token,
            from_address: address_at(self.addresses, self.from.index(row)?)?,
            to_address: address_at(self.addresses, self.to.index(row)?)?,
            value,
            token_id,
            token_standard: class.standard,
            kind: class.kind,
        })
    }

    /// Amount and token id.
    fn amounts(&self, row: usize, class: Class) -> Option<(U256, Option<U256>)> {
        let anchor = row / STEP;
        let before = self.lengths.get(anchor * STEP..row)?;
        let before: usize = before.iter().map(|length| usize::from(*length)).sum();
        let start = self.anchors.index(anchor)?.checked_add(before)?;
        let end = start.checked_add(usize::from(*self.lengths.get(row)?))?;
        let bytes = self.amounts.get(start..end)?;
        if !class.has_id {
            return Some((number(bytes)?, None));
        }
        let (length, bytes) = bytes.split_first()?;
        let (value, id) = bytes.split_at_checked(usize::from(*length))?;
        Some((number(value)?, Some(number(id)?)))
    }

    #[cold]
    fn bad(&self, row: usize) -> Error {
        self.segment.corrupt(format!("row {row} makes no sense"))
    }
}

/// A number of at most 32 bytes, little-endian.
#[inline]
fn number(bytes: &[u8]) -> Option<U256> {
    U256::try_from_le_slice(bytes)
}
