//! Builds a segment: blocks go in, one file comes out.
//!
//! Rows are stored as columns from the start, about 40 bytes each, with addresses as
//! numbers in the order in which they were first seen. When all blocks are there, the
//! addresses are sorted and their numbers replaced by positions in the sorted list. The rows
//! are then grouped by class, and within a class by sender and by receiver, with counting
//! sorts. Parts are written one after the other from one reused buffer, so no data is in
//! memory twice.

use crate::{
    error::{Error, Result},
    layout::{
        ANOMALY_BYTES, CLASS_BYTES, Format, HAS_ID, HAS_TOKEN, Head, IS_INTERNAL, Part, STEP,
    },
    part_writer::Writer,
    place_builder::PlaceBuilder,
};
use alloy_primitives::{Address, B256, U256};
use std::{
    io::{Seek, Write},
    path::Path,
};
use txgraph_base::Interner;
use txgraph_transfers::{
    AnomalousLogs, BlockRange, BlockSummary, Csr, DecodeCounts, Kind, Participation, TokenStandard,
    Transfer,
};

/// The number of transfers that are appended together.
const GROUP: usize = 16;

/// The number of rows at which a segment ends: row numbers have 32 bits.
const ROWS_MAX: usize = 1 << 31;

/// The average number of addresses in a bucket.
const BUCKET: usize = 4;

/// The maximum number of leading bits. Even 2^32 addresses do not need more.
pub(crate) const BUCKET_BITS_MAX: u32 = 31;

/// The number of slots for recently used classes: more than most segments have classes.
const RECENT_CLASSES: usize = 1 << 10;

/// Returns the slot of a class. Classes that share a slot, by chance or by intent, are only
/// slower: they are looked up in the sorted list.
fn class_slot((token, _, kind, ..): &Class) -> usize {
    let token = token.map_or(0, |token| u16::from_le_bytes([token[18], token[19]]));
    (usize::from(token) ^ usize::from(kind_code(*kind)) << 4) % RECENT_CLASSES
}

/// The expected size of a segment: the size of the segment before. It avoids copying columns
/// and rehashing addresses while they grow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Capacity {
    rows: usize,
    addresses: usize,
    amounts: usize,
}

/// Token, standard, kind, whether there are token ids, and whether there is no log.
type Class = (Option<Address>, TokenStandard, Kind, bool, bool);

/// Block, contract, and the numbers of malformed logs, malformed ERC-1155 logs, dirty
/// addresses and duplicate wraps.
type Anomaly = (u32, Address, [u32; 4]);

/// A segment that is being built.
#[derive(Debug)]
pub(crate) struct Builder {
    genesis_hash: B256,
    chain_id: u64,
    first: u64,
    parent_hash: B256,
    last_hash: B256,
    counts: DecodeCounts,
    addresses: Interner<Address>,
    /// Classes with their numbers, sorted by class. Hundreds in a segment, thousands at most.
    classes: Vec<(Class, u32)>,
    /// The number of rows, by number of the class.
    class_rows: Vec<u64>,
    /// Recently used classes, each at its [`class_slot`].
    recent_classes: Vec<Option<(Class, u32)>>,
    // By block.
    block_rows: Vec<u32>,
    times: Vec<u64>,
    transactions: Vec<u32>,
    logs: Vec<u32>,
    anomalies: Vec<Anomaly>,
    // By row.
    row_transaction: Vec<u32>,
    row_log: Vec<u32>,
    row_sub: Vec<u32>,
    row_class: Vec<u32>,
    row_from: Vec<u32>,
    row_to: Vec<u32>,
    row_length: Vec<u8>,
    amounts: Vec<u8>,
    /// `None` in a format without transactions by address.
    places: Option<PlaceBuilder>,
}

/// A segment that was written.
#[derive(Debug)]
pub(crate) struct FinishedSegment {
    pub(crate) head: Head,
    /// Length of the file.
    pub(crate) bytes: u64,
}

