//! Records of an e2store file: two bytes of type, four of length, two reserved, then the data.

/// Bytes before the data of a record.
pub(crate) const HEAD_BYTES: usize = 8;

/// The largest number of blocks in a file.
pub const BLOCKS_MAX: u64 = 8192;

// Types, little-endian.
pub(crate) const VERSION: u16 = 0x3265;
pub(crate) const HEADER: u16 = 0x03;
pub(crate) const BODY: u16 = 0x04;
pub(crate) const FULL_RECEIPTS: u16 = 0x05;
pub(crate) const TOTAL_DIFFICULTY: u16 = 0x06;
pub(crate) const ACCUMULATOR: u16 = 0x07;
pub(crate) const SLIM_RECEIPTS: u16 = 0x0a;
pub(crate) const PROOF: u16 = 0x0b;
pub(crate) const ERA1_INDEX: u16 = 0x3266;
pub(crate) const ERE_INDEX: u16 = 0x3267;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.ere`: sections of headers, bodies and receipts without blooms; before and after the merge.
    Ere,
    /// `.era1`: header, body, receipts and total difficulty of one block after the other; before
    /// the merge.
    Era1,
}

impl Format {
    /// The extension of file names.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Ere => "ere",
            Self::Era1 => "era1",
        }
    }

    /// The type of the records with receipts.
    pub(crate) const fn receipts(self) -> u16 {
        match self {
            Self::Ere => SLIM_RECEIPTS,
            Self::Era1 => FULL_RECEIPTS,
        }
    }
}

/// Type and length of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHead {
    pub(crate) kind: u16,
    pub(crate) length: u32,
}

impl RecordHead {
    /// `None` if the reserved bytes are not zero.
    pub(crate) const fn parse(bytes: [u8; HEAD_BYTES]) -> Option<Self> {
        let [k0, k1, l0, l1, l2, l3, 0, 0] = bytes else {
            return None;
        };
        Some(Self {
            kind: u16::from_le_bytes([k0, k1]),
            length: u32::from_le_bytes([l0, l1, l2, l3]),
        })
    }

    pub(crate) const fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let [k0, k1] = self.kind.to_le_bytes();
        let [l0, l1, l2, l3] = self.length.to_le_bytes();
        [k0, k1, l0, l1, l2, l3, 0, 0]
    }
}

/// The name of a type of record, for messages.
pub(crate) const fn name_of(kind: u16) -> &'static str {
    match kind {
        VERSION => "version",
        HEADER => "header",
        BODY => "body",
        FULL_RECEIPTS | SLIM_RECEIPTS => "receipts",
        TOTAL_DIFFICULTY => "total difficulty",
        ACCUMULATOR => "accumulator",
        PROOF => "proof",
        ERA1_INDEX | ERE_INDEX => "block index",
        _ => "unknown record",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_round_trip_and_reserved_bytes_are_zero() {
        let head = RecordHead {
            kind: ERE_INDEX,
            length: 0x0102_0304,
        };
        let mut bytes = head.to_bytes();
        assert_eq!(bytes, [0x67, 0x32, 4, 3, 2, 1, 0, 0]);
        assert_eq!(RecordHead::parse(bytes), Some(head));
        bytes[7] = 1;
        assert_eq!(RecordHead::parse(bytes), None);
    }
}
