//! The layout of a segment file: its head, its parts and the place of its checksums.
//!
//! `docs/index-format.md` describes every byte. All numbers are little-endian.

use alloy_primitives::B256;
use txgraph_transfers::{BlockRange, DecodeCounts};

/// The first bytes of every segment.
pub(crate) const MAGIC: [u8; 8] = *b"txgraphS";

/// The content of segments. Each choice has a version of the format, of segments and of the manifest,
/// so that programs refuse files with parts that they do not know. An index of another version
/// has to be built again: there is no conversion, because everything in it can be read from
/// the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Transfers,
    /// Transfers, and transactions by address.
    Transactions,
}

impl Format {
    /// All formats, the newest last.
    pub(crate) const ALL: [Self; 2] = [Self::Transfers, Self::Transactions];

    pub(crate) const NEWEST: u32 = Self::Transactions.version();

    pub(crate) const fn with_transactions(transactions: bool) -> Self {
        match transactions {
            false => Self::Transfers,
            true => Self::Transactions,
        }
    }

    pub(crate) const fn version(self) -> u32 {
        match self {
            Self::Transfers => 4,
            Self::Transactions => 5,
        }
    }

    /// The format of a version, if this program knows it.
    pub(crate) fn of_version(version: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.version() == version)
    }

    /// The number of parts: the first ones of [`Part::ALL`].
    pub(crate) const fn parts(self) -> usize {
        match self {
            Self::Transfers => Part::Amounts as usize + 1,
            Self::Transactions => PARTS,
        }
    }

    /// Bytes of the head: the list of parts is followed by zeros, and by the checksums of the root
    /// and of the head. A multiple of [`ALIGN`], so that parts begin at one.
    pub(crate) const fn head_bytes(self) -> usize {
        (FIXED_BYTES + self.parts() * ENTRY_BYTES + 2 * CHECKSUM_BYTES).next_multiple_of(ALIGN)
    }
}

/// Parts and the table of checksums begin at multiples of this.
pub(crate) const ALIGN: usize = 8;

/// The maximum number of blocks in a segment. More would not make answers faster, and a
/// forged head must not cause an endless loop over blocks.
pub(crate) const BLOCKS_MAX: u64 = 1 << 24;

/// The parts of a segment, in their order in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Part {
    /// Token, standard and kind: [`CLASS_BYTES`] each, ascending.
    Classes,
    /// By the leading bits of an address: the number of the first address with these bits.
    Buckets,
    /// Addresses, ascending, 20 bytes each.
    Addresses,
    /// By sender: the start of its rows in `OutRows`.
    OutStarts,
    /// Rows by sender, ascending for each.
    OutRows,
    /// By receiver: the start of its rows in `InRows`.
    InStarts,
    /// Rows by receiver, ascending for each.
    InRows,
    /// By block: its first row.
    BlockRows,
    /// By block: seconds since the earliest block of the segment.
    Times,
    /// By block: the number of transactions.
    Transactions,
    /// By block: the number of logs.
    Logs,
    /// By block and contract: anomalous logs, [`ANOMALY_BYTES`] each.
    Anomalies,
    /// By row: the block, counted from the first of the segment.
    RowBlock,
    /// By row: the index of the transaction in the block.
    RowTransaction,
    /// By row: 1 + the index of the log in the block, or 0 without a log.
    RowLog,
    /// By row: the index inside the log.
    RowSub,
    /// By row: the number of the class.
    RowClass,
    /// By row: the number of the sender's address.
    RowFrom,
    /// By row: the number of the receiver's address.
    RowTo,
    /// By row: the length of its amounts in bytes.
    RowLength,
    /// By [`STEP`] rows: where the amounts of the first row start.
    Anchors,
    /// Amounts, in the order of the rows.
    Amounts,
    /// By block: the number of its first transaction, counted over the segment.
    BlockTransactions,
    /// By address: the start of its transactions in `Places`.
    PlaceStarts,
    /// Transactions by address, ascending for each: the number, and [`Roles::BITS`] bits of
    /// roles.
    ///
    /// [`Roles::BITS`]: txgraph_transfers::Roles::BITS
    Places,
}

impl Part {
    /// All parts, in their order in the file.
    pub(crate) const ALL: [Self; PARTS] = [
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
        Self::Anomalies,
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
        Self::BlockTransactions,
        Self::PlaceStarts,
        Self::Places,
    ];
}

pub(crate) const PARTS: usize = Part::Places as usize + 1;

/// The number of rows that share an anchor. To find an amount, half as many lengths are
/// added on average, which takes one or two vector instructions.
pub(crate) const STEP: usize = 32;

