//! Logs of a node by contract and topics.

use super::blocks::Order;
use crate::{Result, Source};
use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};
use std::ops::ControlFlow;
use txgraph_nodedb::{Block, Parts};
use txgraph_transfers::BlockRange;

/// With more values, nearly every block has a log with one of them.
const BLOOM_VALUES_MAX: usize = 64;

/// Which logs. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// The contracts that emitted them; empty: any.
    pub addresses: Vec<Address>,
    /// For each of the four topics, the wanted values; empty: any, also none.
    pub topics: [Vec<B256>; 4],
}

/// A log, and where it is.
#[derive(Clone, Debug)]
pub struct NodeLog {
    /// The number of its block.
    pub block: u64,
    /// The hash of its block.
    pub block_hash: B256,
    /// The time of its block, in seconds since 1970.
    pub timestamp: u64,
    /// The hash of its transaction.
    pub transaction_hash: B256,
    /// The index of its transaction in the block.
    pub transaction_index: u32,
    /// Its index in the block.
    pub log_index: u32,
    /// The price in wei of a unit of gas of its transaction.
    pub gas_price: u128,
    /// The gas used by its transaction.
    pub gas_used: u64,
    /// The log.
    pub log: Log,
}

impl LogFilter {
    /// Whether a log is wanted.
    fn matches(&self, address: &Address, topics: &[[u8; 32]]) -> bool {
        (self.addresses.is_empty() || self.addresses.contains(address))
            && (self.topics.iter().enumerate()).all(|(at, wanted)| {
                let topic = topics.get(at);
                wanted.is_empty() || topic.is_some_and(|topic| wanted.iter().any(|it| it == topic))
            })
    }

    /// The bits of a bloom filter, of which one in each group must be set.
    fn bits(&self) -> Vec<Vec<Bits>> {
        let bits = |value: &[u8]| -> Bits {
            let bloom = Bloom::from(BloomInput::Raw(value));
            let bytes = (0..=u8::MAX).zip(bloom.0);
            bytes.filter(|(_, bits)| *bits != 0).collect()
        };
        let addresses = self.addresses.iter().map(|it| bits(it.as_slice()));
        let topics = self.topics.iter();
        let topics = topics.map(|topics| topics.iter().map(|it| bits(it.as_slice())).collect());
        std::iter::once(addresses.collect())
            .chain(topics)
            .filter(|group: &Vec<Bits>| (1..=BLOOM_VALUES_MAX).contains(&group.len()))
            .collect()
    }
}

/// The bytes of a bloom filter that contain the bits of a value, ascending.
type Bits = Vec<(u8, u8)>;

impl Source {
    /// The logs of a range of blocks, in order, until `each` breaks. Blocks whose bloom filter excludes
    /// them are skipped.
    ///
    /// # Errors
    ///
    /// If the source is not a node, receipts of the range are missing, the chain is reorganized in the
    /// meantime, and the error of `each`.
    pub fn logs(
        &self,
        blocks: BlockRange,
        filter: &LogFilter,
        each: impl FnMut(NodeLog) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.logs_of_any(blocks, std::slice::from_ref(filter), each)
    }

    /// The logs that at least one of some filters wants, in one pass, as [`Self::logs`].
    pub(super) fn logs_of_any(
        &self,
        blocks: BlockRange,
        filters: &[LogFilter],
        mut each: impl FnMut(NodeLog) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let bits: Vec<_> = filters.iter().map(LogFilter::bits).collect();
        let parts = Parts {
            headers: false,
            receipts: true,
            transactions: true,
            senders: false,
            withdrawals: false,
        };
        let read = |block: &mut Block<'_>| match may_have(block, &bits)? {
            true => logs(block, filters).map(Some),
            false => Ok(None),
        };
        self.scan_blocks(blocks, Order::OldestFirst, parts, read, |found: Vec<_>| {
            for log in found {
                if each(log)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Whether the bloom filter of a block does not exclude the logs that any of some filters wants, by their
/// [bits](LogFilter::bits).
fn may_have(block: &mut Block<'_>, filters: &[Vec<Vec<Bits>>]) -> txgraph_nodedb::Result<bool> {
    if block.body.tx_count == 0 {
        return Ok(false);
    }
    if filters.iter().any(Vec::is_empty) {
        return Ok(true);
    }
    let mut bloom = block.logs_bloom()?;
    'filters: for groups in filters {
        'groups: for group in groups {
            'values: for value in group {
                for (index, bits) in value {
                    if bloom.byte(*index)? & bits != *bits {
                        continue 'values;
                    }
                }
                continue 'groups;
            }
            continue 'filters;
        }
        return Ok(true);
    }
    Ok(false)
}

/// The wanted logs of a block.
fn logs(block: &mut Block<'_>, filters: &[LogFilter]) -> txgraph_nodedb::Result<Vec<NodeLog>> {
    struct Found {
        transaction: u32,
        gas_used: u64,
        logs: Vec<(u32, Log)>,
    }
    let mut found: Vec<Found> = Vec::new();
    let (mut gas_before, mut first_log) = (0, 0);
    while let Some(receipt) = block.next_receipt()? {
        let mut wanted = Vec::new();
        let mut all = receipt.logs();
        for (at, log) in (first_log..).zip(all.by_ref()) {
            if (filters.iter()).any(|it| it.matches(log.address, log.topics)) {
                let topics = log.topics.iter().map(B256::from).collect();
                let data = log.data.to_vec().into();
                wanted.push((at, Log::new_unchecked(*log.address, topics, data)));
            }
        }
        all.finish()?;
        if !wanted.is_empty() {
            found.push(Found {
                transaction: receipt.index,
                gas_used: receipt.cumulative_gas_used - gas_before,
                logs: wanted,
            });
        }
        gas_before = receipt.cumulative_gas_used;
        first_log += receipt.log_count;
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let header = block.check_header()?;
    let (block_hash, timestamp) = (header.hash, header.timestamp);
    let base_fee = header.base_fee_per_gas.unwrap_or_default();
    let mut placed = Vec::new();
    for Found {
        transaction: index,
        gas_used,
        logs,
    } in found
    {
        let transaction = block.stored_transaction(index)?;
        let transaction_hash = transaction.hash();
        let gas_price = transaction.gas_price(base_fee);
        placed.extend(logs.into_iter().map(|(log_index, log)| NodeLog {
            block: block.number,
            block_hash,
            timestamp,
            transaction_hash,
            transaction_index: index,
            log_index,
            gas_price,
            gas_used,
            log,
        }));
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_match_by_position() {
        let [a, b] = [1, 2].map(B256::repeat_byte);
        let contract = Address::repeat_byte(7);
        let only = |topics| LogFilter {
            addresses: Vec::new(),
            topics,
        };
        let has = |filter: &LogFilter, topics: &[B256]| {
            let topics: Vec<[u8; 32]> = topics.iter().map(|it| it.0).collect();
            filter.matches(&contract, &topics)
        };
        let second = only([vec![], vec![b], vec![], vec![]]);
        assert!(has(&second, &[a, b]) && !has(&second, &[b, a]) && !has(&second, &[a]));
        let either = only([vec![a, b], vec![], vec![], vec![]]);
        assert!(has(&either, &[a]) && has(&either, &[b]) && !has(&either, &[]));
        let other = LogFilter {
            addresses: vec![Address::ZERO],
            ..LogFilter::default()
        };
        assert!(!has(&other, &[a]) && has(&LogFilter::default(), &[]));
        assert_eq!(either.bits()[0].len(), 2);
        assert!(LogFilter::default().bits().is_empty());
    }
}
