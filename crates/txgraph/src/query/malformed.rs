//! Logs with the signature of a transfer and another shape, as a table and in files.

use super::{LogFilter, analyze::write_table, query_metadata::Description, retry::retry_on_reorg};
use crate::{
    AnalysisOutput, BlockSpec, Error, Result, Source,
    options::{Options, addresses},
    select::resolve_stored,
};
use alloy_primitives::{Address, B256};
use serde_json::json;
use std::{collections::BTreeSet, ops::ControlFlow};
use txgraph_analysis::{ColumnType, Table};
use txgraph_export::Written;
use txgraph_transfers::{
    BlockRanges, DecodeCounts, LogView, Malformed, ScanReport, TRANSFER, TRANSFER_BATCH,
    TRANSFER_SINGLE,
};

/// The most logs that are kept in memory.
const LOGS_MAX: usize = 1_000_000;

/// A log with the signature of a transfer and another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedLog {
    /// The block and its time, in seconds since 1970.
    pub block: (u64, u64),
    /// The transaction: its index in the block, and its hash.
    pub transaction: (u32, B256),
    /// Its index in the block.
    pub log_index: u32,
    /// The contract that emitted it.
    pub emitter: Address,
    /// The event, and the fault.
    pub malformed: Malformed,
}

/// The malformed logs of some blocks. They are in no transfer.
#[derive(Clone, Debug)]
pub struct MalformedLogs<'s> {
    /// The logs, in order.
    pub logs: Vec<MalformedLog>,
    /// The table of them.
    pub table: Table,
    source: &'s Source,
    blocks: BlockRanges,
    description: Description,
    last_block_hash: Option<B256>,
}

impl Source {
    /// The logs with the signature of a transfer and another shape that some contracts emitted in
    /// some blocks. No contract means all contracts, and no block all blocks. Scans count these logs
    /// ([`DecodeCounts::malformed`]).
    ///
    /// # Errors
    ///
    /// If the source is not a node, receipts of the blocks are missing, or there are more than a
    /// million such logs.
    pub fn malformed_logs(
        &self,
        contracts: &BTreeSet<Address>,
        blocks: &[BlockSpec],
    ) -> Result<MalformedLogs<'_>> {
        let blocks = resolve_stored(blocks, self)?;
        let filter = LogFilter {
            addresses: contracts.iter().copied().collect(),
            topics: [
                vec![TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH],
                vec![],
                vec![],
                vec![],
            ],
        };
        let logs = retry_on_reorg(self, || self.read_malformed(&blocks, &filter))?;
        let last = blocks.span().map(|span| span.last);
        let mut options = Options::new();
        options.insert("blocks".into(), json!([blocks.to_string()]));
        if !contracts.is_empty() {
            options.insert("token".into(), addresses(contracts));
        }
        options.insert("malformed".into(), json!(true));
        Ok(MalformedLogs {
            table: table(&logs),
            logs,
            source: self,
            description: Description::new("transfers", options),
            last_block_hash: match last {
                Some(last) => self.block_hash(last)?,
                None => None,
            },
            blocks,
        })
    }

    fn read_malformed(
        &self,
        blocks: &BlockRanges,
        filter: &LogFilter,
    ) -> Result<Vec<MalformedLog>> {
        let mut all = Vec::new();
        for range in blocks.iter() {
            self.logs(range, filter, |found| {
                let topics: Vec<[u8; 32]> = found.log.topics().iter().map(|it| it.0).collect();
                let view = LogView {
                    address: &found.log.address,
                    topics: &topics,
                    data: &found.log.data.data,
                };
                if let Some(malformed) = Malformed::of(&view) {
                    all.push(MalformedLog {
                        block: (found.block, found.timestamp),
                        transaction: (found.transaction_index, found.transaction_hash),
                        log_index: found.log_index,
                        emitter: found.log.address,
                        malformed,
                    });
                }
                match all.len() > LOGS_MAX {
                    false => Ok(ControlFlow::Continue(())),
                    true => Err(Error::unavailable(format!(
                        "there are more than {LOGS_MAX} malformed logs: ask for fewer blocks"
                    ))),
                }
            })?;
        }
        Ok(all)
    }
}

fn table(logs: &[MalformedLog]) -> Table {
    use ColumnType::{Address, Hash, Text, U64};
    Table::of(
        "malformed",
        "Logs with the signature of a transfer and another shape",
        logs,
        &[
            ("block_timestamp", U64, |it: &MalformedLog| {
                it.block.1.into()
            }),
            ("block_number", U64, |it| it.block.0.into()),
            ("transaction_index", U64, |it| it.transaction.0.into()),
            ("log_index", U64, |it| it.log_index.into()),
            ("emitter", Address, |it| it.emitter.into()),
            ("event", Text, |it| it.malformed.event.into()),
            ("reason", Text, |it| it.malformed.reason.clone().into()),
            ("transaction_hash", Hash, |it| it.transaction.1.into()),
        ],
    )
}

impl MalformedLogs<'_> {
    /// Writes the logs to each output, except as human-readable tables: those the caller draws.
    /// Returns the files in order of the outputs.
    ///
    /// # Errors
    ///
    /// If an output cannot be written.
    pub fn write(&self, outputs: &[AnalysisOutput]) -> Result<Vec<Written>> {
        let counts = DecodeCounts {
            blocks: self.blocks.blocks(),
            malformed: self.logs.len() as u64,
            ..DecodeCounts::default()
        };
        let scan = ScanReport {
            covered: self.blocks.clone(),
            counts,
            last_block_hash: self.last_block_hash,
            ..ScanReport::default()
        };
        let chain = self.source.chain()?;
        let about = self.description.metadata(chain, &self.blocks, &scan);
        write_table(self.source, outputs, &about, &[], &self.table)
    }
}