/// Bytes of a class: token (20), standard, kind, flags, 0, number of rows (8).
pub(crate) const CLASS_BYTES: usize = 32;
/// Flag of a class: it has a token. Without it the bytes of the token are zero.
pub(crate) const HAS_TOKEN: u8 = 1;
/// Flag of a class: its rows have a token id.
pub(crate) const HAS_ID: u8 = 2;
/// Flag of a class: its rows are movements inside of transactions that left no log.
pub(crate) const IS_INTERNAL: u8 = 4;

/// Bytes of an entry of [`Part::Anomalies`]: the block counted from the first; the numbers
/// of malformed logs, malformed ERC-1155 logs, dirty addresses and duplicate wraps; the
/// contract (20).
pub(crate) const ANOMALY_BYTES: usize = 40;

/// Bytes that share a checksum, counted from the start of the file.
///
/// 4 KiB is one page: reading a byte of a cold file costs at least that much, so checking
/// the rest of the page adds little. It is also short enough that CRC-32 (IEEE) detects
/// every change of up to three bits, and every burst of up to 32 bits (Koopman, "32-Bit
/// Cyclic Redundancy Codes for Internet Applications", 2002: Hamming distance 4 up to
/// 11 KiB). `docs/index-format.md` explains the choice.
pub(crate) const BLOCK_BYTES: usize = 1 << BLOCK_SHIFT;
/// Binary logarithm of [`BLOCK_BYTES`].
pub(crate) const BLOCK_SHIFT: u32 = 12;

/// Bytes of a checksum in the table and in the root.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Bytes before the list of parts.
const FIXED_BYTES: usize = 8 + 2 * 4 + 3 * 32 + 12 * 8 + 2 * 4;
/// Bytes of an entry of that list: offset, bytes, width.
const ENTRY_BYTES: usize = 20;

/// The byte range of a part in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartLocation {
    /// From the start of the file.
    pub(crate) offset: u64,
    /// Length; of a column with its padding.
    pub(crate) bytes: u64,
    /// Bytes of a number, if it is a column.
    pub(crate) width: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) format: Format,
    pub(crate) genesis_hash: B256,
    pub(crate) chain_id: u64,
    pub(crate) blocks: BlockRange,
    /// Parent hash of the first block.
    pub(crate) parent_hash: B256,
    /// Hash of the last block.
    pub(crate) last_hash: B256,
    pub(crate) rows: u64,
    pub(crate) addresses: u64,
    /// Time of the earliest block.
    pub(crate) min_timestamp: u64,
    /// Over all blocks.
    pub(crate) counts: DecodeCounts,
    /// Number of leading bits of an address that select its bucket.
    pub(crate) bucket_bits: u32,
    /// Parts that the format does not have are empty.
    pub(crate) parts: [PartLocation; PARTS],
    /// CRC-32 of the root of the checksums.
    pub(crate) root_checksum: u32,
}

/// Where the parts end and the checksums are. Derived from the list of parts.
///
/// ```text
/// 0        head_bytes          data_end          root             file_bytes
/// │ head   │ parts             │ table           │ root           │
///          └─ one checksum per block of the file ┘                │
///                              └─ one checksum per block of the table
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// End of the last part, and start of the table.
    pub(crate) data_end: usize,
    /// End of the table, and start of the root.
    pub(crate) table_end: usize,
    /// End of the root, and of the file.
    pub(crate) file_end: usize,
}

impl Geometry {
    /// The geometry of a file whose parts end at `data_end`; `None` on overflow.
    pub(crate) fn new(data_end: usize) -> Option<Self> {
        let blocks = data_end.div_ceil(BLOCK_BYTES);
        let table_bytes = blocks.checked_mul(CHECKSUM_BYTES)?;
        let root_bytes = table_bytes.div_ceil(BLOCK_BYTES) * CHECKSUM_BYTES;
        let table_end = data_end.checked_add(table_bytes)?;
        Some(Self {
            data_end,
            table_end,
            file_end: table_end.checked_add(root_bytes)?,
        })
    }

    /// The number of blocks with a checksum in the table.
    pub(crate) const fn blocks(&self) -> usize {
        self.data_end.div_ceil(BLOCK_BYTES)
    }

    /// The number of blocks of the table, each with a checksum in the root.
    pub(crate) const fn table_blocks(&self) -> usize {
        (self.table_end - self.data_end).div_ceil(BLOCK_BYTES)
    }
}

/// Why bytes are not a valid head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeadError {
    /// Not a segment, or a damaged one.
    Damaged(&'static str),
    /// Written in another version of the format.
    Version(u32),
}

