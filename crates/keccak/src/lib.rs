//! Keccak-256 of several messages at once.
//!
//! The permutation is a chain of 24 rounds on 25 words, so one message takes about a
//! microsecond. That is a visible part of resolving transaction hashes, checking headers
//! and writing checksummed addresses, and all of these have many messages.
//!
//! In the lanes of vector registers, eight messages cost as much as one with AVX-512,
//! which has rotation and any function of three inputs as one instruction. With AVX2 four
//! messages cost somewhat more than one. Other machines hash one message after another
//! with [`alloy_primitives::keccak256`], which is also the oracle of the tests.
//!
//! Modules, each using only those before it: lanes, x86.

mod lanes;
#[cfg(target_arch = "x86_64")]
mod x86;

use alloy_primitives::B256;
use std::ops::Range;

/// The largest number of messages that any machine hashes at once. Gathering more gains
/// nothing.
pub const LANES_MAX: usize = 8;

/// Writes the Keccak-256 hash of each message to `hashes`. The gain is smaller for fewer
/// messages than lanes, and for messages of very different lengths.
///
/// # Panics
///
/// Panics if `hashes` and `messages` differ in length.
pub fn keccak256_each(messages: &[&[u8]], hashes: &mut [B256]) {
    keccak256_each_with(Width::of_machine(), messages, hashes);
}

/// The number of messages that are ordered by length, so that the messages of a group need the same
/// number of permutations.
const SORTED: usize = 64;

/// Like [`keccak256_each`], for messages in one buffer: `parts` are their byte ranges. Messages
/// of about the same length are hashed together, among 64 that follow each other.
///
/// # Panics
///
/// Panics if `hashes` and `parts` differ in length, or if a part is outside of the buffer.
pub fn keccak256_parts(bytes: &[u8], parts: &[Range<usize>], hashes: &mut [B256]) {
    assert_eq!(parts.len(), hashes.len(), "one hash for each message");
    let mut all = [(&[][..], 0); SORTED];
    for (parts, hashes) in parts.chunks(SORTED).zip(hashes.chunks_mut(SORTED)) {
        let all = &mut all[..parts.len()];
        for ((message, at), (place, part)) in all.iter_mut().zip(parts.iter().enumerate()) {
            (*message, *at) = (&bytes[part.clone()], place);
        }
        all.sort_unstable_by_key(|(message, _)| message.len());
        for group in all.chunks(LANES_MAX) {
            let (mut messages, mut found) = ([&[][..]; LANES_MAX], [B256::ZERO; LANES_MAX]);
            for (message, (given, _)) in messages.iter_mut().zip(group) {
                *message = given;
            }
            keccak256_each(&messages[..group.len()], &mut found[..group.len()]);
            for ((_, place), hash) in group.iter().zip(found) {
                hashes[*place] = hash;
            }
        }
    }
}

/// The number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    One,
    #[cfg(target_arch = "x86_64")]
    Four,
    #[cfg(target_arch = "x86_64")]
    Eight,
}

impl Width {
    /// The widths that this machine supports, ascending.
    fn all() -> impl Iterator<Item = Self> {
        let mut widths = vec![Self::One];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                widths.push(Self::Four);
            }
            if is_x86_feature_detected!("avx512f") {
                widths.push(Self::Eight);
            }
        }
        widths.into_iter()
    }

    fn of_machine() -> Self {
        static BEST: std::sync::OnceLock<Width> = std::sync::OnceLock::new();
        *BEST.get_or_init(|| Self::all().last().unwrap_or(Self::One))
    }
}

fn keccak256_each_with(width: Width, messages: &[&[u8]], hashes: &mut [B256]) {
    assert_eq!(messages.len(), hashes.len(), "one hash for each message");
    match width {
        Width::One => lanes::one_by_one(messages, hashes),
        #[cfg(target_arch = "x86_64")]
        Width::Four => lanes::groups::<4>(messages, hashes, x86::permute_four),
        #[cfg(target_arch = "x86_64")]
        Width::Eight => lanes::groups::<8>(messages, hashes, x86::permute_eight),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;
    use proptest::{collection::vec, prelude::*};

    fn check(messages: &[Vec<u8>]) {
        let expected: Vec<B256> = messages.iter().map(keccak256).collect();
        let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        for width in Width::all() {
            let mut hashes = vec![B256::ZERO; messages.len()];
            keccak256_each_with(width, &messages, &mut hashes);
            assert_eq!(hashes, expected, "{width:?}");
        }
    }

    #[test]
    fn messages_of_every_length_around_a_block() {
        let messages: Vec<Vec<u8>> = (0..420_usize)
            .map(|len| (0..len).map(|at| (at * 7 + len).to_le_bytes()[0]).collect())
            .collect();
        check(&messages);
        // Shifted, so that every lane gets every length, next to other lengths.
        for start in 1..9 {
            check(&messages[start..]);
        }
    }

    #[test]
    fn hashes_parts_of_a_buffer() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        // Of many lengths, not ordered, and more than are ordered together.
        let parts: Vec<Range<usize>> = (0..150).map(|at| at * 3..at * 3 + at * 37 % 500).collect();
        let mut hashes = vec![B256::ZERO; parts.len()];
        keccak256_parts(&bytes, &parts, &mut hashes);
        let expected = parts.iter().map(|part| keccak256(&bytes[part.clone()]));
        assert!(hashes.into_iter().eq(expected));
    }

    #[test]
    #[should_panic(expected = "one hash for each message")]
    fn panics_on_too_few_hashes() {
        keccak256_each(&[b"", b""], &mut [B256::ZERO]);
    }

    proptest! {
        #[test]
        fn equals_hashing_one_by_one(messages in vec(vec(any::<u8>(), 0..700), 0..30)) {
            check(&messages);
        }
    }
}
