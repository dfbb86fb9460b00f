//! Names of static files, and their `.conf` files
//! (`crates/static-file/types/src/segment.rs` of reth).

use crate::{
    BlockRange, TxRange,
    compact::{Malformed, Reader},
};
use txgraph_base::string_enum;

string_enum! {
    /// The kind of rows in a static file, by its word in the file name.
    pub(crate) enum Segment: "segment" {
        Headers = "headers",
        Transactions = "transactions",
        Receipts = "receipts",
        TransactionSenders = "transaction-senders",
        AccountChangeSets = "account-change-sets",
        StorageChangeSets = "storage-change-sets",
    }
}

impl Segment {
    pub(crate) const fn is_change_set(self) -> bool {
        matches!(self, Self::AccountChangeSets | Self::StorageChangeSets)
    }

    /// Parses the name of a data file: its segment and reserved block range. `None` for
    /// `.conf` and other satellites, temporary and foreign files, and unknown segments.
    pub(crate) fn of_file(name: &str) -> Option<(Self, BlockRange)> {
        let is_plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
        if !name.bytes().all(is_plain) {
            return None;
        }
        let mut parts = name.strip_prefix("static_file_")?.split('_');
        let segment = parts.next()?;
        let segment = *Self::ALL.iter().find(|known| known.as_str() == segment)?;
        let (first, last) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some((segment, BlockRange { first, last }))
    }
}

/// The content of a `.conf` file: bincode 1 with fixed-width integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conf {
    /// The blocks that the file is reserved for.
    pub(crate) expected_blocks: BlockRange,
    /// The blocks that the writer has processed.
    pub(crate) blocks: Option<BlockRange>,
    /// The transactions whose rows are present.
    pub(crate) txs: Option<TxRange>,
    pub(crate) columns: u64,
    pub(crate) rows: u64,
    pub(crate) lz4: bool,
    pub(crate) max_row_size: u64,
    /// Change sets only: records of the `.csoff` file.
    pub(crate) change_set_blocks: u64,
}

impl Conf {
    pub(crate) fn decode(segment: Segment, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if u64_le(&mut reader)? != 1 {
            return Err("an unknown NippyJar version (known is 1)");
        }
        let expected_blocks = range(&mut reader)?;
        let blocks = optional_range(&mut reader)?;
        let txs = optional_range(&mut reader)?;
        // Its meaning changed between versions of reth: go by the file name.
        let _segment_number = reader.array::<4>()?;
        let change_set_blocks = if segment.is_change_set() {
            u64_le(&mut reader)?
        } else {
            0
        };
        let columns = u64_le(&mut reader)?;
        let rows = u64_le(&mut reader)?;
        let lz4 = match reader.byte()? {
            0 => false,
            1 => match u32::from_le_bytes(*reader.array()?) {
                1 => true,
                0 => return Err("rows compressed with zstd as a whole: no reth writes that"),
                _ => return Err("an unknown compression"),
            },
            _ => return Err("an option is neither present nor absent"),
        };
        let max_row_size = u64_le(&mut reader)?;
        reader.finish()?;
        let conf = Self {
            expected_blocks,
            blocks,
            txs,
            columns,
            rows,
            lz4,
            max_row_size,
            change_set_blocks,
        };
        conf.check(segment)?;
        Ok(conf)
    }

    /// Checks that counts and ranges agree, so that rows can be found by subtraction.
    fn check(&self, segment: Segment) -> Result<(), Malformed> {
        let columns = if segment == Segment::Headers { 3 } else { 1 };
        if self.columns != columns {
            return Err("an unexpected number of columns");
        }
        // Offsets have up to 8 bytes: positions must not overflow.
        if self.rows > u64::MAX / 64 {
            return Err("an impossible number of rows");
        }
        let rows = match segment {
            Segment::Headers => self.blocks,
            Segment::Transactions | Segment::Receipts | Segment::TransactionSenders => self.txs,
            Segment::AccountChangeSets | Segment::StorageChangeSets => return Ok(()),
        };
        if rows.map_or(0, |rows| rows.blocks()) != self.rows {
            return Err("the number of rows contradicts its range");
        }
        Ok(())
    }

    /// Returns whether the file is full. A full file is never appended to again.
    pub(crate) fn is_sealed(&self) -> bool {
        self.blocks
            .is_some_and(|blocks| blocks.last == self.expected_blocks.last)
    }
}

fn u64_le(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    reader.array().map(|bytes| u64::from_le_bytes(*bytes))
}

fn range(reader: &mut Reader<'_>) -> Result<BlockRange, Malformed> {
    BlockRange::new(u64_le(reader)?, u64_le(reader)?)
        .ok_or("the end of a range is before its begin")
}

fn optional_range(reader: &mut Reader<'_>) -> Result<Option<BlockRange>, Malformed> {
    match reader.byte()? {
        0 => Ok(None),
        1 => range(reader).map(Some),
        _ => Err("an option is neither present nor absent"),
    }
}

/// See [`crate::fuzzing`].
pub(crate) fn fuzz(bytes: &[u8]) {
    for segment in Segment::ALL {
        let _ = Conf::decode(*segment, bytes);
    }
}
