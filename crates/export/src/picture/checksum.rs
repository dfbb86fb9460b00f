//! Addresses with the capitals of EIP-55. A checksum costs a keccak, so it is found once
//! for each vertex, several at a time, and kept as 40 bits.

use alloy_primitives::{Address, B256, hex};
use txgraph_keccak::{LANES_MAX, keccak256_each};

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

    /// Returns the address as text.
    pub(super) fn text(self, address: Address) -> [u8; 42] {
        let mut text = [b'0'; 42];
        text[1] = b'x';
        let encoded = hex::encode_to_slice(address, &mut text[2..]);
        debug_assert!(encoded.is_ok(), "the text is twice the bytes");
        for (at, digit) in text[2..].iter_mut().enumerate() {
            // The bit that differs between `a` and `A`.
            *digit ^= u8::from(self.0 >> at & 1 == 1) << 5;
        }
        text
    }
}

/// The capitals of addresses, in order.
pub(super) fn all_capitals(addresses: &[Address]) -> Vec<Capitals> {
    let mut capitals = vec![Capitals::default(); addresses.len()];
    let places = capitals.chunks_mut(LANES_MAX);
    for (places, addresses) in places.zip(addresses.chunks(LANES_MAX)) {
        Capitals::of_each(addresses, places);
    }
    capitals
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn capitals_are_those_of_the_standard(bytes in prop::collection::vec(any::<[u8; 20]>(), 1..20)) {
            let addresses: Vec<_> = bytes.into_iter().map(Address::from).collect();
            for (address, capitals) in addresses.iter().zip(all_capitals(&addresses)) {
                let text = String::from_utf8(capitals.text(*address).to_vec()).unwrap();
                prop_assert_eq!(text, address.to_checksum(None));
            }
        }
    }
}
