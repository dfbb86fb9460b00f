//! A hash of addresses and other short keys.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers with random keys, because anyone can search for addresses that collide under
/// known ones.
#[derive(Clone, Debug)]
pub(crate) struct FoldHashBuilder {
    keys: [u64; 2],
}

impl Default for FoldHashBuilder {
    fn default() -> Self {
        let random = RandomState::new();
        Self {
            keys: [random.hash_one(1), random.hash_one(2)],
        }
    }
}

impl BuildHasher for FoldHashBuilder {
    type Hasher = FoldHasher;

    #[inline]
    fn build_hasher(&self) -> FoldHasher {
        FoldHasher {
            keys: self.keys,
            state: 0,
        }
    }
}

/// Multiplies, and folds the high half of each product onto the low half. An address takes two
/// multiplications beside the one for its length, which is the same for all.
#[derive(Debug)]
pub(crate) struct FoldHasher {
    keys: [u64; 2],
    state: u64,
}

impl FoldHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.state = fold(self.state ^ word ^ self.keys[1], self.keys[0] | 1);
    }
}

impl Hasher for FoldHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            let [first, second] = [word(&pair[..8]), word(&pair[8..])];
            self.state = fold(self.state ^ first ^ self.keys[0], second ^ self.keys[1]);
        }
        match bytes.last_chunk::<8>() {
            _ if rest.is_empty() => {}
            // It can overlap what was hashed before.
            Some(last) if !pairs.is_empty() && rest.len() <= 8 => {
                self.state = fold(self.state ^ u64::from_le_bytes(*last), self.keys[0] | 1);
            }
            _ => rest.iter().for_each(|byte| self.add(u64::from(*byte))),
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.add(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    let folded = (wide as u64) ^ ((wide >> 64) as u64);
    folded
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    (bytes.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Keys that differ in one bit differ in about half of the bits of their hashes, and in the upper
    /// half, which tables use.
    #[test]
    fn each_bit_of_a_key_counts() {
        let builder = FoldHashBuilder {
            keys: [0x9e37_79b9_7f4a_7c15, 0x517c_c1b7_2722_0a95],
        };
        for len in [1, 3, 8, 16, 20, 24, 32, 40] {
            let zeros = vec![0_u8; len];
            let mut seen = HashSet::from([builder.hash_one(&zeros) >> 32]);
            let mut changed = 0;
            for bit in 0..8 * len {
                let mut key = zeros.clone();
                key[bit / 8] ^= 1 << (bit % 8);
                let hash = builder.hash_one(&key);
                changed += (hash ^ builder.hash_one(&zeros)).count_ones();
                assert!(seen.insert(hash >> 32), "{len} bytes, bit {bit}");
            }
            let mean = f64::from(changed) / (8 * len) as f64;
            assert!((24.0..40.0).contains(&mean), "{len} bytes: {mean} bits");
        }
    }
}
