//! Recomputes what a header proves.

use crate::{
    client::Client,
    error::{Place, Result},
    node::BLOCK_RECEIPTS,
    wire::{Block, Receipt},
};
use alloy_consensus::{Eip658Value, Receipt as ConsensusReceipt, ReceiptWithBloom, TxReceipt};
use alloy_primitives::{Log, LogData};
use alloy_rlp::{BufMut, Encodable};
use alloy_trie::root::ordered_trie_root_with_encoder;

/// The highest type of a transaction whose receipt has the four fields of EIP-658.
const TYPE_MAX: u8 = 4;

/// Compares the receipts root of a header with the receipts. The bloom filters are derived from
/// the logs.
pub(crate) fn receipts_root(client: &Client, block: &Block, receipts: &[Receipt]) -> Result<()> {
    let invalid =
        |what: String| Err(client.invalid(BLOCK_RECEIPTS, Place::block(block.header.number), what));
    let mut encoded = Vec::with_capacity(receipts.len());
    for (index, receipt) in receipts.iter().enumerate() {
        match encode(receipt) {
            Ok(bytes) => encoded.push(bytes),
            Err(what) => return invalid(format!("receipt {index} cannot be verified: {what}")),
        }
    }
    let root = ordered_trie_root_with_encoder(&encoded, |bytes: &Vec<u8>, out| {
        out.put_slice(bytes);
    });
    match root == block.receipts_root {
        true => Ok(()),
        false => invalid(format!(
            "its receipts have the root {root}, but its header has {}",
            block.receipts_root
        )),
    }
}

/// The EIP-2718 encoding of a receipt.
fn encode(receipt: &Receipt) -> Result<Vec<u8>, String> {
    let status = match (receipt.status, receipt.root) {
        (_, Some(root)) => Eip658Value::PostState(root),
        (Some(status), None) => Eip658Value::Eip658(status == 1),
        (None, None) => return Err("it has neither a status nor a state root".to_owned()),
    };
    let number = receipt.kind.unwrap_or(0);
    let kind = match u8::try_from(number) {
        Ok(kind) if kind <= TYPE_MAX => kind,
        _ => {
            return Err(format!(
                "the fields of receipts of transactions of type {number:#x} are not known"
            ));
        }
    };
    let log = |log: &crate::wire::Log| Log {
        address: log.address,
        data: LogData::new_unchecked(
            log.topics.iter().map(Into::into).collect(),
            log.data.clone(),
        ),
    };
    let consensus = ConsensusReceipt {
        status,
        cumulative_gas_used: receipt.cumulative_gas_used,
        logs: receipt.logs.iter().map(log).collect(),
    };
    let bloom = consensus.bloom();
    let mut bytes = Vec::new();
    if kind > 0 {
        bytes.push(kind);
    }
    ReceiptWithBloom::new(consensus, bloom).encode(&mut bytes);
    Ok(bytes)
}
