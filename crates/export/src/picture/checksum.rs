//! Addresses with the capitals of EIP-55. A checksum costs a keccak, so it is found once for each vertex,
//! several at a time.

use alloy_primitives::{Address, B256, hex};
use txgraph_keccak::{LANES_MAX, keccak256_each};

/// Returns the text of each address, with `0x`.
pub(super) fn checksummed(addresses: &[Address]) -> Vec<[u8; 42]> {
    let mut texts = vec![[b'0'; 42]; addresses.len()];
    let places = texts.chunks_mut(LANES_MAX);
    for (texts, addresses) in places.zip(addresses.chunks(LANES_MAX)) {
        for (text, address) in texts.iter_mut().zip(addresses) {
            text[1] = b'x';
            let encoded = hex::encode_to_slice(address, &mut text[2..]);
            debug_assert!(encoded.is_ok(), "the text is twice the bytes");
        }
        let mut hashes = [B256::ZERO; LANES_MAX];
        let hashes = &mut hashes[..texts.len()];
        let messages: Vec<_> = texts.iter().map(|text| &text[2..]).collect();
        keccak256_each(&messages, hashes);
        for (text, hash) in texts.iter_mut().zip(hashes) {
            for (at, digit) in text[2..].iter_mut().enumerate() {
                // A letter is a capital where the same digit of the keccak of the text is above 7.
                if (hash[at / 2] >> (4 * (1 - at % 2))) & 8 != 0 {
                    digit.make_ascii_uppercase();
                }
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn capitals_are_those_of_the_standard(bytes in prop::collection::vec(any::<[u8; 20]>(), 0..20)) {
            let addresses: Vec<_> = bytes.into_iter().map(Address::from).collect();
            let texts = checksummed(&addresses);
            prop_assert_eq!(texts.len(), addresses.len());
            for (address, text) in addresses.iter().zip(texts) {
                let text = String::from_utf8(text.to_vec()).unwrap();
                prop_assert_eq!(text, address.to_checksum(None));
            }
        }
    }
}
