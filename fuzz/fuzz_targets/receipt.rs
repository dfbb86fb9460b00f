//! Fuzzes the decoder of a stored receipt, of reth and of op-reth, and decodes the transfers of
//! its logs. The first byte chooses the layout.
#![no_main]

use libfuzzer_sys::fuzz_target;
use txgraph_nodedb::fuzzing::{Buffers, receipt};
use txgraph_transfers::{BlockTime, Decoder, LogView, TransferFilter, WrappedNative};

fuzz_target!(|bytes: &[u8]| {
    let Some((layout, row)) = bytes.split_first() else {
        return;
    };
    let is_op = layout % 2 == 1;
    let mut buffers = if is_op {
        Buffers::op_stack()
    } else {
        Buffers::default()
    };
    let Ok(receipt) = receipt(row, &mut buffers) else {
        return;
    };
    assert!(is_op || receipt.tx_type <= 4);
    assert!(receipt.tx_type == 0x7e || receipt.deposit_nonce.is_none());
    assert!(receipt.deposit_nonce.is_some() || receipt.deposit_version.is_none());
    // The receipt has as many logs as it announces.
    assert_eq!(receipt.logs().count(), receipt.log_count as usize);
    let logs = receipt.logs().map(|log| {
        assert!(log.topics.len() <= 4);
        LogView {
            address: log.address,
            topics: log.topics,
            data: log.data,
        }
    });
    let filter = TransferFilter::default();
    let mut decoder = Decoder::new(1, &WrappedNative::Any, &filter);
    let mut out = Vec::new();
    decoder.begin_block(1, BlockTime::new(1));
    decoder.transaction(0, None, logs, &mut out);
    assert_eq!(decoder.counts().logs, u64::from(receipt.log_count));
});