impl Head {
    /// Encodes the head in as many bytes as its format has.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let head_bytes = self.format.head_bytes();
        let part_count = self.format.parts();
        let mut out = Vec::with_capacity(head_bytes);
        out.extend(MAGIC);
        out.extend(self.format.version().to_le_bytes());
        out.extend(u32::try_from(head_bytes).unwrap_or(0).to_le_bytes());
        out.extend(self.genesis_hash);
        out.extend(self.parent_hash);
        out.extend(self.last_hash);
        let DecodeCounts {
            // Known from the range.
            blocks: _,
            // An index skips none.
            skipped_blocks: _,
            transactions,
            logs,
            transfers: _,
            malformed,
            malformed_erc1155,
            dirty_addresses,
            wraps_deduplicated,
            // Only in files of other tools.
            duplicates: _,
            gaps: _,
        } = self.counts;
        for number in [
            self.chain_id,
            self.blocks.first,
            self.blocks.last,
            self.rows,
            self.addresses,
            self.min_timestamp,
            transactions,
            logs,
            malformed,
            malformed_erc1155,
            dirty_addresses,
            wraps_deduplicated,
        ] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.bucket_bits.to_le_bytes());
        out.extend(u32::try_from(part_count).unwrap_or(0).to_le_bytes());
        for part in &self.parts[..part_count] {
            out.extend(part.offset.to_le_bytes());
            out.extend(part.bytes.to_le_bytes());
            out.extend(part.width.to_le_bytes());
        }
        out.resize(head_bytes - 2 * CHECKSUM_BYTES, 0);
        out.extend(self.root_checksum.to_le_bytes());
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    /// CRC-32 of the encoded head.
    pub(crate) fn checksum(&self) -> u32 {
        let encoded = self.encode();
        crc32fast::hash(&encoded[..encoded.len() - CHECKSUM_BYTES])
    }

    /// Reads the head of a file and checks it against its checksum. Also returns that
    /// checksum and the geometry of the file, which must be exactly as long as it says.
    pub(crate) fn decode(file: &[u8]) -> Result<(Self, u32, Geometry), HeadError> {
        let damaged = HeadError::Damaged;
        if file.get(..8) != Some(&MAGIC) {
            return Err(damaged(
                "it does not start with the magic bytes of a segment",
            ));
        }
        let mut rest = Fields(file.get(8..).unwrap_or_default());
        let too_short = || damaged("it is shorter than its head");
        let version = rest.u32().ok_or_else(too_short)?;
        let format = Format::of_version(version).ok_or(HeadError::Version(version))?;
        let body = file.get(..format.head_bytes()).ok_or_else(too_short)?;
        let (body, stored) = body.split_at(body.len() - CHECKSUM_BYTES);
        let checksum = crc32fast::hash(body);
        if checksum.to_le_bytes() != stored {
            return Err(damaged("its head does not match its checksum"));
        }
        // After the magic bytes and the version.
        let rest = Fields(body.get(12..).unwrap_or_default());
        let head = Self::fields(format, rest).ok_or_else(|| damaged("its head is invalid"))?;
        let geometry = head.geometry(file.len())?;
        Ok((head, checksum, geometry))
    }

    fn fields(format: Format, mut rest: Fields<'_>) -> Option<Self> {
        let _head_bytes = rest.u32()?;
        let (genesis_hash, parent_hash, last_hash) = (rest.hash()?, rest.hash()?, rest.hash()?);
        let chain_id = rest.u64()?;
        let blocks = BlockRange::new(rest.u64()?, rest.u64()?)?;
        let (rows, addresses, min_timestamp) = (rest.u64()?, rest.u64()?, rest.u64()?);
        let counts = DecodeCounts {
            blocks: blocks.blocks(),
            skipped_blocks: 0,
            transactions: rest.u64()?,
            logs: rest.u64()?,
            transfers: rows,
            malformed: rest.u64()?,
            malformed_erc1155: rest.u64()?,
            dirty_addresses: rest.u64()?,
            wraps_deduplicated: rest.u64()?,
            duplicates: 0,
            // A chain that is indexed from blocks has none.
            gaps: txgraph_transfers::Gaps::default(),
        };
        let (bucket_bits, part_count) = (rest.u32()?, rest.u32()?);
        let mut parts = [PartLocation::default(); PARTS];
        for part in &mut parts[..format.parts()] {
            *part = PartLocation {
                offset: rest.u64()?,
                bytes: rest.u64()?,
                width: rest.u32()?,
            };
        }
        let is_whole = usize::try_from(part_count) == Ok(format.parts());
        // Zeros before the checksum of the root.
        while rest.0.len() > CHECKSUM_BYTES {
            if rest.u32()? != 0 {
                return None;
            }
        }
        is_whole.then_some(Self {
            format,
            genesis_hash,
            chain_id,
            blocks,
            parent_hash,
            last_hash,
            rows,
            addresses,
            min_timestamp,
            counts,
            bucket_bits,
            parts,
            root_checksum: rest.u32()?,
        })
    }

    /// The geometry of a file of `file_bytes` bytes with this head. Every part must begin
    /// after the end of the one before.
    fn geometry(&self, file_bytes: usize) -> Result<Geometry, HeadError> {
        let mut end = self.format.head_bytes() as u64;
        for part in &self.parts[..self.format.parts()] {
            let next = part.offset.checked_add(part.bytes);
            if part.offset < end || next.is_none_or(|next| next > file_bytes as u64) {
                return Err(HeadError::Damaged(
                    "one of its parts is outside of the file",
                ));
            }
            end = part.offset + part.bytes;
        }
        // Parts are inside of the file, so this is no larger than a few bytes more.
        let data_end = usize::try_from(end).map(|end| end.next_multiple_of(ALIGN));
        data_end
            .ok()
            .and_then(Geometry::new)
            .filter(|geometry| geometry.file_end == file_bytes)
            .ok_or(HeadError::Damaged("its length does not match its head"))
    }
}

