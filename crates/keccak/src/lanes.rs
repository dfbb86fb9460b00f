//! The sponge construction (FIPS 202, section 4, with the original Keccak padding) over
//! several interleaved states.

use alloy_primitives::{B256, keccak256};

/// Bytes of a message that one permutation absorbs: the rate of Keccak-256.
const BLOCK_BYTES: usize = 136;

/// 64-bit words of a block.
const BLOCK_WORDS: usize = BLOCK_BYTES / 8;

/// The states of several messages: one array for each of the 25 words, with one lane for
/// each message.
pub(crate) type States<const LANES: usize> = [[u64; LANES]; 25];

/// Hashes each message alone.
pub(crate) fn one_by_one(messages: &[&[u8]], hashes: &mut [B256]) {
    for (hash, message) in hashes.iter_mut().zip(messages) {
        *hash = keccak256(message);
    }
}

/// Hashes messages in groups of `LANES`, with a permutation of `LANES` states.
pub(crate) fn groups<const LANES: usize>(
    messages: &[&[u8]],
    hashes: &mut [B256],
    permute: impl Fn(&mut States<LANES>),
) {
    for (messages, hashes) in messages.chunks(LANES).zip(hashes.chunks_mut(LANES)) {
        match messages {
            [_] => one_by_one(messages, hashes),
            _ => group(messages, hashes, &permute),
        }
    }
}

fn group<const LANES: usize>(
    messages: &[&[u8]],
    hashes: &mut [B256],
    permute: &impl Fn(&mut States<LANES>),
) {
    // The last block holds the padding, and may hold no byte of the message.
    let last_block = |message: &[u8]| message.len() / BLOCK_BYTES;
    let last = messages.iter().map(|message| last_block(message)).max();
    let mut states = [[0; LANES]; 25];
    for block in 0..=last.unwrap_or(0) {
        for (lane, message) in messages.iter().enumerate() {
            // Shorter messages are done: their states are not used any more.
            if block <= last_block(message) {
                let rest = &message[block * BLOCK_BYTES..];
                match rest.first_chunk() {
                    Some(whole) => absorb(&mut states, lane, whole),
                    None => absorb(&mut states, lane, &padded(rest)),
                }
            }
        }
        permute(&mut states);
        for (lane, (message, hash)) in messages.iter().zip(&mut *hashes).enumerate() {
            if block == last_block(message) {
                for (word, bytes) in hash.0.as_chunks_mut().0.iter_mut().enumerate() {
                    *bytes = states[word][lane].to_le_bytes();
                }
            }
        }
    }
}

/// Pads the end of a message to a block: a one bit, zeros, and a final one bit.
fn padded(rest: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 1;
    block[BLOCK_BYTES - 1] |= 0x80;
    block
}

#[inline]
fn absorb<const LANES: usize>(states: &mut States<LANES>, lane: usize, block: &[u8; BLOCK_BYTES]) {
    let (words, _) = block.as_chunks::<8>();
    for (state, word) in states[..BLOCK_WORDS].iter_mut().zip(words) {
        state[lane] ^= u64::from_le_bytes(*word);
    }
}