impl Builder {
    /// Starts a segment whose first block is `first`.
    pub(crate) fn new(
        chain_id: u64,
        genesis_hash: B256,
        first: u64,
        parent_hash: B256,
        capacity: Capacity,
        format: Format,
    ) -> Self {
        let Capacity {
            rows,
            addresses,
            amounts,
        } = capacity;
        Self {
            genesis_hash,
            chain_id,
            first,
            parent_hash,
            last_hash: B256::ZERO,
            counts: DecodeCounts::default(),
            addresses: Interner::with_capacity(addresses),
            classes: Vec::new(),
            class_rows: Vec::new(),
            recent_classes: vec![None; RECENT_CLASSES],
            block_rows: Vec::new(),
            times: Vec::new(),
            transactions: Vec::new(),
            logs: Vec::new(),
            anomalies: Vec::new(),
            row_transaction: Vec::with_capacity(rows),
            row_log: Vec::with_capacity(rows),
            row_sub: Vec::with_capacity(rows),
            row_class: Vec::with_capacity(rows),
            row_from: Vec::with_capacity(rows),
            row_to: Vec::with_capacity(rows),
            row_length: Vec::with_capacity(rows),
            amounts: Vec::with_capacity(amounts),
            places: (format == Format::Transactions).then(PlaceBuilder::default),
        }
    }

    /// Appends consecutive blocks with their transfers in total order, and with participations if the
    /// format has them, which are settled. `hash` is the hash of the last block.
    pub(crate) fn push(
        &mut self,
        summaries: &[BlockSummary],
        anomalies: &[AnomalousLogs],
        mut transfers: &[Transfer],
        participations: &[Participation],
        hash: B256,
    ) -> Result<()> {
        for summary in summaries {
            let rows = usize::try_from(summary.counts.transfers).unwrap_or(usize::MAX);
            let (own, rest) = transfers
                .split_at_checked(rows)
                .ok_or_else(|| bad_input(summary.number, "fewer transfers than counted"))?;
            self.block(summary, own)?;
            transfers = rest;
        }
        anomalies.iter().try_for_each(|logs| self.anomaly(logs))?;
        if let Some(places) = &mut self.places {
            places.push(self.first, participations, &mut self.addresses)?;
        }
        match transfers.first() {
            None => {
                self.last_hash = hash;
                Ok(())
            }
            Some(more) => Err(bad_input(more.block_number, "more transfers than counted")),
        }
    }

    fn block(&mut self, summary: &BlockSummary, transfers: &[Transfer]) -> Result<()> {
        let block = summary.number;
        if Some(block) != self.next_block() {
            return Err(bad_input(block, "it does not follow the previous block"));
        }
        let too_large = |what| move |_| Error::TooMany { block, what };
        let DecodeCounts {
            transactions, logs, ..
        } = summary.counts;
        let number = |number: u64, what| u32::try_from(number).map_err(too_large(what));
        let first_row = number(self.row_from.len() as u64, "transfers for one segment")?;
        self.block_rows.push(first_row);
        self.times.push(summary.timestamp);
        let transactions = number(transactions, "transactions for one segment")?;
        self.transactions.push(transactions);
        if let Some(places) = &mut self.places {
            places.block(block, transactions)?;
        }
        self.logs.push(number(logs, "logs for one segment")?);
        self.counts += summary.counts;
        let ends = transfers.iter().map(|it| [it.from_address, it.to_address]);
        let rows = [&mut self.row_from, &mut self.row_to];
        let interned = self.addresses.intern_pairs(ends, rows);
        interned.map_err(|_| Error::TooMany {
            block,
            what: "addresses for one segment",
        })?;
        transfers
            .chunks(GROUP)
            .try_for_each(|some| self.rows_of(some))
    }

    /// Appends at most [`GROUP`] rows without the ends, column by column.
    fn rows_of(&mut self, some: &[Transfer]) -> Result<()> {
        let too_large = |what| {
            let block = some.first().map_or(0, |transfer| transfer.block_number);
            move || Error::TooMany { block, what }
        };
        for transfer in some {
            let class = (
                transfer.token_address,
                transfer.token_standard,
                transfer.kind,
                transfer.token_id.is_some(),
                transfer.kind.is_internal(transfer.log_index.is_some()),
            );
            let class = self
                .class(class)
                .ok_or_else(too_large("tokens for one segment"))?;
            self.row_class.push(class);
        }
        for transfer in some {
            let log = transfer.log_index.map_or(Some(0), |log| log.checked_add(1));
            self.row_log
                .push(log.ok_or_else(too_large("logs for one segment"))?);
        }
        let transactions = some.iter().map(|transfer| transfer.transaction_index);
        self.row_transaction.extend(transactions);
        self.row_sub
            .extend(some.iter().map(|transfer| transfer.sub_index));
        for Transfer {
            value, token_id, ..
        } in some
        {
            let start = self.amounts.len();
            if let Some(id) = token_id {
                // At most 32.
                self.amounts
                    .push(u8::try_from(value.byte_len()).unwrap_or(u8::MAX));
                push_number(&mut self.amounts, *value);
                push_number(&mut self.amounts, *id);
            } else {
                push_number(&mut self.amounts, *value);
            }
            // At most 65.
            let length = u8::try_from(self.amounts.len() - start).unwrap_or(u8::MAX);
            self.row_length.push(length);
        }
        Ok(())
    }

