//! Encodes the parts of blocks as files contain them.

use alloy_primitives::Log;
use alloy_rlp::{Encodable, Header};

/// A receipt without its bloom filter, since Byzantium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlimReceipt {
    /// EIP-2718 type of the transaction.
    pub tx_type: u8,
    /// Whether the transaction succeeded.
    pub success: bool,
    /// Gas used by this and all earlier transactions of the block.
    pub cumulative_gas_used: u64,
    /// The logs.
    pub logs: Vec<Log>,
}

/// Returns the RLP of the receipts of a block, as `.ere` files contain them.
pub fn encode_slim_receipts(receipts: &[SlimReceipt]) -> Vec<u8> {
    let mut list = Vec::new();
    for receipt in receipts {
        let mut fields = Vec::new();
        receipt.tx_type.encode(&mut fields);
        receipt.success.encode(&mut fields);
        receipt.cumulative_gas_used.encode(&mut fields);
        receipt.logs.encode(&mut fields);
        list_of(&fields, &mut list);
    }
    let mut out = Vec::new();
    list_of(&list, &mut out);
    out
}

/// Returns the RLP of a body. `transactions` are EIP-2718 envelopes, `ommers` and `withdrawals`
/// the RLP of lists.
pub fn encode_body<'a>(
    transactions: impl IntoIterator<Item = &'a [u8]>,
    ommers: &[u8],
    withdrawals: Option<&[u8]>,
) -> Vec<u8> {
    let mut list = Vec::new();
    for transaction in transactions {
        match transaction.first() {
            // A legacy transaction is a list.
            Some(0xc0..) => list.extend_from_slice(transaction),
            _ => transaction.encode(&mut list),
        }
    }
    let mut fields = Vec::new();
    list_of(&list, &mut fields);
    fields.extend_from_slice(ommers);
    fields.extend_from_slice(withdrawals.unwrap_or_default());
    let mut out = Vec::new();
    list_of(&fields, &mut out);
    out
}

/// Appends a list with these encoded items.
pub(crate) fn list_of(items: &[u8], out: &mut Vec<u8>) {
    let header = Header {
        list: true,
        payload_length: items.len(),
    };
    header.encode(out);
    out.extend_from_slice(items);
}
