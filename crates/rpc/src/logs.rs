//! `eth_getLogs` with ranges that adapt to the limits of the server.

use crate::{
    client::Call,
    error::{Meaning, Place, Result},
    node::{RpcNode, hex},
    wire::{Header, Log},
};
use alloy_primitives::{Address, B256, BloomInput};
use serde_json::{Value, json};
use std::collections::VecDeque;
use txgraph_transfers::{
    BlockRange, DEPOSIT, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE, TokenFilter, TransferFilter,
    WITHDRAWAL,
};

/// The most contracts that a call names. With more, the logs of all contracts are asked.
const CONTRACTS_MAX: usize = 100;

/// The most ranges of one batch: together they have as many results as the server allows for each.
const RANGES_MAX: usize = 8;

pub(crate) const LOGS: &str = "eth_getLogs";

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
    /// Senders and receivers are not part of the call. Some contracts do not index them, and
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
        self.params_of(json!({"fromBlock": hex(blocks.first), "toBlock": hex(blocks.last)}))
    }

    fn params_of(&self, blocks: Value) -> Value {
        let mut filter = blocks;
        filter["topics"] = json!([self.topics]);
        if let Some(contracts) = &self.contracts {
            filter["address"] = json!(contracts);
        }
        json!([filter])
    }

    /// Whether the bloom filter of a header has the bits of such logs.
    fn may_be_in(&self, header: &Header) -> bool {
        let Some(bloom) = header.logs_bloom else {
            return true;
        };
        if bloom.is_zero() {
            // Also on chains without such filters.
            return header.gas_used != Some(0);
        }
        let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
        let contracts = self.contracts.as_deref();
        self.topics.iter().any(|topic| has(topic.as_slice()))
            && contracts.is_none_or(|all| all.iter().any(|it| has(it.as_slice())))
    }

    fn matches(&self, log: &Log) -> bool {
        let contracts = self.contracts.as_deref();
        contracts.is_none_or(|all| all.binary_search(&log.address).is_ok())
            && log
                .topics
                .first()
                .is_some_and(|topic| self.topics.iter().any(|it| it == topic))
    }
}

impl RpcNode {
    /// Returns the logs of blocks without a log in `found`, although the bloom filters of their
    /// headers allow some. Asked by hash: a server that does not have a block yet answers a range
    /// as if it were empty.
    pub(crate) fn overlooked(
        &self,
        headers: &[Header],
        found: &[Log],
        query: &LogQuery,
    ) -> Result<Vec<Log>> {
        let is_found = |number| {
            found
                .binary_search_by_key(&number, |it| it.block_number)
                .is_ok()
        };
        let asked = headers
            .iter()
            .filter(|header| !is_found(header.number) && query.may_be_in(header));
        let asked: Vec<&Header> = asked.collect();
        let call = |header: &&Header| Call {
            // It may have been replaced.
            may_lack: true,
            ..Call::new(
                query.params_of(json!({"blockHash": header.hash})),
                Place::block(header.number),
            )
        };
        let calls: Vec<Call> = asked.iter().map(call).collect();
        let mut logs = Vec::new();
        for (header, answer) in asked.into_iter().zip(self.client.ask(LOGS, &calls)?) {
            let number = header.number;
            let place = Place::block(number);
            let mut of_block: Vec<Log> = answer.map_err(|refusal| match refusal.meaning {
                Meaning::NoBlock => self.differs(LOGS, number, refusal.to_string()),
                _ => self.client.refused(LOGS, place, &refusal),
            })?;
            let range = BlockRange::one(number);
            self.check_logs(range, &mut of_block, query)?;
            logs.append(&mut of_block);
        }
        Ok(logs)
    }

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
                may_lack: false,
            };
            let calls: Vec<Call> = asked.iter().map(call).collect();
            let answers = self.client.ask::<Vec<Log>>(LOGS, &calls)?;
            let mut refused = None;
            for (range, answer) in asked.iter().zip(answers) {
                match answer {
                    Ok(mut logs) => {
                        self.check_logs(*range, &mut logs, query)?;
                        found.push((range.first, logs));
                    }
                    Err(refusal)
                        if refusal.meaning == Meaning::TooMuch && range.first < range.last =>
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
            let next = range.prefix(size);
            ranges.push(next);
            if let Some(rest) = range.after(next.last) {
                waiting.push_front(rest);
            }
        }
        ranges
    }

    /// Sorts logs, and checks that they were asked, and are in these blocks once each.
    fn check_logs(&self, blocks: BlockRange, logs: &mut [Log], query: &LogQuery) -> Result<()> {
        let invalid = |what: String| Err(self.client.invalid(LOGS, Place::Blocks(blocks), what));
        // Not every server sorts them.
        logs.sort_by_key(|log| (log.block_number, log.log_index));
        let mut before: Option<&Log> = None;
        for log in &*logs {
            let (block, index) = (log.block_number, log.log_index);
            if log.removed {
                return invalid(format!("log {index} of block {block} was removed"));
            }
            if !blocks.contains(block) {
                return invalid(format!("log {index} is of block {block}"));
            }
            if !query.matches(log) {
                return invalid(format!("log {index} of block {block} was not asked for"));
            }
            if let Some(before) = before.filter(|before| before.block_number == block) {
                if before.log_index == index {
                    return invalid(format!("log {index} of block {block} is there twice"));
                }
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
