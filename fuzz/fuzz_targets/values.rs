//! Fuzzes the decoders of all other values: the tables of MDBX and the `.conf` files of static
//! files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| txgraph_nodedb::fuzzing::other_values(bytes));
