//! Addresses with the capitals of EIP-55. A checksum costs a keccak, so it is found once
//! for each vertex, several at a time, and kept as 40 bits.

use alloy_primitives::{Address, B256, hex};
use std::ops::ControlFlow;
use txgraph_keccak::{LANES_MAX, keccak256_each};
use txgraph_work::{CancelFlag, Threads, ThreadsError, ordered};

/// Which of the 40 digits of an address are capitals, the first in the lowest bit.
#[derive(Clone, Copy, Default)]
pub(super) struct Capitals(u64);

impl Capitals {
    /// A letter is a capital where the same digit of the keccak of the text is above 7.
    fn new(text: &[u8; 40], hash: &B256) -> Self {
        let bit = |(at, character): (usize, &u8)| {
            let digit = hash[at / 2] >> (4 * (1 - at % 2));
            u64::from(character.is_ascii_lowercase() && digit & 8 != 0) << at
        };
        Self(text.iter().enumerate().map(bit).sum())
    }

    /// Finds the capitals of several addresses at once, at most [`LANES_MAX`].
    fn of_each(addresses: &[Address], places: &mut [Self]) {
        let count = addresses.len();
        let mut texts = [[0; 40]; LANES_MAX];
        for (text, address) in texts.iter_mut().zip(addresses) {
            let encoded = hex::encode_to_slice(address, text);
            debug_assert!(encoded.is_ok(), "the text is twice the bytes");
        }
        let mut hashes = [B256::ZERO; LANES_MAX];
        let messages = texts.each_ref().map(|text| &text[..]);
        keccak256_each(&messages[..count], &mut hashes[..count]);
        for (place, (text, hash)) in places.iter_mut().zip(texts.iter().zip(&hashes)) {
            *place = Self::new(text, hash);
        }
    }

    pub(super) fn text(self, address: Address) -> [u8; 42] {
        let mut text = [b'0'; 42];
        text[1] = b'x';
        let encoded = hex::encode_to_slice(address, &mut text[2..]);
        debug_assert!(encoded.is_ok(), "the text is twice the bytes");
        let (digits, _) = text[2..].as_chunks_mut::<8>();
        for (eight, bits) in digits.iter_mut().zip(self.0.to_le_bytes()) {
            let cased = u64::from_le_bytes(*eight) ^ CASE_BITS[usize::from(bits)];
            *eight = cased.to_le_bytes();
        }
        text
    }
}

/// For each set bit of a byte, the bit that differs between `a` and `A`.
const CASE_BITS: [u64; 256] = {
    let mut table = [0; 256];
    let mut bits = 0;
    while bits < table.len() {
        let mut byte = 0;
        while byte < 8 {
            table[bits] |= ((bits as u64 >> byte) & 1) << (8 * byte + 5);
            byte += 1;
        }
        bits += 1;
    }
    table
};

/// The capitals of addresses, in order, found by up to `threads` threads.
pub(super) fn all_capitals(
    addresses: &[Address],
    threads: &Threads,
) -> Result<Vec<Capitals>, ThreadsError> {
    /// Fewer addresses are not worth a thread.
    const PART: usize = 4096;
    let find = |addresses: &[Address], capitals: &mut [Capitals]| {
        let places = capitals.chunks_mut(LANES_MAX);
        for (places, addresses) in places.zip(addresses.chunks(LANES_MAX)) {
            Capitals::of_each(addresses, places);
        }
    };
    let mut capitals = vec![Capitals::default(); addresses.len()];
    let part = addresses.len().div_ceil(threads.count()).max(PART);
    if addresses.len() <= part {
        find(addresses, &mut capitals);
        return Ok(capitals);
    }
    ordered(
        threads,
        threads.count(),
        &CancelFlag::new(),
        addresses.chunks(part).zip(capitals.chunks_mut(part)),
        || (),
        |(), (addresses, capitals)| {
            find(addresses, capitals);
            ControlFlow::Continue(())
        },
        |()| ControlFlow::<()>::Continue(()),
    )?;
    Ok(capitals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn capitals_are_those_of_the_standard(bytes in prop::collection::vec(any::<[u8; 20]>(), 1..20)) {
            let addresses: Vec<_> = bytes.into_iter().map(Address::from).collect();
            let all = all_capitals(&addresses, &Threads::one()).unwrap();
            for (address, capitals) in addresses.iter().zip(all) {
                let text = String::from_utf8(capitals.text(*address).to_vec()).unwrap();
                prop_assert_eq!(text, address.to_checksum(None));
            }
        }
    }
    #[test]
    fn threads_find_the_same_capitals() {
        let addresses: Vec<_> = (0..9000u64)
            .map(|number| Address::from_word(keccak256(number.to_be_bytes())))
            .collect();
        let one = all_capitals(&addresses, &Threads::one()).unwrap();
        let two = all_capitals(&addresses, &Threads::new(2).unwrap()).unwrap();
        for ((address, one), two) in addresses.iter().zip(one).zip(two) {
            assert_eq!(one.text(*address), two.text(*address));
        }
    }
}
