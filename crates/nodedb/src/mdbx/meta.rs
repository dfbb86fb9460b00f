//! Meta pages: the first three pages of `mdbx.dat`. Each describes one of the three newest
//! commits. libmdbx ignores a page that is not valid and uses an older commit, without an
//! error: the newest blocks are then missing. So this module checks the pages by the rules
//! of `meta_validate` in `mdbx.c` (libmdbx 0.13).

use std::fmt;

/// How many meta pages there are.
pub(crate) const META_PAGES: u32 = 3;
/// Bytes of a page that [`defect`] reads.
pub(super) const META_BYTES: usize = 204;

/// The magic number of libmdbx and version 3 of the data format.
const MAGIC_AND_VERSION: u64 = 0x0059_659d_bdef_4c11 << 8 | 3;
/// `P_META`.
const PAGE_FLAGS: u16 = 8;
/// `MDBX_INTEGERKEY`: the flags of the table of free pages.
const FREE_TABLE_FLAGS: u16 = 8;
/// Signature of a commit that was synced to disk. Commits with 0 and 1 were
/// not.
const STEADY: u64 = u64::MAX;
/// Root of an empty table.
const NO_PAGE: u32 = u32::MAX;

/// A meta page that libmdbx ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadMetaPage {
    /// 0 to 2.
    pub(crate) number: u32,
    /// The defect.
    pub(crate) defect: &'static str,
}

impl fmt::Display for BadMetaPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "db/mdbx.dat: meta page {} is damaged ({}), so MDBX may use an older commit and the newest \
             blocks may be missing; restore the file from a copy, or start the node and compare its tip",
            self.number, self.defect
        )
    }
}

/// Returns what is wrong with the meta page `number`, if anything. A page that a node
/// is writing can look incomplete for some microseconds.
pub(super) fn defect(page: &[u8; META_BYTES], number: u32, page_size: u32) -> Option<&'static str> {
    let u16_at = |at| u16::from_le_bytes(array(page, at));
    let u32_at = |at| u32::from_le_bytes(array(page, at));
    let u64_at = |at| u64::from_le_bytes(array(page, at));
    // The page header: transaction, key size, flags, free space, page number.
    if u16_at(10) != PAGE_FLAGS || u32_at(16) != number {
        return Some("its page header does not belong to a meta page");
    }
    if u64_at(20) != MAGIC_AND_VERSION {
        return Some("its magic number or version is wrong");
    }
    let txn = u64_at(28);
    if txn == 0 || txn != u64_at(196) {
        return Some("its two transaction numbers differ");
    }
    let (lower, upper, now, end) = (u32_at(44), u32_at(48), u32_at(52), u32_at(56));
    if lower > upper || end > now.clamp(lower, upper) || end < META_PAGES {
        return Some("its database size is impossible");
    }
    if u16_at(60) != FREE_TABLE_FLAGS || u32_at(64) != page_size {
        return Some("its table flags or page size are wrong");
    }
    // Root and last change of the tables of free pages and of named tables.
    for table in [60, 108] {
        let (root, changed) = (u32_at(table + 8), u64_at(table + 40));
        if (root != NO_PAGE && root >= end) || changed > txn {
            return Some("the root of a table is impossible");
        }
    }
    match u64_at(188) {
        0 | 1 | STEADY => None,
        _ => Some("its signature is wrong"),
    }
}

fn array<const N: usize>(page: &[u8; META_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&page[at..at + N]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs::File, os::unix::fs::FileExt};
    use txgraph_testkit::fixtures::committed;

    const PAGE_SIZE: u32 = 4096;

    /// Bytes that no check covers: transaction of the page header, key size, free space,
    /// reserved bytes, growth steps, and what a tree holds besides its root.
    fn is_covered(at: usize) -> bool {
        !matches!(at, 0..10 | 12..16 | 36..56 | 62..64 | 72..100 | 108..116 | 120..148 | 156..188)
    }

    #[test]
    fn finds_flipped_bits_in_meta_pages_of_real_nodes() {
        for fixture in committed() {
            let file = File::open(fixture.path().join("db/mdbx.dat")).unwrap();
            for number in 0..META_PAGES {
                let mut page = [0; META_BYTES];
                let position = u64::from(number * PAGE_SIZE);
                file.read_exact_at(&mut page, position).unwrap();
                assert_eq!(defect(&page, number, PAGE_SIZE), None);
                for at in (0..META_BYTES).filter(|at| is_covered(*at)) {
                    // The highest bit: low bits of numbers of pages may stay possible.
                    page[at] ^= 0x80;
                    let found = defect(&page, number, PAGE_SIZE);
                    let low_byte = matches!(at, 56..60 | 68..72 | 116..120 | 100..108 | 148..156);
                    assert!(found.is_some() || low_byte, "{number}, byte {at}");
                    page[at] ^= 0x80;
                }
            }
        }
    }
}
