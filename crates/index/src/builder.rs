//! Makes a segment: blocks in, one file out.
//!
//! Rows are kept as columns from the beginning, about 40 bytes each, and addresses as
//! the numbers in which they were first seen. Only when the blocks are complete are the
//! addresses sorted, the numbers replaced by places in the sorted list, and the rows
//! grouped by class, then by sender and by receiver, with counting sorts. Parts are written one
//! after the other, each from one reused buffer, so that nothing is held twice.

use crate::{
    error::{Error, Result},
    interner::Interner,
    layout::{ANOMALY_BYTES, CLASS_BYTES, HAS_ID, HAS_TOKEN, Head, IS_INTERNAL, Part, STEP},
    part_writer::Writer,
};
use alloy_primitives::{Address, B256, U256};
use std::{
    io::{Seek, Write},
    path::Path,
};
use txgraph_reader::{BlockAccount, OddLogs};
use txgraph_transfers::{BlockRange, DecodeCounts, Kind, TokenStandard, Transfer};

/// Transfers whose addresses are fetched from memory at once.
const TOUCHED: usize = 16;

/// Addresses in a bucket on average.
const BUCKET: usize = 4;

/// More leading bits than this would not be looked at even with 2^32 addresses.
pub(crate) const BUCKET_BITS_MAX: u32 = 31;

/// Classes remembered with their numbers: more than most segments have.
const RECENT_CLASSES: usize = 1 << 10;

/// Where a class is remembered: tokens that share a place, by chance or by intent, are
/// looked up in the sorted list, which is all that happens.
fn class_place((token, _, kind, ..): &Class) -> usize {
    let token = token.map_or(0, |token| u16::from_le_bytes([token[18], token[19]]));
    (usize::from(token) ^ usize::from(kind_code(*kind)) << 4) % RECENT_CLASSES
}

/// How much a segment is expected to hold: what the one before held. Growing columns
/// copies them, and a table of addresses is filled anew.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    rows: usize,
    addresses: usize,
    amounts: usize,
}

/// Token, standard, kind, whether there are token ids, and whether no log tells.
type Class = (Option<Address>, TokenStandard, Kind, bool, bool);

/// Block, contract, and the numbers of malformed logs, malformed ERC-1155 logs, dirty
/// addresses and duplicate wraps.
type Anomaly = (u32, Address, [u32; 4]);

/// A segment under way.
#[derive(Debug)]
pub(crate) struct Builder {
    genesis_hash: B256,
    chain_id: u64,
    first: u64,
    parent_hash: B256,
    last_hash: B256,
    counts: DecodeCounts,
    addresses: Interner,
    /// Few: hundreds in a segment, thousands at most. Sorted by class.
    classes: Vec<(Class, u32)>,
    /// By number.
    class_rows: Vec<u64>,
    /// Classes looked at lately, each at the place that [`class_place`] says.
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
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) head: Head,
    /// Length of the file.
    pub(crate) bytes: u64,
}