    fn anomaly(&mut self, logs: &AnomalousLogs) -> Result<()> {
        let AnomalousLogs {
            block,
            emitter,
            counts,
        } = *logs;
        let number = |number: u64| {
            u32::try_from(number).map_err(|_| Error::TooMany {
                block,
                what: "anomalous logs for one segment",
            })
        };
        let offset = block.checked_sub(self.first);
        let offset = offset.ok_or_else(|| bad_input(block, "it is below the segment"))?;
        self.anomalies.push((
            number(offset)?,
            emitter,
            [
                number(counts.malformed)?,
                number(counts.malformed_erc1155)?,
                number(counts.dirty_addresses)?,
                number(counts.wraps_deduplicated)?,
            ],
        ));
        Ok(())
    }

    #[inline]
    fn class(&mut self, class: Class) -> Option<u32> {
        let place = class_slot(&class);
        let number = match self.recent_classes[place] {
            Some((recent, number)) if recent == class => number,
            _ => self.find_class(class)?,
        };
        self.recent_classes[place] = Some((class, number));
        self.class_rows[number as usize] += 1;
        Some(number)
    }

    fn find_class(&mut self, class: Class) -> Option<u32> {
        match self
            .classes
            .binary_search_by_key(&class, |(class, _)| *class)
        {
            Ok(at) => Some(self.classes[at].1),
            Err(at) => {
                let number = u32::try_from(self.class_rows.len()).ok()?;
                self.classes.insert(at, (class, number));
                self.class_rows.push(0);
                Some(number)
            }
        }
    }

    /// Returns the number of the next block; `None` after block 2^64 - 1.
    fn next_block(&self) -> Option<u64> {
        self.first.checked_add(self.times.len() as u64)
    }

    /// Returns the blocks that were appended.
    pub(crate) fn blocks(&self) -> Option<BlockRange> {
        BlockRange::new(self.first, self.next_block()?.checked_sub(1)?)
    }

