//! Files of RocksDB: manifest, log and table, and the parts that their checksums protect.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_rocks::fuzzing;

fuzz_target!(|input: &[u8]| {
    let Some((kind, bytes)) = input.split_first() else {
        return;
    };
    match kind % 4 {
        0 => drop(fuzzing::manifest(bytes)),
        1 => drop(fuzzing::log(bytes)),
        2 => drop(fuzzing::table(bytes)),
        _ => {
            fuzzing::unchecked(bytes);
        }
    }
});
