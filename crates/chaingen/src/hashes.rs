//! Hashes of many messages at once, and bloom filters, which are made of them.

use alloy_consensus::{EthereumReceipt, ReceiptWithBloom};
use alloy_primitives::{B256, Bloom, Log};
use std::iter;
use txgraph_keccak::keccak256_each;

/// Hashes messages of similar lengths.
pub(super) fn hash_each(messages: &[impl AsRef<[u8]>]) -> Vec<B256> {
    let messages: Vec<&[u8]> = messages.iter().map(AsRef::as_ref).collect();
    let mut hashes = vec![B256::ZERO; messages.len()];
    keccak256_each(&messages, &mut hashes);
    hashes
}

/// The items of a log that a bloom filter contains.
fn bloom_items(log: &Log) -> impl Iterator<Item = &[u8]> {
    let topics = log.topics().iter().map(|topic| topic.as_slice());
    iter::once(log.address.as_slice()).chain(topics)
}

/// Adds the bloom filters of the logs.
pub(super) fn with_blooms(
    receipts: Vec<EthereumReceipt>,
) -> Vec<ReceiptWithBloom<EthereumReceipt>> {
    let logs = receipts.iter().flat_map(|receipt| &receipt.logs);
    let all: Vec<&[u8]> = logs.flat_map(bloom_items).collect();
    let mut hashes = hash_each(&all).into_iter();
    let receipts = receipts.into_iter().map(|receipt| {
        let mut logs_bloom = Bloom::ZERO;
        let count = receipt.logs.iter().flat_map(bloom_items).count();
        for hash in hashes.by_ref().take(count) {
            logs_bloom.m3_2048_hashed(&hash);
        }
        ReceiptWithBloom {
            receipt,
            logs_bloom,
        }
    });
    receipts.collect()
}