    /// Returns the memory in use plus what [`Self::finish`] will add, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // Per row six numbers and a length; later one number for each of the two groupings
        // and for the order by class. Of a place two numbers, and later one for its grouping.
        let places = self.places.as_ref().map_or(0, PlaceBuilder::len);
        self.row_from.len() * (6 * 4 + 1 + 3 * 4)
            + places * 3 * 4
            + self.amounts.len()
            + self.times.len() * (3 * 4 + 8)
            + self.addresses.bytes() * 3 / 2
    }

    /// Returns the capacity for a segment like this one, and 6 % more.
    pub(crate) fn capacity(&self) -> Capacity {
        let more = |held: usize| held + held / 16;
        Capacity {
            rows: more(self.row_from.len()),
            addresses: more(self.addresses.len()),
            amounts: more(self.amounts.len()),
        }
    }

    /// Returns the number of rows that were appended.
    pub(crate) fn rows(&self) -> usize {
        self.row_from.len()
    }

    /// Whether the segment must not become much larger.
    pub(crate) fn is_full(&self) -> bool {
        self.rows() > ROWS_MAX || self.places.as_ref().is_some_and(PlaceBuilder::is_full)
    }

    /// Writes the segment to `file`, which is empty. Does not sync it.
    pub(crate) fn finish<W: Write + Seek>(
        mut self,
        file: &mut W,
        path: &Path,
    ) -> Result<FinishedSegment> {
        let blocks = self
            .blocks()
            .ok_or_else(|| bad_input(self.first, "a segment has at least one block"))?;
        let rows = u32::try_from(self.rows()).map_err(|_| Error::TooMany {
            block: blocks.last,
            what: "transfers for one segment",
        })?;
        let format = Format::with_transactions(self.places.is_some());
        let mut out = Writer::new(file, path, format)?;
        self.write_classes(&mut out)?;
        let (addresses, bucket_bits) = self.write_addresses(&mut out)?;
        self.write_adjacency(&mut out, rows, addresses)?;
        let min_timestamp = self.write_blocks(&mut out, rows)?;
        self.write_rows(&mut out, rows)?;
        self.write_amounts(&mut out)?;
        if let Some(places) = self.places.take() {
            places.write(&mut out, addresses)?;
        }
        let (head, bytes) = out.finish(Head {
            format,
            genesis_hash: self.genesis_hash,
            chain_id: self.chain_id,
            blocks,
            parent_hash: self.parent_hash,
            last_hash: self.last_hash,
            rows: rows.into(),
            addresses: addresses as u64,
            min_timestamp,
            counts: self.counts,
            bucket_bits,
            // Filled in by the writer.
            parts: Default::default(),
            root_checksum: 0,
        })?;
        Ok(FinishedSegment { head, bytes })
    }

    /// Writes the classes in ascending order and renumbers the classes of the rows.
    fn write_classes<W: Write + Seek>(&mut self, out: &mut Writer<'_, W>) -> Result<()> {
        let mut places = vec![0; self.classes.len()];
        for (place, ((token, standard, kind, has_id, is_internal), number)) in
            (0..).zip(&self.classes)
        {
            places[*number as usize] = place;
            out.buffer.extend(token.unwrap_or_default());
            let flags = if token.is_some() { HAS_TOKEN } else { 0 };
            let flags = flags | if *has_id { HAS_ID } else { 0 };
            let flags = flags | if *is_internal { IS_INTERNAL } else { 0 };
            out.buffer
                .extend([standard_code(*standard), kind_code(*kind), flags, 0]);
            out.buffer
                .extend(self.class_rows[*number as usize].to_le_bytes());
        }
        debug_assert_eq!(out.buffer.len(), self.classes.len() * CLASS_BYTES);
        out.part(Part::Classes, 0)?;
        for number in &mut self.row_class {
            *number = places[*number as usize];
        }
        Ok(())
    }

    /// Writes the addresses in ascending order and renumbers the addresses of the rows.
    /// Returns the number of addresses and the number of bits that select a bucket.
    fn write_addresses<W: Write + Seek>(
        &mut self,
        out: &mut Writer<'_, W>,
    ) -> Result<(usize, u32)> {
        let sorted = std::mem::take(&mut self.addresses).sorted();
        let bits = bucket_bits(sorted.len());
        let buckets = (0..=1_u64 << bits).map(|bucket| {
            sorted.partition_point(|(address, _)| leading_bits(address, bits) < bucket) as u64
        });
        out.column(Part::Buckets, buckets, sorted.len() as u64)?;
        let mut places = vec![0_u32; sorted.len()];
        for (place, (address, number)) in (0..).zip(&sorted) {
            places[*number as usize] = place;
            out.buffer.extend(address);
        }
        out.part(Part::Addresses, 0)?;
        let count = sorted.len();
        drop(sorted);
        let of_places = self.places.iter_mut().flat_map(PlaceBuilder::addresses_mut);
        let of_rows = self.row_from.iter_mut().chain(&mut self.row_to);
        for number in of_rows.chain(of_places) {
            *number = places[*number as usize];
        }
        Ok((count, bits))
    }

    /// Writes the rows by sender and by receiver.
    fn write_adjacency<W: Write + Seek>(
        &self,
        out: &mut Writer<'_, W>,
        rows: u32,
        addresses: usize,
    ) -> Result<()> {
        let classes = self.row_class.iter().copied();
        let by_class =
            Csr::group_counted(self.classes.len(), classes.clone(), classes.zip(0..rows));
        let (_, by_class) = by_class.into_parts();
        for (starts_part, rows_part, ends) in [
            (Part::OutStarts, Part::OutRows, &self.row_from),
            (Part::InStarts, Part::InRows, &self.row_to),
        ] {
            // Within an address, the rows keep the order of the classes.
            let pairs = by_class.iter().map(|row| (ends[*row as usize], *row));
            let grouped = Csr::group_counted(addresses, ends.iter().copied(), pairs);
            let (starts, grouped) = grouped.into_parts();
            let starts = starts.into_iter().map(u64::from);
            out.column(starts_part, starts, rows.into())?;
            let last_row = rows.saturating_sub(1);
            let grouped = grouped.into_iter().map(u64::from);
            out.column(rows_part, grouped, last_row.into())?;
        }
        Ok(())
    }

    /// Writes the columns by block. Returns the time of the earliest block.
    fn write_blocks<W: Write + Seek>(&self, out: &mut Writer<'_, W>, rows: u32) -> Result<u64> {
        let starts = self.block_rows.iter().copied().chain([rows]);
        out.column(Part::BlockRows, starts.map(u64::from), rows.into())?;
        let min_timestamp = self.times.iter().copied().min().unwrap_or(0);
        let times = || self.times.iter().map(|time| time - min_timestamp);
        out.column(Part::Times, times(), times().max().unwrap_or(0))?;
        out.numbers(Part::Transactions, &self.transactions)?;
        out.numbers(Part::Logs, &self.logs)?;
        for (offset, emitter, counts) in &self.anomalies {
            out.buffer.extend(offset.to_le_bytes());
            counts
                .iter()
                .for_each(|count| out.buffer.extend(count.to_le_bytes()));
            out.buffer.extend(emitter);
        }
        debug_assert_eq!(out.buffer.len(), self.anomalies.len() * ANOMALY_BYTES);
        out.part(Part::Anomalies, 0)?;
        Ok(min_timestamp)
    }

    /// Writes the columns by row.
    fn write_rows<W: Write + Seek>(&self, out: &mut Writer<'_, W>, rows: u32) -> Result<()> {
        let starts = self.block_rows.iter().copied();
        let ends = starts.clone().skip(1).chain([rows]);
        let blocks = (0_u64..).zip(starts.zip(ends));
        let blocks = blocks.flat_map(|(block, (start, end))| (start..end).map(move |_| block));
        let last_block = self.block_rows.len().saturating_sub(1);
        out.column(Part::RowBlock, blocks, last_block as u64)?;
        out.numbers(Part::RowTransaction, &self.row_transaction)?;
        out.numbers(Part::RowLog, &self.row_log)?;
        out.numbers(Part::RowSub, &self.row_sub)?;
        out.numbers(Part::RowClass, &self.row_class)?;
        out.numbers(Part::RowFrom, &self.row_from)?;
        out.numbers(Part::RowTo, &self.row_to)
    }

    /// Writes the amounts, their lengths and their anchors.
    fn write_amounts<W: Write + Seek>(&mut self, out: &mut Writer<'_, W>) -> Result<()> {
        let lengths = self.row_length.iter().copied().map(u64::from);
        // One byte each even if all are zero: they are added up as bytes.
        out.column(Part::RowLength, lengths, 255)?;
        let mut end = 0_u64;
        let mut anchors = Vec::with_capacity(self.row_length.len() / STEP + 1);
        for lengths in self.row_length.chunks(STEP) {
            anchors.push(end);
            end += lengths.iter().copied().map(u64::from).sum::<u64>();
        }
        out.column(Part::Anchors, anchors.into_iter(), end)?;
        std::mem::swap(&mut out.buffer, &mut self.amounts);
        out.part(Part::Amounts, 0)
    }
}

