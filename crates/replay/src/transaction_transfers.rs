//! The movements of one transaction: its value, and its logs.

use alloy_primitives::Log;
use txgraph_transfers::{Decoder, LogView, TransactionView, Transfer};

/// Decodes the logs of a transaction, and its value if `view` is given. The decoder must have begun
/// the block. `first_log` is the index in the block of its first log.
pub fn transaction_transfers(
    decoder: &mut Decoder<'_>,
    index: u32,
    view: Option<&TransactionView>,
    logs: &[Log],
    first_log: u32,
) -> Vec<Transfer> {
    let topics: Vec<Vec<[u8; 32]>> = logs
        .iter()
        .map(|log| log.topics().iter().map(|topic| topic.0).collect())
        .collect();
    let views = logs.iter().zip(&topics).map(|(log, topics)| LogView {
        address: &log.address,
        topics,
        data: &log.data.data,
    });
    let mut transfers = Vec::new();
    decoder.transaction(index, view, views, &mut transfers);
    for transfer in &mut transfers {
        transfer.log_index = transfer.log_index.map(|log| log.saturating_add(first_log));
    }
    transfers
}
