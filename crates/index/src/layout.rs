//! The head of a segment file: who it is, and where its parts lie.
//!
//! `docs/index-format.md` draws it. All numbers are little-endian.

use alloy_primitives::B256;
use txgraph_transfers::{BlockRange, DecodeCounts};

/// First bytes of every segment.
pub(crate) const MAGIC: [u8; 8] = *b"txgraphS";

/// Of the segments and of the manifest. Another number is another format: an index is
/// made anew, not converted, as it holds nothing that the node does not.
pub(crate) const VERSION: u32 = 3;

/// Parts begin at multiples of this.
pub(crate) const ALIGN: usize = 8;

/// Blocks of a segment at most: more would not make it answer faster, and a damaged head
/// must not make a loop over blocks endless.
pub(crate) const BLOCKS_MAX: u64 = 1 << 24;

/// The parts of a segment, in the order in which they lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Part {
    /// Token, standard and kind: [`CLASS_BYTES`] each, ascending.
    Classes,
    /// By leading bits of an address: number of the first with these bits.
    Buckets,
    /// Addresses, ascending, 20 bytes each.
    Addresses,
    /// By sender: where its rows start in `OutRows`.
    OutStarts,
    /// Rows by sender, ascending for each.
    OutRows,
    /// By receiver: where its rows start in `InRows`.
    InStarts,
    /// Rows by receiver, ascending for each.
    InRows,
    /// By block: its first row.
    BlockRows,
    /// By block: seconds since the earliest block of the segment.
    Times,
    /// By block: number of transactions.
    Transactions,
    /// By block: number of logs.
    Logs,
    /// By block and contract, where there are any: odd logs, [`ODD_BYTES`] each.
    Odd,
    /// By row: block, counted from the first of the segment.
    RowBlock,
    /// By row: index of the transaction in the block.
    RowTransaction,
    /// By row: 1 + index of the log in the block, or 0 without a log.
    RowLog,
    /// By row: index inside the log.
    RowSub,
    /// By row: number of the class.
    RowClass,
    /// By row: number of the sender's address.
    RowFrom,
    /// By row: number of the receiver's address.
    RowTo,
    /// By row: bytes of its amounts.
    RowLength,
    /// By [`STEP`] rows: where the amounts of the first of them start.
    Anchors,
    /// Amounts, one row after the other.
    Amounts,
}

/// How many parts there are.
pub(crate) const PARTS: usize = Part::Amounts as usize + 1;

/// Rows that share an anchor. Finding an amount adds up half as many lengths on
/// average, which one vector instruction or two do.
pub(crate) const STEP: usize = 32;

/// Bytes of a class: token (20), standard, kind, flags, 0, number of rows (8).
pub(crate) const CLASS_BYTES: usize = 32;
/// Flag of a class: it has a token (else the token's bytes are zero).
pub(crate) const HAS_TOKEN: u8 = 1;
/// Flag of a class: its rows have a token id.
pub(crate) const HAS_ID: u8 = 2;
/// Flag of a class: its rows are movements inside of transactions that left no log.
pub(crate) const IS_INTERNAL: u8 = 4;

/// Bytes of an account of odd logs: block counted from the first, then malformed, those
/// of ERC-1155, dirty addresses, wraps told twice, and the contract (20).
pub(crate) const ODD_BYTES: usize = 40;

/// Bytes before the table of parts.
const FIXED_BYTES: usize = 8 + 2 * 4 + 3 * 32 + 12 * 8 + 2 * 4;
/// Bytes of an entry of the table: offset, bytes, width, checksum.
const ENTRY_BYTES: usize = 24;
/// Bytes of the head, its checksum at the end included.
pub(crate) const HEAD_BYTES: usize = FIXED_BYTES + PARTS * ENTRY_BYTES + 8;

/// Where a part lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// From the start of the file.
    pub(crate) offset: u64,
    /// Length; of a column with its padding.
    pub(crate) bytes: u64,
    /// Bytes of a number, if it is a column.
    pub(crate) width: u32,
    /// CRC-32 (IEEE) of the bytes.
    pub(crate) crc: u32,
}

/// What the head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
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
    /// Leading bits of an address that name its bucket.
    pub(crate) bucket_bits: u32,
    pub(crate) places: [Place; PARTS],
}

/// Why bytes are no head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeadError {
    /// Not a segment at all, or a damaged one.
    Corrupt(&'static str),
    /// Of another version.
    Version(u32),
}