/// Appends a number, little-endian and without its leading zeros.
fn push_number(out: &mut Vec<u8>, number: U256) {
    let end = out.len() + number.byte_len();
    out.extend_from_slice(&number.to_le_bytes::<32>());
    out.truncate(end);
}

/// Returns the number of leading bits that select a bucket for this many addresses.
fn bucket_bits(addresses: usize) -> u32 {
    (addresses / BUCKET)
        .checked_ilog2()
        .unwrap_or(0)
        .min(BUCKET_BITS_MAX)
}

/// Returns the bucket of an address.
#[inline]
pub(crate) fn leading_bits(address: &Address, bits: u32) -> u64 {
    let [a, b, c, d, ..] = address.0.0;
    // As 64 bits, because without any bits the shift is by 32.
    u64::from(u32::from_be_bytes([a, b, c, d])) >> (32 - bits)
}

/// Returns the code of a standard in a file. The codes are fixed; the order of the enum is
/// not.
pub(crate) const fn standard_code(standard: TokenStandard) -> u8 {
    match standard {
        TokenStandard::Erc20 => 0,
        TokenStandard::Erc721 => 1,
        TokenStandard::Erc1155 => 2,
        TokenStandard::Native => 3,
    }
}

/// Returns the code of a kind in a file.
pub(crate) const fn kind_code(kind: Kind) -> u8 {
    match kind {
        Kind::Transfer => 0,
        Kind::Mint => 1,
        Kind::Burn => 2,
        Kind::Wrap => 3,
        Kind::Unwrap => 4,
        Kind::Value => 5,
        Kind::Internal => 6,
        Kind::Withdrawal => 7,
        Kind::Fee => 8,
        Kind::Priority => 9,
        Kind::L1Fee => 10,
        Kind::OperatorFee => 11,
    }
}

#[cold]
fn bad_input(block: u64, what: &str) -> Error {
    Error::Options(format!("block {block} cannot be indexed: {what}"))
}
