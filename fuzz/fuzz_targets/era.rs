//! Fuzzes the decoders of archives: bytes as the parts of a block, and as a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_era::fuzzing::{decode, read_file};

fuzz_target!(|bytes: &[u8]| {
    decode(bytes);
    let mut file = tempfile::tempfile().expect("a temporary file");
    read_file(&mut file, bytes);
});
