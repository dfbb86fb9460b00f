//! Fuzzes signatures, files of them, and the decoding of calls, results, events and errors. The input is the
//! text and the encoded values, with the length of the text before them.
#![no_main]

use alloy_primitives::B256;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use txgraph_abi::{Dictionary, Method};

/// The directory of the file.
static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a temporary directory"));

static COMMON: LazyLock<Dictionary> = LazyLock::new(Dictionary::common);

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first() else {
        return;
    };
    let (text, data) = rest.split_at(rest.len().min(2 * usize::from(*length)));
    let file = FOLDER.path().join("abi");
    std::fs::write(&file, text).expect("a file can be written");
    let mut dictionary = COMMON.clone();
    let _ = dictionary.load(&file);
    dictionary.call(data);
    dictionary.error(data);
    if let Some((topic, values)) = data.split_first_chunk::<32>() {
        dictionary.event(&[B256::from(topic)], values);
        dictionary.returned(topic, values);
    }
    let Ok(types) = std::str::from_utf8(text) else {
        return;
    };
    // A function that returns its arguments.
    let Ok(method) = Method::parse(&format!("f({types})({types})")) else {
        return;
    };
    let _ = method.decode(data);
    if let Ok(values) = method.decode_values(data) {
        let encoded = method.encode_values(&values).expect("values of its types");
        let decoded = method.decode_values(&encoded[4..]).ok();
        assert_eq!(decoded, Some(values), "{types}");
    }
});
