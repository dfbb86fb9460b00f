//! The container of a save file: base64, packed by LZW into numbers of 32 bits.

use alloy_primitives::map::HashMap;
use base64::{Engine, engine::general_purpose::STANDARD};

/// The first number of a text of more than one byte.
const FIRST_CODE: u32 = 256;

/// Returns the bytes of a save file with this content.
pub(super) fn pack(content: &[u8]) -> Vec<u8> {
    compress(STANDARD.encode(content).as_bytes())
}

/// Compresses by LZW, as the npm package `lzwcompress` does: the dictionary grows with every number
/// and is never cleared. Each number is written with its lowest byte first.
fn compress(text: &[u8]) -> Vec<u8> {
    // The number of each known text, by the number of the text without its last byte and that byte.
    let mut known: HashMap<(u32, u8), u32> = HashMap::default();
    let mut out = Vec::new();
    let mut next = FIRST_CODE;
    let mut bytes = text.iter();
    let Some(first) = bytes.next() else {
        return out;
    };
    let mut current = u32::from(*first);
    for byte in bytes {
        if let Some(longer) = known.get(&(current, *byte)) {
            current = *longer;
            continue;
        }
        out.extend_from_slice(&current.to_le_bytes());
        known.insert((current, *byte), next);
        next += 1;
        current = u32::from(*byte);
    }
    out.extend_from_slice(&current.to_le_bytes());
    out
}

#[cfg(test)]
#[path = "../../tests/it/unpack.rs"]
mod unpack;

#[cfg(test)]
mod tests {
    use super::{unpack::*, *};
    use proptest::prelude::*;

    #[test]
    fn known_numbers() {
        let numbers = |text: &str| -> Vec<u32> {
            let packed = compress(text.as_bytes());
            let numbers = packed.as_chunks().0.iter();
            numbers.map(|four| u32::from_le_bytes(*four)).collect()
        };
        assert!(numbers("").is_empty());
        assert_eq!(numbers("A"), [65]);
        assert_eq!(numbers("aaaa"), [97, 256, 97]);
        let words = "TOBEORNOTTOBEORTOBEORNOT";
        let expected = [
            84, 79, 66, 69, 79, 82, 78, 79, 84, 256, 258, 260, 265, 259, 261, 263,
        ];
        assert_eq!(numbers(words), expected);
    }

    proptest! {
        #[test]
        fn any_bytes_read_back(content in "[ab]{0,300}|\\PC{0,60}") {
            let content = content.as_bytes();
            prop_assert_eq!(decompress(&compress(content)), content);
            prop_assert_eq!(unpack(&pack(content)), content);
        }
    }
}