/// Takes fields from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn hash(&mut self) -> Option<B256> {
        self.take().map(B256::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(format: Format) -> Head {
        let mut parts = [PartLocation::default(); PARTS];
        let mut offset = format.head_bytes() as u64;
        for (number, part) in (0..).zip(&mut parts[..format.parts()]) {
            *part = PartLocation {
                offset,
                bytes: 3 * u64::from(number),
                width: number,
            };
            offset += part.bytes;
        }
        let blocks = BlockRange { first: 7, last: 19 };
        Head {
            format,
            genesis_hash: B256::repeat_byte(1),
            chain_id: 5,
            blocks,
            parent_hash: B256::repeat_byte(2),
            last_hash: B256::repeat_byte(3),
            rows: 11,
            addresses: 12,
            min_timestamp: 13,
            counts: DecodeCounts {
                blocks: 13,
                skipped_blocks: 0,
                transactions: 14,
                logs: 15,
                transfers: 11,
                malformed: 16,
                malformed_erc1155: 17,
                dirty_addresses: 18,
                wraps_deduplicated: 19,
                duplicates: 0,
                gaps: txgraph_transfers::Gaps::default(),
            },
            bucket_bits: 3,
            parts,
            root_checksum: 20,
        }
    }

    #[test]
    fn head_round_trips_and_every_flipped_bit_is_detected() {
        for format in Format::ALL {
            let head = head(format);
            let head_bytes = format.head_bytes();
            let last = head.parts[format.parts() - 1];
            let data_end = usize::try_from(last.offset + last.bytes).unwrap();
            let geometry = Geometry::new(data_end.next_multiple_of(ALIGN)).unwrap();
            let mut file = head.encode();
            assert_eq!(file.len(), head_bytes);
            file.resize(geometry.file_end, 0);
            let (decoded, _, found) = Head::decode(&file).unwrap();
            assert_eq!((decoded, found), (head, geometry));
            for bit in 0..8 * head_bytes {
                let mut file = file.clone();
                file[bit / 8] ^= 1 << (bit % 8);
                Head::decode(&file).unwrap_err();
            }
            for cut in 0..file.len() {
                Head::decode(&file[..cut]).unwrap_err();
            }
            file.push(0);
            Head::decode(&file).unwrap_err();
        }
    }

    #[test]
    fn versions_are_those_of_the_formats() {
        assert_eq!(Format::ALL.map(Format::version), [4, 5]);
        assert_eq!(Format::ALL.map(Format::parts), [22, 25]);
        assert_eq!(Format::ALL.map(Format::head_bytes), [664, 728]);
        assert_eq!(Format::of_version(3), None);
        assert_eq!(Format::of_version(Format::NEWEST + 1), None);
    }

    #[test]
    fn geometry_has_a_checksum_for_every_block() {
        let head_bytes = Format::Transfers.head_bytes();
        for data_end in [head_bytes, BLOCK_BYTES, BLOCK_BYTES + 1, BLOCK_BYTES * 1025] {
            let geometry = Geometry::new(data_end).unwrap();
            let table = geometry.table_end - data_end;
            assert_eq!(table, geometry.blocks() * CHECKSUM_BYTES);
            assert!(geometry.blocks() * BLOCK_BYTES >= data_end);
            assert!(geometry.table_blocks() * BLOCK_BYTES >= table);
            let root = geometry.file_end - geometry.table_end;
            assert_eq!(root, geometry.table_blocks() * CHECKSUM_BYTES);
        }
        assert_eq!(Geometry::new(usize::MAX), None);
    }
}
