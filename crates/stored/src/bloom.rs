//! Bloom filters of logs.

use alloy_primitives::{B256, Bloom, BloomInput, keccak256};

/// Number of remembered hashes, a power of two.
const ENTRIES: usize = 1 << 12;

/// Hashes of addresses and topics. Few contracts and signatures are in most logs, so their hashes
/// are kept: one is replaced by the next that falls into the same place.
pub struct BloomHashes(Box<[Entry]>);

#[derive(Clone, Copy)]
struct Entry {
    /// An address or a topic, with zeros before an address.
    input: [u8; 32],
    /// The length of the input; 0: no entry.
    length: usize,
    hash: B256,
}

impl Default for BloomHashes {
    fn default() -> Self {
        let empty = Entry {
            input: [0; 32],
            length: 0,
            hash: B256::ZERO,
        };
        Self(vec![empty; ENTRIES].into())
    }
}

impl std::fmt::Debug for BloomHashes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BloomHashes").finish_non_exhaustive()
    }
}

impl BloomHashes {
    /// Adds an address or a topic to a bloom filter.
    #[inline]
    pub fn add(&mut self, bloom: &mut Bloom, input: &[u8]) {
        let mut padded = [0; 32];
        let Some(tail) = padded.len().checked_sub(input.len()) else {
            bloom.accrue(BloomInput::Raw(input));
            return;
        };
        padded[tail..].copy_from_slice(input);
        let [.., a, b, c, d, e, f, g, h] = padded;
        let low = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        // Fibonacci hashing: the high bits of the product depend on all bits.
        let mixed = low.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - ENTRIES.ilog2());
        // Below the number of entries, so it fits.
        let entry = &mut self.0[usize::try_from(mixed).unwrap_or(0)];
        if entry.length != input.len() || entry.input != padded {
            *entry = Entry {
                input: padded,
                length: input.len(),
                hash: keccak256(input),
            };
        }
        bloom.accrue(BloomInput::Hash(entry.hash));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blooms_equal_those_of_alloy(
            inputs in proptest::collection::vec((0u8..4, any::<bool>(), any::<u16>()), 0..200)
        ) {
            let mut hashes = BloomHashes::default();
            let (mut found, mut expected) = (Bloom::ZERO, Bloom::ZERO);
            for (first, is_address, seed) in inputs {
                let mut input = [first; 32];
                input[30..].copy_from_slice(&(seed % 512).to_be_bytes());
                let input = if is_address { &input[12..] } else { &input[..] };
                hashes.add(&mut found, input);
                expected.accrue(BloomInput::Raw(input));
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn an_address_is_not_the_topic_that_contains_it() {
        let mut hashes = BloomHashes::default();
        let topic = B256::with_last_byte(7);
        for input in [&topic[12..], &topic[..], &topic[12..]] {
            let mut bloom = Bloom::ZERO;
            hashes.add(&mut bloom, input);
            assert_eq!(bloom, Bloom::from(BloomInput::Raw(input)));
        }
    }
}
