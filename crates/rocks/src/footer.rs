//! The last bytes of a table (`table/format.cc`).

use crate::{
    block::{Handle, TRAILER_BYTES},
    bytes::Input,
    checksum,
    error::{Decoded, Fault},
};

/// Tables of format version 0, and of later ones.
const MAGIC_0: u64 = 0xdb47_7524_8b80_fb57;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// The newest format, which RocksDB 10.4 does not write by default.
const NEWEST_VERSION: u32 = 7;
/// The checksum type, two places of blocks, the version and the magic number.
pub(crate) const FOOTER_BYTES: usize = 53;
const FOOTER_0_BYTES: usize = 48;
/// Where version 6 has its own checksum.
const CHECKSUM_AT: usize = 5;

/// The content of the footer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) version: u32,
    pub(crate) checksum: checksum::Kind,
    /// Added to the checksums of this file; 0 before version 6.
    pub(crate) base: u32,
    /// The list of blocks that do not have rows.
    pub(crate) metaindex: Handle,
    /// The index, which later versions list in the metaindex.
    pub(crate) index: Option<Handle>,
}

impl Footer {
    /// Decodes the end of a file of `len` bytes.
    pub(crate) fn decode(end: &[u8], len: u64) -> Decoded<Self> {
        let short = || Fault::damaged("it is too short for a table");
        let magic = end.last_chunk::<8>().ok_or_else(short)?;
        match u64::from_le_bytes(*magic) {
            MAGIC_0 => {
                let footer = end.last_chunk::<FOOTER_0_BYTES>().ok_or_else(short)?;
                Self::with_handles(&footer[..], 0, checksum::Kind::Crc32c)
            }
            MAGIC => {
                let footer = end.last_chunk::<FOOTER_BYTES>().ok_or_else(short)?;
                Self::versioned(footer, len)
            }
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
        if !(1..=NEWEST_VERSION).contains(&version) {
            return Err(Fault::unsupported(format!(
                "tables of format version {version}"
            )));
        }
        let kind = checksum::Kind::new(footer[0])?;
        if version < 6 {
            return Self::with_handles(&footer[1..], version, kind);
        }
        let at = len - FOOTER_BYTES as u64;
        let mut input = Input(&footer[1..41]);
        let mut next = || input.fixed32().unwrap_or(0);
        let (extended, stored, base, size) = (next(), next(), next(), next());
        let mut unsigned = *footer;
        unsigned[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
        let expected = kind.of(&unsigned).wrapping_add(checksum::context(base, at));
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
            version,
            checksum: kind,
            base,
            metaindex: Handle { offset, size },
            index: None,
        })
    }

    fn with_handles(handles: &[u8], version: u32, checksum: checksum::Kind) -> Decoded<Self> {
        let mut input = Input(handles);
        let handles = Handle::decode(&mut input).zip(Handle::decode(&mut input));
        let (metaindex, index) =
            handles.ok_or_else(|| Fault::damaged("the places in the footer are invalid"))?;
        Ok(Self {
            version,
            checksum,
            base: 0,
            metaindex,
            index: Some(index),
        })
    }
}