impl Head {
    /// [`HEAD_BYTES`] bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES);
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        // What a later version adds is behind this.
        out.extend(u32::try_from(HEAD_BYTES).unwrap_or(0).to_le_bytes());
        out.extend(self.genesis_hash);
        out.extend(self.parent_hash);
        out.extend(self.last_hash);
        let DecodeCounts {
            // Known from the range.
            blocks: _,
            // Never of an index.
            skipped_blocks: _,
            transactions,
            logs,
            transfers: _,
            malformed,
            malformed_erc1155,
            dirty_addresses,
            wraps_deduplicated,
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
        out.extend(u32::try_from(PARTS).unwrap_or(0).to_le_bytes());
        for place in &self.places {
            out.extend(place.offset.to_le_bytes());
            out.extend(place.bytes.to_le_bytes());
            out.extend(place.width.to_le_bytes());
            out.extend(place.crc.to_le_bytes());
        }
        let crc = crc32fast::hash(&out);
        out.extend(u64::from(crc).to_le_bytes());
        out
    }

    /// Reads and checks the head of a file with these first bytes and `file_bytes` in all.
    pub(crate) fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, HeadError> {
        let corrupt = HeadError::Corrupt;
        if bytes.get(..8) != Some(&MAGIC) {
            return Err(corrupt("it does not begin as a segment"));
        }
        let mut rest = Fields(bytes.get(8..).unwrap_or_default());
        let version = rest.u32().ok_or(corrupt("it ends in its head"))?;
        if version != VERSION {
            return Err(HeadError::Version(version));
        }
        let body = bytes
            .get(..HEAD_BYTES)
            .ok_or(corrupt("it ends in its head"))?;
        let (body, crc) = body.split_at(HEAD_BYTES - 8);
        if u64::from(crc32fast::hash(body)).to_le_bytes() != crc {
            return Err(corrupt(
                "its head does not have the checksum stored with it",
            ));
        }
        Self::fields(rest)
            .ok_or(corrupt("its head makes no sense"))?
            .checked(file_bytes)
    }

    fn fields(mut rest: Fields<'_>) -> Option<Self> {
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
        };
        let (bucket_bits, parts) = (rest.u32()?, rest.u32()?);
        let mut places = [Place::default(); PARTS];
        for place in &mut places {
            *place = Place {
                offset: rest.u64()?,
                bytes: rest.u64()?,
                width: rest.u32()?,
                crc: rest.u32()?,
            };
        }
        (usize::try_from(parts) == Ok(PARTS)).then_some(Self {
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
            places,
        })
    }

    /// Every part lies in the file, behind the one before.
    fn checked(self, file_bytes: u64) -> Result<Self, HeadError> {
        let mut end = HEAD_BYTES as u64;
        for place in &self.places {
            let next = place.offset.checked_add(place.bytes);
            if place.offset < end || next.is_none_or(|next| next > file_bytes) {
                return Err(HeadError::Corrupt(
                    "one of its parts lies outside of the file",
                ));
            }
            end = place.offset + place.bytes;
        }
        if end != file_bytes {
            return Err(HeadError::Corrupt("it is longer than its parts"));
        }
        Ok(self)
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

    fn head() -> Head {
        let mut places = [Place::default(); PARTS];
        let mut offset = HEAD_BYTES as u64;
        for (number, place) in (0..).zip(&mut places) {
            *place = Place {
                offset,
                bytes: 3 * u64::from(number),
                width: number,
                crc: !number,
            };
            offset += place.bytes;
        }
        let blocks = BlockRange { first: 7, last: 19 };
        Head {
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
            },
            bucket_bits: 3,
            places,
        }
    }

    #[test]
    fn a_head_comes_back_and_no_flipped_bit_passes() {
        let head = head();
        let last = head.places[PARTS - 1];
        let file_bytes = last.offset + last.bytes;
        let bytes = head.encode();
        assert_eq!(bytes.len(), HEAD_BYTES);
        assert_eq!(Head::decode(&bytes, file_bytes), Ok(head));
        for bit in 0..8 * bytes.len() {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            Head::decode(&bytes, file_bytes).unwrap_err();
        }
        for cut in 0..bytes.len() {
            Head::decode(&bytes[..cut], file_bytes).unwrap_err();
        }
        for other in [file_bytes - 1, file_bytes + 1, 0, u64::MAX] {
            Head::decode(&bytes, other).unwrap_err();
        }
    }
}
