//! The fields of a transfer, formatted by the standard library.

use alloy_primitives::Address;
use txgraph_transfers::Transfer;

/// Returns the text of each column. Unknown values have none.
pub(crate) fn text_fields(transfer: &Transfer, chain_id: u64) -> Vec<Option<String>> {
    let address = |address: Address| format!("{address:#x}");
    vec![
        Some(transfer.block_number.to_string()),
        transfer
            .block_timestamp
            .map(|time| time.seconds().to_string()),
        Some(transfer.transaction_index.to_string()),
        transfer.log_index.map(|index| index.to_string()),
        Some(transfer.sub_index.to_string()),
        transfer.transaction_hash.map(|hash| format!("{hash:#x}")),
        transfer.token_address.map(address),
        Some(address(transfer.from_address)),
        Some(address(transfer.to_address)),
        Some(transfer.value.to_string()),
        transfer.token_id.map(|id| id.to_string()),
        Some(transfer.token_standard.to_string()),
        Some(transfer.kind.to_string()),
        Some(chain_id.to_string()),
    ]
}
