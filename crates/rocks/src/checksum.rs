//! The checksums of log records and blocks (`util/crc32c.h`, `table/format.cc`).

use crate::error::{Decoded, Fault};
use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::xxh64};

/// RocksDB stores CRCs in this form, because a file may contain CRCs of its parts.
pub(crate) const fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The masked CRC-32C of a part of a log.
pub(crate) fn masked_crc(bytes: &[u8]) -> u32 {
    mask(crc32c::crc32c(bytes))
}

/// How the blocks of a table are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Crc32c,
    XxHash32,
    XxHash64,
    Xxh3,
}

impl Kind {
    pub(crate) fn new(number: u8) -> Decoded<Self> {
        match number {
            0 => Err(Fault::unsupported(
                "a table without checksums (kNoChecksum)",
            )),
            1 => Ok(Self::Crc32c),
            2 => Ok(Self::XxHash32),
            3 => Ok(Self::XxHash64),
            4 => Ok(Self::Xxh3),
            other => Err(Fault::unsupported(format!("checksums of type {other}"))),
        }
    }

    /// The checksum of at least one byte.
    pub(crate) fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Crc32c => masked_crc(bytes),
            Self::XxHash32 => xxh32(bytes, 0),
            Self::XxHash64 => low(xxh64(bytes, 0)),
            // RocksDB mixes in the last byte itself, so that it can hash a block in one piece.
            Self::Xxh3 => {
                let (last, rest) = bytes.split_last().unwrap_or((&0, &[]));
                low(xxh3_64(rest)) ^ u32::from(*last).wrapping_mul(0x6b90_83d9)
            }
        }
    }
}

/// The number added to a checksum, so that it holds for one place in one file. `base` is 0 in
/// files before format version 6, which have no such addition.
pub(crate) fn context(base: u32, offset: u64) -> u32 {
    match base {
        0 => 0,
        base => base ^ low(offset).wrapping_add(low(offset >> 32)),
    }
}

const fn low(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // RFC 3720, B.4, and crc32c_test.cc of RocksDB.
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(mask(0), 0xa282_ead8);
        // xxHash's own vectors for the empty input.
        assert_eq!(Kind::XxHash32.of(&[]), 0x02cc_5d05);
        assert_eq!(Kind::XxHash64.of(&[]), 0x51d8_e999);
        assert_eq!(Kind::Xxh3.of(&[0]), 0x38d3_94c2);
        assert_eq!(context(0, 7), 0);
        assert_eq!(context(1, 5 << 32 | 6), 10);
    }
}
