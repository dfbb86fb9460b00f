//! Keccak-256 of several messages at once.
//!
//! One message after the other, the permutation is a chain of 24 rounds on 25 words, a
//! microsecond for most messages, and it is a visible part of whatever resolves hashes of
//! transactions, checks headers or writes addresses with their checksums. All of these
//! have many messages. In the lanes of vector registers eight of them cost what one does
//! (AVX-512, which can rotate, and compute any function of three inputs), or four
//! somewhat more (AVX2). Without either it is one after the other, by
//! [`alloy_primitives::keccak256`], which the tests compare with.

mod lanes;
#[cfg(target_arch = "x86_64")]
mod x86;

use alloy_primitives::B256;
use std::ops::Range;

/// As many messages as are worth being gathered: no machine takes more at once.
pub const LANES_MAX: usize = 8;

/// Fills `hashes` with the Keccak-256 of the messages, one each. Fewer messages than
/// lanes, or of very different lengths, gain less.
///
/// # Panics
///
/// If there are not as many hashes as messages.
pub fn keccak256_each(messages: &[&[u8]], hashes: &mut [B256]) {
    keccak256_each_with(Width::of_machine(), messages, hashes);
}

/// The same for messages that lie in one buffer.
///
/// # Panics
///
/// If there are not as many hashes as messages, or a message is not in the buffer.
pub fn keccak256_parts(bytes: &[u8], parts: &[Range<usize>], hashes: &mut [B256]) {
    assert_eq!(parts.len(), hashes.len(), "a hash for each message");
    let mut messages = [&[][..]; LANES_MAX];
    for (parts, hashes) in parts.chunks(LANES_MAX).zip(hashes.chunks_mut(LANES_MAX)) {
        for (message, part) in messages.iter_mut().zip(parts) {
            *message = &bytes[part.clone()];
        }
        keccak256_each(&messages[..parts.len()], hashes);
    }
}

/// How many lanes are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    One,
    #[cfg(target_arch = "x86_64")]
    Four,
    #[cfg(target_arch = "x86_64")]
    Eight,
}

impl Width {
    /// All that this machine has, the best last.
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
    assert_eq!(messages.len(), hashes.len(), "a hash for each message");
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
    fn every_length_around_a_block() {
        let messages: Vec<Vec<u8>> = (0..420_usize)
            .map(|len| (0..len).map(|at| (at * 7 + len).to_le_bytes()[0]).collect())
            .collect();
        check(&messages);
        // The same, so that every lane meets every length beside other ones.
        for start in 1..9 {
            check(&messages[start..]);
        }
    }

    #[test]
    fn parts_of_a_buffer() {
        let bytes: Vec<u8> = (0..200).collect();
        let parts: Vec<Range<usize>> = (0..20).map(|at| at * 3..at * 9).collect();
        let mut hashes = vec![B256::ZERO; parts.len()];
        keccak256_parts(&bytes, &parts, &mut hashes);
        let expected = parts.iter().map(|part| keccak256(&bytes[part.clone()]));
        assert!(hashes.into_iter().eq(expected));
    }

    #[test]
    #[should_panic(expected = "a hash for each message")]
    fn too_few_hashes() {
        keccak256_each(&[b"", b""], &mut [B256::ZERO]);
    }

    proptest! {
        #[test]
        fn like_one_after_the_other(messages in vec(vec(any::<u8>(), 0..700), 0..30)) {
            check(&messages);
        }
    }
}
