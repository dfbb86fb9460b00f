//! Helpers for the tests of this crate and of those that use it: transfers written as text,
//! and a [`TransferSource`] that holds them in memory. Not for production.

use crate::{MergedEdge, Nettings, TransferGraph, netting};
use alloy_primitives::{Address, B256, U256};
use petgraph::{Graph, algo::dinics};
use std::{cell::Cell, collections::BTreeMap};
use txgraph_transfers::{
    Batch, BlockAnchor, BlockRange, BlockRanges, BlockTime, ChainInfo, DecodeCounts, FailureKind,
    Kind, ScanReport, ScanRequest, Sink, SourceError, SourceFailure, TokenStandard, Transfer,
    TransferSource, Unavailable,
};
use txgraph_work::Threads;

/// The token of transfers whose text has none.
pub const TOKEN: &str = "TOKEN";

/// Returns the address with this name: its ASCII bytes, then zeros, so that addresses sort
/// as their names do. `0` is the zero address.
///
/// # Panics
/// If the name is longer than 20 bytes.
pub fn address(name: &str) -> Address {
    let mut bytes = [0; 20];
    if name != "0" {
        bytes[..name.len()].copy_from_slice(name.as_bytes());
    }
    Address::from(bytes)
}

/// Returns the name of an address from [`address`].
pub fn name(address: Address) -> String {
    let bytes = address
        .as_slice()
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    if bytes.is_empty() {
        "0".into()
    } else {
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Merges the edges of a graph on the default threads.
///
/// # Panics
/// If the system starts no threads.
pub fn merged(graph: &TransferGraph) -> Vec<MergedEdge> {
    let merged = graph.merged(&Threads::default());
    merged.expect("the system starts threads")
}

/// Parses transfers: `a>b>c` is two transfers, words are separated by spaces, and a word may
/// end in `:amount` (default 1), `@token` (`@eth` is the native coin) and `#block`, in that
/// order. Without `#` each transfer is in the next block, from 100. With it, all transfers
/// of the word are in that block, one transaction each.
///
/// # Panics
/// If the text is not of this form, or its blocks descend.
pub fn transfers(text: &str) -> Vec<Transfer> {
    let mut transfers: Vec<Transfer> = Vec::new();
    for word in text.split_whitespace() {
        let (word, block) = cut(word, '#');
        let (word, token) = cut(word, '@');
        let (word, amount) = cut(word, ':');
        let block: Option<u64> = block.map(|block| block.parse().expect("a block number"));
        let amount = amount.map_or(U256::from(1), |amount| amount.parse().expect("an amount"));
        let ends: Vec<_> = word.split('>').map(address).collect();
        for ends in ends.windows(2) {
            let last = transfers.last();
            let block = block.unwrap_or_else(|| last.map_or(100, |last| last.block_number + 1));
            let index = match last {
                Some(last) if last.block_number == block => last.transaction_index + 1,
                _ => 0,
            };
            let transfer = transfer(
                (block, index),
                token.unwrap_or(TOKEN),
                ends[0],
                ends[1],
                amount,
            );
            assert!(
                last.is_none_or(|last| last.position() < transfer.position()),
                "{text}"
            );
            transfers.push(transfer);
        }
    }
    transfers
}

/// Parses transfers as [`transfers`] does, in one block. `|` ends a transaction.
///
/// # Panics
/// If the text is not of this form.
pub fn transactions(text: &str) -> Vec<Transfer> {
    let mut all = Vec::new();
    for (transaction, part) in (0..).zip(text.split('|')) {
        for (index, mut transfer) in (0..).zip(transfers(part)) {
            transfer.block_number = 100;
            transfer.transaction_index = transaction;
            transfer.log_index = Some(100 * transaction + index);
            all.push(transfer);
        }
    }
    all
}

fn cut(word: &str, mark: char) -> (&str, Option<&str>) {
    word.split_once(mark)
        .map_or((word, None), |(word, rest)| (word, Some(rest)))
}

/// Returns a transfer at (block, transaction index), the only one of its transaction.
pub fn transfer(
    (block_number, transaction_index): (u64, u32),
    token: &str,
    from_address: Address,
    to_address: Address,
    value: U256,
) -> Transfer {
    let token_address = (token != "eth").then(|| address(token));
    let kind = token_address.map(|_| Kind::of_token(&from_address, &to_address));
    Transfer {
        block_timestamp: BlockTime::new(1_600_000_000 + 12 * block_number),
        transaction_index,
        log_index: token_address.map(|_| transaction_index),
        transaction_hash: Some(hash(block_number, transaction_index)),
        token_address,
        from_address,
        to_address,
        value,
        token_standard: TokenStandard::of_fungible(token_address),
        kind: kind.unwrap_or(Kind::Value),
        ..txgraph_transfers::testing::transfer(block_number)
    }
}

/// Nets out each transaction of transfers in total order.
pub fn nettings(transfers: &[Transfer]) -> Nettings {
    let transactions = transfers.chunk_by(|a, b| a.transaction() == b.transaction());
    let netted = transactions.map(|all| (all[0].transaction(), netting(all)));
    netted.collect()
}

/// Returns the hash that [`transfer`] gives to a transaction.
pub fn hash(block: u64, transaction_index: u32) -> B256 {
    let mut hash = B256::repeat_byte(0xab);
    hash[8..16].copy_from_slice(&block.to_be_bytes());
    hash[28..].copy_from_slice(&transaction_index.to_be_bytes());
    hash
}

/// Builds the graph of all these transfers ([`TransferGraph::from_transfers`]).
///
/// # Panics
/// If there are 2^32 of them.
pub fn graph(transfers: Vec<Transfer>) -> TransferGraph {
    let source = MemorySource::new(transfers);
    let blocks = source.available;
    let report = ScanReport {
        covered: blocks.clone(),
        ..ScanReport::default()
    };
    TransferGraph::from_transfers(source.chain, blocks, report, source.transfers)
        .expect("a graph that fits")
}

/// The largest amount that transfers of one token, in their order, can have carried over all routes
/// from one address to another; with `in_time`, only what arrived before can leave. By petgraph, on a
/// network with a node for each address and each time at which something arrived there.
///
/// # Panics
/// If a value does not fit.
pub fn maximum_flow(transfers: &[&Transfer], from: Address, to: Address, in_time: bool) -> u128 {
    let mut network: Graph<(), u128> = Graph::new();
    let (source, sink) = (network.add_node(()), network.add_node(()));
    let mut nodes = BTreeMap::from([(from, source), (to, sink)]);
    for it in transfers {
        let ends = [it.from_address, it.to_address];
        if ends.contains(&Address::ZERO) {
            continue;
        }
        let ends = ends.map(|end| *nodes.entry(end).or_insert_with(|| network.add_node(())));
        let [sender, mut receiver] = ends;
        if in_time && ![source, sink].contains(&receiver) {
            let before = receiver;
            receiver = network.add_node(());
            network.add_edge(before, receiver, u128::MAX / 4);
            nodes.insert(it.to_address, receiver);
        }
        network.add_edge(sender, receiver, it.value.to());
    }
    dinics(&network, source, sink).0
}

/// A source over a list of transfers and their hashes.
#[derive(Debug)]
pub struct MemorySource {
    transfers: Vec<Transfer>,
    chain: ChainInfo,
    /// Available blocks; initially those from the first to the last transfer.
    pub available: BlockRanges,
    /// Blocks per batch.
    pub batch_blocks: u64,
    /// The number of next scans that fail with [`SourceError::Reorged`], after their first
    /// batch.
    pub reorgs: Cell<u32>,
    /// Whether each scan reports a different last block hash.
    pub unstable: bool,
    /// The number of scans so far.
    pub scans: Cell<u32>,
}

impl MemorySource {
    /// Creates a source over `transfers`, which it sorts first.
    pub fn new(mut transfers: Vec<Transfer>) -> Self {
        transfers.sort_unstable_by_key(Transfer::position);
        let (first, last) = match (transfers.first(), transfers.last()) {
            (Some(first), Some(last)) => (first.block_number, last.block_number),
            _ => (0, 0),
        };
        Self {
            transfers,
            available: BlockRange { first, last }.into(),
            chain: ChainInfo {
                chain_id: 1337,
                genesis_hash: B256::repeat_byte(1),
                name: None,
            },
            batch_blocks: 10,
            reorgs: Cell::new(0),
            unstable: false,
            scans: Cell::new(0),
        }
    }

    fn in_range(&self, range: BlockRange) -> &[Transfer] {
        let start = self
            .transfers
            .partition_point(|t| t.block_number < range.first);
        let end = self
            .transfers
            .partition_point(|t| t.block_number <= range.last);
        &self.transfers[start..end]
    }
}

impl TransferSource for MemorySource {
    fn chain(&self) -> &ChainInfo {
        &self.chain
    }

    fn scan(&self, request: &ScanRequest, sink: &mut Sink<'_>) -> Result<ScanReport, SourceError> {
        self.scans.set(self.scans.get() + 1);
        self.check_available(request)?;
        let covered = request.blocks.intersect(&self.available);
        let missing: Vec<_> = request
            .blocks
            .subtract(&covered)
            .iter()
            .map(|blocks| Unavailable::new(blocks, "not in memory"))
            .collect();
        let mut counts = DecodeCounts::default();
        let most = self.batch_blocks.max(1);
        for blocks in covered.iter().flat_map(|range| range.chunks(most)) {
            let all = self.in_range(blocks);
            let mut transfers: Vec<_> = all
                .iter()
                .filter(|t| request.filter.matches(t))
                .cloned()
                .collect();
            if !request.with_times {
                transfers.iter_mut().for_each(|t| t.block_timestamp = None);
            }
            if !request.with_hashes {
                transfers.iter_mut().for_each(|t| t.transaction_hash = None);
            }
            counts.blocks += blocks.blocks();
            counts.logs += all.len() as u64;
            counts.transfers += transfers.len() as u64;
            if sink(Batch { blocks, transfers }).is_break() {
                return Ok(ScanReport {
                    covered: covered.intersect(&BlockRange::up_to(blocks.last).into()),
                    counts,
                    ..ScanReport::default()
                });
            }
            if let Some(left) = self.reorgs.get().checked_sub(1) {
                self.reorgs.set(left);
                let block = blocks.first;
                return Err(SourceError::Reorged { block });
            }
        }
        let scans = if self.unstable { self.scans.get() } else { 0 };
        let last_block_hash = covered.span().map(|span| hash(span.last, scans));
        Ok(ScanReport {
            covered,
            missing,
            counts,
            last_block_hash,
            ..ScanReport::default()
        })
    }

    fn check_available(&self, request: &ScanRequest) -> Result<(), SourceError> {
        request.check_blocks(&self.available, "not in memory")
    }

    fn canonical_hashes(&self, blocks: &[u64]) -> Result<Vec<Option<B256>>, SourceError> {
        let scans = if self.unstable { self.scans.get() } else { 0 };
        let known = |block: &u64| self.available.contains(*block);
        let hash = |block: &u64| known(block).then(|| hash(*block, scans));
        Ok(blocks.iter().map(hash).collect())
    }

    fn fill_hashes(
        &self,
        transfers: &mut [Transfer],
        _: &[BlockAnchor],
    ) -> Result<(), SourceError> {
        for transfer in transfers {
            let position = transfer.position();
            match self
                .transfers
                .binary_search_by_key(&position, Transfer::position)
            {
                Ok(at) => {
                    transfer.transaction_hash = self.transfers[at].transaction_hash;
                    transfer.block_timestamp = self.transfers[at].block_timestamp;
                }
                Err(_) => {
                    let why = format!("no {position:?}");
                    return Err(SourceFailure::new(FailureKind::Missing, why).into());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_transfers() {
        let all = transfers("a>b>c:7@T d>0@eth#200 a>a#200");
        let rows: Vec<_> = all
            .iter()
            .map(|t| {
                let token = t.token_address.map(name);
                format!(
                    "{} {} {}>{} {} {token:?}",
                    t.block_number,
                    t.transaction_index,
                    name(t.from_address),
                    name(t.to_address),
                    t.value,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                "100 0 a>b 7 Some(\"T\")",
                "101 0 b>c 7 Some(\"T\")",
                "200 0 d>0 1 None",
                "200 1 a>a 1 Some(\"TOKEN\")",
            ]
        );
    }
}
