//! Fuzzes the decoder of the answers of JSON-RPC servers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_rpc::fuzzing::decode;

fuzz_target!(|bytes: &[u8]| {
    decode(bytes);
});
