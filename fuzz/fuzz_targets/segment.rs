//! Fuzzes the reader of an index segment. Raw bytes rarely pass the checksum of the header, so
//! the input also selects changes to a valid segment, whose checksums are then recomputed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// The segment of a few blocks, from the writer.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(txgraph_index::fuzzing::small_segment);

fuzz_target!(|bytes: &[u8]| {
    txgraph_index::fuzzing::ask_everything(bytes.to_vec());
    let mut choices = bytes.iter();
    let mut chance = |limit: usize| {
        let mut number = 0_usize;
        for _ in 0..3 {
            number = number << 8 | choices.next().copied().map_or(0, usize::from);
        }
        number % limit.max(1)
    };
    let bad = txgraph_index::fuzzing::with_nonsense(GOOD.clone(), &mut chance);
    txgraph_index::fuzzing::ask_everything(bad);
});
