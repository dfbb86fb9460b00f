//! Fuzzes the reader of a lake's manifest and of its checksums.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    txgraph_lake::fuzzing::manifest(bytes);
    txgraph_lake::fuzzing::manifest_body(bytes);
    txgraph_lake::fuzzing::checksums(bytes);
});
