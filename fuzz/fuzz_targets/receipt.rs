//! Fuzzes the decoder of a stored receipt, and decodes the transfers of its logs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::fuzzing::{Buffers, receipt};
use txgraph_transfers::{BlockTime, Decoder, LogView, TransferFilter, WrappedNative};

fuzz_target!(|row: &[u8]| {
    let mut buffers = Buffers::default();
    let Ok(receipt) = receipt(row, &mut buffers) else { return };
    // The receipt has as many logs as it announces.
    assert_eq!(receipt.logs().count(), receipt.log_count as usize);
    let logs = receipt.logs().map(|log| {
        assert!(log.topics.len() <= 4);
        LogView { address: log.address, topics: log.topics, data: log.data }
    });
    let filter = TransferFilter::default();
    let mut decoder = Decoder::new(1, &WrappedNative::Any, &filter);
    let mut out = Vec::new();
    decoder.begin_block(1, BlockTime::new(1));
    decoder.transaction(0, None, logs, &mut out);
    assert_eq!(decoder.counts().logs, u64::from(receipt.log_count));
});
