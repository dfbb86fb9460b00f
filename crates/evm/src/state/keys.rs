//! The keys of the journal's maps. The maps hash with foldhash, alloy's default: its seeds are
//! random, because code chooses addresses and keys and must not be able to make them collide.

use crate::word::Word;
use std::hash::{Hash, Hasher};

/// A slot as the key of a map: the number of the account, and the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotKey {
    pub(crate) account: u32,
    pub(crate) key: Word,
}

impl Hash for SlotKey {
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // Five integers are hashed faster than a slice of their bytes.
        for limb in self.key.0 {
            hasher.write_u64(limb);
        }
        hasher.write_u32(self.account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::map::DefaultHashBuilder;
    use std::{collections::HashSet, hash::BuildHasher};

    /// Neighboring slots, as of arrays and structures, do not collide in either half of the hash.
    #[test]
    #[cfg_attr(miri, ignore = "statistics of safe code")]
    fn neighboring_slots_do_not_collide() {
        let hash = DefaultHashBuilder::default();
        let mut low = HashSet::new();
        let mut high = HashSet::new();
        for account in 0..8 {
            for n in 0..1000 {
                let key = Word::new(n);
                let hashed = hash.hash_one(SlotKey { account, key });
                low.insert(hashed as u32);
                high.insert(hashed >> 32);
            }
        }
        assert!(low.len() > 7_990 && high.len() > 7_990);
    }
}