impl Builder {
    /// A segment that begins with block `first`, with room for so much.
    pub(crate) fn new(
        chain_id: u64,
        genesis_hash: B256,
        first: u64,
        parent_hash: B256,
        room: Room,
    ) -> Self {
        let Room {
            rows,
            addresses,
            amounts,
        } = room;
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
        }
    }

    /// Appends consecutive blocks with their transfers in total order. `hash` is that of
    /// the last one.
    pub(crate) fn push(
        &mut self,
        accounts: &[BlockAccount],
        odd: &[OddLogs],
        mut transfers: &[Transfer],
        hash: B256,
    ) -> Result<()> {
        for account in accounts {
            let rows = usize::try_from(account.counts.transfers).unwrap_or(usize::MAX);
            let (own, rest) = transfers
                .split_at_checked(rows)
                .ok_or_else(|| bad_input(account.number, "fewer transfers than counted"))?;
            self.block(account, own)?;
            transfers = rest;
        }
        odd.iter().try_for_each(|odd| self.anomaly(odd))?;
        match transfers.first() {
            None => {
                self.last_hash = hash;
                Ok(())
            }
            Some(more) => Err(bad_input(more.block_number, "more transfers than counted")),
        }
    }

    fn block(&mut self, account: &BlockAccount, transfers: &[Transfer]) -> Result<()> {
        let block = account.number;
        if Some(block) != self.next_block() {
            return Err(bad_input(block, "it does not follow the block before"));
        }
        let too_large = |what| move |_| Error::TooLarge { block, what };
        let DecodeCounts {
            transactions, logs, ..
        } = account.counts;
        let number = |number: u64, what| u32::try_from(number).map_err(too_large(what));
        let first_row = number(self.row_from.len() as u64, "transfers")?;
        self.block_rows.push(first_row);
        self.times.push(account.timestamp);
        self.transactions
            .push(number(transactions, "transactions")?);
        self.logs.push(number(logs, "logs")?);
        self.counts += account.counts;
        transfers
            .chunks(TOUCHED)
            .try_for_each(|some| self.rows_of(some))
    }

    /// Appends at most [`TOUCHED`] rows, column by column.
    fn rows_of(&mut self, some: &[Transfer]) -> Result<()> {
        let too_large = |what| {
            let block = some.first().map_or(0, |transfer| transfer.block_number);
            move || Error::TooLarge { block, what }
        };
        let mut hashes = [0; 2 * TOUCHED];
        for (hashes, transfer) in hashes.as_chunks_mut::<2>().0.iter_mut().zip(some) {
            *hashes =
                [transfer.from_address, transfer.to_address].map(|end| self.addresses.hash(&end));
        }
        self.addresses.touch(&hashes[..2 * some.len()]);
        for (hashes, transfer) in hashes.as_chunks::<2>().0.iter().zip(some) {
            let mut intern = |address, hash| {
                let number = self.addresses.intern(address, hash);
                number.ok_or_else(too_large("addresses"))
            };
            let from = intern(transfer.from_address, hashes[0])?;
            let to = intern(transfer.to_address, hashes[1])?;
            self.row_from.push(from);
            self.row_to.push(to);
        }
        for transfer in some {
            let class = (
                transfer.token_address,
                transfer.token_standard,
                transfer.kind,
                transfer.token_id.is_some(),
                is_internal(transfer),
            );
            let class = self.class(class).ok_or_else(too_large("tokens"))?;
            self.row_class.push(class);
        }
        for transfer in some {
            let log = transfer.log_index.map_or(Some(0), |log| log.checked_add(1));
            self.row_log.push(log.ok_or_else(too_large("logs"))?);
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

    fn anomaly(&mut self, odd: &OddLogs) -> Result<()> {
        let OddLogs {
            block,
            emitter,
            counts,
        } = *odd;
        let number = |number: u64| {
            u32::try_from(number).map_err(|_| Error::TooLarge {
                block,
                what: "anomalous logs",
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
        let place = class_place(&class);
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

    /// The number of the block that comes next; `None` behind the last there can be.
    fn next_block(&self) -> Option<u64> {
        self.first.checked_add(self.times.len() as u64)
    }

    /// The blocks so far.
    pub(crate) fn blocks(&self) -> Option<BlockRange> {
        BlockRange::new(self.first, self.next_block()?.checked_sub(1)?)
    }

    /// Memory in use, with what [`Self::finish`] will take.
    pub(crate) fn bytes(&self) -> usize {
        // Six numbers and a length a row; a number for each of two groupings later, and
        // their order by class.
        self.row_from.len() * (6 * 4 + 1 + 3 * 4)
            + self.amounts.len()
            + self.times.len() * (3 * 4 + 8)
            + self.addresses.bytes() * 3 / 2
    }

    /// What a segment like this one takes, with a little to spare.
    pub(crate) fn room(&self) -> Room {
        let more = |held: usize| held + held / 16;
        Room {
            rows: more(self.row_from.len()),
            addresses: more(self.addresses.len()),
            amounts: more(self.amounts.len()),
        }
    }

    /// How many rows so far.
    pub(crate) fn rows(&self) -> usize {
        self.row_from.len()
    }

    /// Writes the segment to `file`, which is empty. Does not sync it.
    pub(crate) fn finish<W: Write + Seek>(mut self, file: &mut W, path: &Path) -> Result<Finished> {
        let blocks = self
            .blocks()
            .ok_or_else(|| bad_input(self.first, "a segment has at least one block"))?;
        let rows = u32::try_from(self.rows()).map_err(|_| Error::TooLarge {
            block: blocks.last,
            what: "transfers",
        })?;
        let mut out = Writer::new(file, path)?;
        self.write_classes(&mut out)?;
        let (addresses, bucket_bits) = self.write_addresses(&mut out)?;
        self.write_adjacency(&mut out, rows, addresses)?;
        let min_timestamp = self.write_blocks(&mut out, rows)?;
        self.write_rows(&mut out, rows)?;
        self.write_amounts(&mut out)?;
        let (head, bytes) = out.finish(Head {
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
        Ok(Finished { head, bytes })
    }

    /// Writes the classes in ascending order and renumbers those of the rows.
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

    /// Writes the addresses in ascending order and renumbers those of the rows. Returns the
    /// number of addresses and the number of bits that select a bucket.
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
        for number in self.row_from.iter_mut().chain(&mut self.row_to) {
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
        let by_class = group(&self.row_class, 0..rows, self.classes.len()).1;
        for (starts_part, rows_part, ends) in [
            (Part::OutStarts, Part::OutRows, &self.row_from),
            (Part::InStarts, Part::InRows, &self.row_to),
        ] {
            let (starts, grouped) = group(ends, by_class.iter().copied(), addresses);
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

/// Whether a transfer is a movement inside of a transaction that no log tells (EIP-7708
/// has logs for them). Questions that do not ask for these must not see it.
pub(crate) const fn is_internal(transfer: &Transfer) -> bool {
    transfer.log_index.is_none() && matches!(transfer.kind, Kind::Internal | Kind::Burn)
}

/// Little-endian, without the zero bytes at its end.
fn push_number(out: &mut Vec<u8>, number: U256) {
    let end = out.len() + number.byte_len();
    out.extend_from_slice(&number.to_le_bytes::<32>());
    out.truncate(end);
}

/// Leading bits that name a bucket when there are so many addresses.
fn bucket_bits(addresses: usize) -> u32 {
    (addresses / BUCKET)
        .checked_ilog2()
        .unwrap_or(0)
        .min(BUCKET_BITS_MAX)
}

/// The bucket of an address.
#[inline]
pub(crate) fn leading_bits(address: &Address, bits: u32) -> u64 {
    let [a, b, c, d, ..] = address.0.0;
    // Shifting by all 64 bits, for no bits, would overflow 32.
    u64::from(u32::from_be_bytes([a, b, c, d])) >> (32 - bits)
}

/// Rows by one of their numbers, all of which are below `count`, and for each in the
/// order in which they come: where those of each number start, with the end of the last,
/// and the rows.
fn group(numbers: &[u32], order: impl Iterator<Item = u32>, count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; count + 1];
    for number in numbers {
        starts[*number as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut rows = vec![0; numbers.len()];
    for row in order {
        let at = &mut next[numbers[row as usize] as usize];
        rows[*at as usize] = row;
        *at += 1;
    }
    (starts, rows)
}

/// The number of a standard in a file. Fixed: the order of the enum may change.
pub(crate) const fn standard_code(standard: TokenStandard) -> u8 {
    match standard {
        TokenStandard::Erc20 => 0,
        TokenStandard::Erc721 => 1,
        TokenStandard::Erc1155 => 2,
        TokenStandard::Native => 3,
    }
}

/// The number of a kind in a file.
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
    }
}

#[cold]
fn bad_input(block: u64, what: &str) -> Error {
    Error::Options(format!("block {block} cannot be indexed: {what}"))
}
