//! Reads the container of a GraphSense save file: the twin of the writer, from the format alone.

use base64::{Engine, engine::general_purpose::STANDARD};

/// Returns the content of a save file.
pub(crate) fn unpack(file: &[u8]) -> Vec<u8> {
    STANDARD.decode(decompress(file)).expect("base64")
}

/// Returns the text of LZW numbers of 32 bits. Every number but the first adds a text to the
/// dictionary: the previous text and the first byte of its own.
pub(crate) fn decompress(file: &[u8]) -> Vec<u8> {
    let mut texts: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    let mut all = Vec::new();
    let mut previous: Vec<u8> = Vec::new();
    let (numbers, rest) = file.as_chunks::<4>();
    assert!(rest.is_empty(), "a multiple of 4 bytes");
    for number in numbers {
        let number = u32::from_le_bytes(*number);
        let known = texts.get(usize::try_from(number).unwrap()).cloned();
        let text = known.unwrap_or_else(|| {
            assert_eq!(
                usize::try_from(number).unwrap(),
                texts.len(),
                "an unknown number"
            );
            [&previous[..], &previous[..1]].concat()
        });
        if !previous.is_empty() {
            texts.push([&previous[..], &text[..1]].concat());
        }
        all.extend_from_slice(&text);
        previous = text;
    }
    all
}
