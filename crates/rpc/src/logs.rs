//! `eth_getLogs` with ranges that adapt to the limits of the server.

use crate::{
    client::Call,
    error::{Meaning, Place, Result},
    node::{RpcNode, hex},
    wire::Log,
};
use alloy_primitives::{Address, B256};
use serde_json::{Value, json};
use std::collections::VecDeque;
use txgraph_transfers::{
    BlockRange, DEPOSIT, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE, TokenFilter, TransferFilter,
    WITHDRAWAL,
};

/// The most contracts that a question names. With more, the logs of all contracts are asked.
const CONTRACTS_MAX: usize = 100;

/// The most ranges of one batch: together they have as many results as the server allows for each.
const RANGES_MAX: usize = 8;

const LOGS: &str = "eth_getLogs";

/// Which logs are asked.
#[derive(Clone, Debug)]
pub(crate) struct LogQuery {
    /// Ascending; `None`: all contracts.
    contracts: Option<Vec<Address>>,
    topics: Vec<B256>,
}

impl LogQuery {
    /// The logs that a filter needs. `None` if it needs none. Logs of the native coin (EIP-7708)
    /// are read with the transactions that caused them.
    ///
    /// Senders and receivers are not part of the question. Some contracts do not index them, and
    /// their transfers would be missing.
    pub(crate) fn of(filter: &TransferFilter) -> Option<Self> {
        let topics = vec![
            TRANSFER,
            TRANSFER_SINGLE,
            TRANSFER_BATCH,
            DEPOSIT,
            WITHDRAWAL,
        ];
        let contracts = match &filter.tokens {
            TokenFilter::All => None,
            TokenFilter::Only { tokens, .. } => {
                let mut contracts: Vec<Address> = tokens.iter().copied().collect();
                contracts.sort_unstable();
                if contracts.is_empty() {
                    return None;
                }
                (contracts.len() <= CONTRACTS_MAX).then_some(contracts)
            }
        };
        Some(Self { contracts, topics })
    }

    /// Whether the logs of a few contracts are asked.
    pub(crate) const fn is_narrow(&self) -> bool {
        self.contracts.is_some()
    }

    fn params(&self, blocks: BlockRange) -> Value {
        let mut filter = json!({
            "fromBlock": hex(blocks.first),
            "toBlock": hex(blocks.last),
            "topics": [self.topics],
        });
        if let Some(contracts) = &self.contracts {
            filter["address"] = json!(contracts);
        }
        json!([filter])
    }
}

impl RpcNode {
    /// Returns the logs of consecutive blocks, in order.
    pub(crate) fn logs(&self, blocks: BlockRange, query: &LogQuery) -> Result<Vec<Log>> {
        let mut waiting = VecDeque::from([blocks]);
        // By first block.
        let mut found: Vec<(u64, Vec<Log>)> = Vec::new();
        while !waiting.is_empty() {
            let asked = self.next_ranges(&mut waiting);
            let call = |range: &BlockRange| Call {
                params: query.params(*range),
                place: Place::Blocks(*range),
                divisible: range.first < range.last,
            };
            let calls: Vec<Call> = asked.iter().map(call).collect();
            let answers = self.client.ask::<Vec<Log>>(LOGS, &calls)?;
            let mut refused = None;
            for (range, answer) in asked.iter().zip(answers) {
                match answer {
                    Ok(logs) => {
                        self.check_logs(*range, &logs)?;
                        found.push((range.first, logs));
                    }
                    Err(refusal)
                        if refusal.meaning() == Meaning::TooMuch && range.first < range.last =>
                    {
                        tracing::debug!(blocks = %range, %refusal, "smaller ranges");
                        let middle = range.first.midpoint(range.last);
                        waiting.extend(BlockRange::new(range.first, middle));
                        waiting.extend(BlockRange::new(middle + 1, range.last));
                        refused = refused.max(Some(range.blocks()));
                    }
                    Err(refusal) => {
                        return Err(self.client.refused(LOGS, Place::Blocks(*range), &refusal));
                    }
                }
            }
            match refused {
                Some(blocks) => self.range.shrink(blocks),
                None => self
                    .range
                    .grow(asked.iter().map(BlockRange::blocks).max().unwrap_or(0)),
            }
        }
        found.sort_by_key(|(first, _)| *first);
        Ok(found.into_iter().flat_map(|(_, logs)| logs).collect())
    }

    /// Takes the ranges of the next batch.
    fn next_ranges(&self, waiting: &mut VecDeque<BlockRange>) -> Vec<BlockRange> {
        let size = self.range.get();
        let mut ranges = Vec::new();
        while ranges.len() < RANGES_MAX
            && let Some(range) = waiting.pop_front()
        {
            let last = range.first.saturating_add(size - 1).min(range.last);
            ranges.extend(BlockRange::new(range.first, last));
            if let Some(rest) = last
                .checked_add(1)
                .and_then(|first| BlockRange::new(first, range.last))
            {
                waiting.push_front(rest);
            }
        }
        ranges
    }

    /// Checks that the logs are in these blocks and in order.
    fn check_logs(&self, blocks: BlockRange, logs: &[Log]) -> Result<()> {
        let invalid = |what: String| Err(self.client.invalid(LOGS, Place::Blocks(blocks), what));
        let mut before: Option<&Log> = None;
        for log in logs {
            let (block, index) = (log.block_number, log.log_index);
            if log.removed {
                return invalid(format!("log {index} of block {block} was removed"));
            }
            if !blocks.contains(block) {
                return invalid(format!("log {index} is of block {block}"));
            }
            if let Some(before) = before {
                let order = (before.block_number, before.log_index).cmp(&(block, index));
                if order.is_eq() {
                    return invalid(format!("log {index} of block {block} is there twice"));
                }
                if order.is_gt() {
                    return invalid(format!("log {index} of block {block} is not in order"));
                }
                if before.block_number == block {
                    if before.block_hash != log.block_hash {
                        let (found, expected) = (log.block_hash, before.block_hash);
                        return Err(self.replaced(LOGS, block, found, expected));
                    }
                    let transactions = (before.transaction_index).cmp(&log.transaction_index);
                    let same_hash = before.transaction_hash == log.transaction_hash;
                    if transactions.is_gt() || transactions.is_eq() != same_hash {
                        return invalid(format!(
                            "log {index} of block {block} is of another transaction than its index"
                        ));
                    }
                }
            }
            before = Some(log);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use txgraph_transfers::AddressSet;

    #[test]
    fn asks_for_few_contracts_by_address() {
        let only = |count: u8, native| {
            let tokens: AddressSet = (1..=count).map(Address::repeat_byte).collect();
            let filter = TransferFilter {
                tokens: TokenFilter::Only { tokens, native },
                ..TransferFilter::default()
            };
            LogQuery::of(&filter)
        };
        let blocks = BlockRange { first: 5, last: 16 };
        assert!(only(0, false).is_none());
        let params = only(2, false).unwrap().params(blocks);
        assert_eq!(params[0]["address"].as_array().unwrap().len(), 2);
        assert_eq!(params[0]["fromBlock"], "0x5");
        assert_eq!(params[0]["toBlock"], "0x10");
        assert_eq!(params[0]["topics"][0].as_array().unwrap().len(), 5);
        assert!(only(0, true).is_none());
        assert!(!only(200, false).unwrap().is_narrow());
        let all = LogQuery::of(&TransferFilter::default()).unwrap();
        assert!(all.params(blocks)[0].get("address").is_none());
    }
}
