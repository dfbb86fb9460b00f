//! The last bytes of a table (`table/format.cc`).

use crate::{
    block::{Handle, TRAILER_BYTES},
    bytes::Input,
    checksum,
    error::{Decoded, Fault},
};

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// The format that RocksDB 10.4 writes, and the newest one. Earlier ones have the place of the index in the footer.
const VERSIONS: std::ops::RangeInclusive<u32> = 6..=7;
/// The type of checksums that RocksDB 10.4 writes.
const XXH3: u8 = 4;
/// The checksum type, two places of blocks, the version and the magic number.
pub(crate) const FOOTER_BYTES: usize = 53;
/// Where the footer has its own checksum.
const CHECKSUM_AT: usize = 5;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    /// Added to the checksums of this file.
    pub(crate) base: u32,
    /// The list of blocks that do not have rows.
    pub(crate) metaindex: Handle,
}

impl Footer {
    /// Decodes the end of a file of `len` bytes.
    pub(crate) fn decode(end: &[u8], len: u64) -> Decoded<Self> {
        let short = || Fault::damaged("it is too short for a table");
        let magic = end.last_chunk::<8>().ok_or_else(short)?;
        match u64::from_le_bytes(*magic) {
            MAGIC => {
                let footer = end.last_chunk::<FOOTER_BYTES>().ok_or_else(short)?;
                Self::versioned(footer, len)
            }
            0xdb47_7524_8b80_fb57 => Err(Fault::unsupported("tables of format version 0")),
            0x8242_2296_63bf_9564 | 0x4f34_18eb_7a8f_13b8 => {
                Err(Fault::unsupported("a plain table (kPlainTable)"))
            }
            0x9267_89d0_c5f1_7873 => Err(Fault::unsupported("a cuckoo table (kCuckooTable)")),
            _ => Err(Fault::damaged("its last bytes do not end a table")),
        }
    }

    fn versioned(footer: &[u8; FOOTER_BYTES], len: u64) -> Decoded<Self> {
        let mut input = Input(&footer[41..45]);
        let version = input.fixed32().unwrap_or(0);
        if !VERSIONS.contains(&version) {
            return Err(Fault::unsupported(format!(
                "tables of format version {version}"
            )));
        }
        match footer[0] {
            XXH3 => {}
            0 => {
                return Err(Fault::unsupported(
                    "a table without checksums (kNoChecksum)",
                ));
            }
            other => return Err(Fault::unsupported(format!("checksums of type {other}"))),
        }
        let at = len - FOOTER_BYTES as u64;
        let mut input = Input(&footer[1..41]);
        let mut next = || input.fixed32().unwrap_or(0);
        let (extended, stored, base, size) = (next(), next(), next(), next());
        let mut unsigned = *footer;
        unsigned[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
        let expected = checksum::xxh3(&unsigned).wrapping_add(checksum::context(base, at));
        if extended != 0x007a_003e || base == 0 || stored != expected {
            return Err(Fault::damaged("the checksum of the footer is wrong"));
        }
        if footer[33..41] != [0; 8] {
            return Err(Fault::unsupported("a table with a later feature"));
        }
        // Directly before the footer.
        let size = u64::from(size);
        let offset = at.checked_sub(size + TRAILER_BYTES as u64);
        let offset = offset.ok_or_else(|| Fault::damaged("the size of the metaindex is wrong"))?;
        Ok(Self {
            base,
            metaindex: Handle { offset, size },
        })
    }
}
