//! Keccak-256 with a cache.
//!
//! The slot of a mapping's entry is the hash of 64 bytes, key and position. Contracts compute the
//! same few of these hashes repeatedly, at 300 ns each. The cache keeps the latest.

use crate::word::Word;
use alloy_primitives::keccak256;

const ENTRIES: usize = 256;

/// The latest hashes of 64 bytes, each at an index that depends on the input.
#[derive(Debug)]
pub(crate) struct KeccakCache {
    entries: Box<[([u8; 64], Word)]>,
}

impl Default for KeccakCache {
    fn default() -> Self {
        // All entries start as the hash of 64 zeros, which is correct at any index.
        let zeros = [0; 64];
        let hash = keccak256(zeros).into();
        Self {
            entries: vec![(zeros, hash); ENTRIES].into(),
        }
    }
}

impl KeccakCache {
    #[inline]
    pub(crate) fn hash(&mut self, bytes: &[u8]) -> Word {
        match bytes.first_chunk::<64>() {
            Some(input) if bytes.len() == 64 => self.hash_64(input),
            _ => keccak256(bytes).into(),
        }
    }

    fn hash_64(&mut self, input: &[u8; 64]) -> Word {
        let (words, _) = input.as_chunks::<8>();
        let mixed = words.iter().fold(0u64, |mixed, word| {
            (mixed ^ u64::from_le_bytes(*word))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        });
        let entry = &mut self.entries[mixed as usize % ENTRIES];
        if entry.0 != *input {
            *entry = (*input, keccak256(input).into());
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_hashes_are_correct() {
        let mut cache = KeccakCache::default();
        for round in 0..3 {
            for n in 0..if cfg!(miri) { 4 } else { 2000u64 } {
                let mut input = [0; 64];
                input[24..32].copy_from_slice(&(n / 2).to_be_bytes());
                assert_eq!(cache.hash(&input), keccak256(input).into(), "{round} {n}");
            }
        }
        assert_eq!(cache.hash(&[]), keccak256([]).into());
        assert_eq!(cache.hash(&[0; 65]), keccak256([0; 65]).into());
    }
}
