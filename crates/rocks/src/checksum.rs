//! The checksums of log records and blocks (`util/crc32c.h`, `table/format.cc`).

use xxhash_rust::xxh3::xxh3_64;

/// RocksDB stores CRCs in this form, because a file may contain CRCs of its parts.
pub(crate) const fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The masked CRC-32C of a part of a log.
pub(crate) fn masked_crc(bytes: &[u8]) -> u32 {
    mask(crc32c::crc32c(bytes))
}

/// The checksum of a block or a footer, which has at least one byte. RocksDB mixes in the last byte itself, so
/// that it can hash a block in one piece.
pub(crate) fn xxh3(bytes: &[u8]) -> u32 {
    let (last, rest) = bytes.split_last().unwrap_or((&0, &[]));
    low(xxh3_64(rest)) ^ u32::from(*last).wrapping_mul(0x6b90_83d9)
}

/// The number added to a checksum, so that it holds for one place in one file.
pub(crate) fn context(base: u32, offset: u64) -> u32 {
    base ^ low(offset).wrapping_add(low(offset >> 32))
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
        // xxHash's own vector for the empty input.
        assert_eq!(xxh3(&[0]), 0x38d3_94c2);
        assert_eq!(context(1, 5 << 32 | 6), 10);
    }
}
