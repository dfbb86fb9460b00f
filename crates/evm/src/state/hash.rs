//! A fast hash for addresses and slots.

use crate::word::Word;
use alloy_primitives::Address;
use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};

/// A map with [`Fold`].
pub(crate) type FoldMap<K, V> = HashMap<K, V, Fold>;

/// Multiplies pairs of 64-bit words into 128 bits, and folds the halves. The seeds are
/// random per map: addresses and keys are chosen by strangers, who must not be able to
/// make them meet.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    seeds: [u64; 2],
}

impl Default for Fold {
    fn default() -> Self {
        let random = RandomState::new();
        Self {
            seeds: [random.hash_one(0), random.hash_one(1)],
        }
    }
}

impl BuildHasher for Fold {
    type Hasher = FoldHasher;

    #[inline(always)]
    fn build_hasher(&self) -> FoldHasher {
        let [state, seed] = self.seeds;
        FoldHasher { state, seed }
    }
}

/// See [`Fold`].
#[derive(Debug)]
pub(crate) struct FoldHasher {
    state: u64,
    seed: u64,
}

impl FoldHasher {
    #[inline(always)]
    fn pair(&mut self, a: u64, b: u64) {
        let (low, high) = (self.state ^ a).carrying_mul(self.seed ^ b, 0);
        self.state = low ^ high;
    }
}

impl Hasher for FoldHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(16) {
            let mut padded = [0; 16];
            padded[..chunk.len()].copy_from_slice(chunk);
            let both = u128::from_le_bytes(padded);
            self.pair(both as u64, (both >> 64) as u64);
        }
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.state
    }
}

/// An address as a map's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressKey(pub(crate) Address);

impl Hash for AddressKey {
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // Two pairs, without the length that slices hash before their bytes.
        hasher.write(self.0.as_slice());
    }
}

/// A slot as a map's key: the account's number, and the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotKey {
    pub(crate) account: u32,
    pub(crate) key: Word,
}

impl Hash for SlotKey {
    #[inline(always)]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Word([a, b, c, d]) = self.key;
        let mut bytes = [0; 48];
        for (at, limb) in [a, b, c, d, u64::from(self.account)].iter().enumerate() {
            bytes[8 * at..8 * at + 8].copy_from_slice(&limb.to_le_bytes());
        }
        hasher.write(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Neighbours, which slots of arrays and structures are, do not collide in any
    /// half of the hash.
    #[test]
    #[cfg_attr(miri, ignore = "statistics of safe code")]
    fn neighbours_spread() {
        let hash = Fold::default();
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
